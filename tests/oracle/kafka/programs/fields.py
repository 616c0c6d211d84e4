"""Every field of a record, every codec: all that a consumer can see, and all that is on the wire.

A consumer (confluent-kafka) says what an application gets: key, value, headers, timestamp and
its type, partition, offset, leader epoch, the sizes that a ConsumerRecord calls serialized. Raw
fetches say what the batches are: every field of the head, whether the length is that of the bytes
and the checksum right, the codec in the attributes.

Nothing is left out, except by relation: a time of today is "of now" where it lies between the
question and the answer; the length of a compressed batch is the library's matter.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from kio.records.readers import crc32c  # type: ignore[attr-defined]

from mqlab.kafka.messages import READ_COMMITTED, READ_UNCOMMITTED
from mqlab.real.kafka.batches import HEAD, TRANSACTIONAL, batch, record
from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.programs import send
from tests.oracle.kafka.admin import bytes_of
from tests.oracle.kafka.producer import Producer

from . import TV2, program

STAMP = 1_323_074_280_000  # 2011-12-05 08:38 UTC, in ms
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LARGEST = 1_048_588  # bytes of a batch: max.message.bytes
SHOWN = 12  # bytes that are noted as they are; of what is longer a digest is
WAIT_S = 20.0
DEAD = (None, b"k")  # a tombstone: value and key


def noise(size: int) -> bytes:
    """Bytes that no codec makes smaller; the same in every run."""
    return random.Random(size).randbytes(size)


VALUES = {
    "empty": (b"", None, ()),
    "of 1 byte": (b"v", b"k", ()),
    "of 4,095 bytes": (b"abcde" * 819, b"k", ()),
    "of 4,096 bytes": (b"abcdefgh" * 512, b"k", ()),
    "of 1,000,000 bytes": (b"0123456789" * 100_000, b"k", ()),
    "of 1,000,000 bytes that no codec makes fewer": (noise(1_000_000), b"k", ()),
    "with headers": (b"v", b"k", (("a", b"1"), ("a", b"2"), ("é", b""), ("none", None))),
    "with bytes as key": (b"v", b"\xff\0\x80", ()),
    "with an empty key": (b"v", b"", ()),
    "a tombstone": (*DEAD, ()),
    "a tombstone with a header": (*DEAD, (("why", b"gone"),)),
    "null and no key": (None, None, ()),
}  # name → value, key, headers


# ---- what is seen ------------------------------------------------------------------------


def show_bytes(data: bytes | None) -> str:
    if data is None:
        return "null"
    if len(data) <= SHOWN:
        return repr(data)
    return f"{len(data)} bytes {hashlib.sha256(data).hexdigest()[:8]}"


def size_of(data: bytes | None) -> int:
    """As ConsumerRecord's serializedKeySize and serializedValueSize: -1 for null."""
    return -1 if data is None else len(data)


def when(at_ms: int, since_ms: int) -> str:
    """A time: as it is, or by relation where it is of this run."""
    if at_ms < since_ms:
        return str(at_ms)
    return "of now" if at_ms <= round(time.time() * 1000) else f"{at_ms}, which is in the future"


def see_records(lab: Lab, partition: str, isolation: str, since_ms: int) -> None:
    """Note every field that a consumer's application gets of every record."""
    for message in lab.consume(partition, isolation, **{"check.crcs": True}):
        if message.error() is not None:
            lab.note("reader", partition, f"{isolation} ends", f"@{message.offset()}")
            continue
        kind, at_ms = message.timestamp()
        key, value, headers = message.key(), message.value(), message.headers()
        sizes = f"{size_of(key)}/{size_of(value)}"
        details = [
            f"key {show_bytes(key)}, value {show_bytes(value)}, sizes {sizes}, headers {headers}",
            f"stamp {when(at_ms, since_ms)} type {kind}",
            f"partition {message.partition()}, leader epoch {message.leader_epoch()}",
        ]
        lab.note("reader", partition, f"{isolation} @{message.offset()}", "; ".join(details))


def see_batches(lab: Lab, partition: str, since_ms: int, end: int) -> None:
    """Note every field of the head of every batch, up to offset `end`."""
    at = 0
    while at < end:
        data = bytes_of(lab, partition, at)
        while len(data) >= HEAD.size and len(data) >= 12 + HEAD.unpack_from(data)[1]:
            size = 12 + HEAD.unpack_from(data)[1]
            at = see_batch(lab, partition, data[:size], since_ms)
            data = data[size:]


def see_batch(lab: Lab, partition: str, data: bytes, since_ms: int) -> int:
    """The offset behind it."""
    (base, length, leader, magic, crc, bits, last, first_ms, newest_ms, pid, epoch, seq, count) = (
        HEAD.unpack_from(data)
    )
    codec = bits & 7
    body = "compressed" if codec else show_bytes(data[HEAD.size :])
    if bits & 0x20:  # a marker's value tells the coordinator's epoch, which grows with restarts
        body = f"{len(data) - HEAD.size} bytes of a marker"
    details = [
        f"{count} records, last delta {last}, {'compressed' if codec else length} bytes {body}",
        f"leader epoch {leader}, magic {magic}, attributes {bits:#06x}, codec {CODECS[codec]}",
        f"checksum {'right' if crc == crc32c(data[21:]) else 'WRONG'}",
        f"stamps {when(first_ms, since_ms)} to {when(newest_ms, since_ms)}",
        f"pid={pid} epoch={epoch} seq={seq}",
    ]
    lab.note("wire", partition, f"batch @{base}", "; ".join(details))
    return int(base) + int(last) + 1


