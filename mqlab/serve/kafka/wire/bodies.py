"""The records inside a batch, once it is opened.

    length · attributes 1 · timestamp delta · offset delta · key length · key ·
    value length · value · number of headers · headers …

All but the attributes are zigzag numbers of seven bits a byte. `walk_records` is the one walk that
every batch takes before it is kept, so it is written for speed; `decode_records` gives them to
those who must look at them.

Source: DefaultRecord#readFrom, ByteUtils#readVarint (clients, Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from ....kernel import frozen
from .compression import Unreadable
from .varints import LONGEST_STAMP, read_number, read_rest


@frozen
class Record:
    delta: int
    at_ms: int
    key: bytes | None
    value: bytes | None


@frozen
class Walked:
    """What the walk saw. `stamps`: the timestamp of each record, in ms, `oldest` and `newest`
    the least and the largest; `keyless`: which records have no key."""

    stamps: list[int]
    keyless: list[int]
    oldest: int
    newest: int


def walk_records(body: bytes, count: int, base_ms: int) -> Walked:
    """Check all records of an uncompressed batch without building them; return their timestamps and
    which of them have no key. `body` must be exactly `count` records, else Unreadable is raised;
    `base_ms`: the batch's first timestamp."""
    stamps: list[int] = []
    keyless: list[int] = []
    try:
        end = _walk(body, count, stamps, keyless)
    except IndexError as error:
        raise Unreadable("a batch ends inside a record") from error
    if end != len(body):
        raise Unreadable(f"there is more than {count} records")
    # Timestamps are zigzag deltas to that of the batch: even ones are positive, odd ones negative.
    # A batch is filled within milliseconds, so it has few different timestamps.
    stamp_ms = {stamp: base_ms + (stamp >> 1 ^ -(stamp & 1)) for stamp in set(stamps)}
    all_ms = stamp_ms.values()
    return Walked(
        [stamp_ms[stamp] for stamp in stamps],
        keyless,
        min(all_ms, default=base_ms),
        max(all_ms, default=base_ms),
    )


def _walk(body: bytes, count: int, stamps: list[int], keyless: list[int]) -> int:
    """Walk over the records, and return where the last one ends. Appends each record's timestamp to
    `stamps`, and its number to `keyless` if it has no key. Raises Unreadable for a record that is
    not as long as it says, IndexError where the body ends inside one.

    A field is a zigzag varint of seven bits a byte (0x7F), with the highest bit set where more
    bytes follow; an odd length is -1, null. A function call costs more than a field, so varints of
    one byte are read here, and of two where they are usual; `read_rest` reads the others."""
    at, body_size = 0, len(body)
    for number in range(count):
        size = body[at]
        at += 1
        if size > 0x7F:
            if (second := body[at]) > 0x7F:
                size, at = read_rest(body, at, size)
            else:
                size += (second << 7) - 0x80
                at += 1
        end = at + (size >> 1)
        if size & 1 or end > body_size:
            raise Unreadable("a record ends outside its batch")
        stamp = body[at + 1]  # after the attributes
        at += 2
        if stamp > 0x7F:
            stamp, at = read_rest(body, at, stamp, LONGEST_STAMP)
        stamps.append(stamp)
        # not looked at, only where it ends: the records of a batch are numbered in turn
        offset_delta = body[at]
        at += 1
        if offset_delta > 0x7F:
            if body[at] > 0x7F:
                offset_delta, at = read_rest(body, at, offset_delta)
            else:
                at += 1
        key = body[at]
        at += 1
        if key > 0x7F:
            key, at = read_rest(body, at, key)
        if key & 1:
            keyless.append(number)
        else:
            at += key >> 1
        value = body[at]
        at += 1
        if value > 0x7F:
            if (second := body[at]) > 0x7F:
                value, at = read_rest(body, at, value)
            else:
                value += (second << 7) - 0x80
                at += 1
        if not value & 1:
            at += value >> 1
        header_count = body[at]
        at += 1
        if header_count:
            at = _skip_headers(body, at, header_count)
        if at != end:
            raise Unreadable("a record is not as long as it says")
    return at


def _skip_headers(body: bytes, at: int, count: int) -> int:
    """Past all headers of a record: a key that is there, a value that may be missing."""
    if count > 0x7F:
        count, at = read_rest(body, at, count)
    if count & 1:
        raise Unreadable("a negative number of headers")
    for _ in range(count >> 1):
        size, at = read_number(body, at)
        if size < 0:
            raise Unreadable("a header without a key")
        size, at = read_number(body, at + size)
        at += max(size, 0)
    return at


# ---- one record at a time ----------------------------------------------------------------


def decode_records(body: bytes, count: int, base_ms: int) -> Iterator[Record]:
    """The records of an opened batch. Raises Unreadable for bytes that are none."""
    at = 0
    try:
        for _ in range(count):
            size, at = read_number(body, at)
            end = at + size
            yield _record(body, at, end, base_ms)
            at = end
    except IndexError as error:
        raise Unreadable("a batch ends inside a record") from error


def last(body: bytes, count: int, base_ms: int, wanted: int) -> list[Record]:
    """The last `wanted` records: the others are stepped over, not decoded."""
    at = 0
    try:
        for _ in range(count - wanted):
            size, at = read_number(body, at)
            if size < 0:
                raise Unreadable("a record of a negative length")
            at += size
    except IndexError as error:
        raise Unreadable("a batch ends inside a record") from error
    return list(decode_records(body[at:], min(count, wanted), base_ms))


def _record(body: bytes, at: int, end: int, base_ms: int) -> Record:
    stamp, at = read_number(body, at + 1, LONGEST_STAMP)
    delta, at = read_number(body, at)
    key, at = _bytes(body, at)
    value, at = _bytes(body, at)
    if not at <= end <= len(body):
        raise Unreadable("a record ends outside its batch")
    return Record(delta, base_ms + stamp, key, value)


def _bytes(body: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_number(body, at)
    return (None, at) if size < 0 else (body[at : at + size], at + size)
