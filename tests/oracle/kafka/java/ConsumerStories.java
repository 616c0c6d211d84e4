import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * What the Java consumer reads first in a partition, by the isolation.level that it sets.
 *
 * <p>java -cp 'lib/*' ConsumerStories.java ADDRESS PREFIX TOPIC prints a line for each consumer:
 * who, the level, the first record, with tabs between.
 */
public class ConsumerStories {
  public static void main(String[] args) {
    var part = new TopicPartition(args[1] + args[2], 0);
    for (String level : List.of("", "read_committed", "read_uncommitted")) {
      var with = new Properties();
      with.put("bootstrap.servers", args[0]);
      with.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
      with.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
      if (!level.isEmpty()) with.put("isolation.level", level);
      try (var reader = new KafkaConsumer<String, String>(with)) {
        reader.assign(List.of(part));
        reader.seekToBeginning(List.of(part));
        String set = level.isEmpty() ? "no level" : level;
        System.out.println("Java\t" + set + "\t" + first(reader));
      }
    }
  }

  static String first(KafkaConsumer<String, String> reader) {
    for (int i = 0; i < 30; i++) {
      for (var record : reader.poll(Duration.ofSeconds(1))) return record.value();
    }
    throw new IllegalStateException("no record came");
  }
}
