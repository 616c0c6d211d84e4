import static org.apache.rocketmq.client.producer.LocalTransactionState.COMMIT_MESSAGE;
import static org.apache.rocketmq.client.producer.LocalTransactionState.ROLLBACK_MESSAGE;
import static org.apache.rocketmq.client.producer.LocalTransactionState.UNKNOW;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * What the official Java client, unmodified, sees of a broker: one story a run.
 *
 * <p>java -cp 'lib/*' ClientStories.java NAME_SERVER PREFIX STORY prints one line for each thing
 * that happened: who, what, what came of it, with tabs between. Lines of several threads are
 * collected and sorted, so a story has one output. A line of one word says how far it has come.
 * Topics and groups begin with the prefix and the story's name.
 */
public class ClientStories {
  static final long PATIENCE_MS = 120_000;
  static String address;
  static String prefix;
  static String story;

  public static void main(String[] args) throws Exception {
    address = args[0];
    prefix = args[1].replaceAll("[^A-Za-z0-9_-]", "-");
    story = prefix + args[2];
    // A consumer that broadcasts keeps its offsets in files; those of an earlier run are none.
    var offsets = Files.createTempDirectory("offsets").toString();
    System.setProperty("rocketmq.client.localOffsetStoreDir", offsets);
    switch (args[2]) {
      case "transactions" -> transactions();
      case "dying" -> dying();
      case "heir" -> heir();
      case "clustering" -> clustering();
      case "subscriptions" -> subscriptions();
      case "broadcasting" -> broadcasting();
      case "retries" -> retries();
      case "pulling" -> pulling();
      case "ordered" -> ordered();
      case "delayed" -> delayed();
      case "querying" -> querying();
      default -> throw new IllegalArgumentException(args[2]);
    }
    System.out.println("end");
    System.exit(0); // the client's threads would go on
  }

  // ---- transactions --------------------------------------------------------------------------

  /** Commit, rollback, an exception, unknown and then asked; a consumer gets what was committed. */
  static void transactions() throws Exception {
    var asked = new ConcurrentHashMap<String, AtomicInteger>();
    var checks = new AtomicInteger();
    var producer = transacting(story, message -> switch (text(message).split(" ")[0]) {
      case "commit" -> COMMIT_MESSAGE;
      case "rollback" -> ROLLBACK_MESSAGE;
      case "throw" -> throw new IllegalStateException("the database is away");
      default -> UNKNOW;
    }, message -> {
      int time = asked.computeIfAbsent(text(message), key -> new AtomicInteger())
          .incrementAndGet();
      String times = message.getProperty("TRANSACTION_CHECK_TIMES");
      if (!times.equals("" + time)) say("check", text(message), times + ", not " + time);
      checks.incrementAndGet();
      if (!text(message).endsWith("commit")) return ROLLBACK_MESSAGE;
      return text(message).contains("twice") && time < 2 ? UNKNOW : COMMIT_MESSAGE;
    });
    createTopic(producer, story, 4);
    for (String text : List.of("commit", "rollback", "throw then commit", "unknown then commit",
        "unknown then rollback", "unknown twice then commit")) {
      call("producer", text, () -> {
        var message = new Message(story, "tag", text, bytes(text));
        var result = producer.sendMessageInTransaction(message, null);
        return result.getSendStatus() + " " + result.getLocalTransactionState();
      });
    }
    System.out.println("sent");
    var got = new ConcurrentLinkedQueue<String>();
    consume("consumer", story, got, ClientStories::text);
    until(() -> checks.get() == 4);
    Thread.sleep(1_000); // the broker hears the answers, or the next round would ask again
    System.out.println("asked");
    until(() -> checks.get() == 5);
    until(() -> got.size() == 4);
    new TreeMap<>(asked)
        .forEach((text, times) -> say("producer", "asked about " + text, "" + times));
    sorted("consumer", "got", got);
  }

  /** A producer that dies between its local transaction and its end. */
  static void dying() throws Exception {
    var producer = transacting(prefix + "heirs", message -> {
      say("producer", "dies with", text(message));
      System.out.flush();
      Runtime.getRuntime().halt(9);
      return null;
    }, message -> ROLLBACK_MESSAGE);
    createTopic(producer, prefix + "heirs", 1);
    var message = new Message(prefix + "heirs", "tag", "key", bytes("paid"));
    producer.sendMessageInTransaction(message, null);
  }

