"""Each limit of a broker at one below, at, and one above, in every place where a record is written.

What refuses a value may be a topic's config, a coordinator, the controller, or the reader of the
frame, which closes the connection. Limits that other programs try are left to them: numbers in a
batch (claimed-numbers), transaction.timeout.ms (init-validation), bounds of configs
(configs-refused), where a log begins (delete-records).
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from types import SimpleNamespace as Row
from typing import Any

from mqlab.real.kafka.batches import GZIP, TRANSACTIONAL, batch, record
from mqlab.real.kafka.client import Lab, word
from mqlab.real.kafka.wire import MINUTE, Raw

from . import ALONE, program
from .topic_admin import create

TV2 = ("tv2",)
LARGEST = 1_048_588  # max.message.bytes
METADATA = 4_096  # offset.metadata.max.bytes
NAME = 249
TEXT = 32_767  # bytes of a text in a request
MADE_OF_IT = 37  # bytes that a broker adds to an instance to make a member id: "-" and a UUID
PARTITIONS = 10_000
HOUR_MS, SLACK_MS = 3_600_000, 60_000
SESSION_MS = (6_000, 1_800_000)


def around(limit: int) -> tuple[int, int, int]:
    return limit - 1, limit, limit + 1


def tell(lab: Lab, to: str, question: str, ask: Callable[[Raw], Any]) -> None:
    """On a connection of its own: the broker may close it."""
    raw = Raw(lab.target.address.split(",")[0])
    try:
        outcome = ask(raw)
    except (EOFError, ConnectionError):
        outcome = "the connection is closed"
    finally:
        raw.close()
    lab.note("client", to, question, outcome)


# ---- what is produced ----------------------------------------------------------------------


def send(
    lab: Lab, partition: str, data: bytes, txn_id: str | None = None, acks: int = -1
) -> Callable[[Raw], str]:
    topic, index = lab.split(partition)

    def ask(raw: Raw) -> str:
        rows = (Row(name=topic, partition_data=(Row(index=index, records=data),)),)
        answer = raw.ask(
            0, 11, transactional_id=lab.wire(txn_id) if txn_id else None, acks=acks,
            timeout=MINUTE, topic_data=rows,
        )  # fmt: skip
        return word(answer.responses[0].partition_responses[0].error_code)

    return ask


def fill(size: int, records: int, **more: Any) -> bytes:
    """A batch of exactly so many bytes. Where a longer value makes its own length longer, no value
    fits, and a key of one byte does."""
    rest = b"".join(record(b"v", delta=i) for i in range(1, records))
    for key in (None, b"k"):
        value = size - len(batch(record(b"", key) + rest, records, **more))
        for less in range(8):
            data = batch(record(b"x" * (value - less), key) + rest, records, **more)
            if len(data) == size:
                return data
    raise ValueError(f"no batch of {records} records has {size} bytes")


@program("limits-batches", "DefaultRecordBatch, UnifiedLog#analyzeAndValidateRecords", profiles=TV2)
def limits_batches(lab: Lab) -> None:
    """max.message.bytes counts a batch as it is sent, with its head, compressed or not."""
    lab.topic("t")
    small = 1_000
    create(lab, "small", configs=(("max.message.bytes", str(small)),))
    create(lab, "again", configs=(("max.message.bytes", str(small)), ("compression.type", "gzip")))
    for topic, limit in (("t", LARGEST), ("small", small)):
        for size in around(limit):
            for records in (1, 3):
                question = f"Produce {records} in {size} bytes"
                tell(lab, f"{topic}-0", question, send(lab, f"{topic}-0", fill(size, records)))
    pid = lab.raw().init(lab.wire("x")).producer_id
    lab.raw().ask(
        24, 3, v3_and_below_transactional_id=lab.wire("x"), v3_and_below_producer_id=pid,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=(Row(name=lab.wire("small"), partitions=(0,)),),
    )  # fmt: skip
    for size in (small + 1, small):
        data = fill(size, 1, pid=pid, epoch=0, seq=0, bits=TRANSACTIONAL)
        question = f"Produce 1 in {size} bytes in a transaction"
        tell(lab, "small-0", question, send(lab, "small-0", data, "x"))
    packed = gzip.compress(record(b"x" * 5_000), mtime=0)
    data = batch(packed, 1, bits=GZIP)
    for topic in ("small", "again"):
        question = "Produce 5,000 bytes packed in less than 1,000"
        tell(lab, f"{topic}-0", question, send(lab, f"{topic}-0", data))
    plain = fill(small + 1, 1)
    tell(lab, "again-0", "Produce 1,001 bytes that the broker packs", send(lab, "again-0", plain))
    for name, header in (("key", (b"k" * 2_000, b"")), ("value", (b"k", b"v" * 2_000))):
        data = batch(record(given=(header,)))
        tell(lab, "t-0", f"Produce a header's {name} of 2,000 bytes", send(lab, "t-0", data))
        tell(
            lab, "small-0", f"Produce a header's {name} of 2,000 bytes", send(lab, "small-0", data)
        )
    for acks in (-2, -1, 1, 2):
        question = f"Produce acks={acks}"
        tell(lab, "t-0", question, send(lab, "t-0", batch(record()), acks=acks))


@program("limits-timestamps", "LogValidator#validateTimestamp", profiles=TV2)
def limits_timestamps(lab: Lab) -> None:
    """By the broker's clock, so a minute below and a minute above; and numbers that are no time."""
    lab.topic("t")
    create(lab, "recent", configs=(("message.timestamp.before.max.ms", str(HOUR_MS)),))
    create(lab, "stamped", configs=(("message.timestamp.type", "LogAppendTime"),))
    now = round(time.time() * 1000)
    places = {
        "an hour ahead, less a minute": now + HOUR_MS - SLACK_MS,
        "an hour ahead and a minute": now + HOUR_MS + SLACK_MS,
        "an hour ago, less a minute": now - HOUR_MS + SLACK_MS,
        "an hour ago and a minute": now - HOUR_MS - SLACK_MS,
        "0": 0,
        "-1": -1,
        "-2": -2,
        "the largest": 2**63 - 1,
        "the smallest": -(2**63),
    }
    for topic in ("t", "recent", "stamped"):
        for name, at_ms in places.items():
            data = batch(record(), at_ms=at_ms)
            tell(lab, f"{topic}-0", f"Produce at {name}", send(lab, f"{topic}-0", data))


