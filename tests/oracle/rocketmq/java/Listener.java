// What belongs to the Java client, told by it: java … Listener NAME_SERVER PREFIX TASK
//
// Every line printed is an observation: who, call, result, with tabs between.
//
//     throws      the local transaction throws; the check commits
//     status      a send status that is not SEND_OK, from a master without its slave
//     delay       a transactional message with a delay level
//     no-answer   the local transaction returns null; the check returns null, throws, commits
//     lost        no answer to a send arrives; the checks commit
//     dead        the broker is killed in the local transaction; two more sends; the check commits
//     idle        a producer that has sent nothing: does the broker know of it?

import java.io.IOException;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Queue;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

public class Listener {
    static String prefix;
    static String server;

    static class Told implements TransactionListener {
        final String execute;
        final Queue<String> checks = new ArrayDeque<>();
        volatile int executed = 0;

        Told(String execute, String... checks) {
            this.execute = execute;
            Collections.addAll(this.checks, checks);
        }

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
            executed++;
            if (execute.equals("dead")) {
                System.out.println("executing"); // the program kills the broker
                waitUntilDead();
                return LocalTransactionState.COMMIT_MESSAGE;
            }
            return answer("executeLocalTransaction " + new String(message.getBody()), execute);
        }

        @Override
        public synchronized LocalTransactionState checkLocalTransaction(MessageExt message) {
            String times = message.getProperty("TRANSACTION_CHECK_TIMES");
            String call = "checkLocalTransaction " + new String(message.getBody()) + " (" + times + ")"
                + " topic=" + message.getTopic().substring(prefix.length())
                + " queue=" + message.getQueueId();
            return answer(call, checks.isEmpty() ? "UNKNOW" : checks.poll());
        }

        private LocalTransactionState answer(String call, String what) {
            tell(call, what);
            if (what.equals("throws")) {
                throw new IllegalStateException("the database is away");
            }
            return what.equals("null") ? null : LocalTransactionState.valueOf(what);
        }
    }

    public static void main(String[] args) throws Exception {
        prefix = args[1].replaceAll("[^A-Za-z0-9_-]", "-");
        String task = args[2];
        server = args[0];
        TransactionMQProducer producer = new TransactionMQProducer(prefix + "order-service");
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(60_000); // of a machine that has much else to do
        producer.setHeartbeatBrokerInterval(1_000); // by which it is known again after a break
        Told listener = new Told(
            switch (task) {
                case "throws", "dead" -> task;
                case "no-answer" -> "null";
                default -> "COMMIT_MESSAGE";
            },
            switch (task) {
                case "no-answer" -> new String[] {"null", "throws", "COMMIT_MESSAGE"};
                case "lost" -> new String[] {"COMMIT_MESSAGE", "COMMIT_MESSAGE", "COMMIT_MESSAGE"};
                default -> new String[] {"COMMIT_MESSAGE"};
            });
        producer.setTransactionListener(listener);
        producer.start();
        if (!task.equals("idle")) {
            Message message = new Message(prefix + "orders", "o1".getBytes());
            if (task.equals("delay")) {
                message.setDelayTimeLevel(5);
            }
            send(producer, message);
            if (task.equals("dead")) {
                sendPlain(producer, new Message(prefix + "orders", "o2".getBytes()));
                send(producer, new Message(prefix + "orders", "o3".getBytes()));
            }
            tell("local transactions run", String.valueOf(listener.executed));
        }
        System.out.println("sent"); // the program may go on
        System.in.read(); // until it says so
        producer.shutdown();
        Runtime.getRuntime().halt(0);
    }

    private static void send(TransactionMQProducer producer, Message message) throws Exception {
        String call = "sendMessageInTransaction " + new String(message.getBody());
        try {
            TransactionSendResult result = producer.sendMessageInTransaction(message, null);
            String half = result.getQueueOffset() >= 0 ? " @" + result.getQueueOffset() : "";
            tell(call, result.getSendStatus() + half + " " + result.getLocalTransactionState());
        } catch (MQClientException refused) {
            Throwable cause = refused.getCause();
            String because = cause == null ? "" : ": " + cause.getMessage().split(",")[0];
            Throwable last = cause == null ? null : cause.getCause();
            because += last == null ? "" : ": " + name(last);
            tell(call, name(refused) + " " + refused.getErrorMessage() + because);
        }
    }

    private static void sendPlain(TransactionMQProducer producer, Message message)
            throws Exception {
        String call = "send " + new String(message.getBody());
        try {
            tell(call, String.valueOf(producer.send(message).getSendStatus()));
        } catch (MQClientException refused) {
            String because = refused.getErrorMessage().split(",")[0];
            tell(call, name(refused) + " " + because + ": " + name(refused.getCause()));
        }
    }

    private static String name(Throwable error) {
        return error.getClass().getSimpleName();
    }

    private static void waitUntilDead() {
        String[] parts = server.split(":");
        while (true) {
            try (Socket open = new Socket(parts[0], Integer.parseInt(parts[1]))) {
                Thread.sleep(50);
            } catch (IOException refused) {
                return;
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
        }
    }

    static synchronized void tell(String call, String result) {
        System.out.println("app\t" + call + "\t" + result);
        System.out.flush();
    }
}
