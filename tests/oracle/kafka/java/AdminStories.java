import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * What Kafka's own AdminClient sees and does about transactions (KIP-664).
 *
 * <p>java -cp 'lib/*' AdminStories.java ADDRESS PREFIX prints one line a call: who, the call, what
 * came of it, with tabs between.
 */
public class AdminStories {
  static String address;
  static String prefix;
  static Admin admin;

  public static void main(String[] args) throws Exception {
    address = args[0];
    prefix = args[1];
    var part = new TopicPartition(prefix + "orders", 0);
    admin = Admin.create(Map.of("bootstrap.servers", address));
    var app = producer("A");
    app.initTransactions();
    say("describe A", () -> described("A"));
    app.beginTransaction();
    say("describe A when begun", () -> described("A"));
    app.send(new ProducerRecord<>(part.topic(), 0, null, "a")).get();
    say("describe A when sent", () -> described("A"));
    say("list", AdminStories::listed);
    say("producers", () -> producers(part));
    app.commitTransaction();
    await(part);
    say("describe A when committed", () -> described("A"));
    app.beginTransaction();
    app.send(new ProducerRecord<>(part.topic(), 0, null, "b")).get();
    say("fenceProducers A", () -> fenced("A"));
    await(part);
    say("describe A when fenced", () -> described("A"));
    say("commit of the fenced", () -> committed(app));
    say("forceTerminateTransaction nobody", () -> terminated("nobody"));
    say("describe nobody", () -> described("unknown"));
    var open = producer("B");
    open.initTransactions();
    open.beginTransaction();
    open.send(new ProducerRecord<>(part.topic(), 0, null, "c")).get();
    say("forceTerminateTransaction B", () -> terminated("B"));
    await(part);
    say("producers at last", () -> producers(part));
    say("list at last", AdminStories::listed);
    open.close();
    app.close();
    admin.close();
  }

  static String described(String id) throws Exception {
    var all = admin.describeTransactions(List.of(prefix + id)).description(prefix + id);
    var found = all.get();
    return found.state()
        + " pid=" + found.producerId()
        + " epoch=" + found.producerEpoch()
        + " partitions=" + found.topicPartitions().size();
  }

  static String listed() throws Exception {
    var names = new TreeMap<String, String>();
    Collection<TransactionListing> all = admin.listTransactions().all().get();
    for (var row : all) {
      if (row.transactionalId().startsWith(prefix)) {
        names.put(row.transactionalId().substring(prefix.length()), row.state().toString());
      }
    }
    return names.toString();
  }

  static String producers(TopicPartition part) throws Exception {
    var found = admin.describeProducers(List.of(part)).partitionResult(part).get();
    var rows = new TreeMap<Long, String>();
    for (var state : found.activeProducers()) {
      rows.put(
          state.producerId(),
          "pid=" + state.producerId()
              + " epoch=" + state.producerEpoch()
              + " lastSeq=" + state.lastSequence()
              + " txnStart=" + state.currentTransactionStartOffset().orElse(-1));
    }
    return String.join("; ", rows.values());
  }

  static String fenced(String id) throws Exception {
    admin.fenceProducers(List.of(prefix + id)).all().get();
    return "ok";
  }

  static String terminated(String id) throws Exception {
    admin.forceTerminateTransaction(prefix + id).result().get();
    return "ok";
  }

  static String committed(KafkaProducer<String, String> app) {
    app.commitTransaction();
    return "ok";
  }

  /** Until no transaction is open on the partition. */
  static void await(TopicPartition part) throws Exception {
    for (int i = 0; i < 300; i++) {
      var found = admin.describeProducers(List.of(part)).partitionResult(part).get();
      var open = found.activeProducers().stream()
          .anyMatch(state -> state.currentTransactionStartOffset().isPresent());
      if (!open) break;
      Thread.sleep(50);
    }
    Thread.sleep(300);
  }

  static KafkaProducer<String, String> producer(String id) {
    return new KafkaProducer<>(
        Map.of(
            "bootstrap.servers", address,
            "transactional.id", prefix + id,
            "key.serializer", "org.apache.kafka.common.serialization.StringSerializer",
            "value.serializer", "org.apache.kafka.common.serialization.StringSerializer"));
  }

  static void say(String what, Callable<String> action) {
    String told;
    try {
      told = action.call();
    } catch (ExecutionException e) {
      told = e.getCause().getClass().getSimpleName();
    } catch (Exception e) {
      told = e.getClass().getSimpleName();
    }
    System.out.println("admin\t" + what + "\t" + told);
  }
}
