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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....kafka.log import COMMIT, Batch
from ....kernel import frozen
from ...crc import crc32c
from . import bodies
from .compression import Unreadable, decompress

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

    def find_since(self, at_ms: int) -> tuple[int, int] | None:
        """(offset within the batch, timestamp) of the first record stamped at or after
        `at_ms`; None where no record is, or where they cannot be read."""
        head = Head.of(self.data)
        if head.bits & APPEND_TIME:
            return (0, head.max_ms) if head.max_ms >= at_ms else None
        try:
            body = decompress(head.bits & COMPRESSION, self.data[HEAD.size :])
            stamps = bodies.walk_records(body, head.count, head.base_ms).stamps
        except Unreadable:
            return None
        return next(((i, stamp) for i, stamp in enumerate(stamps) if stamp >= at_ms), None)

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
    bits = TRANSACTIONAL | CONTROL
    at_ms = batch.at_ms
    checked = struct.pack(">hiqqqhii", bits, 0, at_ms, at_ms, batch.pid, batch.epoch, -1, 1)
    checked += record
    length = len(checked) + 9
    head = struct.pack(">qiibI", batch.base, length, LEADER_EPOCH, MAGIC, crc32c(checked))
    return head + checked


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
