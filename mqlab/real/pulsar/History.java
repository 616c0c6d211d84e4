import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.transaction.Transaction;

/**
 * Transactions of the official Java client, unmodified, and what its readers are given, as a history
 * that `mqlab check history` judges (mqlab/check/README.md).
 *
 * <p>java -cp '...' History SERVICE_URL PREFIX FILE TRANSACTIONS writes to two topics PREFIX-0 and
 * PREFIX-1, two messages to each per transaction. Every third transaction is aborted, every fifth is
 * left open until the coordinator aborts it. One reader reads meanwhile, another one afterwards from
 * the first message to the last. An offset is a ledger's id and an entry's in one number.
 */
public class History {
  static final int TOPICS = 2;
  static final int EACH = 2;
  static final long OPEN_MS = 5_000;
  static final int PATIENCE_S = 15;
  static final int SILENCE_MS = 5_000;
  static final ObjectMapper JSON = new ObjectMapper();
  static BufferedWriter file;

  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[3]);
    file = Files.newBufferedWriter(Path.of(args[2]), StandardOpenOption.CREATE_NEW);
    line("history", 1, "tool", "Pulsar's Java client");
    var client = PulsarClient.builder().serviceUrl(args[0]).enableTransaction(true)
        .operationTimeout(PATIENCE_S, TimeUnit.SECONDS).build();
    var producers = new ArrayList<Producer<String>>();
    for (int i = 0; i < TOPICS; i++) {
      producers.add(client.newProducer(Schema.STRING).topic(args[1] + "-" + i)
          .enableBatching(false).sendTimeout(PATIENCE_S, TimeUnit.SECONDS).create());
    }
    var over = new AtomicBoolean();
    var beside = new ArrayList<Thread>();
    for (int i = 0; i < TOPICS; i++) {
      String topic = args[1] + "-" + i;
      beside.add(new Thread(() -> read(client, "reader-" + topic, topic, over)));
      beside.get(i).start();
    }
    write(client, producers, count);
    Thread.sleep(OPEN_MS + 2_000); // the coordinator has aborted what was left open
    over.set(true);
    for (var one : beside) {
      one.join();
    }
    for (int i = 0; i < TOPICS; i++) {
      read(client, "last reader", args[1] + "-" + i, over);
    }
    file.close();
    System.out.println("end");
    System.exit(0); // the client's threads would go on
  }

  static void write(PulsarClient client, List<Producer<String>> producers, int count)
      throws Exception {
    for (int i = 1; i <= count; i++) {
      String name = "t" + i;
      Transaction txn = client.newTransaction()
          .withTransactionTimeout(i % 5 == 0 ? OPEN_MS : 60_000, TimeUnit.MILLISECONDS)
          .build().get();
      for (int part = 0; part < TOPICS * EACH; part++) {
        var producer = producers.get(part % TOPICS);
        String value = name + "-" + part;
        event("writer", "send", "txn", name, "topic", producer.getTopic(), "partition", 0,
            "value", value);
        producer.newMessage(txn).value(value).send();
      }
      if (i % 5 == 0) {
        continue;
      }
      boolean commit = i % 3 != 0;
      event("writer", "end", "txn", name, "how", commit ? "commit" : "abort");
      try {
        (commit ? txn.commit() : txn.abort()).get(PATIENCE_S, TimeUnit.SECONDS);
        event("writer", "ended", "txn", name, "outcome", commit ? "committed" : "aborted",
            "error", "");
      } catch (Exception thrown) { // it may have happened
        event("writer", "ended", "txn", name, "outcome", "unknown", "error",
            "" + thrown);
        throw thrown;
      }
    }
  }

  /** Everything from the first message on; when the writer is over, until nothing more comes. */
  static void read(PulsarClient client, String who, String topic, AtomicBoolean over) {
    try (var reader = client.newReader(Schema.STRING).topic(topic)
        .startMessageId(MessageId.earliest).create()) {
      event(who, "assign", "isolation", "committed transactions");
      long end = 0;
      while (true) {
        boolean last = over.get();
        Message<String> message = reader.readNext(SILENCE_MS, TimeUnit.MILLISECONDS);
        if (message != null) {
          end = offset(message.getMessageId()) + 1;
          event(who, "read", "topic", topic, "partition", 0, "offset", end - 1, "value",
              message.getValue());
        } else if (last) {
          event(who, "drained", "topic", topic, "partition", 0, "end", end);
          return;
        }
      }
    } catch (Exception thrown) {
      System.err.println(who + ": " + thrown);
      Runtime.getRuntime().halt(1);
    }
  }

  static long offset(MessageId given) {
    var id = (MessageIdAdv) given;
    return (id.getLedgerId() << 32) + id.getEntryId();
  }

  static void event(String process, String name, Object... rest) throws Exception {
    var all = new ArrayList<Object>(List.of("time", 0L, "process", process, "event", name));
    all.addAll(List.of(rest));
    synchronized (file) {
      var now = java.time.Instant.now();
      all.set(1, now.getEpochSecond() * 1_000_000_000L + now.getNano());
      line(all.toArray());
    }
  }

  static void line(Object... pairs) throws Exception {
    var values = new LinkedHashMap<String, Object>();
    for (int i = 0; i < pairs.length; i += 2) {
      values.put((String) pairs[i], pairs[i + 1]);
    }
    file.write(JSON.writeValueAsString(values) + "\n");
    file.flush();
  }
}
