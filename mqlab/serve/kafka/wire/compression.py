"""Compressed batches: opened within a bound, and made where a topic asks for it.

A few kilobytes can say that they hold gigabytes, and this process serves all clients. So
nothing is opened beyond `OPENED` bytes: what would grow larger is refused when it is
produced, and is not looked into where it is only looked at. (A real broker has no such
bound; it reads a batch as a stream and forgets it again.)

gzip is in the standard library. The other three come from Arrow, which is loaded when the
first batch needs it. Kafka's frames around them: zstd has its own; lz4 a frame whose blocks
do not refer to each other, because the Java client takes no others; snappy the blocks of
snappy-java, though clients may send it bare as well.

Source: CompressionType, GzipCompression, Lz4BlockOutputStream (clients, Kafka 4.3);
SnappyOutputStream (snappy-java).
"""

from __future__ import annotations

import struct
import zlib
from functools import cache
from typing import Any

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = {"uncompressed": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
LIBRARY = {SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}  # what Arrow calls them
OPENED = 32 << 20  # bytes

SNAPPY_HEAD = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
SNAPPY_BLOCK = 32 << 10
LENGTH = struct.Struct(">i")
#: magic, version 1 with independent blocks, blocks of 64 kB, the checksum of these two bytes
LZ4_HEAD = bytes.fromhex("04224d18604082")
LZ4_BLOCK = 64 << 10
LZ4_END = bytes(4)
LZ4_PLAIN = 1 << 31  # in a block's length: it is not compressed


class Unreadable(ValueError):
    """Bytes that are not what they say they are."""


class TooLarge(Unreadable):
    """They would hold more than is opened here."""


def decompress(kind: int, data: bytes, limit: int = OPENED) -> bytes:
    """Decompress `data`, of the compression `kind` that a batch names. Raises Unreadable where it
    is none such, TooLarge where more than `limit` bytes would come out."""
    if kind == NONE:
        return data
    if kind == GZIP:
        return _gunzipped(data, limit)
    if kind not in (SNAPPY, LZ4, ZSTD):
        raise Unreadable(f"there is no compression {kind}")
    try:
        if kind == SNAPPY:
            return _unsnapped(data, limit)
        arrow = _arrow()
        source = arrow.BufferReader(data)
        # one byte more than allowed, to see whether there is more
        content: bytes = arrow.CompressedInputStream(source, LIBRARY[kind]).read(limit + 1)
    except (OSError, ValueError, struct.error) as error:
        if isinstance(error, Unreadable):  # it is a ValueError, and says more; TooLarge is one
            raise
        raise Unreadable(f"not {LIBRARY[kind]}") from error
    return _within(content, limit)


def compress(kind: int, data: bytes, level: int) -> bytes:
    """`data` as Kafka frames it; `level` is that of gzip and zstd."""
    if kind == NONE:
        return data
    if kind == GZIP:
        packer = zlib.compressobj(level, zlib.DEFLATED, 31)
        return packer.compress(data) + packer.flush()
    if kind == ZSTD:
        return _packed("zstd", data, level)
    if kind == SNAPPY:
        blocks = [_packed("snappy", part) for part in _cut(data, SNAPPY_BLOCK)]
        return SNAPPY_HEAD + b"".join(LENGTH.pack(len(block)) + block for block in blocks)
    return LZ4_HEAD + b"".join(map(_lz4_block, _cut(data, LZ4_BLOCK))) + LZ4_END


# ---- each kind ---------------------------------------------------------------------------


def _gunzipped(data: bytes, limit: int) -> bytes:
    """The first member; what follows it is not looked at (GZIPInputStream, as it is used)."""
    opener = zlib.decompressobj(wbits=31)
    try:
        opened = opener.decompress(data, limit + 1)
    except zlib.error as error:
        raise Unreadable("not gzip") from error
    _within(opened, limit)
    if not opener.eof:
        raise Unreadable("gzip that is cut short")
    return opened


def _unsnapped(data: bytes, limit: int) -> bytes:
    if not data.startswith(SNAPPY_HEAD[:8]):
        return _snappy_block(data, limit)
    parts: list[bytes] = []
    at, left = len(SNAPPY_HEAD), limit
    while at < len(data):
        (size,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size
        if not 0 <= size <= len(data) - at:
            raise Unreadable("snappy that is cut short")
        parts.append(_snappy_block(data[at : at + size], left))
        left -= len(parts[-1])
        at += size
    return b"".join(parts)


def _snappy_block(block: bytes, limit: int) -> bytes:
    """Snappy says first how long it will be, in seven bits a byte."""
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    else:
        raise Unreadable("snappy without a length")
    if size > limit:
        raise TooLarge(f"more than {limit} bytes when opened")
    opened: bytes = _arrow().Codec("snappy").decompress(block, size, asbytes=True)
    return opened


def _lz4_block(part: bytes) -> bytes:
    """A block that gets no smaller travels as it is."""
    block = _packed("lz4_raw", part)
    if len(block) >= len(part):
        return struct.pack("<I", len(part) | LZ4_PLAIN) + part
    return struct.pack("<I", len(block)) + block


def _packed(name: str, data: bytes, level: int | None = None) -> bytes:
    made: bytes = _arrow().Codec(name, compression_level=level).compress(data, asbytes=True)
    return made


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def _within(opened: bytes, limit: int) -> bytes:
    if len(opened) > limit:
        raise TooLarge(f"more than {limit} bytes when opened")
    return opened


@cache
def _arrow() -> Any:
    import pyarrow

    return pyarrow
