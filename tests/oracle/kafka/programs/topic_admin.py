"""Topics made, enlarged, their configs shown; and what a broker says to those who ask for
what cannot be. Here the words of an error are noted too: tools print them.
"""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any

from kio.index import UnknownAPIKey, UnknownEntity, load_request_schema

from mqlab.real.kafka.batches import batch
from mqlab.real.kafka.client import NOT_OFFERED, READ_UNCOMMITTED, Lab, word
from mqlab.real.kafka.programs import send
from mqlab.real.kafka.wire import MINUTE
from tests.oracle.kafka.admin import ask_in_unknown_version, list_offsets
from tests.oracle.kafka.producer import Producer
from tests.oracle.kafka.programs import CONTROL, JAVA, TV2, program
from tests.oracle.kafka.stories import play_java

TOPIC, BROKER = 2, 4  # kinds of resources
SOURCES = {1: "topic", 2: "broker", 3: "cluster", 4: "start", 5: "default"}


def describe_error(lab: Lab, row: Any) -> str:
    message = getattr(row, "error_message", None)
    words = word(row.error_code) + (f": {message}" if message else "")
    return words.replace(lab.prefix, "")


def place_replicas(*rows: tuple[int, ...]) -> tuple[Row, ...]:
    return tuple(Row(partition_index=i, broker_ids=row) for i, row in enumerate(rows))


def create(
    lab: Lab,
    *names: str,
    count: int = 1,
    replicas: int = 1,
    on: tuple[Row, ...] = (),
    validate: bool = False,
    wire: bool = True,
    configs: tuple[tuple[str, str | None], ...] = (),
) -> None:
    """CreateTopics, each answer noted; `wire` False: the names are meant as they are."""
    given = tuple(Row(name=name, value=value) for name, value in configs)
    topics = tuple(
        Row(
            name=lab.wire(name) if wire else name,
            num_partitions=count,
            replication_factor=replicas,
            assignments=on,
            configs=given,
        )
        for name in names
    )
    answer = lab.raw().ask(19, 7, topics=topics, timeout=MINUTE, validate_only=validate)
    how = f" {count} x {replicas}" if (count, replicas) != (1, 1) else ""
    how += f" on {', '.join(str(r.broker_ids) for r in on)}" if on else ""
    how += "".join(f" {row.name}={row.value}" for row in given)
    for row in sorted(answer.topics, key=lambda row: str(row.name)):
        outcome = describe_error(lab, row)
        if not row.error_code.value:
            outcome += f" {row.num_partitions} x {row.replication_factor}"
        name = row.name.removeprefix(lab.prefix)
        lab.note("admin", "broker", f"CreateTopics {name[:40]}{how}"[:120], outcome[:400])


@program("ReplicationControlManagerTest, TopicTest", profiles=TV2)
def topics_refused(lab: Lab) -> None:
    create(lab, "a.b")
    lab.topic("there")  # by then the broker knows the first one too
    create(lab, "a_b")
    create(lab, "a.b")
    create(lab, "twice", "twice")
    create(lab, "x.y", "x_y", validate=True)
    lab.raw().coordinator("anything", 0), lab.raw().coordinator("anything", 1)
    for name in ("__consumer_offsets", "__transaction_state", "__cluster_metadata"):
        create(lab, name, wire=False, validate=True)
    for name in ("__consumer_offsets-3", "__transaction_state-0"):
        create(lab, name, wire=False, validate=True)
    for name in ("", ".", "..", "a" * 250, "a/b"):
        create(lab, name, wire=False, validate=True)
    for count, replicas in ((0, 1), (-1, -1), (-2, 1), (1, 0), (1, 2), (1, -2), (10_001, 1)):
        create(lab, "sized", count=count, replicas=replicas, validate=True)
    create(lab, "half", "other-half", count=6_000, validate=True)
    for rows in (((1,), (1,)), ((2,),), ((1, 1),), ((),)):
        create(lab, "placed", count=-1, replicas=-1, on=place_replicas(*rows), validate=True)
    create(lab, "placed", replicas=1, count=-1, on=place_replicas((1,)), validate=True)


