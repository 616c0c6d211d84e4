import java.io.BufferedWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Transactional messages of the official Java client, unmodified, and what its readers are given, as
 * a history that `mqlab check history` judges (mqlab/check/README.md).
 *
 * <p>java -cp 'lib/*' History.java NAME_SERVER PREFIX FILE TRANSACTIONS writes to one topic PREFIX-0
 * of one queue. Every third local transaction rolls back; every fourth says UNKNOW and decides when
 * the broker asks. A transaction has one message, and END_TRANSACTION is not answered: what the local
 * transaction has decided is what the broker owes, so that is how it `ended`. One reader reads
 * meanwhile, another one afterwards from the first message to the last.
 */
public class History {
  static final int QUEUES = 1; // the client chooses the queue of a transactional message itself
  static final long PATIENCE_MS = 75_000; // a round of the check comes every 30 s
  static final ConcurrentHashMap<String, Boolean> DECIDED = new ConcurrentHashMap<>();
  static BufferedWriter file;

  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[3]);
    String topic = args[1] + "-0";
    file = Files.newBufferedWriter(Path.of(args[2]), StandardOpenOption.CREATE_NEW);
    line("{\"history\": 1, \"tool\": \"RocketMQ's Java client\", \"allowed\": [\"reordered\"]}");
    var producer = producer(args[0], args[1]);
    producer.createTopic("TBW102", topic, QUEUES, null);
    var queues = routed(producer, topic);
    var over = new AtomicBoolean();
    var beside = new Thread(() -> read(args[0], "reader", topic, queues, over));
    beside.start();
    for (int i = 1; i <= count; i++) {
      String value = "t" + i + "-0";
      event("writer", "send", text("txn", "t" + i), text("topic", topic),
          "\"partition\": 0", text("value", value));
      var message = new Message(topic, value.getBytes(StandardCharsets.UTF_8));
      message.putUserProperty("order", "" + i);
      producer.sendMessageInTransaction(message, null);
    }
    boolean asked = until(() -> DECIDED.size() == count);
    Thread.sleep(5_000); // the last END_TRANSACTION, and the message that follows from it
    over.set(true);
    beside.join();
    read(args[0], "last reader", topic, queues, over);
    file.close();
    if (!asked) {
      System.err.println("Exception: the broker has not asked about " + (count - DECIDED.size())
          + " transactions in " + PATIENCE_MS / 1_000 + " s");
    }
    System.exit(asked ? 0 : 1); // the client's threads would go on
  }

  static TransactionMQProducer producer(String nameServer, String prefix) throws Exception {
    var producer = new TransactionMQProducer(prefix + "-producer");
    producer.setNamesrvAddr(nameServer);
    producer.setSendMsgTimeout(30_000);
    producer.setTransactionListener(new TransactionListener() {
      @Override
      public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
        int order = Integer.parseInt(message.getUserProperty("order"));
        return order % 4 == 0 ? LocalTransactionState.UNKNOW : decide(order);
      }

      @Override
      public LocalTransactionState checkLocalTransaction(MessageExt message) {
        return decide(Integer.parseInt(message.getUserProperty("order")));
      }
    });
    producer.start();
    return producer;
  }

  /** Once per order; who asks again gets the same. */
  static LocalTransactionState decide(int order) {
    boolean commit = order % 3 != 0;
    if (DECIDED.putIfAbsent("t" + order, commit) == null) {
      event("writer", "end", text("txn", "t" + order), text("how", commit ? "commit" : "abort"));
      event("writer", "ended", text("txn", "t" + order),
          text("outcome", commit ? "committed" : "aborted"), text("error", ""));
    }
    return commit ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
  }

  /** Everything from the first message on; when the writer is over, to the end of each queue. */
  static void read(String nameServer, String who, String topic, List<MessageQueue> queues,
      AtomicBoolean over) {
    try {
      var consumer = new DefaultMQPullConsumer(topic + "-" + who.replace(' ', '-'));
      consumer.setNamesrvAddr(nameServer);
      consumer.start();
      event(who, "assign", text("isolation", "committed transactions"));
      var next = new long[queues.size()];
      boolean last;
      do {
        last = over.get();
        for (int i = 0; i < queues.size(); i++) {
          next[i] = drain(consumer, who, queues.get(i), next[i]);
        }
        Thread.sleep(100);
      } while (!last);
      for (int i = 0; i < queues.size(); i++) {
        event(who, "drained", text("topic", topic),
            "\"partition\": " + queues.get(i).getQueueId(), "\"end\": " + next[i]);
      }
      consumer.shutdown();
    } catch (Exception thrown) {
      System.err.println(who + ": " + thrown);
      Runtime.getRuntime().halt(1);
    }
  }

  /** Up to the end that the queue has now; where to go on. */
  static long drain(DefaultMQPullConsumer consumer, String who, MessageQueue queue, long from)
      throws Exception {
    long end = consumer.maxOffset(queue);
    while (from < end) {
      var found = consumer.pull(queue, "*", from, 32);
      if (found.getPullStatus() == PullStatus.FOUND) {
        for (var message : found.getMsgFoundList()) {
          event(who, "read", text("topic", queue.getTopic()),
              "\"partition\": " + queue.getQueueId(), "\"offset\": " + message.getQueueOffset(),
              text("value", new String(message.getBody(), StandardCharsets.UTF_8)));
        }
      }
      from = Math.max(from, found.getNextBeginOffset());
    }
    return from;
  }

  static List<MessageQueue> routed(TransactionMQProducer producer, String topic) throws Exception {
    var found = new ArrayList<MessageQueue>();
    until(() -> {
      try {
        found.addAll(producer.fetchPublishMessageQueues(topic));
      } catch (Exception unknown) { // the name server does not know it yet
        return false;
      }
      return true;
    });
    return found;
  }

  /** False where it does not come true. */
  static boolean until(java.util.function.BooleanSupplier done) throws Exception {
    long deadline = System.currentTimeMillis() + PATIENCE_MS;
    while (!done.getAsBoolean()) {
      if (System.currentTimeMillis() > deadline) {
        return false;
      }
      Thread.sleep(50);
    }
    return true;
  }

  /** Names and values of this program hold nothing that JSON must escape. */
  static String text(String name, String value) {
    return "\"" + name + "\": \"" + value + "\"";
  }

  static void event(String process, String name, String... rest) {
    var now = java.time.Instant.now();
    synchronized (file) {
      line("{\"time\": " + (now.getEpochSecond() * 1_000_000_000L + now.getNano()) + ", "
          + text("process", process) + ", " + text("event", name) + ", "
          + String.join(", ", rest) + "}");
    }
  }

  static void line(String words) {
    try {
      file.write(words + "\n");
      file.flush();
    } catch (java.io.IOException thrown) {
      System.err.println("the history cannot be written: " + thrown);
      Runtime.getRuntime().halt(1);
    }
  }
}
