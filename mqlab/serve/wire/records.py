"""Record batches as bytes: the 61 bytes at their head, and nothing more unless asked.

    base offset 8 · length 4 · leader epoch 4 · magic 1 · CRC-32C 4 · attributes 2 ·
    last offset delta 4 · base and max timestamp 8+8 · producer id 8 · epoch 2 ·
    base sequence 4 · count 4 · records …

A leader gives a batch its base offset and its leader epoch; both lie before what the CRC
covers, so they are filled in when the batch leaves and the client's bytes stay untouched.
A marker has no bytes of a client: it is made here, 78 of them, from what the log knows.

Source: DefaultRecordBatch, DefaultRecord, EndTransactionMarker (Kafka 4.3).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...kafka.errors import Error
from ...storage import COMMIT, Batch
from .crc import crc32c

HEAD = struct.Struct(">qiibIhiqqqhii")
PLACE = struct.Struct(">q4sI")  # base offset, length, leader epoch
MAGIC = 2
TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x10, 0x20, 0x40
COMPRESSION = 0x07
GZIP, ZSTD = 1, 4
LEADER_EPOCH = 0
CHECKED_FROM = 21  # the CRC covers what follows it


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """A batch as its client sent it."""

    data: bytes

    def first_since(self, at_ms: int) -> tuple[int, int] | None:
        """(offset within the batch, timestamp) of the first record stamped at or after
        `at_ms`; None where this cannot be told from the bytes (a compression that the
        standard library does not know, or records that are none)."""
        try:
            for record in decoded(self.data):
                if record.at_ms >= at_ms:
                    return record.delta, record.at_ms
        except ValueError:
            pass
        return None

    def texts(self, last: int) -> list[tuple[bytes | None, bytes | None]]:
        """Key and value of the last `last` records; empty where they cannot be read."""
        try:
            found = [(r.key, r.value) for r in decoded(self.data)]
        except ValueError:
            return []
        return found[-last:]


@dataclass(frozen=True, slots=True)
class Record:
    delta: int
    at_ms: int
    key: bytes | None
    value: bytes | None


def parsed(data: bytes | None) -> Batch | Error:
    """The one batch a Produce request holds for a partition, or why it is refused
    (ProduceRequest#validateRecords, LogValidator)."""
    if not data or len(data) < CHECKED_FROM - 4:
        return Error.INVALID_RECORD
    if data[16] != MAGIC:
        return Error.UNSUPPORTED_FOR_MESSAGE_FORMAT
    if len(data) < HEAD.size:
        return Error.CORRUPT_MESSAGE
    (_, length, _, _, crc, bits, delta, base_ms, max_ms, pid, epoch, seq, count) = HEAD.unpack_from(
        data
    )
    if length + 12 != len(data):  # cut short, or more than one batch
        return Error.CORRUPT_MESSAGE if length + 12 > len(data) else Error.INVALID_RECORD
    if crc != crc32c(memoryview(data)[CHECKED_FROM:]):
        return Error.CORRUPT_MESSAGE
    transactional = bool(bits & TRANSACTIONAL)
    if (
        count < 1
        or delta != count - 1
        or bits & (CONTROL | DELETE_HORIZON)
        or bits & COMPRESSION > ZSTD
        or (pid >= 0) != (seq >= 0)
        or (pid >= 0) != (epoch >= 0)
        or (transactional and pid < 0)
    ):
        return Error.INVALID_RECORD
    return Batch(
        records=Records(data),
        count=count,
        pid=pid,
        epoch=epoch,
        first_seq=seq,
        transactional=transactional,
        at_ms=max(max_ms, base_ms),
        size=len(data),
    )


def packed(batches: Iterable[Batch]) -> bytes:
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
    bits = TRANSACTIONAL | CONTROL
    at_ms = batch.at_ms
    checked = struct.pack(">hiqqqhii", bits, 0, at_ms, at_ms, batch.pid, batch.epoch, -1, 1)
    checked += record
    length = len(checked) + 9
    head = struct.pack(">qiibI", batch.base, length, LEADER_EPOCH, MAGIC, crc32c(checked))
    return head + checked


def assembled(
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
    checked = struct.pack(">hiqqqhii", *fields) + records
    head = struct.pack(">qiibI", base, len(checked) + 9, LEADER_EPOCH, MAGIC, crc32c(checked))
    return head + checked


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


# ---- one record at a time, for whoever must look inside ---------------------------------


def decoded(data: bytes) -> Iterator[Record]:
    """The records of a batch. Raises ValueError for a compression unknown here and for
    bytes that are no records."""
    fields = HEAD.unpack_from(data)
    bits, base_ms, count = fields[5], fields[7], fields[12]
    body = _uncompressed(bits & COMPRESSION, data[HEAD.size :])
    at = 0
    try:
        for _ in range(count):
            size, at = _varint(body, at)
            end = at + size
            stamp, at = _varint(body, at + 1)
            delta, at = _varint(body, at)
            key, at = _bytes(body, at)
            value, at = _bytes(body, at)
            if not at <= end <= len(body):
                raise ValueError("a record ends outside its batch")
            yield Record(delta, base_ms + stamp, key, value)
            at = end
    except IndexError as error:
        raise ValueError("a batch ends inside a record") from error


def _uncompressed(kind: int, body: bytes) -> bytes:
    if kind == 0:
        return body
    if kind == GZIP:
        try:
            return zlib.decompress(body, wbits=31)
        except zlib.error as error:
            raise ValueError("not gzip") from error
    raise ValueError(f"compression {kind} is not in the standard library")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number and where the next field begins."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift > 63:
            raise ValueError("a number is longer than ten bytes")


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)