WRONG = (
    ("retention.ms", "abc"), ("retention.ms", "-2"), ("retention.ms", "-1"),
    ("retention.ms", "9223372036854775808"), ("retention.ms", None), ("retention.bytes", "-2"),
    ("segment.bytes", "20000"), ("segment.bytes", "1048576"), ("segment.ms", "0"),
    ("segment.index.bytes", "3"), ("segment.jitter.ms", "-1"), ("cleanup.policy", "shred"),
    ("cleanup.policy", "compact,delete"), ("cleanup.policy", "compact,shred"),
    ("cleanup.policy", ""), ("cleanup.policy", " compact "), ("min.insync.replicas", "0"),
    ("min.insync.replicas", "2"), ("max.message.bytes", "\u00b2"), ("max.message.bytes", "-1"),
    ("max.message.bytes", " 5 "), ("max.message.bytes", "+5"), ("max.message.bytes", ""),
    ("max.message.bytes", "9" * 300), ("compression.type", "foo"), ("compression.type", "snappy"),
    ("compression.gzip.level", "10"), ("compression.gzip.level", "0"),
    ("compression.zstd.level", "100"), ("compression.lz4.level", "0"),
    ("compression.lz4.level", "18"), ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "x"), ("message.timestamp.before.max.ms", "-1"),
    ("message.timestamp.after.max.ms", "-1"), ("preallocate", "maybe"), ("preallocate", "TRUE"),
    ("min.cleanable.dirty.ratio", "1.5"), ("min.cleanable.dirty.ratio", "x"),
    ("min.cleanable.dirty.ratio", "1e0"), ("min.cleanable.dirty.ratio", "-0.1"),
    ("flush.ms", "-1"), ("flush.messages", "0"), ("index.interval.bytes", "-1"),
    ("delete.retention.ms", "-1"), ("file.delete.delay.ms", "-1"),
    ("min.compaction.lag.ms", "-1"), ("max.compaction.lag.ms", "0"),
    ("leader.replication.throttled.replicas", "x"),
    ("leader.replication.throttled.replicas", "*"),
    ("follower.replication.throttled.replicas", "0:1,1:1"),
    ("unclean.leader.election.enable", "yes"), ("remote.storage.enable", "true"),
    ("local.retention.ms", "-3"), ("local.retention.bytes", "-3"),
    ("message.format.version", "3.0"), ("no.such.config", "1"),
)  # fmt: skip


@program("LogConfigTest, ConfigDefTest", profiles=TV2)
def topic_configs_refused(lab: Lab) -> None:
    """One value each; where it may be, the topic is not made all the same."""
    lags = (("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5"))
    for configs in (*((wrong,) for wrong in WRONG), lags):
        create(lab, "orders", validate=True, configs=configs)


# ---- configs shown -----------------------------------------------------------------------


def describe(
    lab: Lab,
    kind: int,
    name: str,
    *,
    keys: tuple[str, ...] | None = None,
    defaults: bool = False,
    called: str = "",
) -> None:
    """DescribeConfigs with synonyms; without `defaults` only what somebody has set."""
    wire = lab.wire(name) if kind == TOPIC else name
    resource = Row(resource_type=kind, resource_name=wire, configuration_keys=keys)
    fields = {"include_synonyms": True, "include_documentation": False}
    answer = lab.raw().ask(32, 4, resources=(resource,), **fields).results[0]
    question = f"DescribeConfigs {called or name}" + (f" {', '.join(keys)}" if keys else "")
    if answer.error_code.value:
        lab.note("admin", "broker", question, describe_error(lab, answer))
        return
    for row in sorted(answer.configs, key=lambda row: str(row.name)):
        if not defaults and row.config_source == 5:
            continue
        chain = "; ".join(f"{SOURCES[s.source]} {s.name}={s.value}" for s in row.synonyms)
        how = "read-only" if row.read_only else "dynamic"
        how += ", sensitive" if row.is_sensitive else ""
        setting = f"{row.value} by {SOURCES[row.config_source]}, type {row.config_type}, {how}"
        setting += f" [{chain}]" if chain != f"default {row.name}={row.value}" else ""
        lab.note("admin", "broker", f"{question} {row.name}", setting)


@program("ConfigHelper#describeConfigs of topics", profiles=TV2)
def topic_configs(lab: Lab) -> None:
    lab.topic("orders", retention_ms="5000", cleanup_policy="compact,delete")
    describe(lab, TOPIC, "orders", defaults=True)
    describe(lab, TOPIC, "orders", keys=("retention.ms", "nope"), defaults=True)
    describe(lab, TOPIC, "nowhere")
    describe(lab, TOPIC, "a/b")
    for kind, name in ((BROKER, "2"), (BROKER, "x"), (1, "x"), (16, "")):
        describe(lab, kind, name, called=f"kind {kind} {name}")
    describe(lab, BROKER, "", called="of all brokers")


# ---- more partitions ---------------------------------------------------------------------


