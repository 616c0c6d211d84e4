"""What a leader refuses to keep: batches that are broken, that lie, that a topic does not
want; and that a transaction contains the partition all the same."""

from __future__ import annotations

import gzip
import struct
import time

from mqlab.kafka.messages import READ_UNCOMMITTED
from mqlab.real.kafka.admin import describe
from mqlab.real.kafka.batches import (
    APPEND_TIME,
    CONTROL,
    GZIP,
    HEAD,
    HORIZON,
    LZ4,
    SNAPPY,
    TRANSACTIONAL,
    ZSTD,
    batch,
    number,
    patch,
    record,
)
from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.programs import LENGTHS, send
from tests.oracle.kafka.admin import bytes_of, list_offsets, log_each
from tests.oracle.kafka.producer import Producer

from . import TV2, program

HOUR_MS = 3_600_000
STAMP = 1_323_074_280_000  # 2011-12-05 08:38 UTC, in ms
ONE = record()
TWO = record(b"a") + record(b"b", delta=1)


def _shapes() -> dict[str, bytes]:
    """Wrong in the head, or around it."""
    good = batch()
    return {
        "a checksum of 0": patch(good, 17, bytes(4)),
        "magic 0": patch(good, 16, b"\0"),
        "magic 1": patch(good, 16, b"\1"),
        "magic 9": patch(good, 16, b"\x09"),
        "two batches": good + good,
        "two bytes too few": good[:-2],
        "half a head": good[:30],
        "no bytes": b"",
        "base offset 7": patch(good, 0, struct.pack(">q", 7)),
        "length -5": patch(good, 8, struct.pack(">i", -5)),
        "length 20": patch(good, 8, struct.pack(">i", 20)),
        "no records": batch(b"", 0),
        "count -1": batch(count=-1, delta=0),
        "another last offset than its count": batch(delta=5),
        "a control batch": batch(bits=CONTROL),
        "a delete horizon": batch(bits=HORIZON),
        "another timestamp type": batch(bits=APPEND_TIME),
        "unknown attributes": batch(bits=0x400),
        "a producer id without a sequence": batch(pid=987_654, epoch=0),
        "a producer id without an epoch": batch(pid=987_654, seq=0),
        "a sequence without a producer id": batch(seq=3),
        "a transaction without an id": batch(bits=TRANSACTIONAL),
        "more than max.message.bytes": batch(record(b"x" * 1_048_600)),
    }


def _bodies() -> dict[str, bytes]:
    """Wrong inside."""
    return {
        "bytes that are no records": batch(b"hello world, no records here"),
        "a number without an end": batch(b"\xff" * 20),
        "an empty body": batch(b""),
        "2147483647 records that are one": batch(count=2**31 - 1),
        "two records that are one": batch(count=2),
        "one record that is two": batch(TWO),
        "bytes after the last record": batch(ONE + bytes(3)),
        "deltas 0 and 5": batch(record(b"a") + record(b"b", delta=5), 2),
        "deltas 1 and 0": batch(record(b"a", delta=1) + record(b"b"), 2),
        "a record with attributes": batch(record(attributes=3)),
        "-1 headers": batch(record(headers=-1)),
        "5 headers that are none": batch(record(headers=5)),
        "a record longer than its fields": batch(number(40) + record(b"a" * 30)[1:] + b"x" * 9),
        "a value beyond its record": batch(number(10) + b"\0\0\0\1" + number(500) + b"abcd"),
        "gzip": batch(gzip.compress(ONE), bits=GZIP),
        "gzip that is none": batch(b"no gzip at all", bits=GZIP),
        "gzip of no records": batch(gzip.compress(b"hello world"), bits=GZIP),
        "gzip of one record for two": batch(gzip.compress(ONE), 2, bits=GZIP),
        "gzip of two records for one": batch(gzip.compress(TWO), bits=GZIP),
        "gzip and more": batch(gzip.compress(ONE) + b"more", bits=GZIP),
        "snappy that is none": batch(b"no snappy at all", bits=SNAPPY),
        "lz4 that is none": batch(b"no lz4 at all", bits=LZ4),
        "zstd that is none": batch(b"no zstd at all", bits=ZSTD),
        "compression 5": batch(bits=5),
        "compression 7": batch(bits=7),
    }


#: a real broker steps over the fields of compressed records, and does not see these then