# ---- what a group writes ---------------------------------------------------------------------


def commit(
    lab: Lab, group: str, note: str | None, offset: int = 1, epoch: int = -1, count: int = 1
) -> Callable[[Raw], str]:
    def ask(raw: Raw) -> str:
        part = Row(
            partition_index=0, committed_offset=offset, committed_leader_epoch=epoch,
            committed_metadata=note,
        )  # fmt: skip
        parts = tuple(Row(**{**vars(part), "partition_index": i}) for i in range(count))
        answer = raw.ask(
            8, 8, group_id=group, generation_id_or_member_epoch=-1, member_id="",
            group_instance_id=None, topics=(Row(name=lab.wire("t"), partitions=parts),),
        )  # fmt: skip
        errors = {word(p.error_code) for p in answer.topics[0].partitions}
        return ", ".join(sorted(errors))

    return ask


def commit_in_transaction(lab: Lab, pid: int, note: str, count: int = 1) -> Callable[[Raw], str]:
    def ask(raw: Raw) -> str:
        parts = tuple(
            Row(partition_index=i, committed_offset=1, committed_leader_epoch=-1,
                committed_metadata=note)
            for i in range(count)
        )  # fmt: skip
        answer = raw.ask(
            28, 4, transactional_id=lab.wire("x"), group_id=lab.wire("g"), producer_id=pid,
            producer_epoch=0, generation_id=-1, member_id="", group_instance_id=None,
            topics=(Row(name=lab.wire("t"), partitions=parts),),
        )  # fmt: skip
        return ", ".join(sorted({word(p.error_code) for p in answer.topics[0].partitions}))

    return ask


