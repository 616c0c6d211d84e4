"""The admin interface's answers as HTTP; what is the same for all servers is in `serve/http.py`.

The admin interface has no port of its own here. A frame of the binary protocol begins with its
size, whose first byte is 0, and a request of HTTP with a letter; so the first byte that a client
sends says which of the two it speaks.
"""

from __future__ import annotations

import json

from ...http import Exchange, HttpError
from .asks import AdminAnswer


def speaks_http(buffer: bytes | bytearray) -> bool:
    return bool(buffer) and chr(buffer[0]).isalpha()


def write_response(exchange: Exchange, answer: AdminAnswer) -> bytes:
    body, kind = answer.body, "application/octet-stream"
    if not isinstance(body, bytes):
        body, kind = b"" if body == "" else json.dumps(body).encode(), "application/json"
    headers = [("Content-Type", kind)]
    headers += [(f"X-Pulsar-{name}", value) for name, value in answer.headers]
    return exchange.respond(answer.status, headers, body)


def write_refusal(exchange: Exchange, error: HttpError) -> bytes:
    return write_response(exchange, AdminAnswer(error.status, {"reason": str(error)}))
