"""Pulsar's frames on one connection, and requests of its admin interface on another.

A client has one connection for all its producers and consumers, with many requests under way, each
told from the others by its number; what a consumer is sent comes in between. What is never
answered is one-way: FLOW, REDELIVER, PONG, an ACK that wants no receipt.

The first command is CONNECT. Bytes that are no command, and any command before that one, end the
connection, as they do at a real broker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..logs import name_of
from ..protocol import BadFrame, ClientRequest, Peer
from .front.admin import write_status
from .wire.answers import write_answer
from .wire.asks import AdminAnswer, AdminAsk, Ask
from .wire.commands import WireError, cut_frame, decode_command
from .wire.http import cut_request, read_request, speaks_http, write_response

#: sends without a receipt among them
AT_ONCE = 4_096
ONE_WAY = frozenset({"FLOW", "REDELIVER_UNACKNOWLEDGED_MESSAGES", "PONG"})


class PulsarFrames:
    """See `serve.protocol.Frames`."""

    def __init__(self, peer: Peer) -> None:
        self.client = ""
        self.at_once = AT_ONCE
        self.in_order = False
        self._here = peer.here
        self._begun = False
        self._http = False

    def cut(self, buffer: bytearray) -> bytes | None:
        if not self._begun and speaks_http(buffer):
            self._begun = self._http = True
            self.client, self.at_once = "an administrator", 1
        try:
            return cut_request(buffer) if self._http else cut_frame(buffer)
        except WireError as error:
            raise BadFrame(str(error)) from error

    def read(self, frame: bytes) -> ClientRequest:
        try:
            if self._http:
                return ClientRequest(read_request(frame))
            command = decode_command(frame)
        except WireError as error:
            raise BadFrame(str(error)) from error
        if command.name == "CONNECT":
            self.client = command.body.client_version
        elif not self._begun:
            raise BadFrame(f"{command.name} before CONNECT")
        self._begun = True
        one_way = command.name in ONE_WAY
        if command.name == "ACK":
            one_way = not command.body.HasField("request_id")
        waits = command.name in ("NEW_TXN", "END_TXN")
        return ClientRequest(Ask(command, self._here), 0, one_way, waits)

    def write(self, asked: ClientRequest, answer: Any) -> bytes:
        if isinstance(asked.body, AdminAsk):
            said = answer if isinstance(answer, AdminAnswer) else write_status(answer)
            return write_response(said)
        return write_answer(asked.body, answer)

    def name(self, asked: ClientRequest) -> str:
        if isinstance(asked.body, AdminAsk):
            return name_of(str(asked.body))
        topic = getattr(asked.body.command.body, "topic", "")
        name = asked.body.command.name
        return f"{name} of {name_of(topic)}" if topic else name

    def refusals(self, answer: Any) -> Iterator[str]:
        if not isinstance(answer, AdminAnswer) and not answer.ok:
            yield answer.words