# ---- a client's records, in each codec ---------------------------------------------------


def fields(codec: str, lab: Lab) -> None:
    """Each record in a batch of its own, then three in one; the idempotent producer is
    librdkafka's, so the compressed bytes are those of a client that is in use. It leaves small
    batches as they are, other clients do not: two of those are made by hand."""
    import confluent_kafka as ck

    lab.clients["confluent-kafka"] = ""
    since_ms = round(time.time() * 1000)
    kinds = {"orders": "CreateTime", "stamped": "LogAppendTime"}
    client = ck.Producer(
        {
            "bootstrap.servers": lab.target.address,
            "enable.idempotence": True,
            "compression.type": codec,
            "message.max.bytes": 2_000_000,
            "linger.ms": 200,
        }
    )
    for topic, kind in kinds.items():
        lab.topic(topic, retention_ms="-1", message_timestamp_type=kind)
        for called, (value, key, headers) in VALUES.items():
            _produce(lab, client, topic, called, value, key, headers)
            if len(value or b"") < 5_000:
                client.flush(WAIT_S)
        for value in (b"a" * 500, b"b" * 500, b"c" * 500):
            _produce(lab, client, topic, "one of three", value, b"k", ())
        client.flush(WAIT_S)
        for value in (b"", b"v"):
            body = compress(codec, record(value, key=b"k"))
            data = batch(body, bits=CODECS.index(codec), at_ms=STAMP)
            send(lab, f"{topic}-0", f"{show_bytes(value)} in {codec}", data)
        end = len(VALUES) + 5
        see_batches(lab, f"{topic}-0", since_ms, end)
        see_records(lab, f"{topic}-0", READ_UNCOMMITTED, since_ms)


def compress(codec: str, data: bytes) -> bytes:
    """Arrow's codecs: bare snappy, an lz4 frame, a zstd frame."""
    import pyarrow as pa

    if codec == "none":
        return data
    if codec == "gzip":
        return gzip.compress(data)
    return bytes(pa.compress(data, codec=codec, asbytes=True))


def _produce(
    lab: Lab,
    client: Any,
    topic: str,
    called: str,
    value: bytes | None,
    key: bytes | None,
    headers: tuple[tuple[str, bytes | None], ...],
) -> None:
    """Its report is noted when it comes."""
    name = lab.wire(topic)
    given = {"headers": list(headers)} if headers else {}

    def report(error: Any, message: Any) -> None:
        outcome = error.name() if error is not None else f"ok @{message.offset()}"
        lab.note("app", f"{topic}-0", f"produce {called}", outcome)

    client.produce(name, value, key, partition=0, timestamp=STAMP, on_delivery=report, **given)
    if len(value or b"") >= 5_000:
        client.flush(WAIT_S)


for one in CODECS:
    program(
        "ConsumerRecord, DefaultRecordBatch: every field, in every codec",
        name=f"record-fields-{one}",
        profiles=TV2,
    )(partial(fields, one))


# ---- a batch's place: plain, idempotent, in a transaction --------------------------------


@program("DefaultRecordBatch, ProducerStateManager: what a leader adds to a batch")
def record_places(lab: Lab) -> None:
    """Ordinary, idempotent and sent again, committed, aborted; and the largest that there may be,
    beside one that is a byte longer."""
    since_ms = round(time.time() * 1000)
    lab.topic("orders", retention_ms="-1")
    plain = record(b"p", key=b"k", given=((b"h", b"1"),))
    write = partial(_send, lab)
    write("ordinary", plain)
    write("ordinary of now", plain, at_ms=round(time.time() * 1000))
    two = record(b"a", key=b"k") + record(b"b", key=b"k", delta=1, stamp=7)
    app = Producer.opened(lab, None, "app")
    mine = {"pid": app.pid, "epoch": app.epoch}
    for called, seq in (("idempotent", 0), ("the same again", 0), ("the next", 2)):
        write(called, two, 2, max_ms=STAMP + 7, seq=seq, **mine)
    for txn_id, end, behind in (("A", Producer.commit, 8), ("B", Producer.abort, 10)):
        _transaction(lab, write, txn_id, end)
        lab.wait_until(lambda: lab.stable_end("orders-0"), behind)  # its marker is in
    size = LARGEST - len(batch(record(b"")))
    while len(batch(record(noise(size)))) > LARGEST:
        size -= 1
    write("the largest", record(noise(size)))
    write("a byte more", record(noise(size + 1)))
    lab.wait_until(lambda: lab.stable_end("orders-0"), 11)
    see_batches(lab, "orders-0", since_ms, 11)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        see_records(lab, "orders-0", isolation, since_ms)


def _send(lab: Lab, called: str, body: bytes, count: int = 1, **head: Any) -> None:
    txn_id = head.pop("txn_id", None)
    head = {"at_ms": STAMP, **head}
    data = batch(body, count, **head)
    send(lab, "orders-0", called, data, version=lab.profile.produce, txn_id=txn_id)


def _transaction(lab: Lab, write: Callable[..., None], txn_id: str, end: Any) -> None:
    app = Producer.opened(lab, txn_id, "app")
    if not lab.profile.v2:
        app.add("orders-0")
    mine = {"pid": app.pid, "epoch": app.epoch, "bits": TRANSACTIONAL, "txn_id": txn_id}
    write(f"in transaction {txn_id}", record(b"t", key=b"k"), seq=0, **mine)
    end(app)
