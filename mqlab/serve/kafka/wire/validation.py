"""What a leader looks at before it keeps a batch, and what it changes in it.

A batch that says it holds two billion records moves the end of the log by two billion, and
one whose records are none stops every reader that comes to it. So the head is compared with what is
inside, record by record. Where the topic asks for it, the records are compressed again and
stamped with the broker's clock; the client's bytes stay untouched otherwise.

The order is the real one: shape, place, size, checksum, head, records. What a broken batch is
called depends on where it breaks, also where the name is odd: bytes that cannot be
decompressed are an UNKNOWN_SERVER_ERROR on a real 4.3.1.

Source: ProduceRequest#validateRecords (clients), UnifiedLog#analyzeAndValidateRecords,
LogValidator (storage, Kafka 4.3); answers recorded in `datasets/recordings`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....kafka.errors import Error
from ....kafka.log import COMMIT, Batch
from ....kernel import frozen
from ...crc import crc32c
from . import bodies
from .bodies import Walked, walk_records
from .compression import NAMES, TooLarge, Unreadable, compress, decompress
from .varints import Endless

# Record batches as bytes: the 61 bytes at their head, and nothing more unless asked.
#
#     base offset 8 · length 4 · leader epoch 4 · magic 1 · CRC-32C 4 · attributes 2 ·
#     last offset delta 4 · base and max timestamp 8+8 · producer id 8 · epoch 2 ·
#     base sequence 4 · count 4 · records …
#
# A leader gives a batch its base offset and its leader epoch; both are before what the CRC covers,
# so they are filled in when the batch leaves and the client's bytes stay untouched. A marker has no
# bytes of a client: it is made here, 78 of them, from what the log knows.
#
# Source: DefaultRecordBatch, DefaultRecord, EndTransactionMarker (Kafka 4.3).


HEAD = struct.Struct(">qiibIhiqqqhii")
PLACE = struct.Struct(">q4sI")  # base offset, length, leader epoch
MAGIC = 2
COMPRESSION, APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
LEADER_EPOCH = 0
CHECKED_FROM = 21  # the CRC covers what follows it


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """A batch as its client sent it."""

    data: bytes

    def find_since(self, at_ms: int, place: int = 0) -> tuple[int, int] | None:
        """(offset within the batch, timestamp) of the first record, at `place` or after it, stamped
        at or after `at_ms`; None where no record is, or where they cannot be read."""
        head = Head.of(self.data)
        if head.bits & APPEND_TIME:
            return (place, head.max_ms) if head.max_ms >= at_ms else None
        try:
            body = decompress(head.bits & COMPRESSION, self.data[HEAD.size :])
            stamps = bodies.walk_records(body, head.count, head.base_ms).stamps
        except Unreadable:
            return None
        rows = enumerate(stamps[place:], place)
        return next(((i, stamp) for i, stamp in rows if stamp >= at_ms), None)

    def texts(self, last: int) -> list[tuple[bytes | None, bytes | None]]:
        """Key and value of the last `last` records; empty where they cannot be read."""
        head = Head.of(self.data)
        try:
            body = decompress(head.bits & COMPRESSION, self.data[HEAD.size :])
            return [(r.key, r.value) for r in bodies.last(body, head.count, head.base_ms, last)]
        except Unreadable:
            return []


@frozen
class Head:
    """The head of a batch, field by field; `bits` are its attributes."""

    base: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    bits: int
    delta: int
    base_ms: int
    max_ms: int
    pid: int
    epoch: int
    first_seq: int
    count: int

    @staticmethod
    def of(data: bytes) -> Head:
        return Head(*HEAD.unpack_from(data))


def says_transactional(data: bytes | None) -> bool:
    """Whether a batch of the current format says that it is part of a transaction."""
    if data is None or len(data) < HEAD.size or data[16] != MAGIC:
        return False
    return bool(Head.of(data).bits & TRANSACTIONAL)


def parse_batch(data: bytes) -> Batch:
    """A batch that `validation.py` has let through, from its bytes."""
    head = Head.of(data)
    return Batch(
        records=Records(data),
        count=head.count,
        pid=head.pid,
        epoch=head.epoch,
        first_seq=head.first_seq,
        # Without a producer id there is nothing to end, whatever the head says.
        transactional=bool(head.bits & TRANSACTIONAL) and head.pid >= 0,
        at_ms=head.max_ms if head.bits & APPEND_TIME else max(head.max_ms, head.base_ms),
        size=len(data),
    )


def pack_batches(batches: Iterable[Batch]) -> bytes:
    """Batches as a fetch carries them."""
    parts: list[bytes | memoryview] = []
    for batch in batches:
        if batch.control:
            parts.append(marker(batch))
        elif isinstance(batch.records, Records):
            data = batch.records.data
            parts += (PLACE.pack(batch.base, data[8:12], LEADER_EPOCH), memoryview(data)[16:])
    return b"".join(parts)


def marker(batch: Batch) -> bytes:
    """A control batch: one record, whose key says commit or abort and whose value carries
    the coordinator's epoch."""
    kind = 1 if batch.control == COMMIT else 0
    record = struct.pack(
        ">bbbbbhhbhib", 32, 0, 0, 0, 8, 0, kind, 12, 0, batch.coordinator_epoch, 0
    )  # length, attributes, deltas; key: version, type; value: version, epoch; no headers
    bits, at_ms = TRANSACTIONAL | CONTROL, batch.at_ms
    return seal_batch(batch.base, (bits, 0, at_ms, at_ms, batch.pid, batch.epoch, -1, 1), record)


