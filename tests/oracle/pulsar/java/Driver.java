import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.DeadLetterPolicy;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerAccessMode;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.transaction.Transaction;
import org.apache.pulsar.client.api.transaction.TxnID;
import org.apache.pulsar.client.impl.BatchMessageIdImpl;
import org.apache.pulsar.client.impl.ConsumerImpl;
import org.apache.pulsar.client.impl.MessageIdImpl;
import org.apache.pulsar.client.impl.ProducerImpl;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.client.impl.transaction.TransactionImpl;
import org.apache.pulsar.common.api.proto.BaseCommand;
import org.apache.pulsar.common.api.proto.MessageMetadata;

/**
 * The official Java client, unmodified, at the end of a line: it does what each line says and
 * answers with one JSON object a line, which holds the line and what came of it.
 *
 * <p>java -cp '...' Driver SERVICE_URL ADMIN_URL reads its standard input. A line is a verb, what it
 * is about, and settings as name=value; things get the names that the lines give them. `later NAME
 * LINE` begins something and `join NAME` waits for it. What the client throws is no failure of this
 * program: it is the answer.
 */
public class Driver {
  static final int PATIENCE_MS = 20_000;
  static final ObjectMapper JSON = new ObjectMapper();
  final String service;
  final String admin;
  final HttpClient http = HttpClient.newHttpClient();
  final Map<String, PulsarClient> clients = new ConcurrentHashMap<>();
  final Map<String, Transaction> transactions = new ConcurrentHashMap<>();
  final Map<String, Producer<String>> producers = new ConcurrentHashMap<>();
  final Map<String, Consumer<String>> consumers = new ConcurrentHashMap<>();
  final Map<String, Reader<String>> readers = new ConcurrentHashMap<>();
  final Map<String, CompletableFuture<Object>> begun = new ConcurrentHashMap<>();
  /** What was received last under an id of its topic. */
  final Map<String, Message<String>> messages = new ConcurrentHashMap<>();
  /** Every id that was seen: a batch's ids belong together, so they are kept as they came. */
  final Map<String, MessageId> ids = new ConcurrentHashMap<>();

  Driver(String service, String admin) {
    this.service = service;
    this.admin = admin;
  }

