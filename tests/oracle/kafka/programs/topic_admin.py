"""Topics made, enlarged, configured, emptied; and what a broker says to those who ask for
what cannot be. Here the words of an error are noted too: tools print them."""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any

from mqlab.real.kafka.broker import INTERNAL_TOPICS, SETTINGS
from mqlab.real.kafka.client import Lab, word
from mqlab.real.kafka.wire import MINUTE

from . import ALONE, program

TOPIC, BROKER = 2, 4  # kinds of resources
SET, DELETE, APPEND, SUBTRACT = range(4)
TV2 = ("tv2",)  # nothing here is about transactions
SOURCES = {1: "topic", 2: "broker", 3: "cluster", 4: "start", 5: "default"}

#: what the recorded broker and this project's server were started with, each its own
STARTED_WITH = {
    *SETTINGS,
    *(f"{topic}.{end}" for topic in INTERNAL_TOPICS for end in ("replication.factor", "min.isr")),
    "advertised.listeners", "controller.listener.names", "controller.quorum.voters",
    "fetch.max.bytes", "inter.broker.listener.name", "listener.security.protocol.map",
    "listeners", "log.dirs", "node.id", "process.roles",
}  # fmt: skip


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


@program("topics-refused", "ReplicationControlManagerTest, TopicTest", profiles=TV2)
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


@program("topic-configs-refused", "LogConfigTest, ConfigDefTest", profiles=TV2)
def configs_refused(lab: Lab) -> None:
    """One value each; where it may be, the topic is not made all the same."""
    lags = (("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5"))
    for configs in (*((wrong,) for wrong in WRONG), lags):
        create(lab, "orders", validate=True, configs=configs)


# ---- configs shown and changed -----------------------------------------------------------


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
        if row.name in STARTED_WITH or (not defaults and row.config_source == 5):
            continue
        chain = "; ".join(f"{SOURCES[s.source]} {s.name}={s.value}" for s in row.synonyms)
        how = "read-only" if row.read_only else "dynamic"
        how += ", sensitive" if row.is_sensitive else ""
        setting = f"{row.value} by {SOURCES[row.config_source]}, type {row.config_type}, {how}"
        setting += f" [{chain}]" if chain != f"default {row.name}={row.value}" else ""
        lab.note("admin", "broker", f"{question} {row.name}", setting)


@program("topic-configs", "ConfigHelper#describeConfigs of topics", profiles=TV2)
def topic_configs(lab: Lab) -> None:
    lab.topic("orders", retention_ms="5000", cleanup_policy="compact,delete")
    describe(lab, TOPIC, "orders", defaults=True)
    describe(lab, TOPIC, "orders", keys=("retention.ms", "nope"), defaults=True)
    describe(lab, TOPIC, "nowhere")
    describe(lab, TOPIC, "a/b")
    for kind, name in ((BROKER, "2"), (BROKER, "x"), (1, "x"), (16, "")):
        describe(lab, kind, name, called=f"kind {kind} {name}")
    describe(lab, BROKER, "", called="of all brokers")


@program("broker-configs", "ConfigHelper#describeConfigs of a broker", profiles=TV2, needs=(ALONE,))
def broker_configs(lab: Lab) -> None:
    """All 340, but for what each broker was started with."""
    describe(lab, BROKER, "1", defaults=True, called="broker")


@program("group-configs", "ConfigHelper#describeConfigs of a group", profiles=TV2)
def group_configs(lab: Lab) -> None:
    describe(lab, 32, "readers", defaults=True)


def alter(
    lab: Lab, kind: int, name: str, *changes: tuple[str, int, str | None], validate: bool = False
) -> None:
    """IncrementalAlterConfigs: (config, what to do, value)."""
    wire = lab.wire(name) if kind == TOPIC else name
    rows = tuple(Row(name=n, config_operation=o, value=v) for n, o, v in changes)
    resource = Row(resource_type=kind, resource_name=wire, configs=rows)
    answer = lab.raw().ask(44, 1, resources=(resource,), validate_only=validate).responses[0]
    verbs = {SET: "set", DELETE: "delete", APPEND: "append", SUBTRACT: "subtract"}
    what = ", ".join(f"{verbs.get(o, o)} {n}={v}" for n, o, v in changes)
    how = " only validate" if validate else ""
    question = f"IncrementalAlterConfigs {name or 'all'}: {what}{how}"
    lab.note("admin", "broker", question, describe_error(lab, answer))


def wait_for_config(lab: Lab, kind: int, name: str, config: str, value: str | None) -> None:
    """Wait until the broker has heard of a change: the controller knew before it."""
    wire = lab.wire(name) if kind == TOPIC else name
    resource = Row(resource_type=kind, resource_name=wire, configuration_keys=(config,))
    fields = {"include_synonyms": False, "include_documentation": False}

    def now() -> str | None:
        rows = lab.raw().ask(32, 4, resources=(resource,), **fields).results[0].configs
        return str(rows[0].value) if rows else None

    lab.wait_until(now, value)