def _claims() -> dict[str, tuple[bytes, int, dict[str, int]]]:
    """What a batch says about itself: its records, their number, fields of the head. Where there
    are two, the second came 5 ms after the first."""
    two = record(b"a") + record(b"b", delta=1, stamp=5)
    late = {"max_ms": STAMP + 5}
    mine = {"pid": 987_654, "epoch": 0}
    heads = {
        "what is so": late,
        "last offset delta 0": late | {"delta": 0},
        "last offset delta 2": late | {"delta": 2},
        "last offset delta -1": late | {"delta": -1},
        "last offset delta 2147483647": late | {"delta": 2**31 - 1},
        "a newest stamp before the first": {"max_ms": STAMP - 1},
        "a newest stamp too old": {},
        "a newest stamp too new": {"max_ms": STAMP + 6},
        "a newest stamp of -1": {"max_ms": -1},
        "a first stamp of -1": {"at_ms": -1, "max_ms": 4},
        "a producer id -5": late | {"pid": -5},
        "an epoch -5": late | {"pid": 987_654, "epoch": -5, "seq": 0},
        "a sequence -2": late | mine | {"seq": -2},
        "a sequence 2147483647": late | {"pid": 987_655, "epoch": 0, "seq": 2**31 - 1},
    }
    claims = {called: (two, 2, head) for called, head in heads.items()}
    claims |= {f"{count} records": (two, count, late | {"delta": 1}) for count in (0, 1, 3, -1)}
    odd = LENGTHS | {
        "a key of -2 bytes": number(7) + b"\0\0\0" + number(-2) + number(1) + b"a\0",
        "a value of -2 bytes": number(6) + b"\0\0\0" + number(-1) + number(-2) + b"\0\0",
        "a key longer than its record": number(7) + b"\0\0\0" + number(9) + number(1) + b"a\0",
        "a header without a name": number(9) + record(b"a")[1:-1] + number(1) + number(-1) + b"\1",
        "a header longer than its record": number(9) + record(b"a")[1:-1] + b"\2\x10n",
        "a stamp before the first": record(b"a", stamp=-9),
        "a stamp beyond 64 bits": record(b"a", stamp=2**63 - 1),
    }
    claims |= {called: (body, 1, {}) for called, body in odd.items()}
    return claims


@program(
    "LogValidator#validateRecord, DefaultRecord#readFrom: what a batch says about itself",
    profiles=TV2,
)
def claimed_numbers(lab: Lab) -> None:
    """Each once as it is and once compressed, where a broker takes another way; then what
    is in the log."""
    lab.topic("orders", retention_ms="-1")
    for called, (body, count, head) in _claims().items():
        given = {"at_ms": STAMP, **head}
        send(lab, "orders-0", called, batch(body, count, **given))
        if "pid" not in given and called not in LENGTHS:
            packed = batch(gzip.compress(body), count, bits=GZIP, **given)
            send(lab, "orders-0", f"{called}, gzip", packed)
    raw = bytes_of(lab, "orders-0")
    while raw:
        head_ = HEAD.unpack_from(raw)
        counts = f"{head_[12]} records, last delta {head_[6]}, stamps {head_[7]} to {head_[8]}"
        lab.note("log", "orders-0", f"batch @{head_[0]}", f"{counts}, sequence {head_[11]}")
        raw = raw[12 + head_[1] :]


@program("ProduceRequest#validateRecords, UnifiedLog#analyzeAndValidateRecords", profiles=TV2)
def refused_batches(lab: Lab) -> None:
    lab.topic("orders")
    for called, data in _shapes().items():
        send(lab, "orders-0", called, data)
    lab.log("orders-0", end=5, dump=False)


@program("LogValidatorTest: batches whose records are none", profiles=TV2)
def refused_records(lab: Lab) -> None:
    lab.topic("orders")
    for called, data in _bodies().items():
        send(lab, "orders-0", called, data)
    lab.log("orders-0", end=7, dump=False)


@program("LogValidatorTest: message.timestamp.before.max.ms and .after.max.ms", profiles=TV2)
def refused_stamps(lab: Lab) -> None:
    now = round(time.time() * 1000)
    lab.topic("orders")
    lab.topic("recent", message_timestamp_before_max_ms=str(HOUR_MS))
    lab.topic("stamped", message_timestamp_type="LogAppendTime")
    early, late = now - 2 * HOUR_MS, now + 2 * HOUR_MS
    for topic in ("orders-0", "recent-0", "stamped-0"):
        send(lab, topic, "of now", batch())
        send(lab, topic, "of two hours ago", batch(at_ms=early))
        send(lab, topic, "of in two hours", batch(at_ms=late))
        second = record() + record(delta=1, stamp=2 * HOUR_MS)
        send(lab, topic, "the second record of in two hours", batch(second, 2))
        send(lab, topic, "without a stamp", batch(at_ms=-1))
    for topic, end in (("orders-0", 3), ("recent-0", 2), ("stamped-0", 6)):
        lab.log(topic, end=end, dump=False)
    list_offsets(lab, "stamped-0", now - 1, READ_UNCOMMITTED, "the beginning of this")


