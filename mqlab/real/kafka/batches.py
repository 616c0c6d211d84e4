"""Record batches by hand: built field by field, also such as no client would send, and read.

This is a second time, apart from the server of this project, so that the two can disagree.

Source: DefaultRecordBatch, DefaultRecord, EndTransactionMarker (clients, Kafka 4.3).
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence

from kio.records.readers import crc32c  # type: ignore[attr-defined]
from kio.records.readers import read_signed_compact_string_as_bytes_nullable as read_bytes
from kio.serial.readers import read_signed_varint, read_signed_varlong

from ...kafka.log import ABORT, COMMIT, Batch

GZIP, SNAPPY, LZ4, ZSTD = range(1, 5)
APPEND_TIME, TRANSACTIONAL, CONTROL, HORIZON = 0x08, 0x10, 0x20, 0x40
HEAD = struct.Struct(">qiibIhiqqqhii")


def number(value: int) -> bytes:
    """A zigzag number in seven bits a byte."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def record(
    value: bytes | None = b"v",
    key: bytes | None = None,
    delta: int = 0,
    stamp: int = 0,
    headers: int = 0,
    attributes: int = 0,
    given: Sequence[tuple[bytes, bytes | None]] = (),
) -> bytes:
    """Encode one record (format v2), as a client would or, to test a broker, wrongly: `headers` is
    how many headers it claims besides those in `given`, as (name, value). `delta`, `stamp`: its
    offset and its timestamp in ms, less those of the batch; `attributes`: a byte that clients leave
    0. A key or value of None is null."""
    body = bytes([attributes]) + number(stamp) + number(delta)
    for part in (key, value):
        body += number(-1) if part is None else number(len(part)) + part
    body += number(headers + len(given))
    for name, content in given:
        body += number(len(name)) + name
        body += number(-1) if content is None else number(len(content)) + content
    return number(len(body)) + body


def batch(
    body: bytes = record(),
    count: int = 1,
    *,
    delta: int | None = None,
    bits: int = 0,
    pid: int = -1,
    epoch: int = -1,
    seq: int = -1,
    at_ms: int | None = None,
    max_ms: int | None = None,
) -> bytes:
    """Encode a record batch (format v2) around the encoded records `body`, with a right length and
    checksum; all other fields are as given, even wrong. `count`: how many records it claims;
    `delta`: the last offset delta (count - 1); `bits`: its attributes; `at_ms`, `max_ms`: the first
    and the largest timestamp (now); a pid, epoch or seq of -1: not of an idempotent producer."""
    at_ms = round(time.time() * 1000) if at_ms is None else at_ms
    max_ms = at_ms if max_ms is None else max_ms
    delta = count - 1 if delta is None else delta
    checked = struct.pack(">hiqqqhii", bits, delta, at_ms, max_ms, pid, epoch, seq, count) + body
    # Base offset 0, the length after it (9 bytes of this head, too), no leader epoch, magic 2.
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, crc32c(checked)) + checked


def patch(data: bytes, at: int, put: bytes) -> bytes:
    """`data` with other bytes at one place."""
    return data[:at] + put + data[at + len(put) :]


def write_batch(given: Batch, stamps: Sequence[int] = (), base_ms: int = 0) -> bytes:
    """Encode a batch as a client would send it. `stamps`, in ms, one for each record (none: all 0),
    are added to `base_ms` (0: now): a program sends a batch of more than a week ago to end a
    segment, because the next batch, of today, is too young for it."""
    base_ms = base_ms or round(time.time() * 1000)
    values = [str(value).encode() for value in given.records]
    stamps = stamps or [0] * len(values)
    # The batch has the first record's time, the records their distance from it.
    base_ms, stamps = base_ms + stamps[0], [stamp - stamps[0] for stamp in stamps]
    return batch(
        b"".join(record(v, delta=i, stamp=stamps[i]) for i, v in enumerate(values)),
        len(values),
        bits=TRANSACTIONAL if given.transactional else 0,
        pid=given.pid,
        epoch=given.epoch,
        seq=given.first_seq,
        at_ms=base_ms,
        max_ms=base_ms + max(stamps),
    )


def read_batches(data: bytes | None) -> Iterator[Batch]:
    """Yield the record batches in the bytes of a fetch response (None: no bytes), uncompressed ones
    only. A broker cuts at its limit of bytes: an incomplete batch at the end is left out."""
    at = 0
    data = data or b""
    while at + HEAD.size <= len(data):
        base, length, _, _, _, bits, delta, _, max_ms, pid, epoch, seq, _ = HEAD.unpack_from(
            data, at
        )
        end = at + 12 + length  # 12: the base offset and the length itself
        if end > len(data):
            return
        # (key, value) of each record
        pairs = tuple(_read_pairs(data[at + HEAD.size : end]))
        control, coordinator_epoch = "", -1
        if bits & CONTROL:  # its only record: key (version, type), value (version, epoch)
            control = COMMIT if struct.unpack(">hh", pairs[0][0])[1] else ABORT
            coordinator_epoch = struct.unpack(">hi", pairs[0][1])[1]
        yield Batch(
            records=() if control else tuple(value.decode(errors="replace") for _, value in pairs),
            count=delta + 1,
            base=base,
            pid=pid,
            epoch=epoch,
            first_seq=seq,
            transactional=bool(bits & TRANSACTIONAL),
            control=control,
            coordinator_epoch=coordinator_epoch,
            at_ms=max_ms,
            size=12 + length,
        )
        at = end


def _read_pairs(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each record, uncompressed; b"" where there is none."""
    at = 0
    while at < len(body):
        length, size = read_signed_varint(body, at)
        end = at + size + length
        at += size + 1  # and the attributes
        at += read_signed_varlong(body, at)[1]  # the timestamp
        at += read_signed_varint(body, at)[1]  # the offset
        key, size = read_bytes(body, at)
        value, _ = read_bytes(body, at + size)
        yield key or b"", value or b""
        at = end