def enlarge(
    lab: Lab,
    name: str,
    count: int,
    *rows: tuple[int, ...],
    placed_by_hand: bool = False,
    twice: bool = False,
    validate: bool = False,
) -> None:
    on = tuple(Row(broker_ids=row) for row in rows) if rows or placed_by_hand else None
    wanted = (Row(name=lab.wire(name), count=count, assignments=on),) * (2 if twice else 1)
    answer = lab.raw().ask(37, 3, topics=wanted, timeout=MINUTE, validate_only=validate)
    how = f" on {', '.join(map(str, rows)) or 'nothing'}" if on is not None else ""
    how += " twice" if twice else ""
    how += " only validate" if validate else ""
    for row in answer.results:
        lab.note(
            "admin", "broker", f"CreatePartitions {name} {count}{how}", describe_error(lab, row)
        )


@program("ReplicationControlManagerTest#testCreatePartitions", profiles=TV2)
def create_partitions(lab: Lab) -> None:
    lab.topic("orders", 2)
    for count in (2, 1, 0, -1):
        enlarge(lab, "orders", count)
    enlarge(lab, "orders", 4, validate=True)
    enlarge(lab, "orders", 3)
    lab.wait_until(lambda: lab.end("orders-2"), 0)
    list_offsets(lab, "orders-2", -1)
    enlarge(lab, "nowhere", 4)
    for count, rows in ((5, ((1,),)), (4, ((2,),)), (4, ((1, 1),)), (4, ((),)), (4, ((1,),))):
        enlarge(lab, "orders", count, *rows)
    enlarge(lab, "orders", 5, placed_by_hand=True)
    enlarge(lab, "orders", 7, twice=True)


# ---- Topics that come into being because a client asks about them, as a broker does by default

AUTO_CREATE = "auto.create.topics.enable"
WAIT_S = 20.0
LATEST = 12  # version of Metadata; the wish not to create came with version 4


def ask(lab: Lab, name: str, version: int = LATEST, create: bool = True) -> str:
    """One Metadata request about a topic, noted; its error."""
    fields: dict[str, Any] = lab.raw().metadata([lab.wire(name)])
    fields |= {"allow_auto_topic_creation": create, "include_cluster_authorized_operations": False}
    topic = lab.raw().ask(3, version, **fields).topics[0]
    error = word(topic.error_code)
    outcome = f"ok {len(topic.partitions)} partitions" if error == "ok" else error
    question = f"Metadata {name}{'' if create else ', not to be created'} v{version}"
    lab.note("client", "broker", question, outcome)
    return error


def there(lab: Lab, name: str) -> bool:
    """Whether there is a topic of this name and it can be read."""
    fields = lab.raw().metadata([lab.wire(name)])
    topic = lab.raw().ask(3, LATEST, **fields).topics[0]
    return not topic.error_code.value and bool(topic.partitions)


@program(
    "AutoTopicCreationManager, KafkaApis#handleTopicMetadataRequest: auto.create.topics.enable",
    profiles=TV2,
    needs=(CONTROL,),
    settings={AUTO_CREATE: "true"},
)
def auto_create(lab: Lab) -> None:
    """Metadata makes a topic, of one partition; whatever else names one does not."""
    ask(lab, "unwanted", create=False)
    for version in (1, 3, 4, 9, LATEST):
        ask(lab, f"asked-{version}", version)
        lab.wait_until(lambda v=version: there(lab, f"asked-{v}"), True)  # type: ignore[misc]
        ask(lab, f"asked-{version}", create=False)
    ask(lab, "no good!")
    lab.topic("of.us")
    ask(lab, "of_us")  # a name that collides: it is said to be on its way, and never comes
    send(lab, "unasked-0", "into nowhere", batch())
    for name in ("unasked", "of_us"):
        ask(lab, name, create=False)
    ask(lab, "unwanted", create=False)


@program(
    "a new user's first program: it makes no topic (producer and consumer of confluent-kafka)",
    profiles=TV2,
    needs=(CONTROL,),
    settings={AUTO_CREATE: "true"},
)
def first_program(lab: Lab) -> None:
    """Nothing waits: a plain producer, a transactional one, a consumer that is early."""
    import confluent_kafka as ck

    lab.clients["confluent-kafka"] = ""
    address = {"bootstrap.servers": lab.target.address}

    def produce(client: Any, topic: str) -> None:
        reports: list[str] = []
        client.produce(lab.wire(topic), b"v", on_delivery=lambda e, _: reports.append(str(e)))
        left = client.flush(WAIT_S)
        lab.note("app", topic, "produce", f"{', '.join(reports)}; {left} left")

    produce(ck.Producer(address), "plain")
    app = ck.Producer({**address, "transactional.id": lab.wire("A")})
    app.init_transactions(WAIT_S)
    app.begin_transaction()
    produce(app, "bills")
    app.commit_transaction(WAIT_S)
    lab.note("app", "broker", "commit", "ok")
    for topic in ("plain", "bills"):
        lab.log(f"{topic}-0", end=1 + (topic == "bills"))
        lab.read(f"{topic}-0", READ_UNCOMMITTED)
    for create in (False, True):
        topic = f"early-{str(create).lower()}"
        consume_early(lab, topic, create)
        ask(lab, topic, create=False)


