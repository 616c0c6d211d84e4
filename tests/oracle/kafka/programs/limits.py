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

from . import ALONE, TV2, program
from .topic_admin import create

LARGEST = 1_048_588  # max.message.bytes
PARTITIONS = 10_000
HOUR_MS, SLACK_MS = 3_600_000, 60_000
#: what is usual in a Fetch: of a consumer, without a fetch session
FETCH: dict[str, Any] = {
    "replica_id": -1, "max_wait": timedelta(0), "min_bytes": 0, "max_bytes": 1 << 20,
    "session_id": 0, "session_epoch": -1, "forgotten_topics_data": (), "rack_id": "",
}  # fmt: skip


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


def add_partition(raw: Raw, txn_id: str, pid: int, epoch: int, topic: str) -> Any:
    """AddPartitionsToTxn of partition 0 of a topic: its error code."""
    answer = raw.ask(
        24, 3, v3_and_below_transactional_id=txn_id, v3_and_below_producer_id=pid,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=(Row(name=topic, partitions=(0,)),),
    )  # fmt: skip
    added = answer.results_by_topic_v3_and_below[0].results_by_partition[0]
    return added.partition_error_code


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


@program("DefaultRecordBatch, UnifiedLog#analyzeAndValidateRecords", profiles=TV2)
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
    add_partition(lab.raw(), lab.wire("x"), pid, 0, lab.wire("small"))
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


@program("LogValidator#validateTimestamp", profiles=TV2)
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


# ---- numbers -----------------------------------------------------------------------------------


@program("ReplicationControlManager, KafkaApis", profiles=TV2, needs=(ALONE,))
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
    place = {"partition": index, "fetch_offset": offset, "partition_max_bytes": part_bytes}
    part = Row(current_leader_epoch=-1, log_start_offset=-1, **place)
    fields = {"min_bytes": least_bytes, "max_bytes": most_bytes, "isolation_level": level}
    topics = (Row(topic=topic, partitions=(part,)),)
    answer = raw.ask(1, 11, **FETCH | fields, topics=topics)
    worse = answer if answer.error_code.value else answer.responses[0].partitions[0]
    return word(worse.error_code)
