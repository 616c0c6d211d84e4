import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.spring.annotation.RocketMQMessageListener;
import org.apache.rocketmq.spring.annotation.RocketMQTransactionListener;
import org.apache.rocketmq.spring.core.RocketMQListener;
import org.apache.rocketmq.spring.core.RocketMQLocalTransactionListener;
import org.apache.rocketmq.spring.core.RocketMQLocalTransactionState;
import org.apache.rocketmq.spring.core.RocketMQTemplate;
import org.springframework.boot.Banner;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.messaging.Message;
import org.springframework.messaging.support.MessageBuilder;

/**
 * The story of TransactionStory.java, told by an application of Spring's starter; and a message for
 * a time of delivery.
 */
@EnableAutoConfiguration
public class SpringStory {
  static final CountDownLatch ASKED = new CountDownLatch(1);
  static final CountDownLatch GOT = new CountDownLatch(3);

  public static void main(String[] args) throws Exception {
    Thread.setDefaultUncaughtExceptionHandler((thread, error) -> Runtime.getRuntime().halt(1));
    String prefix = args[1].replaceAll("[^A-Za-z0-9_-]", "-");
    String topic = prefix + args[2];
    Map<String, Object> settings = Map.of(
        "rocketmq.name-server", args[0],
        "rocketmq.producer.group", prefix + "order-service",
        "rocketmq.producer.send-message-timeout", 60_000, // of a busy machine
        "orders", topic,
        "stock", prefix + "stock",
        "logging.level.root", "OFF");
    var context = new SpringApplicationBuilder(SpringStory.class, Checks.class, Stock.class)
        .properties(settings).bannerMode(Banner.Mode.OFF).run();
    var template = context.getBean(RocketMQTemplate.class);
    for (String state : new String[] {"COMMIT", "ROLLBACK", "UNKNOWN"}) {
      var result = template.sendMessageInTransaction(topic + ":tag", build(state), state);
      String said = result.getSendStatus() + " " + result.getLocalTransactionState();
      tell("producer", "sends " + state, said);
    }
    System.out.println("sent");
    ASKED.await(120, TimeUnit.SECONDS);
    SendResult later = template.syncSendDelayTimeSeconds(topic + ":tag", build("later"), 1);
    tell("producer", "sends later", later.getSendStatus().name());
    GOT.await(120, TimeUnit.SECONDS);
    Stock.SEEN.forEach((text, said) -> tell("consumer", "gets " + text, said));
    System.out.println("end");
    Runtime.getRuntime().halt(0); // the client's threads would go on
  }

  static Message<String> build(String text) {
    return MessageBuilder.withPayload(text).setHeader("KEYS", "key " + text).build();
  }

  @RocketMQTransactionListener
  static class Checks implements RocketMQLocalTransactionListener {
    @Override
    public RocketMQLocalTransactionState executeLocalTransaction(Message message, Object state) {
      return RocketMQLocalTransactionState.valueOf((String) state);
    }

    @Override
    public RocketMQLocalTransactionState checkLocalTransaction(Message message) {
      String text = new String((byte[]) message.getPayload());
      Object times = message.getHeaders().get("TRANSACTION_CHECK_TIMES");
      tell("producer", "asked about " + text, times + " COMMIT");
      ASKED.countDown();
      return RocketMQLocalTransactionState.COMMIT;
    }
  }

  @RocketMQMessageListener(topic = "${orders}", consumerGroup = "${stock}",
      selectorExpression = "tag")
  static class Stock implements RocketMQListener<MessageExt> {
    static final Map<String, String> SEEN = new ConcurrentSkipListMap<>();

    @Override
    public void onMessage(MessageExt message) {
      String text = new String(message.getBody());
      SEEN.put(text, message.getTags() + " " + message.getKeys());
      GOT.countDown();
    }
  }

  static synchronized void tell(String who, String what, String said) {
    System.out.println(who + "\t" + what + "\t" + said);
    System.out.flush();
  }
}