def consume_early(lab: Lab, topic: str, create: bool) -> None:
    """A consumer that subscribes before there is a topic: what it is told first. librdkafka
    2.16 creates none then, whatever it is told."""
    import confluent_kafka as ck

    reader = ck.Consumer(
        {
            "bootstrap.servers": lab.target.address,
            "group.id": lab.wire(topic),
            "allow.auto.create.topics": create,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        reader.subscribe([lab.wire(topic)])
        message = reader.poll(WAIT_S)
        error = message.error() if message is not None else None
        first = error.name() if error is not None else "nothing"
        lab.note("reader", topic, f"subscribe, allow.auto.create.topics {create}", first)
    finally:
        reader.close()


# ---- ApiVersions: what clients of every age are told before they ask for anything

FEATURE = "transaction.version"
KEYS = 93  # keys of 4.3.1 end here
HIGHEST = 5  # the first version of a request that kio knows is lower


@program("ApiVersionsResponse#filterFeatures, #createApiVersionsResponse; KIP-511")
def api_versions(lab: Lab) -> None:
    """Of the features the one that both know; of an unknown version the way back."""
    for version in range(5):
        answer = lab.raw().ask(
            18, version, client_software_name="mqlab", client_software_version="1"
        )
        features = [
            f"supported {_levels(answer, 'supported_features', 'min_version', 'max_version')}",
            "finalized "
            + _levels(answer, "finalized_features", "min_version_level", "max_version_level"),
        ]
        lab.note("client", "broker", f"ApiVersions v{version}", ", ".join(features))
    answer = ask_in_unknown_version(lab.raw())
    rows = [f"{r.api_key} v{r.min_version}…v{r.max_version}" for r in answer.api_keys]
    refusal = f"{word(answer.error_code)}: {', '.join(rows)}"
    lab.note("client", "broker", "ApiVersions v99", refusal)


@program("ApiKeys, ApiVersionsResponse: every request there is", profiles=TV2)
def requests_offered(lab: Lab) -> None:
    """What a client may ask at all, in which versions. Produce is announced from version 0 on
    and closes the connection below 3 (KIP-896)."""
    versions = lab.raw().ask_versions()
    for key in range(KEYS):
        low, high = versions.get(key, (0, -1))
        offered = f"v{low}…v{high}" if key in versions else NOT_OFFERED
        lab.note("client", "broker", f"request {key} {_name(key)}", offered)


def _name(key: int) -> str:
    """What kio calls this request; "" where it knows none."""
    for version in range(HIGHEST):
        try:
            return load_request_schema(key, version).__name__.removesuffix("Request")
        except (UnknownAPIKey, UnknownEntity):
            continue
    return ""


def _levels(answer: Any, field: str, low: str, high: str) -> str:
    rows = [f for f in getattr(answer, field, ()) if f.name == FEATURE]
    return f"{getattr(rows[0], low)}…{getattr(rows[0], high)}" if rows else "none"


# ---- The level at which a consumer reads that sets none: one broker, two clients, two answers

LEVELS = ("", "read_committed", "read_uncommitted")
LEVELS_WAIT_S = 30.0


@program(
    "ConsumerConfig#ISOLATION_LEVEL_CONFIG; isolation.level in librdkafka's CONFIGURATION.md",
    profiles=TV2,
    needs=(JAVA,),
)
def default_levels(lab: Lab) -> None:
    """An aborted record lies before a committed one. Who gets the aborted one?"""
    app = Producer.start(lab, "A")
    app.send_and_abort("orders-0", "aborted")
    app.send_and_commit("orders-0", "committed")
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    play_java(lab, "levels")
    for level in LEVELS:
        lab.note("librdkafka", "broker", level or "no level", _read_first(lab, level))


def _read_first(lab: Lab, level: str) -> str:
    """What a consumer of the installed librdkafka gets first."""
    import confluent_kafka as ck

    lab.clients["confluent-kafka"] = ""
    config = {"bootstrap.servers": lab.target.address, "group.id": lab.wire("reader")}
    reader = ck.Consumer(config | ({"isolation.level": level} if level else {}))
    try:
        reader.assign([ck.TopicPartition(*lab.split("orders-0"), 0)])
        first = reader.poll(LEVELS_WAIT_S)
    finally:
        reader.close()
    return (first.value() or b"").decode() if first is not None and not first.error() else "nothing"