@program("limits-offsets", "OffsetMetadataManager#isMetadataInvalid, KafkaApis", profiles=TV2)
def limits_offsets(lab: Lab) -> None:
    """offset.metadata.max.bytes; offsets and epochs that are none; and a commit whose records,
    in one batch, are larger than __consumer_offsets allows."""
    many = 300
    lab.topic("t", many)
    group = lab.wire("g")
    lab.coordinator("g", 0)
    pid = lab.raw().init(lab.wire("x")).producer_id
    lab.raw().ask(
        25, 3, transactional_id=lab.wire("x"), producer_id=pid, producer_epoch=0, group_id=group
    )
    for letter in ("a", "é", "€", "😀"):
        for size in around(METADATA // len(letter.encode("utf-16-le")) * 2):
            question = f"metadata of {size} x {letter}"
            to = "group coordinator"
            tell(lab, to, f"OffsetCommit {question}", commit(lab, group, letter * size))
        for size in around(METADATA // len(letter.encode())):
            question = f"metadata of {size} x {letter}"
            tell(lab, to, f"OffsetCommit {question}", commit(lab, group, letter * size))
    for size in around(METADATA):
        question = f"TxnOffsetCommit metadata of {size}"
        tell(lab, to, question, commit_in_transaction(lab, pid, "a" * size))
    tell(lab, to, "OffsetCommit no metadata", commit(lab, group, None))
    for offset in (-2, -1, 0, 2**63 - 1):
        tell(lab, to, f"OffsetCommit offset {offset}", commit(lab, group, "", offset))
    for epoch in (-2, 0, 2**31 - 1):
        tell(lab, to, f"OffsetCommit leader epoch {epoch}", commit(lab, group, "", 1, epoch))
    question = f"of {many} x {METADATA} bytes of metadata"
    tell(lab, to, f"OffsetCommit {question}", commit(lab, group, "a" * METADATA, count=many))
    asked = commit_in_transaction(lab, pid, "a" * METADATA, many)
    tell(lab, to, f"TxnOffsetCommit {question}", asked)
    tell(lab, to, "OffsetCommit after it", commit(lab, group, ""))


# ---- names -----------------------------------------------------------------------------------


@program("limits-names", "Topic#validate, KafkaApis, MessageUtil", profiles=TV2)
def limits_names(lab: Lab) -> None:
    """Names and texts: of topics, groups, transactional ids, members and their instances."""
    for size in around(NAME):
        create(lab, "n" * size, wire=False, validate=True)
    lab.topic("t")
    for size in (0, 1, *around(TEXT)):
        question = f"InitProducerId of {size} bytes"
        tell(lab, "coordinator", question, partial(ask_id, name="i" * size))
    for size in (0, 1, TEXT - 1, TEXT):  # these versions have no room for a longer text
        name = "i" * size
        tell(lab, "coordinator", f"OffsetCommit of a group of {size} bytes", commit(lab, name, ""))
        for what in ("group", "member"):
            fields: dict[str, Any] = {"group": lab.wire(f"{what}{size}"), what: name}
            question = f"JoinGroup with a {what} of {size} bytes"
            tell(lab, "coordinator", question, partial(join, lab, **fields))
    for size in (1, *around(TEXT - MADE_OF_IT)):
        fields = {"group": lab.wire(f"instance{size}"), "instance": "i" * size}
        question = f"JoinGroup with an instance of {size} bytes"
        tell(lab, "coordinator", question, partial(join, lab, **fields))


def ask_id(raw: Raw, name: str) -> str:
    return word(raw.init(name).error_code)


def join(
    lab: Lab, raw: Raw, group: str = "", member: str = "", instance: str | None = None,
    session_ms: int = 45_000, rebalance_ms: int = 60_000,
    protocols: tuple[str, ...] = ("range",), kind: str = "consumer",
) -> str:  # fmt: skip
    """The error of a JoinGroup v5; a new member is given an id."""
    group = group or lab.wire("joined")
    answer = raw.ask(
        11, 5, group_id=group, session_timeout=timedelta(milliseconds=session_ms),
        rebalance_timeout=timedelta(milliseconds=rebalance_ms), member_id=member,
        group_instance_id=instance, protocol_type=kind,
        protocols=tuple(Row(name=name, metadata=b"") for name in protocols),
    )  # fmt: skip
    return word(answer.error_code)


@program("limits-groups", "GroupMetadataManager#classicGroupJoin", profiles=TV2)
def limits_groups(lab: Lab) -> None:
    """Times and names of a member that joins; each in a group of its own."""
    lab.coordinator("g", 0)
    sessions = [*around(SESSION_MS[0]), *around(SESSION_MS[1]), -1, 0, 2**31 - 1]
    asked: list[tuple[str, dict[str, Any]]] = [
        (f"session of {ms} ms", {"session_ms": ms}) for ms in sessions
    ]
    asked += [(f"rebalance of {ms} ms", {"rebalance_ms": ms}) for ms in (-2, -1, 0, 2**31 - 1)]
    asked += [
        ("no protocol", {"protocols": ()}),
        ("a protocol without a name", {"protocols": ("",)}),
        ("a protocol twice", {"protocols": ("range", "range")}),
        ("no type", {"kind": ""}),
    ]
    for i, (question, fields) in enumerate(asked):
        asks = partial(join, lab, group=lab.wire(f"g{i}"), **fields)
        tell(lab, "group coordinator", f"JoinGroup {question}", asks)


# ---- numbers -----------------------------------------------------------------------------------


@program("limits-numbers", "ReplicationControlManager, KafkaApis", profiles=TV2, needs=(ALONE,))
def limits_numbers(lab: Lab) -> None:
    """Counts of partitions (nothing is made), isolation levels, offsets and sizes of a fetch."""
    for count in (-2, -1, 0, 1, PARTITIONS + 1, 2**31 - 1):
        create(lab, "counted", count=count, validate=True)
    lab.topic("t")
    topic = lab.wire("t")
    for level in (-1, 0, 1, 2, 127):
        part = Row(partition_index=0, current_leader_epoch=-1, timestamp=-1)

        def list_offsets(raw: Raw, level: int = level, part: Row = part) -> str:
            rows = (Row(name=topic, partitions=(part,)),)
            answer = raw.ask(2, 7, replica_id=-1, isolation_level=level, topics=rows)
            return word(answer.topics[0].partitions[0].error_code)

        tell(lab, "t-0", f"ListOffsets isolation {level}", list_offsets)
        tell(lab, "t-0", f"Fetch isolation {level}", partial(fetch, topic=topic, level=level))
    for name in ("offset", "part_bytes", "most_bytes", "least_bytes", "index"):
        for value in (-2, -1, 0, 1):
            number: dict[str, Any] = {name: value}
            asks = partial(fetch, topic=topic, **number)
            tell(lab, "t-0", f"Fetch {name} {value}", asks)


def fetch(
    raw: Raw, topic: str, level: int = 0, offset: int = 0, part_bytes: int = 1 << 20,
    most_bytes: int = 1 << 20, least_bytes: int = 0, index: int = 0,
) -> str:  # fmt: skip
    part = Row(
        partition=index, current_leader_epoch=-1, fetch_offset=offset, log_start_offset=-1,
        partition_max_bytes=part_bytes,
    )  # fmt: skip
    answer = raw.ask(
        1, 11, replica_id=-1, max_wait=timedelta(0), min_bytes=least_bytes, max_bytes=most_bytes,
        isolation_level=level, session_id=0, session_epoch=-1, forgotten_topics_data=(),
        rack_id="", topics=(Row(topic=topic, partitions=(part,)),),
    )  # fmt: skip
    return (
        word(answer.error_code)
        if answer.error_code.value
        else word(answer.responses[0].partitions[0].error_code)
    )
