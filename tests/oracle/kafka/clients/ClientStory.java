import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/**
 * The story of every client library (see libraries.py), for kafka-clients of any version from 2.3.
 *
 * <p>java -cp 'lib/*' ClientStory.java ADDRESS PREFIX prints one line a call: who, the call, what
 * came of it, with tabs between.
 */
public class ClientStory {
  static String address;
  static String prefix;
  static final List<String> CONFIGS =
      List.of("cleanup.policy", "compression.type", "max.message.bytes", "min.insync.replicas",
          "retention.ms", "segment.bytes");

  public static void main(String[] args) throws Exception {
    address = args[0];
    prefix = args[1];
    try (var admin = AdminClient.create(settings(Map.of()))) {
      administer(admin);
      try (var plain = producer(Map.of("enable.idempotence", "true"))) {
        call("plain", "send a", () -> send(plain, 0, "a"));
        call("plain", "send z", () -> send(plain, 1, "z"));
      }
      var app = producer(Map.of("transactional.id", prefix + "A"));
      transactions(app);
      call("reader", "read_committed", () -> read("read_committed"));
      call("reader", "read_uncommitted", () -> read("read_uncommitted"));
      offsets(app);
      call("admin", "offsets of billing", () -> committed(admin, "billing"));
      zombie(app);
      call("worker", "consumes", ClientStory::consume);
      call("admin", "offsets of accounting", () -> committed(admin, "accounting"));
    }
  }

  static void administer(AdminClient admin) throws Exception {
    var topic = List.of(new NewTopic(prefix + "orders", 2, (short) 1));
    call("admin", "create orders", () -> done(admin.createTopics(topic).all().get()));
    call("admin", "create orders again", () -> done(admin.createTopics(topic).all().get()));
    call("admin", "configs of orders", () -> {
      var name = new ConfigResource(ConfigResource.Type.TOPIC, prefix + "orders");
      var found = admin.describeConfigs(List.of(name)).all().get().get(name);
      var out = new ArrayList<String>();
      for (String key : CONFIGS) out.add(key + "=" + found.get(key).value());
      return String.join(", ", out);
    });
  }

  static void transactions(KafkaProducer<String, String> app) {
    call("app", "init", () -> done(app::initTransactions));
    call("app", "begin", () -> done(app::beginTransaction));
    call("app", "send b", () -> send(app, 0, "b"));
    call("app", "send c", () -> send(app, 0, "c"));
    call("app", "commit", () -> done(app::commitTransaction));
    call("app", "begin", () -> done(app::beginTransaction));
    call("app", "send x", () -> send(app, 0, "x"));
    call("app", "abort", () -> done(app::abortTransaction));
  }

  /** Offsets in the transaction, with words of one's own and the leader epoch. */
  static void offsets(KafkaProducer<String, String> app) {
    var at = Map.of(new TopicPartition(prefix + "orders", 0),
        new OffsetAndMetadata(3, Optional.of(0), "half way"));
    call("app", "begin", () -> done(app::beginTransaction));
    call("app", "send d", () -> send(app, 0, "d"));
    call("app", "send offsets 3", () -> sendOffsets(app, at));
    call("app", "commit", () -> done(app::commitTransaction));
  }

