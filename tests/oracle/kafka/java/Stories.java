import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * The Java client: its producer in trouble, what its AdminClient sees of transactions, and what its
 * consumer reads.
 *
 * <p>java -cp 'lib/*' Stories.java ADDRESS PREFIX STORY prints one line a call: who, the call, what
 * came of it, with tabs between. What it answered or "ok", or the name of the exception; the cause
 * of an ExecutionException.
 */
public class Stories {
  static String address;
  static String prefix;
  static Admin admin;

  /** A call that answers nothing. */
  interface Action {
    void run() throws Exception;
  }

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
      case "admin" -> administer();
      case "levels" -> readAtEachLevel();
      default -> throw new IllegalArgumentException("no story " + args[2]);
    }
  }

  // ---- stories ---------------------------------------------------------------------------

  /** Calls in a state they are not meant for, and transactions that hold nothing. */
  static void misuse() throws Exception {
    var app = producer("A", Map.of());
    call("app", "begin before init", app::beginTransaction);
    call("app", "init", app::initTransactions);
    call("app", "init again", app::initTransactions);
    call("app", "commit outside", app::commitTransaction);
    call("app", "abort outside", app::abortTransaction);
    call("app", "begin", app::beginTransaction);
    call("app", "begin again", app::beginTransaction);
    call("app", "commit nothing", app::commitTransaction);
    call("app", "begin", app::beginTransaction);
    call("app", "abort nothing", app::abortTransaction);
    call("app", "begin", app::beginTransaction);
    call("app", "send a", () -> sent(app, "orders", "a"));
    call("app", "commit", app::commitTransaction);
    call("app", "close", () -> close(app));
    call("app", "begin when closed", app::beginTransaction);
  }

  /** A send outside a transaction is refused; the record goes out with the next one. */
  static void refusedRecord() throws Exception {
    var app = producer("A", Map.of());
    call("app", "init", app::initTransactions);
    call("app", "send refused", () -> sent(app, "orders", "refused"));
    call("app", "begin", app::beginTransaction);
    app.send(record("orders", "a"));
    call("app", "commit", app::commitTransaction);
    close(app);
  }

  /** Three producers, each fenced by a twin, each noticing it in another way. */
  static void fenced() throws Exception {
    for (String how : List.of("commit", "send", "offsets")) {
      var old = producer(how, Map.of());
      old.initTransactions();
      old.beginTransaction();
      sent(old, "orders", how);
      var twin = producer(how, Map.of());
      call("twin", "init " + how, twin::initTransactions);
      switch (how) {
        case "commit" -> call(how, "commit", old::commitTransaction);
        case "send" -> call(how, "send", () -> sent(old, "orders", "late"));
        default -> call(how, "sendOffsets", () -> offsets(old, group("billing")));
      }
      call(how, "commit then", old::commitTransaction);
      call(how, "abort then", old::abortTransaction);
      call(how, "begin then", old::beginTransaction);
      twin.beginTransaction();
      sent(twin, "orders", "new " + how);
      call("twin", "commit " + how, twin::commitTransaction);
      close(old);
      close(twin);
    }
  }

  /** The broker aborts after a second; what the three slow ones hear. */
  static void timedOut() throws Exception {
    for (String how : List.of("commit", "abort", "send")) {
      var slow = producer(how, Map.of("transaction.timeout.ms", "1000"));
      slow.initTransactions();
      slow.beginTransaction();
      sent(slow, "orders", how);
      awaitAbort(how);
      if (how.equals("send")) call(how, "send late", () -> sent(slow, "orders", "late"));
      if (how.equals("commit")) call(how, "commit", slow::commitTransaction);
      call(how, "abort", slow::abortTransaction);
      call(how, "begin", slow::beginTransaction);
      call(how, "send again", () -> sent(slow, "orders", "again " + how));
      call(how, "commit again", slow::commitTransaction);
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
    call("app", "init with a timeout of 900001 ms", app::initTransactions);
    close(app);
  }

  /** Offsets with another generation than the group has: abortable. */
  static void wrongGroup() throws Exception {
    var app = producer("A", Map.of());
    app.initTransactions();
    app.beginTransaction();
    var stale = new ConsumerGroupMetadata(prefix + "billing", 5, "nobody", Optional.empty());
    call("app", "sendOffsets of a stale member", () -> offsets(app, stale));
    call("app", "commit", app::commitTransaction);
    call("app", "abort", app::abortTransaction);
    app.beginTransaction();
    call("app", "sendOffsets without a member", () -> offsets(app, group("billing")));
    call("app", "commit", app::commitTransaction);
    close(app);
  }

  /** Consume, transform, produce: 60 records, every third transaction given up and done again. */
  static void copy(int inFlight) throws Exception {
    var app = producer("A", Map.of("max.in.flight.requests.per.connection", "" + inFlight));
    app.initTransactions();
    var from = orders();
    var consumer = reader("read_committed");
    consumer.assign(List.of(from));
    int done = 0;
    int attempt = 0;
    while (done < 60) {
      consumer.seek(from, done);
      var records = consumer.poll(Duration.ofSeconds(5)).records(from);
      app.beginTransaction();
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
    app.initTransactions();
    app.beginTransaction();
    sent(app, "orders", "a");
    call("app", "commit", app::commitTransaction);
    Thread.sleep(wait);
    app.beginTransaction();
    call("app", "send after the id has expired", () -> sent(app, "orders", "b"));
    // Sender#failBatch completes the future first; a commit before the rest throws another class.
    Thread.sleep(1_000);
    call("app", "commit", app::commitTransaction);
    call("app", "abort", app::abortTransaction);
    close(app);
    var next = producer("A", Map.of());
    call("next", "init", next::initTransactions);
    next.beginTransaction();
    call("next", "send", () -> sent(next, "orders", "c"));
    call("next", "commit", next::commitTransaction);
    close(next);
  }

  /** What the AdminClient sees of transactions, and does about them (KIP-664). */
  static void administer() throws Exception {
    admin = Admin.create(Map.of("bootstrap.servers", address));
    var app = producer("A", Map.of());
    app.initTransactions();
    ask("admin", "describe A", () -> described("A"));
    app.beginTransaction();
    ask("admin", "describe A when begun", () -> described("A"));
    sent(app, "orders", "a");
    ask("admin", "describe A when sent", () -> described("A"));
    ask("admin", "list", Stories::listed);
    ask("admin", "producers", Stories::producers);
    app.commitTransaction();
    awaitEnd();
    ask("admin", "describe A when committed", () -> described("A"));
    app.beginTransaction();
    sent(app, "orders", "b");
    call("admin", "fenceProducers A",
        () -> admin.fenceProducers(List.of(prefix + "A")).all().get());
    awaitEnd();
    ask("admin", "describe A when fenced", () -> described("A"));
    call("admin", "commit of the fenced", app::commitTransaction);
    call("admin", "forceTerminateTransaction nobody", () -> terminate("nobody"));
    ask("admin", "describe nobody", () -> described("unknown"));
    var open = producer("B", Map.of());
    open.initTransactions();
    open.beginTransaction();
    sent(open, "orders", "c");
    call("admin", "forceTerminateTransaction B", () -> terminate("B"));
    awaitEnd();
    ask("admin", "producers at last", Stories::producers);
    ask("admin", "list at last", Stories::listed);
    open.close();
    app.close();
    admin.close();
  }

  /** What a consumer reads first in a partition, by the isolation.level that it sets. */
  static void readAtEachLevel() {
    for (String level : List.of("", "read_committed", "read_uncommitted")) {
      try (var reader = reader(level)) {
        reader.assign(List.of(orders()));
        reader.seekToBeginning(List.of(orders()));
        ask("Java", level.isEmpty() ? "no level" : level, () -> readFirst(reader));
      }
    }
  }

  // ---- the parts -------------------------------------------------------------------------

  static String described(String id) throws Exception {
    var found =
        admin.describeTransactions(List.of(prefix + id)).description(prefix + id).get();
    return found.state()
        + " pid=" + found.producerId()
        + " epoch=" + found.producerEpoch()
        + " partitions=" + found.topicPartitions().size();
  }

  static String listed() throws Exception {
    var names = new TreeMap<String, String>();
    for (var row : admin.listTransactions().all().get()) {
      if (row.transactionalId().startsWith(prefix)) {
        names.put(row.transactionalId().substring(prefix.length()), row.state().toString());
      }
    }
    return names.toString();
  }

  static Collection<ProducerState> producerStates() throws Exception {
    var found = admin.describeProducers(List.of(orders())).partitionResult(orders()).get();
    return found.activeProducers();
  }

  static String producers() throws Exception {
    return producerStates().stream()
        .sorted(Comparator.comparing(ProducerState::producerId))
        .map(state -> "pid=" + state.producerId()
            + " epoch=" + state.producerEpoch()
            + " lastSeq=" + state.lastSequence()
            + " txnStart=" + state.currentTransactionStartOffset().orElse(-1))
        .collect(Collectors.joining("; "));
  }

  static void terminate(String id) throws Exception {
    admin.forceTerminateTransaction(prefix + id).result().get();
  }

  /** Until no transaction is open on the partition. */
  static void awaitEnd() throws Exception {
    for (int i = 0; i < 300; i++) {
      if (producerStates().stream()
          .noneMatch(state -> state.currentTransactionStartOffset().isPresent())) break;
      Thread.sleep(50);
    }
    Thread.sleep(300);
  }

  /** A reader sees how far read_committed may read: past the abort of a timed-out record. */
  static void awaitAbort(String value) throws Exception {
    var all = List.of(orders());
    try (var reader = reader("read_committed");
        var any = reader("read_uncommitted")) {
      var until = System.currentTimeMillis() + 30_000;
      while (System.currentTimeMillis() < until) {
        if (reader.endOffsets(all).equals(any.endOffsets(all))) return;
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

  /** A consumer that reads at this level; at its own where that is "". */
  static KafkaConsumer<String, String> reader(String level) {
    var with = new Properties();
    with.put("bootstrap.servers", address);
    if (!level.isEmpty()) with.put("isolation.level", level);
    with.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
    with.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
    return new KafkaConsumer<>(with);
  }

  static void made(String id, String key, String value) {
    producer(id, Map.of(key, value)).close(Duration.ZERO);
  }

  static void close(KafkaProducer<String, String> p) {
    p.close(Duration.ofSeconds(5));
  }

  static String readFirst(KafkaConsumer<String, String> reader) {
    for (int i = 0; i < 30; i++) {
      for (var record : reader.poll(Duration.ofSeconds(1))) return record.value();
    }
    throw new IllegalStateException("no record came");
  }

  static TopicPartition orders() {
    return new TopicPartition(prefix + "orders", 0);
  }

  static ProducerRecord<String, String> record(String topic, String value) {
    return new ProducerRecord<>(prefix + topic, 0, null, value);
  }

  static void sent(KafkaProducer<String, String> p, String topic, String value) throws Exception {
    var future = p.send(record(topic, value));
    p.flush();
    future.get();
  }

  static ConsumerGroupMetadata group(String name) {
    return new ConsumerGroupMetadata(prefix + name);
  }

  static void offsets(KafkaProducer<String, String> p, ConsumerGroupMetadata group) {
    p.sendOffsetsToTransaction(Map.of(orders(), new OffsetAndMetadata(1)), group);
  }

  static void call(String who, String what, Action action) {
    ask(who, what, () -> {
      action.run();
      return "ok";
    });
  }

  static void ask(String who, String what, Callable<String> question) {
    String told;
    try {
      told = question.call();
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
