import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * The Java producer in trouble: what it raises, call by call.
 *
 * <p>java -cp 'lib/*' ProducerStories.java ADDRESS PREFIX STORY prints one line a call: who, the
 * call, what came of it, with tabs between. "ok", or the name of the exception; the cause of an
 * ExecutionException.
 */
public class ProducerStories {
  static String address;
  static String prefix;

  public static void main(String[] args) throws Exception {
    address = args[0];
    prefix = args[1];
    switch (args[2]) {
      case "misuse" -> misuse();
      case "refused-record" -> refusedRecord();
      case "fenced" -> fenced();
      case "timed-out" -> timedOut();
      case "configs" -> configs();
      case "wrong-group" -> wrongGroup();
      case "copy" -> copy(5);
      case "copy-one-in-flight" -> copy(1);
      case "expired" -> expired(Long.parseLong(args[3]));
      default -> throw new IllegalArgumentException("no story " + args[2]);
    }
  }

  // ---- stories ---------------------------------------------------------------------------

  /** Calls in a state they are not meant for, and transactions that hold nothing. */
  static void misuse() throws Exception {
    var app = producer("A", Map.of());
    call("app", "begin before init", () -> begin(app));
    call("app", "init", () -> init(app));
    call("app", "init again", () -> init(app));
    call("app", "commit outside", () -> commit(app));
    call("app", "abort outside", () -> abort(app));
    call("app", "begin", () -> begin(app));
    call("app", "begin again", () -> begin(app));
    call("app", "commit nothing", () -> commit(app));
    call("app", "begin", () -> begin(app));
    call("app", "abort nothing", () -> abort(app));
    call("app", "begin", () -> begin(app));
    call("app", "send a", () -> sent(app, "orders", "a"));
    call("app", "commit", () -> commit(app));
    call("app", "close", () -> close(app));
    call("app", "begin when closed", () -> begin(app));
  }

  /** A send outside a transaction is refused; the record goes out with the next one. */
  static void refusedRecord() throws Exception {
    var app = producer("A", Map.of());
    call("app", "init", () -> init(app));
    call("app", "send refused", () -> sent(app, "orders", "refused"));
    call("app", "begin", () -> begin(app));
    app.send(record("orders", "a"));
    call("app", "commit", () -> commit(app));
    close(app);
  }

  /** Three producers, each fenced by a twin, each noticing it in another way. */
  static void fenced() throws Exception {
    for (String how : List.of("commit", "send", "offsets")) {
      var old = producer(how, Map.of());
      init(old);
      begin(old);
      sent(old, "orders", how);
      var twin = producer(how, Map.of());
      call("twin", "init " + how, () -> init(twin));
      switch (how) {
        case "commit" -> call(how, "commit", () -> commit(old));
        case "send" -> call(how, "send", () -> sent(old, "orders", "late"));
        default -> call(how, "sendOffsets", () -> offsets(old, group("billing")));
      }
      call(how, "commit then", () -> commit(old));
      call(how, "abort then", () -> abort(old));
      call(how, "begin then", () -> begin(old));
      begin(twin);
      sent(twin, "orders", "new " + how);
      call("twin", "commit " + how, () -> commit(twin));
      close(old);
      close(twin);
    }
  }

  /** The broker aborts after a second; what the three slow ones hear. */
  static void timedOut() throws Exception {
    for (String how : List.of("commit", "abort", "send")) {
      var slow = producer(how, Map.of("transaction.timeout.ms", "1000"));
      init(slow);
      begin(slow);
      sent(slow, "orders", how);
      awaitAbort(how);
      if (how.equals("send")) call(how, "send late", () -> sent(slow, "orders", "late"));
      if (how.equals("commit")) call(how, "commit", () -> commit(slow));
      call(how, "abort", () -> abort(slow));
      call(how, "begin", () -> begin(slow));
      call(how, "send again", () -> sent(slow, "orders", "again " + how));
      call(how, "commit again", () -> commit(slow));
      close(slow);
    }
  }

  /** What is refused before or at the first call. */
  static void configs() throws Exception {
    call("app", "max.in.flight=6", () -> made("A", "max.in.flight.requests.per.connection", "6"));
    call("app", "max.in.flight=5", () -> made("A", "max.in.flight.requests.per.connection", "5"));
    call("app", "acks=1", () -> made("A", "acks", "1"));
    call("app", "acks=0", () -> made("A", "acks", "0"));
    call("app", "enable.idempotence=false", () -> made("A", "enable.idempotence", "false"));
    call("app", "retries=0", () -> made("A", "retries", "0"));
    call("app", "no id, acks=1", () -> made(null, "acks", "1"));
    var app = producer("B", Map.of("transaction.timeout.ms", "900001"));
    call("app", "init with a timeout of 900001 ms", () -> init(app));
    close(app);
  }

  /** Offsets with another generation than the group has: abortable. */
  static void wrongGroup() throws Exception {
    var app = producer("A", Map.of());
    init(app);
    begin(app);
    var stale = new ConsumerGroupMetadata(prefix + "billing", 5, "nobody", Optional.empty());
    call("app", "sendOffsets of a stale member", () -> offsets(app, stale));
    call("app", "commit", () -> commit(app));
    call("app", "abort", () -> abort(app));
    begin(app);
    call("app", "sendOffsets without a member", () -> offsets(app, group("billing")));
    call("app", "commit", () -> commit(app));
    close(app);
  }

