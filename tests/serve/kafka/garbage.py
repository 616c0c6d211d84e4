"""Bytes that are no request."""

from __future__ import annotations

import random
import struct

from tests.serve.kafka.raw import write_request

METADATA = write_request(3, 1, topics=None)


def header(api: int, version: int, corr: int = 1, rest: bytes = b"") -> bytes:
    body = struct.pack(">hhih", api, version, corr, -1) + rest
    return struct.pack(">i", len(body)) + body


GARBAGE = {
    "random bytes": random.Random(7).randbytes(4096),
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a TLS hello": bytes.fromhex("16030100f1010000ed0303") + bytes(200),
    "a negative length": struct.pack(">i", -5) + b"x" * 20,
    "a length of zero": struct.pack(">i", 0) + METADATA,
    "a huge length": struct.pack(">ihh", 2**31 - 1, 0, 9),
    "a large frame for a small request": struct.pack(">ihh", 90 << 20, 3, 9),
    "an unknown request": header(4242, 0),
    "an unknown version": header(3, 4242),
    "a request between brokers": header(27, 1, rest=b"\0\0\0\0"),
    "a broken body": header(0, 3, rest=b"\xff\xff\x00\x01garbage"),
    "a body cut short": struct.pack(">i", 15) + METADATA[4:19],
    "an array of two billion": header(3, 1, rest=struct.pack(">i", 2**31 - 1)),
    "no text": header(3, 1, rest=struct.pack(">ih", 1, 2) + b"\xff\xfe"),
}
