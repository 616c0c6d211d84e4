"""What a leader looks at before it keeps a batch, and what it changes in it.

A batch that says it holds two billion records moves the end of the log by two billion, and
one whose records are none stops every reader behind it. So the head is compared with what is
inside, record by record. Where the topic asks for it, the records are compressed again and
stamped with the broker's clock; the client's bytes stay untouched otherwise.

The order is the real one: shape, place, size, checksum, head, records. What a broken batch is
called depends on where it breaks, also where the name is odd: bytes that cannot be
decompressed are an UNKNOWN_SERVER_ERROR on a real 4.3.1.

Source: ProduceRequest#validateRecords (clients), UnifiedLog#analyzeAndValidateRecords,
LogValidator (storage, Kafka 4.3); answers recorded in `datasets/recordings`.
"""

from __future__ import annotations

from dataclasses import replace

from ....kafka.errors import Error
from ....kafka.log import Batch
from ....kernel import frozen
from ...crc import crc32c
from .bodies import Walked, walk_records
from .compression import NAMES, TooLarge, Unreadable, compress, decompress
from .records import (
    APPEND_TIME,
    CHECKED_FROM,
    COMPRESSION,
    CONTROL,
    HEAD,
    MAGIC,
    Head,
    parse_batch,
)
from .varints import Endless

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
    """(batch, why it is refused): a batch alone is as it will be kept, one with a flaw is
    what its head says, and where not even that can be read there is none."""
    flaw = _shape(data)
    if flaw is not None:
        return None, flaw
    assert data is not None
    head = Head.of(data)
    flaw = _head(data, head, rules)
    if flaw is not None:
        return parse_batch(data), flaw
    try:
        body = decompress(head.bits & COMPRESSION, data[HEAD.size :])
    except TooLarge as error:
        return parse_batch(data), Flaw(Error.MESSAGE_TOO_LARGE, str(error))
    except Unreadable:
        return parse_batch(data), Flaw(Error.UNKNOWN_SERVER_ERROR)
    if head.count > MOST_RECORDS and len(body) >= head.count * SHORTEST:
        words = f"a batch holds at most {MOST_RECORDS:,} records here"
        return parse_batch(data), Flaw(Error.INVALID_RECORD, words)
    try:
        inside = walk_records(body, head.count, head.base_ms)
    except Endless:
        return parse_batch(data), Flaw(Error.UNKNOWN_SERVER_ERROR)
    except Unreadable:
        return parse_batch(data), Flaw(Error.INVALID_RECORD)
    flaw = _keys(inside, rules, partition) or _stamps(inside, rules, now_ms)
    if flaw is not None:
        return parse_batch(data), flaw
    kept = _kept(data, head, body, inside.newest, rules, now_ms)
    if len(kept) > rules.max_message_bytes:
        return parse_batch(data), Flaw(Error.MESSAGE_TOO_LARGE)
    return parse_batch(kept), None


def _shape(data: bytes | None) -> Flaw | None:
    """One whole batch of the current format, or what is there instead."""
    if not data or len(data) <= 16:
        return Flaw(Error.INVALID_RECORD)
    length = int.from_bytes(data[8:12], "big", signed=True)
    if length < SMALLEST:
        words = f"Record size {length} is less than the minimum record overhead ({SMALLEST})"
        return Flaw(Error.CORRUPT_MESSAGE, words)
    if not 0 <= data[16] <= MAGIC:
        return Flaw(Error.CORRUPT_MESSAGE, f"Invalid magic found in record: {data[16]}")
    if data[16] != MAGIC or length + 12 > len(data):
        return Flaw(Error.INVALID_RECORD)
    if length + 12 < HEAD.size:
        return Flaw(Error.CORRUPT_MESSAGE)
    if length + 12 < len(data):  # more than one
        return Flaw(Error.INVALID_RECORD)
    return None


def _head(data: bytes, head: Head, rules: Rules) -> Flaw | None:
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


def _keys(inside: Walked, rules: Rules, partition: str) -> Flaw | None:
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


def _stamps(inside: Walked, rules: Rules, now_ms: int) -> Flaw | None:
    """Timestamps that are too far from now (message.timestamp.before.max.ms and after.max.ms), or
    None."""
    if rules.append_time:
        return None
    earliest, latest = now_ms - rules.before_max_ms, now_ms + rules.after_max_ms
    if earliest <= inside.oldest and inside.newest <= latest:
        return None
    errors = tuple(
        (
            i,
            f"Timestamp {stamp} of message with offset {i} is out of range. "
            f"The timestamp should be within [{earliest}, {latest}]",
        )
        for i, stamp in enumerate(inside.stamps)
        if stamp != -1 and not earliest <= stamp <= latest
    )
    words = "One or more records have been rejected due to invalid timestamp"
    return Flaw(Error.INVALID_TIMESTAMP, words, errors[:LISTED]) if errors else None


def _kept(data: bytes, head: Head, body: bytes, newest_ms: int, rules: Rules, now_ms: int) -> bytes:
    """The batch as it goes into the log."""
    kind = head.bits & COMPRESSION
    wanted = NAMES.get(rules.compression_type, kind)
    bits = head.bits & ~(COMPRESSION | APPEND_TIME) | wanted
    bits |= APPEND_TIME if rules.append_time else 0
    max_ms = now_ms if rules.append_time else newest_ms
    if (bits, max_ms) == (head.bits, head.max_ms):
        return data
    inner = data[HEAD.size :] if wanted == kind else compress(wanted, body, rules.level)
    new = replace(head, length=HEAD.size - 12 + len(inner), bits=bits, max_ms=max_ms)
    return seal_batch(new, inner)


def seal_batch(head: Head, inner: bytes) -> bytes:
    """A batch with the checksum that belongs to it."""
    fields = (head.bits, head.delta, head.base_ms, head.max_ms, head.pid, head.epoch)
    whole = bytearray(
        HEAD.pack(
            head.base, head.length, head.leader_epoch, MAGIC, 0,
            *fields, head.first_seq, head.count,
        )
    )  # fmt: skip
    whole += inner
    whole[17:21] = crc32c(bytes(whole[CHECKED_FROM:])).to_bytes(4, "big")
    return bytes(whole)