@program("LogValidator#validateKey: a compacted topic needs keys", profiles=TV2)
def refused_keys(lab: Lab) -> None:
    lab.topic("latest", cleanup_policy="compact")
    second = record(key=b"k") + record(delta=1) + record(delta=2)
    for called, data in {
        "without a key": batch(),
        "with a key": batch(record(key=b"k")),
        "with an empty key": batch(record(key=b"")),
        "two of three without a key": batch(second, 3),
        "gzip without a key": batch(gzip.compress(ONE), bits=GZIP),
        "a tombstone": batch(record(None, key=b"k")),
    }.items():
        send(lab, "latest-0", called, data)
    send(lab, "latest-0", "without a key", batch(), version=7)
    lab.log("latest-0", end=3, dump=False)


@program("ReplicaManager#handleProduceAppend: first added, then checked")
def refused_in_transaction(lab: Lab) -> None:
    """A v2 client's batch that is refused for what it is has added its partition: the
    transaction is open, and its end writes a marker into a log without records. A legacy
    client's partition was not added, and that is said first."""
    lab.topic("small", max_message_bytes="300")
    lab.topic("latest", cleanup_policy="compact")
    long = record(b"x" * 900)
    cases = {
        "too large": ("small-0", long, 1, False),
        "broken": ("small-0", ONE, 1, True),
        "no records": ("small-0", b"hello world", 1, False),
        "two that are one": ("small-0", ONE, 2, False),
        "without a key": ("latest-0", ONE, 1, False),
    }
    for i, (called, (partition, body, count, broken)) in enumerate(cases.items()):
        app = Producer(lab, called.replace(" ", "-"), "app")
        app.init()
        mine = {"bits": TRANSACTIONAL, "pid": app.pid, "epoch": app.epoch, "seq": 0}
        data = batch(body, count, **mine)
        data = patch(data, 17, bytes(4)) if broken else data
        version = lab.profile.produce
        send(lab, partition, called, data, version=version, txn_id=app.txn_id)
        describe(lab, app.txn_id or "")
        app.commit()
        describe(lab, app.txn_id or "", "CompleteCommit" if lab.profile.v2 else "Empty")
        ends = {"small-0": min(i + 1, 4), "latest-0": 1}
        lab.log(partition, end=ends[partition] if lab.profile.v2 else 0)


@program("ReplicaManager#handleProduceAppend: one producer id in a request")
def two_producer_ids(lab: Lab) -> None:
    lab.topic("orders", 2)
    one, two = Producer(lab, "A", "one"), Producer(lab, "B", "two")
    both = []
    for app in (one, two):
        app.init()
        if not lab.profile.v2:
            app.add("orders-0", "orders-1")
        both.append(batch(bits=TRANSACTIONAL, pid=app.pid, epoch=app.epoch, seq=0))
    send(lab, "orders-0", "of A and of B", *both, version=lab.profile.produce, txn_id="A")
    log_each(lab, orders_0=0, orders_1=0)
    send(lab, "orders-0", "of A", both[0], version=lab.profile.produce, txn_id=None)
    send(lab, "orders-0", "of A as B", both[0], version=lab.profile.produce, txn_id="B")
    for version in (7, 10, 11):
        send(lab, "orders-0", "of C", _of_nobody(lab), version=version, txn_id="C")


def _of_nobody(lab: Lab) -> bytes:
    """A batch of a transactional id that has added nothing."""
    given = lab.raw().init(lab.wire("C"))
    mine = {"pid": given.producer_id, "epoch": given.producer_epoch, "seq": 0}
    return batch(bits=TRANSACTIONAL, **mine)


@program("LogValidator: compression.type of a topic", profiles=TV2)
def compression_types(lab: Lab) -> None:
    """What lies in the log: the attributes of each batch, and that it can be read."""
    body = record(b"v" * 100) + record(b"w" * 100, delta=1)
    for kind in ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"):
        lab.topic(kind, compression_type=kind)
        send(lab, f"{kind}-0", "uncompressed", batch(body, 2))
        send(lab, f"{kind}-0", "gzip", batch(gzip.compress(body), 2, bits=GZIP))
        raw = bytes_of(lab, f"{kind}-0")
        while raw:
            (length,) = struct.unpack_from(">i", raw, 8)
            bits, count = raw[22] & 7, struct.unpack_from(">i", raw, HEAD.size - 4)[0]
            lab.note("log", f"{kind}-0", "compression", f"{bits} of {count} records")
            raw = raw[12 + length :]
        lab.read(f"{kind}-0", READ_UNCOMMITTED)