  /** Another producer of its group, in another process, is asked instead. */
  static void heir() throws Exception {
    var producer = transacting(prefix + "heirs", message -> COMMIT_MESSAGE, message -> {
      say("heir", "is asked about", text(message));
      return COMMIT_MESSAGE;
    });
    createTopic(producer, prefix + "heirs-hello", 1);
    // Whoever has never sent does not know the broker, and sends no heartbeat there (5.1.1).
    producer.send(new Message(prefix + "heirs-hello", bytes("hello")));
    System.out.println("ready");
    var got = new ConcurrentLinkedQueue<String>();
    consume("heirs-consumer", prefix + "heirs", got, ClientStories::text);
    until(() -> got.size() == 1);
    sorted("consumer", "got", got);
  }

  // ---- consumers -----------------------------------------------------------------------------

  /** Two consumers of a group, each with a topic of its own: each is given half of its queues. */
  static void subscriptions() throws Exception {
    var producer = producer(story + "orders", 2);
    createTopic(producer, story + "payments", 2);
    var got = new ConcurrentLinkedQueue<String>();
    var first = subscribed("first", story + "orders");
    var second = subscribed("second", story + "payments");
    for (var consumer : List.of(first, second)) collect(consumer, got);
    until(() -> queues(first) == 1 && queues(second) == 1);
    say("group", "queues of first, second", queues(first) + ", " + queues(second));
    for (var topic : List.of("orders", "payments")) sendToEach(producer, story + topic, 2, topic);
    until(() -> got.size() == 2);
    sorted("both", "got", got);
    second.shutdown();
    until(() -> got.size() == 3);
    sorted("both", "got when second was gone", got);
  }

  /** Two consumers of a group share the queues; when one leaves the other has them all. */
  static void clustering() throws Exception {
    var producer = producer(story, 4);
    var got = new ConcurrentLinkedQueue<String>();
    var first = subscribed("first", story);
    var second = subscribed("second", story);
    for (var consumer : List.of(first, second)) collect(consumer, got);
    until(() -> queues(first) == 2 && queues(second) == 2);
    say("group", "queues of first, second", queues(first) + ", " + queues(second));
    sendToEach(producer, 4, "a");
    until(() -> got.size() == 4);
    sorted("both", "got", names(got));
    second.shutdown();
    until(() -> queues(first) == 4);
    say("group", "queues of first", "" + queues(first));
    got.clear();
    sendToEach(producer, 4, "b");
    until(() -> got.size() == 4);
    sorted("first", "got", got);
  }

  /** Every consumer of a group gets every message. */
  static void broadcasting() throws Exception {
    var producer = producer(story, 2);
    var got = new ConcurrentLinkedQueue<String>();
    var all = List.of(subscribed("first", story), subscribed("second", story));
    for (var consumer : all) {
      var models = consumer.getMessageModel().getDeclaringClass(); // it has moved in 5
      consumer.setMessageModel(Enum.valueOf(models, "BROADCASTING"));
      collect(consumer, got);
    }
    until(() -> all.stream().allMatch(consumer -> queues(consumer) == 2));
    sendToEach(producer, 2, "news");
    until(() -> got.size() == 4);
    sorted("consumer", "got", got);
  }