  /** By the group's name until 3.x, by its metadata from 2.5 on. */
  static String sendOffsets(
      KafkaProducer<String, String> app, Map<TopicPartition, OffsetAndMetadata> at)
      throws Exception {
    try {
      var kind = Class.forName("org.apache.kafka.clients.consumer.ConsumerGroupMetadata");
      var group = kind.getConstructor(String.class).newInstance(prefix + "billing");
      var method = KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, kind);
      return invoked(() -> method.invoke(app, at, group));
    } catch (ClassNotFoundException old) {
      var method =
          KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, String.class);
      return invoked(() -> method.invoke(app, at, prefix + "billing"));
    }
  }

  static String invoked(Callable<Object> call) throws Exception {
    try {
      call.call();
      return "ok";
    } catch (java.lang.reflect.InvocationTargetException error) {
      throw (Exception) error.getCause();
    }
  }

  static void zombie(KafkaProducer<String, String> app) {
    var twin = producer(Map.of("transactional.id", prefix + "A"));
    call("twin", "init", () -> done(twin::initTransactions));
    call("app", "begin", () -> done(app::beginTransaction));
    call("app", "send e", () -> send(app, 0, "e"));
    call("app", "commit", () -> done(app::commitTransaction));
    call("twin", "begin", () -> done(twin::beginTransaction));
    call("twin", "send f", () -> send(twin, 0, "f"));
    call("twin", "commit", () -> done(twin::commitTransaction));
    app.close(Duration.ofSeconds(1));
    twin.close();
  }

  static String read(String isolation) {
    try (var reader = consumer(Map.of("isolation.level", isolation))) {
      var at = new TopicPartition(prefix + "orders", 0);
      reader.assign(List.of(at));
      reader.seekToBeginning(List.of(at));
      long end = reader.endOffsets(List.of(at)).get(at);
      var out = new ArrayList<String>();
      while (reader.position(at) < end) {
        for (var record : reader.poll(Duration.ofMillis(100))) out.add(shown(record));
      }
      return String.join(", ", out);
    }
  }

  /** A member of a group reads all there is, commits, and goes. */
  static String consume() {
    try (var worker = consumer(Map.of("group.id", prefix + "accounting",
        "isolation.level", "read_committed", "auto.offset.reset", "earliest"))) {
      worker.subscribe(List.of(prefix + "orders"));
      var out = new TreeSet<String>();
      while (out.size() < 6 || behind(worker)) {
        for (var record : worker.poll(Duration.ofMillis(100))) {
          out.add(record.partition() + ": " + shown(record));
        }
      }
      worker.commitSync();
      return String.join(", ", out);
    }
  }

  /** Whether there is more, a marker perhaps. */
  static boolean behind(KafkaConsumer<String, String> worker) {
    return worker.endOffsets(worker.assignment()).entrySet().stream()
        .anyMatch(end -> worker.position(end.getKey()) < end.getValue());
  }

  /** Asked until there is something: a transaction's offsets count from its marker on. */
  static String committed(AdminClient admin, String group) throws Exception {
    String found = "";
    for (int i = 0; i < 100 && found.isEmpty(); i++) {
      if (i > 0) Thread.sleep(100);
      found = position(admin, group);
    }
    return found;
  }

  static String position(AdminClient admin, String group) throws Exception {
    var out = new TreeSet<String>();
    admin.listConsumerGroupOffsets(prefix + group).partitionsToOffsetAndMetadata().get()
        .forEach((at, offset) -> out.add(at.partition() + ": " + offset.offset() + " epoch "
            + offset.leaderEpoch().map(String::valueOf).orElse("-") + " '" + offset.metadata()
            + "'"));
    return String.join(", ", out);
  }

  // ---- words -----------------------------------------------------------------------------

  static String shown(ConsumerRecord<String, String> record) {
    return record.value() + " @" + record.offset();
  }

  static String send(KafkaProducer<String, String> producer, int partition, String value)
      throws Exception {
    var record = new ProducerRecord<String, String>(prefix + "orders", partition, null, value);
    return "ok @" + producer.send(record).get().offset();
  }

  static String done(Runnable call) {
    call.run();
    return "ok";
  }

  static String done(Object nothing) {
    return "ok";
  }

  static void call(String who, String what, Callable<String> call) {
    String came;
    try {
      came = call.call();
    } catch (Throwable error) {
      Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
      came = cause.getClass().getSimpleName();
    }
    System.out.println(who + "\t" + what + "\t" + came);
  }

  static Properties settings(Map<String, String> more) {
    var out = new Properties();
    out.put("bootstrap.servers", address);
    out.putAll(more);
    return out;
  }

  static KafkaProducer<String, String> producer(Map<String, String> more) {
    var out = settings(more);
    out.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
    out.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
    return new KafkaProducer<>(out);
  }

  static KafkaConsumer<String, String> consumer(Map<String, String> more) {
    var out = settings(more);
    out.put("enable.auto.commit", "false");
    out.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
    out.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
    return new KafkaConsumer<>(out);
  }
}
