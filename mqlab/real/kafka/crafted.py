"""Record batches no client would send: every field as it is told.

Source: DefaultRecordBatch, DefaultRecord (clients, Kafka 4.3).
"""

from __future__ import annotations

import struct
import time

from kio.records.readers import crc32c  # type: ignore[attr-defined]

GZIP, SNAPPY, LZ4, ZSTD = range(1, 5)
APPEND_TIME, TRANSACTIONAL, CONTROL, HORIZON = 0x08, 0x10, 0x20, 0x40
HEAD = 61


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
) -> bytes:
    """One record; `headers` is how many it says it has, and it has none."""
    body = bytes([attributes]) + number(stamp) + number(delta)
    for part in (key, value):
        body += number(-1) if part is None else number(len(part)) + part
    body += number(headers)
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
    """A batch of `body`, whose checksum is right; `at_ms`: the base timestamp (now)."""
    at_ms = round(time.time() * 1000) if at_ms is None else at_ms
    max_ms = at_ms if max_ms is None else max_ms
    delta = count - 1 if delta is None else delta
    checked = struct.pack(">hiqqqhii", bits, delta, at_ms, max_ms, pid, epoch, seq, count) + body
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, crc32c(checked)) + checked


def patched(data: bytes, at: int, put: bytes) -> bytes:
    """`data` with other bytes at one place."""
    return data[:at] + put + data[at + len(put) :]