  /** Consume, transform, produce: 60 records, every third transaction given up and done again. */
  static void copy(int inFlight) throws Exception {
    var app = producer("A", Map.of("max.in.flight.requests.per.connection", "" + inFlight));
    init(app);
    var from = new TopicPartition(prefix + "orders", 0);
    var consumer = consumer();
    consumer.assign(List.of(from));
    int done = 0;
    int attempt = 0;
    while (done < 60) {
      consumer.seek(from, done);
      var records = consumer.poll(Duration.ofSeconds(5)).records(from);
      begin(app);
      int count = 0;
      for (var record : records) {
        if (count++ == 10) break;
        app.send(record("bills", "bill of " + record.value()));
      }
      long next = done + Math.min(10, count);
      app.sendOffsetsToTransaction(Map.of(from, new OffsetAndMetadata(next)), group("billing"));
      app.flush(); // an abort drops what has not been sent yet, and how much that is varies
      if (++attempt % 3 == 0) {
        app.abortTransaction();
        continue;
      }
      app.commitTransaction();
      done = (int) next;
    }
    say("app", "copied", done + " in " + attempt + " transactions");
    consumer.close();
    close(app);
  }

  /** The coordinator has forgotten the id: fatal, and a new producer gets a new producer id. */
  static void expired(long wait) throws Exception {
    var app = producer("A", Map.of());
    init(app);
    begin(app);
    sent(app, "orders", "a");
    call("app", "commit", () -> commit(app));
    Thread.sleep(wait);
    begin(app);
    call("app", "send after the id has expired", () -> sent(app, "orders", "b"));
    // Sender#failBatch completes the future first; a commit before the rest throws another class.
    Thread.sleep(1_000);
    call("app", "commit", () -> commit(app));
    call("app", "abort", () -> abort(app));
    close(app);
    var next = producer("A", Map.of());
    call("next", "init", () -> init(next));
    begin(next);
    call("next", "send", () -> sent(next, "orders", "c"));
    call("next", "commit", () -> commit(next));
    close(next);
  }

  // ---- the parts -------------------------------------------------------------------------

  /** A reader sees how far read_committed may read: past the abort of a timed-out record. */
  static void awaitAbort(String value) throws Exception {
    var all = new TopicPartition(prefix + "orders", 0);
    try (var reader = consumer()) {
      var until = System.currentTimeMillis() + 30_000;
      while (System.currentTimeMillis() < until) {
        try (var any = uncommitted()) {
          long end = any.endOffsets(List.of(all)).get(all);
          if (reader.endOffsets(List.of(all)).get(all) == end) return;
        }
        Thread.sleep(100);
      }
    }
    throw new IllegalStateException("the broker did not abort " + value);
  }

  static KafkaProducer<String, String> producer(String id, Map<String, String> more) {
    var with = new Properties();
    with.put("bootstrap.servers", address);
    if (id != null) with.put("transactional.id", prefix + id);
    with.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
    with.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
    with.put("linger.ms", "0");
    with.put("max.block.ms", "20000");
    with.putAll(more);
    return new KafkaProducer<>(with);
  }

  static KafkaConsumer<String, String> consumer() {
    return reader("read_committed");
  }

  static KafkaConsumer<String, String> uncommitted() {
    return reader("read_uncommitted");
  }

  static KafkaConsumer<String, String> reader(String level) {
    var with = new Properties();
    with.put("bootstrap.servers", address);
    with.put("isolation.level", level);
    with.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
    with.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
    return new KafkaConsumer<>(with);
  }

  static Void made(String id, String key, String value) {
    producer(id, Map.of(key, value)).close(Duration.ZERO);
    return null;
  }

  static Void init(KafkaProducer<String, String> p) {
    p.initTransactions();
    return null;
  }

  static Void begin(KafkaProducer<String, String> p) {
    p.beginTransaction();
    return null;
  }

  static Void commit(KafkaProducer<String, String> p) {
    p.commitTransaction();
    return null;
  }

  static Void abort(KafkaProducer<String, String> p) {
    p.abortTransaction();
    return null;
  }

  static Void close(KafkaProducer<String, String> p) {
    p.close(Duration.ofSeconds(5));
    return null;
  }

  static ProducerRecord<String, String> record(String topic, String value) {
    return new ProducerRecord<>(prefix + topic, 0, null, value);
  }

  static Void sent(KafkaProducer<String, String> p, String topic, String value) throws Exception {
    Future<RecordMetadata> future = p.send(record(topic, value));
    p.flush();
    future.get();
    return null;
  }

  static ConsumerGroupMetadata group(String name) {
    return new ConsumerGroupMetadata(prefix + name);
  }

  static Void offsets(KafkaProducer<String, String> p, ConsumerGroupMetadata group) {
    var at = new OffsetAndMetadata(1);
    p.sendOffsetsToTransaction(Map.of(new TopicPartition(prefix + "orders", 0), at), group);
    return null;
  }

  static void call(String who, String what, Callable<Void> action) {
    String told = "ok";
    try {
      action.call();
    } catch (ExecutionException e) {
      told = e.getCause().getClass().getSimpleName();
    } catch (Exception e) {
      told = e.getClass().getSimpleName();
    }
    say(who, what, told);
  }

  static void say(String who, String what, String told) {
    System.out.println(who + "\t" + what + "\t" + told);
  }
}