  public static void main(String[] args) throws Exception {
    var driver = new Driver(args[0], args[1]);
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      var told = new LinkedHashMap<String, Object>();
      told.put("line", line);
      told.putAll(driver.answer(line));
      System.out.println(JSON.writeValueAsString(told));
    }
    System.exit(0); // the client's threads would go on
  }

  /** What came of a line, or the class of what was thrown. */
  Map<String, Object> answer(String line) {
    try {
      return Map.of("answer", perform(new Line(line)));
    } catch (Throwable thrown) {
      Throwable cause = thrown;
      while (cause.getCause() != null
          && (cause instanceof ExecutionException || cause instanceof CompletionException)) {
        cause = cause.getCause();
      }
      return Map.of("error", cause.getClass().getSimpleName(), "says", "" + cause.getMessage());
    }
  }

  Object perform(Line line) throws Exception {
    return switch (line.verb()) {
      case "client" -> client(line);
      case "begin" -> begin(line);
      case "producer" -> producer(line);
      case "send" -> send(line);
      case "batch" -> batch(line);
      case "everything" -> everything(line);
      case "send-unnamed" -> sendUnnamed(line);
      case "consumer" -> consumer(line);
      case "receive" -> receive(line);
      case "take" -> List.of(told(consumers.get(line.word(1)).receive()));
      case "ack" -> ack(line, false);
      case "ack-all" -> ack(line, true);
      case "retry" -> consumers.get(line.word(1)).reconsumeLaterAsync(
          messages.get(line.word(2)), 1, TimeUnit.MILLISECONDS).thenApply(none -> "ok").get();
      case "nack" -> {
        var id = messages.get(line.word(2)).getMessageId();
        consumers.get(line.word(1)).negativeAcknowledge(id);
        yield "ok";
      }
      case "redeliver" -> {
        consumers.get(line.word(1)).redeliverUnacknowledgedMessages();
        yield "ok";
      }
      case "reader" -> reader(line);
      case "has-next" -> readers.get(line.word(1)).hasMessageAvailable();
      case "read" -> read(line);
      case "commit" -> transactions.get(line.word(1)).commit().thenApply(none -> "ok").get();
      case "abort" -> transactions.get(line.word(1)).abort().thenApply(none -> "ok").get();
      case "state" -> "" + transactions.get(line.word(1)).getState();
      case "register" -> register(line);
      case "reopen" -> reopen(line);
      case "end" -> end(line).get();
      case "end-twice" -> endTwice(line);
      case "close" -> close(line.word(1));
      case "later" -> later(line);
      case "has-ended" -> begun.get(line.word(1)).isDone();
      case "join" -> begun.remove(line.word(1)).get();
      case "http" -> http(line);
      case "forget", "over" -> forget();
      default -> throw new IllegalArgumentException("no verb " + line.verb());
    };
  }

  // ---- clients and transactions ---------------------------------------------------------------

  Object client(Line line) throws Exception {
    var made = PulsarClient.builder().serviceUrl(service)
        .enableTransaction(!line.says("plain", "yes"))
        .operationTimeout(line.number("timeout", 60000), TimeUnit.MILLISECONDS)
        .build();
    clients.put(line.word(1), made);
    return "ok";
  }

  /** begin TRANSACTION CLIENT MILLISECONDS */
  Object begin(Line line) throws Exception {
    var made = clients.get(line.word(2)).newTransaction()
        .withTransactionTimeout(Long.parseLong(line.word(3)), TimeUnit.MILLISECONDS).build().get();
    transactions.put(line.word(1), made);
    return "" + made.getTxnID();
  }

  /** register TRANSACTION TOPIC: as its first message there does, without the message. */
  Object register(Line line) throws Exception {
    var txn = (TransactionImpl) transactions.get(line.word(1));
    return txn.registerProducedTopic(line.word(2)).thenApply(none -> "ok").get();
  }

  /** A client that has not heard of the end: what it says next goes out with an old id. */
  Object reopen(Line line) throws Exception {
    var state = TransactionImpl.class.getDeclaredField("state");
    state.setAccessible(true);
    state.set(transactions.get(line.word(1)), Transaction.State.OPEN);
    return "ok";
  }

  /** end CLIENT MOST LEAST commit|abort: by the id alone, as any client may. */
  CompletableFuture<String> end(Line line) {
    var coordinator = ((PulsarClientImpl) clients.get(line.word(1))).getTcClient();
    var id = new TxnID(Long.parseLong(line.word(2)), Long.parseLong(line.word(3)));
    var done = line.word(4).equals("commit") ? coordinator.commitAsync(id)
        : coordinator.abortAsync(id);
    return done.thenApply(none -> "ok");
  }

  /** Two ends of one transaction, the second before the first is answered. */
  Object endTwice(Line line) {
    var both = List.of(end(line), end(line));
    return both.stream().map(one -> one.handle((ok, thrown) -> thrown == null ? ok
        : (thrown instanceof CompletionException ? thrown.getCause() : thrown)
            .getClass().getSimpleName()).join()).sorted().toList();
  }

  // ---- producers ------------------------------------------------------------------------------

  /**
   * producer PRODUCER CLIENT TOPIC [name=…] [batching=yes] [chunk=BYTES] [timeout=…] [access=MODE]:
   * with a mode it answers with the topic epoch that the broker has told it.
   */
  Object producer(Line line) throws Exception {
    var builder = clients.get(line.word(2)).newProducer(Schema.STRING).topic(line.word(3))
        .enableBatching(line.says("batching", "yes"))
        .enableChunking(line.has("chunk"))
        .chunkMaxMessageSize(line.number("chunk", -1))
        .batchingMaxPublishDelay(1, TimeUnit.MINUTES)
        .sendTimeout(line.number("timeout", 0), TimeUnit.MILLISECONDS);
    if (line.has("name")) builder.producerName(line.get("name"));
    if (line.has("access")) builder.accessMode(ProducerAccessMode.valueOf(line.get("access")));
    var made = builder.create();
    producers.put(line.word(1), made);
    if (!line.has("access")) return "ok";
    var field = ProducerImpl.class.getDeclaredField("topicEpoch");
    field.setAccessible(true);
    var epoch = (Optional<?>) field.get(made);
    return epoch.isPresent() ? "epoch " + epoch.get() : "ok";
  }

  /** send PRODUCER TEXT [txn=…] [key=…] [seq=…] [after=MILLISECONDS] [size=BYTES] */
  Object send(Line line) throws Exception {
    return seen(message(line, line.word(2)).get());
  }

  /**
   * batch PRODUCER TEXT… [txn=…] [plain=COUNT] [seq=…]: one entry of several messages, of which the
   * first COUNT are sent in no transaction. seq: the number of the first; it is counted on.
   */
  Object batch(Line line) throws Exception {
    var sent = new ArrayList<CompletableFuture<MessageId>>();
    if (line.has("txn")) { // else the messages come after the flush
      var txn = (TransactionImpl) transactions.get(line.get("txn"));
      txn.registerProducedTopic(producers.get(line.word(1)).getTopic()).get();
    }
    int plain = line.number("plain", 0);
    int first = line.number("seq", 0);
    for (int i = 2; i < line.words.size(); i++) {
      var text = i - 2 < plain ? line.text.replaceAll(" txn=\\S+", "") : line.text;
      text = text.replace(" seq=" + first, " seq=" + (first + i - 2));
      sent.add(message(new Line(text), line.word(i)));
    }
    producers.get(line.word(1)).flush();
    return sent.stream().map(one -> seen(one.join())).toList();
  }

  /**
   * send-unnamed TOPIC TEXT txn=…: a message of another client, which names the transaction in its
   * command and not in the message, as pulsar-client-go 0.19.0 does. The topic is loaded already.
   */
  Object sendUnnamed(Line line) throws Exception {
    var txn = transactions.get(line.get("txn")).getTxnID();
    var place = URI.create(service);
    try (var socket = new Socket(place.getHost(), place.getPort())) {
      var connect = new BaseCommand().setType(BaseCommand.Type.CONNECT);
      connect.setConnect().setClientVersion("unnamed").setProtocolVersion(21);
      ask(socket, connect, new byte[0], BaseCommand.Type.CONNECTED);
      var producer = new BaseCommand().setType(BaseCommand.Type.PRODUCER);
      producer.setProducer().setTopic(line.word(1)).setProducerId(0).setRequestId(1);
      var made = ask(socket, producer, new byte[0], BaseCommand.Type.PRODUCER_SUCCESS);
      var send = new BaseCommand().setType(BaseCommand.Type.SEND);
      send.setSend().setProducerId(0).setSequenceId(0).setNumMessages(1)
          .setTxnidMostBits(txn.getMostSigBits()).setTxnidLeastBits(txn.getLeastSigBits());
      var metadata = new MessageMetadata().setSequenceId(0).setPublishTime(1)
          .setProducerName(made.getProducerSuccess().getProducerName()).toByteArray();
      var text = line.word(2).getBytes(StandardCharsets.UTF_8);
      var checked = ByteBuffer.allocate(4 + metadata.length + text.length)
          .putInt(metadata.length).put(metadata).put(text).array();
      var sum = new CRC32C();
      sum.update(checked, 0, checked.length);
      var message = ByteBuffer.allocate(6 + checked.length)
          .putShort((short) 0x0e01).putInt((int) sum.getValue()).put(checked).array();
      var at = ask(socket, send, message, BaseCommand.Type.SEND_RECEIPT).getSendReceipt()
          .getMessageId();
      return at.getLedgerId() + ":" + at.getEntryId();
    }
  }

  /** A frame goes out, and the answer comes; a ping in between is not answered. */
  static BaseCommand ask(Socket socket, BaseCommand command, byte[] message, BaseCommand.Type type)
      throws Exception {
    var bytes = command.toByteArray();
    var out = new DataOutputStream(socket.getOutputStream());
    out.write(ByteBuffer.allocate(8 + bytes.length + message.length)
        .putInt(4 + bytes.length + message.length).putInt(bytes.length).put(bytes).put(message)
        .array());
    var in = new DataInputStream(socket.getInputStream());
    while (true) {
      var frame = in.readNBytes(in.readInt());
      var size = ByteBuffer.wrap(frame).getInt();
      var said = new BaseCommand();
      said.parseFrom(Arrays.copyOfRange(frame, 4, 4 + size));
      if (said.getType() == type) {
        return said;
      }
      if (said.hasError() || said.hasSendError()) {
        throw new IllegalStateException("refused: " + said.getType());
      }
    }
  }

  /**
   * everything CLIENT TOPIC plain|batched|chunked CODEC
   * ordinary|committed|redelivered|retried|dead: messages of every kind are sent, and all that a
   * consumer can see of each is told, at the end of what befalls it. Times and ids are told by what
   * they relate to.
   */
  Object everything(Line line) throws Exception {
    var client = clients.get(line.word(1));
    var topic = line.word(2);
    String way = line.word(3);
    String fate = line.word(5);
    var dead = client.newConsumer(Schema.BYTES).topic(topic + ".dead").subscriptionName("dead")
        .subscribe();
    var builder = client.newConsumer(Schema.BYTES).topic(topic).subscriptionName("all")
        .subscriptionType(SubscriptionType.Shared).acknowledgmentGroupTime(0, TimeUnit.SECONDS)
        .enableBatchIndexAcknowledgment(true).enableRetry(fate.equals("retried"));
    if (fate.equals("dead")) {
      builder.deadLetterPolicy(DeadLetterPolicy.builder().maxRedeliverCount(1)
          .deadLetterTopic(topic + ".dead").build());
    }
    var consumer = builder.subscribe();
    var producer = client.newProducer(Schema.BYTES).topic(topic).producerName("cashier")
        .compressionType(CompressionType.valueOf(line.word(4)))
        .enableBatching(way.equals("batched")).batchingMaxPublishDelay(1, TimeUnit.MINUTES)
        .batchingMaxBytes(3 << 20).enableChunking(way.equals("chunked"))
        .chunkMaxMessageSize(way.equals("chunked") ? 2_000 : -1).create();
    long before = System.currentTimeMillis();
    Transaction txn = fate.equals("committed") ? client.newTransaction().build().get() : null;
    var sent = new ArrayList<CompletableFuture<MessageId>>();
    // else the messages come after the flush
    if (txn != null) ((TransactionImpl) txn).registerProducedTopic(topic).get();
    for (int size : new int[] {0, 1, 4_095, 4_096, way.equals("chunked") ? 9_999 : 1 << 20, -1}) {
      var message = txn == null ? producer.newMessage() : producer.newMessage(txn);
      var body = new byte[Math.max(size, 0)];
      for (int i = 0; i < body.length; i++) {
        body[i] = (byte) (i * 31 % 251);
      }
      message.value(size < 0 ? null : body).eventTime(size == 1 ? 0 : 42_000 + size)
          .properties(size == 1 ? Map.of() : Map.of("size", "" + size, "\u20ac", "a=b\n", "", ""));
      if (size % 2 == 0) {
        message.keyBytes(new byte[] {0, (byte) 200, (byte) size}).orderingKey(new byte[] {9, 0});
      } else {
        message.key("key " + size);
      }
      sent.add(message.sendAsync());
    }
    producer.flush();
    var ids = sent.stream().map(CompletableFuture::join).toList();
    if (txn != null) txn.commit().get();
    var came = take(consumer, ids.size());
    if (fate.equals("redelivered") || fate.equals("dead")) {
      consumer.redeliverUnacknowledgedMessages();
      came = take(consumer, ids.size());
    }
    if (fate.equals("retried")) {
      for (var one : came) {
        consumer.reconsumeLater(one, 0, TimeUnit.SECONDS);
      }
      came = take(consumer, ids.size());
    }
    if (fate.equals("dead")) { // one after the other: those of a batch go together
      var buried = new ArrayList<Message<byte[]>>();
      for (var one : came) {
        if (!way.equals("batched") || buried.isEmpty()) {
          ((ConsumerImpl<?>) consumer).redeliverUnacknowledgedMessages(Set.of(one.getMessageId()));
        }
        buried.addAll(take(dead, 1));
      }
      came = buried;
    }
    var told = new ArrayList<Object>();
    for (var one : came) {
      told.add(described(one, topic, ids, before));
    }
    for (var one : List.of(producer, consumer, dead)) {
      one.close();
    }
    return told;
  }

  static List<Message<byte[]>> take(Consumer<byte[]> consumer, int count) throws Exception {
    var came = new ArrayList<Message<byte[]>>();
    for (int i = 0; i < count; i++) {
      came.add(consumer.receive(20, TimeUnit.SECONDS));
    }
    return came;
  }

  static List<String> described(
      Message<byte[]> got, String topic, List<MessageId> ids, long before) throws Exception {
    var id = (MessageIdAdv) got.getMessageId();
    var body = got.getData() == null ? new byte[0] : got.getData();
    var digest = MessageDigest.getInstance("SHA-256").digest(body);
    var properties = new TreeMap<>(got.getProperties()).toString().replace(topic, "TOPIC")
        .replaceAll("\\d+:(\\d+:-1)", "LEDGER:$1");
    boolean published = got.getPublishTime() >= before
        && got.getPublishTime() <= System.currentTimeMillis();
    return List.of(
        "body " + got.size() + " "
            + (got.getValue() == null ? "null" : hex(digest).substring(0, 12)),
        "key " + (got.hasKey() ? got.getKey() + " " + got.hasBase64EncodedKey() : "none"),
        "ordering key " + (got.hasOrderingKey() ? hex(got.getOrderingKey()) : "none"),
        "properties " + properties,
        "event time " + got.getEventTime() + ", sequence " + got.getSequenceId(),
        "published after the send " + published,
        "producer " + (got.getProducerName().equals("cashier") ? "cashier" : "another"),
        "redelivered " + got.getRedeliveryCount() + ", replicated " + got.isReplicated() + " "
            + got.getReplicatedFrom() + ", broker time " + got.hasBrokerPublishTime() + ", index "
            + got.hasIndex() + ", encrypted " + got.getEncryptionCtx().isPresent(),
        "schema version " + (got.getSchemaVersion() == null ? "none" : hex(got.getSchemaVersion())),
        "topic " + got.getTopicName().replace(topic, "TOPIC") + ", message " + ids.indexOf(id)
            + ", batch " + id.getBatchIndex() + " of " + id.getBatchSize() + ", chunked "
            + (id.getFirstChunkMessageId() != null) + ", partition " + id.getPartitionIndex());
  }

  static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  CompletableFuture<MessageId> message(Line line, String text) {
    var producer = producers.get(line.word(1));
    var txn = line.get("txn");
    var message = txn.isEmpty() ? producer.newMessage()
        : producer.newMessage(transactions.get(txn));
    int size = line.number("size", 0);
    message.value(size == 0 ? text : text + ".".repeat(size));
    if (line.has("key")) message.key(line.get("key"));
    if (line.has("seq")) message.sequenceId(line.number("seq", 0));
    if (line.has("after")) message.deliverAfter(line.number("after", 0), TimeUnit.MILLISECONDS);
    return message.sendAsync();
  }

  // ---- consumers and readers ------------------------------------------------------------------

  /**
   * consumer CONSUMER CLIENT TOPIC SUBSCRIPTION TYPE [queue=…] [compacted=yes] [dead=COUNT]
   * [retry=yes] [index=no]
   */
  Object consumer(Line line) throws Exception {
    var builder = clients.get(line.word(2)).newConsumer(Schema.STRING).topic(line.word(3))
        .subscriptionName(line.word(4)).subscriptionType(SubscriptionType.valueOf(line.word(5)))
        .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
        .receiverQueueSize(line.number("queue", 1000))
        .enableBatchIndexAcknowledgment(!line.says("index", "no"))
        .acknowledgmentGroupTime(0, TimeUnit.SECONDS)
        .negativeAckRedeliveryDelay(0, TimeUnit.SECONDS)
        .readCompacted(line.says("compacted", "yes"));
    if (line.says("retry", "yes")) builder.enableRetry(true);
    if (line.has("dead")) {
      builder.deadLetterPolicy(DeadLetterPolicy.builder()
          .maxRedeliverCount(line.number("dead", 0))
          .deadLetterTopic(line.word(3) + ".dead").build());
    }
    consumers.put(line.word(1), builder.subscribe());
    return "ok";
  }

  /** receive CONSUMER COUNT [wait=MILLISECONDS]: so many, or what came until then. */
  Object receive(Line line) throws Exception {
    var found = new ArrayList<Map<String, Object>>();
    long deadline = System.currentTimeMillis() + line.number("wait", PATIENCE_MS);
    while (found.size() < Integer.parseInt(line.word(2))) {
      long left = deadline - System.currentTimeMillis();
      var message = left <= 0 ? null
          : consumers.get(line.word(1)).receive((int) left, TimeUnit.MILLISECONDS);
      if (message == null) {
        break;
      }
      found.add(told(message));
    }
    return found;
  }

  /**
   * ack CONSUMER ID… [txn=…], ack-all CONSUMER ID [txn=…]: an id that nobody was told is taken as
   * it is written, LEDGER:ENTRY or LEDGER:ENTRY:INDEX/SIZE.
   */
  Object ack(Line line, boolean all) throws Exception {
    var consumer = consumers.get(line.word(1));
    var txn = transactions.get(line.get("txn"));
    var named = line.words.subList(2, line.words.size()).stream().map(this::named).toList();
    if (all) {
      consumer.acknowledgeCumulativeAsync(named.get(0), txn).get();
    } else if (named.size() == 1) {
      consumer.acknowledgeAsync(named.get(0), txn).get();
    } else {
      consumer.acknowledgeAsync(named, txn).get();
    }
    return "ok";
  }

  MessageId named(String id) {
    var known = ids.get(id);
    if (known != null) {
      return known;
    }
    var parts = id.split("[:/]");
    long ledger = Long.parseLong(parts[0]);
    long entry = Long.parseLong(parts[1]);
    if (parts.length == 2) {
      return new MessageIdImpl(ledger, entry, -1);
    }
    int size = Integer.parseInt(parts[3]);
    var whole = new BitSet(size);
    whole.set(0, size);
    return new BatchMessageIdImpl(ledger, entry, -1, Integer.parseInt(parts[2]), size, whole);
  }

  /** reader READER CLIENT TOPIC */
  Object reader(Line line) throws Exception {
    readers.put(line.word(1), clients.get(line.word(2)).newReader(Schema.STRING)
        .topic(line.word(3)).startMessageId(MessageId.earliest).create());
    return "ok";
  }

  Object read(Line line) throws Exception {
    var message = readers.get(line.word(1)).readNext(PATIENCE_MS, TimeUnit.MILLISECONDS);
    return message == null ? "nothing" : told(message);
  }

  Map<String, Object> told(Message<String> message) {
    var told = new LinkedHashMap<String, Object>();
    told.put("text", message.getValue());
    told.put("id", seen(message.getMessageId()));
    messages.put((String) told.get("id"), message);
    told.put("again", message.getRedeliveryCount());
    return told;
  }

  /** An id as ledger:entry, with its index where it is one of a batch. */
  String seen(MessageId given) {
    var id = (MessageIdAdv) given;
    String name = id.getLedgerId() + ":" + id.getEntryId();
    if (id.getBatchIndex() >= 0) {
      name += ":" + id.getBatchIndex();
    }
    ids.put(name, given);
    return name;
  }

  // ---- the rest -------------------------------------------------------------------------------

  Object close(String name) throws Exception {
    for (var made : List.of(producers, consumers, readers, clients)) {
      if (made.containsKey(name)) made.remove(name).close();
    }
    return "ok";
  }

  /** forget, over: the clients are gone, and the next lines know nothing of those before. */
  Object forget() {
    for (var client : clients.values()) {
      client.closeAsync().orTimeout(10, TimeUnit.SECONDS).exceptionally(thrown -> null).join();
    }
    for (var names : List.of(clients, transactions, producers, consumers, readers, begun, ids, messages)) {
      names.clear();
    }
    return "ok";
  }

  Object later(Line line) {
    var rest = line.rest(2);
    begun.put(line.word(1), CompletableFuture.supplyAsync(() -> {
      try {
        return perform(new Line(rest));
      } catch (Exception thrown) {
        throw new CompletionException(thrown);
      }
    }));
    return "ok";
  }

  /** http METHOD PATH [BODY]: the admin interface, with the headers that are about an entry. */
  Object http(Line line) throws Exception {
    var body = line.words.size() > 3 ? line.rest(3) : "";
    var request = HttpRequest.newBuilder(URI.create(admin + line.word(2)))
        .header("Content-Type", "application/json")
        .method(line.word(1), HttpRequest.BodyPublishers.ofString(body)).build();
    var answer = http.send(request, HttpResponse.BodyHandlers.ofString());
    var told = new LinkedHashMap<String, Object>();
    told.put("status", answer.statusCode());
    var headers = new LinkedHashMap<String, String>();
    answer.headers().map().forEach((name, values) -> {
      if (name.toLowerCase().startsWith("x-pulsar-")) {
        headers.put(name.toLowerCase().substring("x-pulsar-".length()), values.get(0));
      }
    });
    told.put("headers", headers);
    told.put("body", answer.body());
    return told;
  }

  /** Words and settings of a line. */
  static final class Line {
    final String text;
    final List<String> words = new ArrayList<>();
    final Map<String, String> settings = new LinkedHashMap<>();

    Line(String text) {
      this.text = text;
      for (String word : text.split(" ")) {
        int sign = word.indexOf('=');
        if (sign > 0 && word.substring(0, sign).matches("[a-z]+")) {
          settings.put(word.substring(0, sign), word.substring(sign + 1));
        } else {
          words.add(word);
        }
      }
    }

    String verb() {
      return words.get(0);
    }

    String word(int place) {
      return words.get(place);
    }

    /** The setting of this name; "" where there is none. */
    String get(String name) {
      return settings.getOrDefault(name, "");
    }

    boolean has(String name) {
      return settings.containsKey(name);
    }

    boolean says(String name, String value) {
      return get(name).equals(value);
    }

    int number(String name, int otherwise) {
      return has(name) ? Integer.parseInt(get(name)) : otherwise;
    }

    /** The line from its word of this number on, as it was written. */
    String rest(int place) {
      return text.split(" ", place + 1)[place];
    }
  }
}
