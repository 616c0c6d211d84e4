"""Kafka's frames on one connection: one request at a time, as in SocketServer.

The broker's answers to a client leave in the order of its requests, because the connection is
muted while a request of it is under way (SocketServer#Processor, Kafka 4.3). Nothing is pushed:
a consumer that waits for records asks for them, and is answered late (`front/fetch.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from ..protocol import BadFrame, ClientRequest, Peer
from .refusals import find_refusals, name_request
from .wire.api import Api
from .wire.codec import decode, encode, frame_limit

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
            raise BadFrame(f"a frame of {size} bytes")
        if len(buffer) >= 6:
            (api,) = API.unpack_from(buffer, 4)
            if size > frame_limit(api):
                raise BadFrame(f"a frame of {size} bytes for request {api}")
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
