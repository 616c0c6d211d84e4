"""Kafka's frames on one connection: one request at a time, as in SocketServer.

The broker's answers to a client leave in the order of its requests, because the connection is
muted while a request of it is in flight (SocketServer#Processor, Kafka 4.3). Nothing is pushed:
a consumer that waits for records asks for them, and is answered late (`front/fetch.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from ...kafka.errors import Error
from ..adapter import BadFrame, ClientRequest, Peer
from ..disk import name_of
from .wire.api import Api
from .wire.codec import decode, encode, frame_limit

# ---- What is a refusal among Kafka's answers, and how a request is named in the server's log
#
# Answers that only mean "in a moment" are no refusals.

#: what a client tries again by itself, or asks in order to find out
IN_A_MOMENT = frozenset(
    {
        Error.CONCURRENT_TRANSACTIONS,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.MEMBER_ID_REQUIRED,
        Error.NOT_ENOUGH_REPLICAS,
        Error.REBALANCE_IN_PROGRESS,
        Error.UNSTABLE_OFFSET_COMMIT,
    }
)


def name_request(api: str, body: Any) -> str:
    """A request by its kind, with the transactional id or the group that it is about."""
    for field in ("transactional_id", "v3_and_below_transactional_id", "group_id"):
        about = getattr(body, field, None)
        if isinstance(about, str) and about:
            return f"{api} of {name_of(about)}"
    return api


def find_refusals(answer: Any) -> Iterator[Error]:
    """The errors in an answer that are refusals, wherever they are."""
    kind: Any = type(answer)
    for name in _places(kind):
        value = getattr(answer, name)
        if isinstance(value, Error):
            if value and value not in IN_A_MOMENT:
                yield value
        elif isinstance(value, tuple):
            for part in value:
                yield from find_refusals(part)


@cache
def _places(kind: Any) -> tuple[str, ...]:
    """The fields in which an answer may hold an error, or parts that hold one."""
    if not is_dataclass(kind):
        return ()
    return tuple(f.name for f in fields(kind) if "Error" in str(f.type) or "tuple" in str(f.type))


LENGTH = struct.Struct(">i")
API = struct.Struct(">h")


class KafkaFrames:
    """See `serve.protocol.Frames`."""

    at_once = 1
    in_order = True

    def __init__(self, peer: Peer) -> None:
        self.client = ""
        self._here = peer.here
        self._host = f"/{peer.there[0]}"

    def cut(self, buffer: bytearray) -> bytes | None:
        if len(buffer) < 4:
            return None
        (size,) = LENGTH.unpack_from(buffer)
        if size < 8:
            raise BadFrame("a frame of {} bytes", size)
        if len(buffer) >= 6:
            (api,) = API.unpack_from(buffer, 4)
            if size > frame_limit(api):
                raise BadFrame("a frame of {} bytes for request {}", size, api)
        if len(buffer) < 4 + size:
            return None
        frame = bytes(memoryview(buffer)[4 : 4 + size])
        del buffer[: 4 + size]
        return frame

    def read(self, frame: bytes) -> ClientRequest:
        corr, ask = decode(frame, self._here, self._host)
        self.client = ask.client or self.client
        return ClientRequest(ask, corr, waits=ask.api is Api.FETCH)

    def write(self, request: ClientRequest, answer: Any) -> bytes:
        ask = request.body
        return encode(ask.api, ask.version, request.tag, answer)

    def name(self, request: ClientRequest) -> str:
        return name_request(request.body.api.name, request.body.body)

    def refusals(self, answer: Any) -> Iterator[str]:
        return (error.name for error in find_refusals(answer))
