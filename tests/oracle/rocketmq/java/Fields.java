import java.net.SocketAddress;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.BooleanSupplier;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Every field of a message as the Java client, unmodified, hands it to an application.
 *
 * <p>java -cp 'lib/*' Fields.java NAME_SERVER PREFIX CODEC sends bodies of several sizes with one
 * codec (ZLIB, LZ4, ZSTD): as ordinary messages, committed by their producer, committed by a check.
 * Those that their producer commits are refused twice by the consumer, which sees them retried, and
 * then lie in the dead letter queue. A line printed is an observation: who, call, result, with tabs
 * between; of messages that look the same in one fate there is one.
 *
 * <p>A time, an id and an offset are told by what they refer to, all else as it is.
 */
public class Fields {
  static final int[] SIZES = {0, 1, 4_095, 4_096, 1 << 20};
  static final int TAKEN = SIZES.length - 1; // an empty body is refused by the client
  static final long LOCAL_MS = 50; // of a local transaction, which parts a half from its message
  static final long PATIENCE_MS = 120_000;
  static String prefix;
  static SocketAddress broker;
  /** What was sent, by its unique key. */
  static final Map<String, Sent> SENT = new ConcurrentHashMap<>();
  /** fate → size → what was seen of that message. */
  static final Map<String, Map<Integer, String>> SEEN = new ConcurrentSkipListMap<>();

  /** `before` and `after`: the send of an ordinary message or of a half; `offset`: where an answer
   * or a check says that it lies; `delivered`: the offset's id of its first delivery. */
  static class Sent {
    Message message;
    int size;
    byte[] body;
    long before;
    long after;
    long offset = -1;
    String delivered = "";
  }

  public static void main(String[] args) throws Exception {
    System.setProperty("rocketmq.message.compressType", args[2]); // read when a producer is made
    prefix = args[1].replaceAll("[^A-Za-z0-9_-]", "-");
    var producer = new TransactionMQProducer(prefix + "order-service");
    producer.setNamesrvAddr(args[0]);
    producer.setSendMsgTimeout((int) PATIENCE_MS); // of a machine that has much else to do
    producer.setTransactionListener(new Listener());
    producer.start();
    for (String fate : List.of("ordinary", "committed", "checked")) {
      for (int size : SIZES) send(producer, fate, size);
      tell("app", "send " + fate, "sent " + fate);
    }
    consume(args[0], "readers", List.of("ordinary", "committed", "checked"));
    until(() -> count("ordinary") == TAKEN && count("committed") == TAKEN);
    System.out.println("sent"); // a round may come
    until(() -> count("retried") == TAKEN);
    consume(args[0], "undertakers", List.of("%DLQ%" + prefix + "readers"));
    until(() -> count("dead") == TAKEN && count("checked") == TAKEN);
    for (String fate : List.of("ordinary", "committed", "retried", "dead", "asked about",
        "checked")) {
      tell("client", fate, fate);
    }
    System.out.println("end");
    System.out.flush();
    Runtime.getRuntime().halt(0); // the client's threads would go on
  }

  static void send(TransactionMQProducer producer, String fate, int size) throws Exception {
    var sent = new Sent();
    sent.size = size;
    sent.body = new byte[size];
    for (int i = 0; i < size; i++) sent.body[i] = (byte) ('a' + i * i % 23);
    sent.message = new Message(prefix + fate, "paid", "k1 k2", sent.body.clone());
    sent.message.setFlag(7 + size % 5);
    sent.message.putUserProperty("colour", "dark red");
    sent.message.putUserProperty("Größe", "größer als 1");
    sent.before = System.currentTimeMillis();
    try {
      SendResult result = fate.equals("ordinary")
          ? producer.send(sent.message) : producer.sendMessageInTransaction(sent.message, sent);
      if (fate.equals("ordinary")) sent.after = System.currentTimeMillis();
      if (result.getOffsetMsgId() != null) { // none of a half's
        var stored = MessageDecoder.decodeMessageId(result.getOffsetMsgId());
        sent.offset = stored.getOffset();
        broker = stored.getAddress();
      }
      SENT.put(result.getMsgId(), sent);
      note("sent " + fate, size, result.getSendStatus() + " " + result.getMessageQueue().getQueueId()
          + " @" + result.getQueueOffset() + ", transactionId " + id(sent, result.getTransactionId(), null)
          + ", region " + result.getRegionId() + ", traced " + result.isTraceOn());
    } catch (MQClientException refused) {
      String said = refused.getErrorMessage() != null ? refused.getErrorMessage()
          : refused.getMessage().lines().findFirst().get();
      note("sent " + fate, size, "refused: " + said.trim());
    }
  }

  static class Listener implements TransactionListener {
    @Override
    public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
      ((Sent) argument).after = System.currentTimeMillis();
      sleep(LOCAL_MS);
      return message.getTopic().endsWith("committed")
          ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.UNKNOW;
    }