def assemble_batch(
    pairs: Sequence[tuple[bytes | None, bytes | None]],
    base: int,
    at_ms: int,
    pid: int,
    epoch: int,
    seq: int,
    bits: int,
) -> bytes:
    """A batch of records, (key, value) each, that the broker wrote itself."""
    records = b"".join(_record(i, key, value) for i, (key, value) in enumerate(pairs))
    fields = (bits, len(pairs) - 1, at_ms, at_ms, pid, epoch, seq, len(pairs))
    return seal_batch(base, fields, records)


def _record(delta: int, key: bytes | None, value: bytes | None) -> bytes:
    body = b"\0" + _zigzag(0) + _zigzag(delta)
    for data in (key, value):
        body += _zigzag(-1) if data is None else _zigzag(len(data)) + data
    body += _zigzag(0)  # no headers
    return _zigzag(len(body)) + body


def _zigzag(value: int) -> bytes:
    return uvarint((value << 1) ^ (value >> 63))


def uvarint(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


PRODUCER = "producer"  # compression.type: as the client has compressed it
SMALLEST = 14  # bytes after the length, in any format there ever was
MOST_RECORDS = 1_000_000  # of a batch; a real broker knows no bound
SHORTEST = 7  # bytes of a record
SHOWN = 3  # errors of single records in an error message
LISTED = 100  # … and in an answer, where a real broker lists them all


@frozen
class Rules:
    """What a topic's configuration demands of a batch; the names are those of the configs,
    times in ms, sizes in bytes. `append_time`: the broker's clock stamps it; `compact`: a
    record needs a key."""

    max_message_bytes: int = 1_048_588
    compression_type: str = PRODUCER
    level: int = -1
    append_time: bool = False
    compact: bool = False
    before_max_ms: int = 2**63 - 1
    after_max_ms: int = 3_600_000


@frozen
class Flaw:
    """Why a batch is not kept. `records`: (place in the batch, words) of single records."""

    error: Error
    words: str | None = None
    records: tuple[tuple[int, str], ...] = ()


def inspect_batch(
    data: bytes | None, rules: Rules, now_ms: int, partition: str
) -> tuple[Batch | None, Flaw | None]:
    """Validate the bytes of a produced batch: return (batch, flaw). A good batch is as the log will
    hold it, with no flaw; one that is refused is what its head says, with the flaw; where not even
    the head can be read the batch is None. `rules`: the topic's settings; `now_ms`: the broker's
    clock; `partition`: its name, for the words of a flaw."""
    flaw = _format_flaw(data)
    if flaw is not None:
        return None, flaw
    assert data is not None
    head = Head.of(data)
    flaw = _head_flaw(data, head, rules)
    if flaw is not None:
        return parse_batch(data), flaw
    try:
        body = decompress(head.bits & COMPRESSION, data[HEAD.size :])
    except TooLarge as error:
        return parse_batch(data), Flaw(Error.MESSAGE_TOO_LARGE, str(error))
    except Unreadable:
        return parse_batch(data), Flaw(Error.UNKNOWN_SERVER_ERROR)
    # with fewer bytes than that it is damaged, which the walk over its records finds
    if head.count > MOST_RECORDS and len(body) >= head.count * SHORTEST:
        text = f"a batch holds at most {MOST_RECORDS:,} records here"
        return parse_batch(data), Flaw(Error.INVALID_RECORD, text)
    try:
        records = walk_records(body, head.count, head.base_ms)
    except Endless:
        return parse_batch(data), Flaw(Error.UNKNOWN_SERVER_ERROR)
    except Unreadable:
        return parse_batch(data), Flaw(Error.INVALID_RECORD)
    flaw = _key_flaw(records, rules, partition) or _timestamp_flaw(records, rules, now_ms)
    if flaw is not None:
        return parse_batch(data), flaw
    kept = _seal(data, head, body, records.newest, rules, now_ms)
    if len(kept) > rules.max_message_bytes:
        return parse_batch(data), Flaw(Error.MESSAGE_TOO_LARGE)
    return parse_batch(kept), None


def _format_flaw(data: bytes | None) -> Flaw | None:
    """Return why `data` is not exactly one whole batch of the current format; None if it is. Bytes
    8 to 11 hold the batch's length, which counts from byte 12 on; byte 16 its format, the magic."""
    if not data or len(data) <= 16:
        return Flaw(Error.INVALID_RECORD)
    length = int.from_bytes(data[8:12], "big", signed=True)
    if length < SMALLEST:
        words = f"Record size {length} is less than the minimum record overhead ({SMALLEST})"
        return Flaw(Error.CORRUPT_MESSAGE, words)
    magic = int.from_bytes(data[16:17], "big", signed=True)
    if not 0 <= magic <= MAGIC:
        return Flaw(Error.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    if magic != MAGIC or length + 12 > len(data):
        return Flaw(Error.INVALID_RECORD)
    if length + 12 < HEAD.size:
        return Flaw(Error.CORRUPT_MESSAGE)
    if length + 12 < len(data):  # more than one
        return Flaw(Error.INVALID_RECORD)
    return None


def _head_flaw(data: bytes, head: Head, rules: Rules) -> Flaw | None:
    if head.base != 0:
        return Flaw(Error.INVALID_RECORD)
    if len(data) > rules.max_message_bytes:
        return Flaw(Error.MESSAGE_TOO_LARGE)
    if head.crc != crc32c(memoryview(data)[CHECKED_FROM:]):
        return Flaw(Error.CORRUPT_MESSAGE)
    if head.count < 1 or head.delta != head.count - 1 or head.bits & CONTROL:
        return Flaw(Error.INVALID_RECORD)
    if head.pid >= 0 and head.first_seq < 0:
        return Flaw(Error.INVALID_RECORD)
    return None


def _key_flaw(inside: Walked, rules: Rules, partition: str) -> Flaw | None:
    """Compaction keeps the latest record of each key, so each must have one."""
    if not rules.compact or not inside.keyless:
        return None
    words = f"Compacted topic cannot accept message without key in topic partition {partition}"
    errors = tuple((i, words) for i in inside.keyless[:LISTED])
    shown = ", ".join(f"RecordError(batchIndex={i}, message='{m}')" for i, m in errors[:SHOWN])
    return Flaw(
        Error.INVALID_RECORD,
        "One or more records have been rejected due to "
        f"{len(inside.keyless)} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]",
        errors,
    )


def _timestamp_flaw(records: Walked, rules: Rules, now_ms: int) -> Flaw | None:
    """Return the flaw of a batch with timestamps too far from now (message.timestamp.before.max.ms
    and after.max.ms), None if it has none or the broker sets the timestamps itself. -1 is a record
    without a timestamp, which is no flaw."""
    if rules.append_time:
        return None
    earliest, latest = now_ms - rules.before_max_ms, now_ms + rules.after_max_ms
    if earliest <= records.oldest and records.newest <= latest:
        return None
    errors = tuple(
        (
            i,
            f"Timestamp {stamp} of message with offset {i} is out of range. "
            f"The timestamp should be within [{earliest}, {latest}]",
        )
        for i, stamp in enumerate(records.stamps)
        if stamp != -1 and not earliest <= stamp <= latest
    )
    words = "One or more records have been rejected due to invalid timestamp"
    return Flaw(Error.INVALID_TIMESTAMP, words, errors[:LISTED]) if errors else None


def _seal(data: bytes, head: Head, body: bytes, newest_ms: int, rules: Rules, now_ms: int) -> bytes:
    """The batch as it goes into the log."""
    kind = head.bits & COMPRESSION
    wanted = NAMES.get(rules.compression_type, kind)
    bits = head.bits & ~(COMPRESSION | APPEND_TIME) | wanted
    bits |= APPEND_TIME if rules.append_time else 0
    max_ms = now_ms if rules.append_time else newest_ms
    if (bits, max_ms) == (head.bits, head.max_ms):
        return data
    inner = data[HEAD.size :] if wanted == kind else compress(wanted, body, rules.level)
    fields = (bits, head.delta, head.base_ms, max_ms, head.pid, head.epoch)
    return seal_batch(head.base, (*fields, head.first_seq, head.count), inner, head.leader_epoch)


def seal_batch(
    base: int, fields: tuple[int, ...], inner: bytes, leader_epoch: int = LEADER_EPOCH
) -> bytes:
    """A batch with the length and the checksum that belong to it. `fields`: of its head, from the
    attributes on; `inner`: its records."""
    checked = struct.pack(">hiqqqhii", *fields) + inner
    head = struct.pack(">qiibI", base, len(checked) + 9, leader_epoch, MAGIC, crc32c(checked))
    return head + checked