@program("topic-configs-altered", "ConfigurationControlManagerTest", profiles=TV2)
def topic_altered(lab: Lab) -> None:
    lab.topic("orders", retention_ms="5000")
    steps = (
        (("retention.ms", SET, "7000"), "retention.ms", "7000"),
        (("retention.ms", DELETE, None), "retention.ms", "604800000"),
        (("cleanup.policy", APPEND, "compact"), "cleanup.policy", "delete,compact"),
        (("cleanup.policy", APPEND, "compact"), "cleanup.policy", "delete,compact"),
        (("cleanup.policy", SUBTRACT, "delete"), "cleanup.policy", "compact"),
    )
    for change, config, value in steps:
        alter(lab, TOPIC, "orders", change)
        wait_for_config(lab, TOPIC, "orders", config, value)
        describe(lab, TOPIC, "orders")
    for change in (
        ("retention.ms", SET, None), ("retention.ms", SET, "abc"), ("nope", SET, "1"),
        ("nope", DELETE, None), ("retention.ms", APPEND, "5"), ("retention.ms", SUBTRACT, "5"),
        ("cleanup.policy", 7, "x"), ("cleanup.policy", APPEND, "shred"),
    ):  # fmt: skip
        alter(lab, TOPIC, "orders", change)
    alter(lab, TOPIC, "orders", ("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
    alter(lab, TOPIC, "orders", ("retention.ms", SET, "1"), ("segment.bytes", SET, "7"))
    alter(lab, TOPIC, "orders", ("retention.ms", SET, "1"), validate=True)
    alter(lab, TOPIC, "nowhere", ("retention.ms", SET, "1"))
    describe(lab, TOPIC, "orders")
    replace_all(lab, "orders", ("max.message.bytes", "500"))
    wait_for_config(lab, TOPIC, "orders", "max.message.bytes", "500")
    describe(lab, TOPIC, "orders")
    replace_all(lab, "orders", ("nope", "1"))
    replace_all(lab, "orders", ("retention.ms", None))
    replace_all(lab, "nowhere", ("retention.ms", "1"))


def replace_all(lab: Lab, name: str, *configs: tuple[str, str | None]) -> None:
    """AlterConfigs: these and no others."""
    rows = tuple(Row(name=n, value=v) for n, v in configs)
    resource = Row(resource_type=TOPIC, resource_name=lab.wire(name), configs=rows)
    answer = lab.raw().ask(33, 2, resources=(resource,), validate_only=False).responses[0]
    what = ", ".join(f"{n}={v}" for n, v in configs)
    lab.note("admin", "broker", f"AlterConfigs {name}: {what}", describe_error(lab, answer))


@program("broker-configs-altered", "DynamicBrokerConfigTest", profiles=TV2, needs=(ALONE,))
def broker_altered(lab: Lab) -> None:
    """What a topic inherits: of this broker, else of all, else the default."""
    lab.topic("orders")
    alter(lab, BROKER, "1", ("message.max.bytes", SET, "500000"))
    wait_for_config(lab, TOPIC, "orders", "max.message.bytes", "500000")
    describe(lab, TOPIC, "orders")
    alter(lab, BROKER, "", ("message.max.bytes", SET, "600000"))
    wait_for_config(lab, BROKER, "", "message.max.bytes", "600000")
    describe(lab, TOPIC, "orders")
    describe(lab, BROKER, "1", called="broker")
    describe(lab, BROKER, "", called="of all brokers")
    alter(lab, BROKER, "1", ("message.max.bytes", DELETE, None))
    wait_for_config(lab, TOPIC, "orders", "max.message.bytes", "600000")
    describe(lab, TOPIC, "orders")
    alter(lab, BROKER, "", ("message.max.bytes", DELETE, None))
    wait_for_config(lab, TOPIC, "orders", "max.message.bytes", "1048588")
    for change in (("node.id", SET, "2"), ("log.cleaner.threads", SET, "abc")):
        alter(lab, BROKER, "1", change)
    alter(lab, BROKER, "2", ("log.cleaner.threads", SET, "2"))
    alter(lab, BROKER, "x", ("log.cleaner.threads", SET, "2"))
    describe(lab, TOPIC, "orders")


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


@program("create-partitions", "ReplicationControlManagerTest#testCreatePartitions", profiles=TV2)
def create_partitions(lab: Lab) -> None:
    lab.topic("orders", 2)
    for count in (2, 1, 0, -1):
        enlarge(lab, "orders", count)
    enlarge(lab, "orders", 4, validate=True)
    enlarge(lab, "orders", 3)
    lab.wait_until(lambda: lab.end("orders-2"), 0)
    lab.list_offsets("orders-2", -1)
    enlarge(lab, "nowhere", 4)
    for count, rows in ((5, ((1,),)), (4, ((2,),)), (4, ((1, 1),)), (4, ((),)), (4, ((1,),))):
        enlarge(lab, "orders", count, *rows)
    enlarge(lab, "orders", 5, placed_by_hand=True)
    enlarge(lab, "orders", 7, twice=True)