    @Override
    public LocalTransactionState checkLocalTransaction(MessageExt message) {
      note("asked about", message);
      SENT.get(message.getProperty("UNIQ_KEY")).offset = message.getCommitLogOffset();
      return LocalTransactionState.COMMIT_MESSAGE;
    }
  }

  /** What was committed by its producer is refused twice, which is once too often. */
  static void consume(String names, String group, List<String> topics)
      throws Exception {
    var consumer = new DefaultMQPushConsumer(prefix + group);
    consumer.setNamesrvAddr(names);
    consumer.setInstanceName(group);
    consumer.setPollNameServerInterval(1000); // the topic of the dead comes late
    consumer.setMaxReconsumeTimes(1);
    consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
    for (String topic : topics) {
      consumer.subscribe(topic.startsWith("%") ? topic : prefix + topic, "*");
    }
    consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
      context.setDelayLevelWhenNextConsume(1);
      var message = messages.get(0);
      if (message.getTopic().startsWith("%DLQ%")) {
        note("dead", message);
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
      }
      String topic = message.getTopic().substring(prefix.length());
      note(message.getReconsumeTimes() > 0 ? "retried" : topic, message);
      return topic.equals("committed")
          ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    });
    consumer.start();
  }

  // ---- what is told of a message -------------------------------------------------------------

  static void note(String fate, MessageExt message) {
    Sent sent = SENT.get(message.getProperty("UNIQ_KEY"));
    if (sent.delivered.isEmpty() && !fate.equals("asked about")) sent.delivered = offsetId(message);
    note(fate, sent.size, fields(fate, sent, message));
  }

  static String fields(String fate, Sent sent, MessageExt message) {
    boolean ordered = List.of("ordinary", "committed").contains(fate); // the others race
    long prepared = message.getPreparedTransactionOffset();
    var told = new TreeMap<String, Object>();
    told.put("body", Arrays.equals(sent.body, message.getBody()) ? "as written" : "CHANGED");
    told.put("born", time(sent, message.getBornTimestamp()) + " by " + host(message.getBornHost()));
    if (fate.equals("ordinary")) told.put("commitLogOffset", place(sent, message.getCommitLogOffset(), message));
    told.put("flag", message.getFlag() == sent.message.getFlag() ? "as sent" : message.getFlag());
    told.put("msgId", id(sent, message.getMsgId(), message));
    told.put("offsetMsgId", message instanceof MessageClientExt delivered
        ? id(sent, delivered.getOffsetMsgId(), message) : "none");
    told.put("preparedTransactionOffset", prepared == 0 ? "0" : place(sent, prepared, message));
    if (ordered) told.put("queueOffset", message.getQueueOffset() - Arrays.binarySearch(SIZES,
        sent.size) + 1 == 0 ? "as sent" : message.getQueueOffset());
    told.put("queueId", message.getQueueId());
    told.put("reconsumeTimes", message.getReconsumeTimes());
    told.put("stored", time(sent, message.getStoreTimestamp()) + " at "
        + host(message.getStoreHost()));
    told.put("sysFlag", "0x" + Integer.toHexString(message.getSysFlag()));
    told.put("topic", message.getTopic().replace(prefix, ""));
    told.put("transactionId", id(sent, message.getTransactionId(), message));
    var properties = new TreeMap<String, String>();
    message.getProperties().forEach((name, value) -> properties.put(name, switch (name) {
      case "MAX_OFFSET" ->
          Long.parseLong(value) > message.getQueueOffset() ? "behind it" : "NOT behind it";
      case "CONSUME_START_TIME" -> Long.parseLong(value) >= sent.before ? "now" : value;
      default -> id(sent, value, message);
    }));
    return told + " " + properties;
  }

  static String id(Sent sent, String value, MessageExt message) {
    if (value == null) return "none";
    if (message != null && value.equals(offsetId(message))) return "where it lies";
    if (value.equals(sent.message.getProperty("UNIQ_KEY"))) return "its key";
    return value.equals(sent.delivered) ? "its first delivery" : value.replace(prefix, "");
  }

  /** Of a message, or of the half that it was. */
  static String place(Sent sent, long offset, MessageExt message) {
    if (offset == sent.offset) return "as told before";
    return offset < message.getCommitLogOffset() ? "before it" : "NOT before it";
  }

  /** The local transaction, or the end of the send, parts the two. */
  static String time(Sent sent, long at) {
    if (at < sent.before) return "TOO EARLY";
    return sent.after == 0 || at <= sent.after ? "while sent" : "later";
  }

  static String host(SocketAddress host) {
    return host.equals(broker) ? "broker" : "client";
  }

  static String offsetId(MessageExt message) {
    return MessageDecoder.createMessageId(message.getStoreHost(), message.getCommitLogOffset());
  }

  // ---- what the fates share ------------------------------------------------------------------

  static void note(String fate, int size, String said) {
    SEEN.computeIfAbsent(fate, name -> new ConcurrentSkipListMap<>())
        .merge(size, said, (one, other) -> one + " AND AGAIN " + other);
  }

  static int count(String fate) {
    return SEEN.getOrDefault(fate, Map.of()).size();
  }

  /** One line for all messages of which the same is told. */
  static void tell(String who, String what, String fate) {
    var alike = new LinkedHashMap<String, String>();
    SEEN.get(fate).forEach((size, said) -> alike.merge(said, "" + size, (a, b) -> a + ", " + b));
    alike.forEach((said, sizes) ->
        System.out.println(who + "\t" + what + ": " + sizes + "\t" + said));
  }

  static void until(BooleanSupplier holds) {
    long end = System.currentTimeMillis() + PATIENCE_MS;
    while (!holds.getAsBoolean()) {
      if (System.currentTimeMillis() > end) {
        System.out.println("story\tgives up\t" + SEEN);
        System.out.flush();
        Runtime.getRuntime().halt(1);
      }
      sleep(50);
    }
  }

  static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException never) {
      throw new IllegalStateException(never);
    }
  }
}
