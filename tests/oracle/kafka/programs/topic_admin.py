"""Topics made, enlarged, their configs shown; and what a broker says to those who ask for
what cannot be. Here the words of an error are noted too: tools print them."""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any

from mqlab.real.kafka.client import Lab, word
from mqlab.real.kafka.wire import MINUTE

from . import program

TOPIC, BROKER = 2, 4  # kinds of resources
TV2 = ("tv2",)  # nothing here is about transactions
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
