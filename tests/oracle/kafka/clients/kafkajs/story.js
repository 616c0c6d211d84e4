// The story of every client library (see libraries.py), for kafkajs.
//
// node story.js ADDRESS PREFIX prints one line a call: who, the call, what came of it, with tabs
// between. kafkajs knows no leader epochs and asks for its producer id when it connects.
const { Kafka, logLevel, ConfigResourceTypes } = require("kafkajs");

const [address, prefix] = process.argv.slice(2);
const orders = prefix + "orders";
const names = ["cleanup.policy", "compression.type", "max.message.bytes", "min.insync.replicas",
  "retention.ms", "segment.bytes"];
const kafka = new Kafka({ brokers: [address], logLevel: logLevel.NOTHING, retry: { retries: 8 } });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function call(who, what, action) {
  let came;
  try {
    came = (await action()) ?? "ok";
  } catch (error) {
    came = error.type ?? error.cause?.type ?? error.name;
  }
  console.log([who, what, came].join("\t"));
}

async function send(by, partition, value) {
  const [told] = await by.send({ topic: orders, acks: -1, messages: [{ partition, value }] });
  return `ok @${told.baseOffset}`;
}

/** Reads until `enough` says so of what was found. */
async function read(groupId, readUncommitted, enough) {
  const consumer = kafka.consumer({ groupId, readUncommitted, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topics: [orders], fromBeginning: true });
  const found = [];
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message: { value, offset } }) => {
      found.push({ partition, value: value.toString(), offset: Number(offset) });
    },
  });
  for (let i = 0; i < 200 && !enough(found); i++) await pause(100);
  return { consumer, found };
}

async function readAll(isolation) {
  const uncommitted = isolation === "read_uncommitted";
  const { consumer, found } = await read(prefix + isolation, uncommitted,
    (all) => all.length >= (uncommitted ? 5 : 4));
  await consumer.disconnect();
  return found.filter((r) => r.partition === 0).map((r) => `${r.value} @${r.offset}`).join(", ");
}

async function consume() {
  const { consumer, found } = await read(prefix + "accounting", false, (all) => all.length >= 6);
  const last = { 0: 0, 1: 0 };
  for (const r of found) last[r.partition] = Math.max(last[r.partition], r.offset + 1);
  await consumer.commitOffsets(Object.entries(last).map(([partition, offset]) =>
    ({ topic: orders, partition: Number(partition), offset: String(offset) })));
  await consumer.disconnect();
  return found.map((r) => `${r.partition}: ${r.value} @${r.offset}`).sort().join(", ");
}

/** Asked until there is something: a transaction's offsets count from its marker on. */
async function committed(admin, group) {
  let rows = [];
  for (let i = 0; i < 100 && !rows.length; i++) {
    if (i) await pause(100);
    const [topic] = await admin.fetchOffsets({ groupId: prefix + group, topics: [orders] });
    rows = topic.partitions.filter((row) => row.offset !== "-1");
  }
  return rows.map((r) => `${r.partition}: ${r.offset} '${r.metadata ?? ""}'`).sort().join(", ");
}

async function administer(admin) {
  const topics = [{ topic: orders, numPartitions: 2, replicationFactor: 1 }];
  const create = async () => ((await admin.createTopics({ topics })) ? "ok" : "there already");
  await call("admin", "create orders", create);
  await call("admin", "create orders again", create);
  await call("admin", "configs of orders", async () => {
    const found = await admin.describeConfigs({ includeSynonyms: false, resources:
      [{ type: ConfigResourceTypes.TOPIC, name: orders, configNames: names }] });
    return found.resources[0].configEntries
      .map((entry) => `${entry.configName}=${entry.configValue}`).sort().join(", ");
  });
}

async function main() {
  const admin = kafka.admin();
  await admin.connect();
  await administer(admin);
  const plain = kafka.producer({ idempotent: true });
  await plain.connect();
  await call("plain", "send a", () => send(plain, 0, "a"));
  await call("plain", "send z", () => send(plain, 1, "z"));
  const settings = { transactionalId: prefix + "A", maxInFlightRequests: 1, idempotent: true };
  const app = kafka.producer(settings);
  await call("app", "init", () => app.connect());
  let inside;
  const begin = (who, by) =>
    call(who, "begin", async () => { inside = await by.transaction(); return "ok"; });
  for (const [values, end] of [["bc", "commit"], ["x", "abort"]]) {
    await begin("app", app);
    for (const value of values) await call("app", `send ${value}`, () => send(inside, 0, value));
    await call("app", end, () => inside[end]());
  }
  for (const isolation of ["read_committed", "read_uncommitted"]) {
    await call("reader", isolation, () => readAll(isolation));
  }
  await begin("app", app);
  await call("app", "send d", () => send(inside, 0, "d"));
  const at = [{ partition: 0, offset: "3", metadata: "half way" }];
  await call("app", "send offsets 3", () => inside.sendOffsets(
    { consumerGroupId: prefix + "billing", topics: [{ topic: orders, partitions: at }] }));
  await call("app", "commit", () => inside.commit());
  await call("admin", "offsets of billing", () => committed(admin, "billing"));
  const twin = kafka.producer(settings);
  await call("twin", "init", () => twin.connect());
  await begin("app", app);
  await call("app", "send e", () => send(inside, 0, "e"));
  await call("app", "commit", () => inside.commit());
  await begin("twin", twin);
  await call("twin", "send f", () => send(inside, 0, "f"));
  await call("twin", "commit", () => inside.commit());
  await call("worker", "consumes", consume);
  await call("admin", "offsets of accounting", () => committed(admin, "accounting"));
  process.exit(0);
}

main();
