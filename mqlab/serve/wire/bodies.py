"""The records inside a batch, once it is opened.

    length · attributes 1 · timestamp delta · offset delta · key length · key ·
    value length · value · number of headers · headers …

All but the attributes are zigzag numbers of seven bits a byte. `walked` is the one walk that
every batch takes before it is kept, so it is written for speed; `decoded` gives records to
whoever must look at them.

Source: DefaultRecord#readFrom, ByteUtils#readVarint (clients, Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .compression import Unreadable

LONGEST = 28  # bits before the last byte of a number of 32 bits
LONGEST_STAMP = 63


class Endless(Unreadable):
    """A number that is longer than a number can be."""


@dataclass(frozen=True, slots=True)
class Record:
    delta: int
    at_ms: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Walked:
    """What the walk saw. `stamps`: the timestamp of each record, in ms, `oldest` and `newest`
    the least and the largest; `keyless`: which records have no key."""

    stamps: list[int]
    keyless: list[int]
    oldest: int
    newest: int


def walked(body: bytes, count: int, base_ms: int) -> Walked:
    """Over all records of an opened batch. Raises Unreadable where `body` is not exactly
    `count` records."""
    stamps: list[int] = []
    keyless: list[int] = []
    try:
        at = _walk(body, count, stamps, keyless)
    except IndexError as error:
        raise Unreadable("a batch ends inside a record") from error
    if at != len(body):
        raise Unreadable(f"there is more than {count} records")
    # A batch is filled within milliseconds, so it has few different timestamps.
    at_ms = {stamp: base_ms + (stamp >> 1 ^ -(stamp & 1)) for stamp in set(stamps)}
    times = at_ms.values()
    return Walked(
        [at_ms[stamp] for stamp in stamps],
        keyless,
        min(times, default=base_ms),
        max(times, default=base_ms),
    )


def _walk(body: bytes, count: int, stamps: list[int], keyless: list[int]) -> int:
    """Where the last of `count` records ends. A call costs more than a field, so numbers of
    one byte are read here, and of two where they are usual; `_long` reads the others."""
    at, whole = 0, len(body)
    for number in range(count):
        size = body[at]
        at += 1
        if size > 0x7F:
            if (more := body[at]) > 0x7F:
                size, at = _long(body, at, size)
            else:
                size += (more << 7) - 0x80
                at += 1
        end = at + (size >> 1)
        if size & 1 or end > whole:
            raise Unreadable("a record ends outside its batch")
        stamp = body[at + 1]  # after the attributes
        at += 2
        if stamp > 0x7F:
            stamp, at = _long(body, at, stamp, LONGEST_STAMP)
        stamps.append(stamp)
        delta = body[at]
        at += 1
        if delta > 0x7F:
            if body[at] > 0x7F:
                delta, at = _long(body, at, delta)
            else:
                at += 1
        key = body[at]
        at += 1
        if key > 0x7F:
            key, at = _long(body, at, key)
        if key & 1:
            keyless.append(number)
        else:
            at += key >> 1
        value = body[at]
        at += 1
        if value > 0x7F:
            if (more := body[at]) > 0x7F:
                value, at = _long(body, at, value)
            else:
                value += (more << 7) - 0x80
                at += 1
        if not value & 1:
            at += value >> 1
        headers = body[at]
        at += 1
        if headers:
            at = _headers(body, at, headers)
        if at != end:
            raise Unreadable("a record is not as long as it says")
    return at


def _headers(body: bytes, at: int, count: int) -> int:
    """Past all headers of a record: a key that is there, a value that may be missing."""
    if count > 0x7F:
        count, at = _long(body, at, count)
    if count & 1:
        raise Unreadable("a negative number of headers")
    for _ in range(count >> 1):
        size, at = _number(body, at)
        if size < 0:
            raise Unreadable("a header without a key")
        size, at = _number(body, at + size)
        at += max(size, 0)
    return at


def _long(body: bytes, at: int, first: int, longest: int = LONGEST) -> tuple[int, int]:
    """The rest of a number whose first byte says that there is more, still zigzag."""
    value, shift = first & 0x7F, 7
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > longest:
            raise Endless("a number without an end")


def _number(body: bytes, at: int, longest: int = LONGEST) -> tuple[int, int]:
    """A number, and where the next field begins."""
    value = body[at]
    at += 1
    if value > 0x7F:
        value, at = _long(body, at, value, longest)
    return value >> 1 ^ -(value & 1), at


# ---- one record at a time ----------------------------------------------------------------


def decoded(body: bytes, count: int, base_ms: int) -> Iterator[Record]:
    """The records of an opened batch. Raises Unreadable for bytes that are none."""
    at = 0
    try:
        for _ in range(count):
            size, at = _number(body, at)
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
            size, at = _number(body, at)
            if size < 0:
                raise Unreadable("a record of a negative length")
            at += size
    except IndexError as error:
        raise Unreadable("a batch ends inside a record") from error
    return list(decoded(body[at:], min(count, wanted), base_ms))


def _record(body: bytes, at: int, end: int, base_ms: int) -> Record:
    stamp, at = _number(body, at + 1, LONGEST_STAMP)
    delta, at = _number(body, at)
    key, at = _bytes(body, at)
    value, at = _bytes(body, at)
    if not at <= end <= len(body):
        raise Unreadable("a record ends outside its batch")
    return Record(delta, base_ms + stamp, key, value)


def _bytes(body: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _number(body, at)
    return (None, at) if size < 0 else (body[at : at + size], at + size)