  /** Refused once, then taken; refused for ever, then in the DLQ. */
  static void retries() throws Exception {
    var producer = producer(story, 1);
    var got = new ConcurrentLinkedQueue<String>();
    var consumer = subscribed("consumer", story);
    consumer.setMaxReconsumeTimes(2);
    consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
      context.setDelayLevelWhenNextConsume(1);
      var message = messages.get(0);
      got.add(text(message) + " of " + message.getTopic().substring(prefix.length()) + ", time "
          + message.getReconsumeTimes());
      boolean enough = text(message).equals("once") && message.getReconsumeTimes() > 0;
      return enough
          ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS
          : ConsumeConcurrentlyStatus.RECONSUME_LATER;
    });
    consumer.start();
    producer.send(new Message(story, bytes("once")));
    producer.send(new Message(story, bytes("never")));
    until(() -> got.size() == 5);
    sorted("consumer", "got", got);
    var dead = new ConcurrentLinkedQueue<String>();
    consume("undertaker", "%DLQ%" + story + "-group", dead,
        message -> text(message) + ", time " + message.getReconsumeTimes());
    until(() -> dead.size() == 1);
    sorted("undertaker", "got", dead);
  }

  /** The lite pull consumer: subscribed, it polls and commits; assigned, it seeks. */
  static void pulling() throws Exception {
    var producer = producer(story, 1);
    for (int i = 0; i < 5; i++) producer.send(new Message(story, bytes("m" + i)));
    var lite = new DefaultLitePullConsumer(story + "-group");
    at(lite).subscribe(story, "*");
    lite.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
    lite.setAutoCommit(false);
    lite.start();
    say("lite", "polled", poll(lite, 5));
    lite.commitSync();
    var queue = lite.fetchMessageQueues(story).iterator().next();
    until(() -> lite.committed(queue) == 5);
    say("lite", "committed", "" + lite.committed(queue));
    lite.shutdown();
    var assigned = new DefaultLitePullConsumer(story + "-other");
    at(assigned).setAutoCommit(false);
    assigned.start();
    assigned.assign(List.of(queue));
    assigned.seek(queue, 3);
    say("assigned", "polled from 3", poll(assigned, 2));
    assigned.seekToBegin(queue);
    say("assigned", "polled from the beginning", poll(assigned, 5));
  }

  /** Messages of one order in one queue; a listener that suspends sees them in order. */
  static void ordered() throws Exception {
    var producer = producer(story, 4);
    for (int i = 0; i < 12; i++) {
      var message = new Message(story, bytes("order " + i % 3 + " step " + i / 3));
      producer.send(message, (queues, sent, order) -> queues.get((Integer) order), i % 3);
    }
    var got = new ConcurrentHashMap<Integer, ConcurrentLinkedQueue<String>>();
    var count = new AtomicInteger();
    var suspended = new AtomicInteger();
    var consumer = subscribed("consumer", story);
    consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
      var message = messages.get(0);
      if (text(message).equals("order 1 step 1") && suspended.getAndIncrement() < 2) {
        return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
      }
      got.computeIfAbsent(message.getQueueId(), queue -> new ConcurrentLinkedQueue<>())
          .add(text(message));
      count.incrementAndGet();
      return ConsumeOrderlyStatus.SUCCESS;
    });
    consumer.start();
    until(() -> count.get() == 12);
    new TreeMap<>(got)
        .forEach((queue, texts) -> say("queue " + queue, "got", String.join(", ", texts)));
    say("consumer", "suspended", suspended.get() - 1 + " times");
  }

  /** A delay level: the message comes by a topic of the broker's own, and keeps its level. */
  static void delayed() throws Exception {
    var producer = producer(story, 1);
    var late = new Message(story, bytes("late"));
    late.setDelayTimeLevel(2);
    producer.send(late);
    producer.send(new Message(story, bytes("at once")));
    var got = new ConcurrentLinkedQueue<String>();
    consume("consumer", story, got,
        message -> text(message) + " level " + message.getDelayTimeLevel());
    until(() -> got.size() == 2);
    sorted("consumer", "got", got);
  }

  // ---- administration ------------------------------------------------------------------------

  static void querying() throws Exception {
    var producer = producer(story, 2);
    say("producer", "queues", "" + producer.fetchPublishMessageQueues(story).size());
    long before = System.currentTimeMillis();
    var first = producer.send(new Message(story, "tag", "k1", bytes("one")));
    producer.send(new Message(story, "tag", "k1 k2", bytes("two")));
    var found = new ArrayList<String>();
    until(() -> {
      found.clear();
      for (var message : producer.queryMessage(story, "k1", 32, before - 60_000,
          System.currentTimeMillis() + 60_000).getMessageList()) found.add(text(message));
      return found.size() == 2;
    });
    sorted("producer", "by key k1", found);
    say("producer", "by id", text(producer.viewMessage(story, first.getMsgId())));
    say("producer", "by offset id", text(producer.viewMessage(story, first.getOffsetMsgId())));
    call("producer", "by key k3",
        () -> "" + producer.queryMessage(story, "k3", 32, 0, Long.MAX_VALUE).getMessageList());
    var queue = first.getMessageQueue();
    say("producer", "offsets", producer.minOffset(queue) + " to " + producer.maxOffset(queue));
    boolean now = producer.earliestMsgStoreTime(queue) >= before - 1000;
    say("producer", "earliest", now ? "now" : "old");
    say("producer", "since the beginning", "" + producer.searchOffset(queue, before - 60_000));
  }

  // ---- what the stories share ----------------------------------------------------------------

  static <T extends ClientConfig> T at(T client) {
    client.setNamesrvAddr(address);
    client.setHeartbeatBrokerInterval(1000);
    client.setPollNameServerInterval(1000);
    client.setPersistConsumerOffsetInterval(500);
    return client;
  }

  /** A producer of transactions, started. `check`: what it answers when it is asked. */
  static DefaultMQProducer transacting(
      String name, Function<Message, LocalTransactionState> local,
      Function<MessageExt, LocalTransactionState> check) throws Exception {
    var producer = new TransactionMQProducer(name + "-producer");
    at(producer).setTransactionListener(new TransactionListener() {
      @Override
      public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
        return local.apply(message);
      }

      @Override
      public LocalTransactionState checkLocalTransaction(MessageExt message) {
        return check.apply(message);
      }
    });
    producer.start();
    return producer;
  }

  /** A producer, started, and a topic of so many queues. */
  static DefaultMQProducer producer(String topic, int queues) throws Exception {
    var producer = new DefaultMQProducer(story + "-producer");
    at(producer).setRetryTimesWhenSendFailed(0);
    producer.start();
    createTopic(producer, topic, queues);
    return producer;
  }

  /** A broker that has just started is not known to its name server at once. */
  static void createTopic(DefaultMQProducer producer, String topic, int queues) throws Exception {
    until(() -> {
      try {
        askForTopic(producer, topic, queues);
        return producer.fetchPublishMessageQueues(topic).size() == queues;
      } catch (MQClientException | InvocationTargetException later) {
        return false;
      }
    });
  }

  /** Its last argument is new in 5: the topic's attributes. */
  static void askForTopic(DefaultMQProducer producer, String topic, int queues) throws Exception {
    Object[] given = {"TBW102", topic, queues, Map.of()};
    var shortest = Arrays.stream(DefaultMQProducer.class.getMethods())
        .filter(method -> method.getName().equals("createTopic"))
        .min(Comparator.comparing(Method::getParameterCount)).get();
    shortest.invoke(producer, Arrays.copyOf(given, shortest.getParameterCount()));
  }

  static void sendToEach(DefaultMQProducer producer, int queues, String text) throws Exception {
    sendToEach(producer, story, queues, text);
  }

  static void sendToEach(DefaultMQProducer producer, String topic, int queues, String text)
      throws Exception {
    for (int i = 0; i < queues; i++) {
      var message = new Message(topic, bytes(text + i));
      producer.send(message, (all, sent, number) -> all.get((Integer) number), i);
    }
  }

  /** A consumer of the story's group, not started, that reads a topic from its first message on. */
  static DefaultMQPushConsumer subscribed(String name, String topic) throws Exception {
    return subscribed("group", name, topic);
  }

  static DefaultMQPushConsumer subscribed(String group, String name, String topic)
      throws Exception {
    var consumer = at(new DefaultMQPushConsumer(story + "-" + group));
    consumer.setInstanceName(name);
    consumer.subscribe(topic, "*");
    consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
    return consumer;
  }

  static void consume(
      String group, String topic, ConcurrentLinkedQueue<String> got,
      Function<MessageExt, String> seen)
      throws Exception {
    collect(subscribed(group, group, topic), got, seen);
  }

  /** What a consumer gets begins with its name. */
  static void collect(DefaultMQPushConsumer consumer, ConcurrentLinkedQueue<String> got)
      throws Exception {
    String name = consumer.getInstanceName();
    collect(consumer, got, message -> name + " " + text(message));
  }

  static void collect(
      DefaultMQPushConsumer consumer, ConcurrentLinkedQueue<String> got,
      Function<MessageExt, String> seen)
      throws Exception {
    consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
      messages.forEach(message -> got.add(seen.apply(message)));
      return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    });
    consumer.start();
  }

  static List<String> names(Iterable<String> got) {
    var out = new ArrayList<String>();
    got.forEach(one -> out.add(one.substring(one.indexOf(' ') + 1)));
    return out;
  }

  /** How many queues of the story's topics a consumer has, its group's retry topic not counted. */
  static int queues(DefaultMQPushConsumer consumer) {
    var has = consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable();
    return (int) has.keySet().stream().filter(queue -> queue.getTopic().startsWith(story)).count();
  }

  static String poll(DefaultLitePullConsumer lite, int most) throws Exception {
    var out = new ArrayList<String>();
    until(() -> {
      lite.poll(200).forEach(message -> out.add(text(message)));
      return out.size() >= most;
    });
    return String.join(", ", out);
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(Message message) {
    return new String(message.getBody(), StandardCharsets.UTF_8);
  }

  static void until(Callable<Boolean> holds) throws Exception {
    long end = System.currentTimeMillis() + PATIENCE_MS;
    while (!holds.call()) {
      if (System.currentTimeMillis() > end) {
        say("story", "gives up", "what it waits for does not come");
        System.out.flush();
        Runtime.getRuntime().halt(1);
      }
      Thread.sleep(50);
    }
  }

  static void sorted(String who, String what, Iterable<String> rows) {
    var all = new ArrayList<String>();
    rows.forEach(all::add);
    all.sort(null);
    say(who, what, String.join("; ", all));
  }

  static void call(String who, String what, Callable<String> call) {
    String said;
    try {
      said = call.call();
    } catch (Exception error) {
      said = error.getClass().getSimpleName() + " " + error.getMessage().lines().findFirst().get();
    }
    say(who, what, said);
  }

  static synchronized void say(String who, String what, String said) {
    System.out.println(who + "\t" + what + "\t" + said);
  }
}
