import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * One transaction that commits, one that is rolled back, one that the broker asks about; then a
 * consumer. Any Java client since 4.3 can tell it.
 *
 * <p>java … TransactionStory.java NAME_SERVER PREFIX TOPIC prints a line for each thing that
 * happened (who, what, what came of it, with tabs between), and "sent" when the check may come.
 */
public class TransactionStory {
  static final CountDownLatch ASKED = new CountDownLatch(1);
  static final CountDownLatch GOT = new CountDownLatch(2);

  public static void main(String[] args) throws Exception {
    Thread.setDefaultUncaughtExceptionHandler((thread, error) -> Runtime.getRuntime().halt(1));
    String prefix = args[1].replaceAll("[^A-Za-z0-9_-]", "-");
    String topic = prefix + args[2];
    TransactionMQProducer producer = new TransactionMQProducer(prefix + "order-service");
    producer.setNamesrvAddr(args[0]);
    producer.setSendMsgTimeout(60_000); // of a machine that has much else to do
    producer.setTransactionListener(new TransactionListener() {
      @Override
      public LocalTransactionState executeLocalTransaction(Message message, Object state) {
        return (LocalTransactionState) state;
      }

      @Override
      public LocalTransactionState checkLocalTransaction(MessageExt message) {
        String times = message.getUserProperty("TRANSACTION_CHECK_TIMES");
        tell("producer", "asked about " + text(message), times + " COMMIT_MESSAGE");
        ASKED.countDown();
        return LocalTransactionState.COMMIT_MESSAGE;
      }
    });
    producer.start();
    for (LocalTransactionState state : LocalTransactionState.values()) {
      Message message = new Message(topic, "tag", "key " + state, state.name().getBytes("UTF-8"));
      TransactionSendResult result = producer.sendMessageInTransaction(message, state);
      String said = result.getSendStatus() + " " + result.getLocalTransactionState();
      tell("producer", "sends " + state, said);
    }
    System.out.println("sent");
    ASKED.await(120, TimeUnit.SECONDS);
    DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(prefix + "stock");
    consumer.setNamesrvAddr(args[0]);
    consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
    consumer.setConsumeThreadMin(1);
    consumer.setConsumeThreadMax(1);
    consumer.subscribe(topic, "tag");
    consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
      for (MessageExt message : messages) {
        tell("consumer", "gets " + text(message), message.getTags() + " " + message.getKeys());
        GOT.countDown();
      }
      return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    });
    consumer.start();
    GOT.await(120, TimeUnit.SECONDS);
    System.out.println("end");
    Runtime.getRuntime().halt(0); // the client's threads would go on
  }

  static String text(Message message) {
    return new String(message.getBody());
  }

  static synchronized void tell(String who, String what, String said) {
    System.out.println(who + "\t" + what + "\t" + said);
    System.out.flush();
  }
}
