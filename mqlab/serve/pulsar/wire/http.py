"""HTTP, as far as the admin interface needs it: one request after the other, answered with JSON.

The admin interface has no port of its own here. A frame of the binary protocol begins with its
size, whose first byte is 0, and a request of HTTP with a letter; so the first byte that a client
sends says which of the two it speaks.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from .asks import AdminAnswer, AdminAsk
from .commands import WireError

END = b"\r\n\r\n"
MOST_HEAD, MOST_BODY = 16 << 10, 1 << 20
REQUEST = re.compile(r"([A-Z]{1,10}) (\S{1,4096}) HTTP/1\.[01]")
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*(?=\r\n)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)


def speaks_http(buffer: bytes | bytearray) -> bool:
    return bool(buffer) and chr(buffer[0]).isalpha()


def cut_request(buffer: bytearray) -> bytes | None:
    """A whole request, taken out of the buffer. Raises WireError."""
    head = buffer.find(END)
    if head < 0:
        if len(buffer) > MOST_HEAD:
            raise WireError("a request whose head does not end")
        return None
    start = bytes(buffer[: head + 2])
    if CHUNKED.search(start):
        raise WireError("a request of unknown length")
    found = LENGTH.search(start)
    size = int(found[1]) if found else 0
    if size > MOST_BODY:
        raise WireError(f"a request of {size} bytes")
    end = head + len(END) + size
    if len(buffer) < end:
        return None
    frame = bytes(buffer[:end])
    del buffer[:end]
    return frame


def read_request(frame: bytes) -> AdminAsk:
    """Raises WireError."""
    head, _, body = frame.partition(END)
    line = head.partition(b"\r\n")[0].decode("latin-1")
    found = REQUEST.fullmatch(line)
    if found is None:
        raise WireError("a request that is no HTTP")
    return AdminAsk(found[1], found[2], body)


def write_response(answer: AdminAnswer) -> bytes:
    body: Any = answer.body
    kind = "application/octet-stream"
    if not isinstance(body, bytes):
        kind = "application/json"
        body = b"" if body == "" else json.dumps(body).encode()
    try:
        words = HTTPStatus(answer.status).phrase
    except ValueError:
        words = ""
    lines = [f"HTTP/1.1 {answer.status} {words}", f"Content-Type: {kind}"]
    if answer.status != HTTPStatus.NO_CONTENT:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"X-Pulsar-{name}: {value}" for name, value in answer.headers]
    return "\r\n".join(lines).encode("latin-1") + END + body
