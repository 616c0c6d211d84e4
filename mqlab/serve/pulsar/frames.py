"""Pulsar's frames on one connection, and requests of its admin interface on another.

A client has one connection for all its producers and consumers, with many requests in flight, each
distinguished by its number; what a consumer is sent comes in between. What is never answered is
one-way: FLOW, REDELIVER, PONG, an ACK that wants no receipt.

The first command is CONNECT. Bytes that are no command, and any command before that one, end the
connection, as they do at a real broker.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from ..adapter import BadFrame, ClientRequest, Peer, Refused
from ..disk import name_of
from ..http import Exchange, HttpError, HttpRequest
from .front.admin import write_status
from .wire.answers import (
    AdminAnswer,
    AdminAsk,
    Ask,
    speaks_http,
    write_answer,
    write_refusal,
    write_response,
)
from .wire.commands import BadCommand, cut_frame, decode_command

#: sends without a receipt among them
AT_ONCE = 4_096
WAIT_FOR_EXCLUSIVE = 2
ONE_WAY = frozenset({"FLOW", "REDELIVER_UNACKNOWLEDGED_MESSAGES", "PONG"})


class PulsarFrames:
    """See `serve.protocol.Frames`."""

    def __init__(self, peer: Peer) -> None:
        self.client = ""
        self.at_once = AT_ONCE
        self.in_order = False
        self._here = peer.here
        self._connected = False
        self._exchange: Exchange | None = None  # of HTTP, where the client speaks that
        self._request: HttpRequest | None = None

    def cut(self, buffer: bytearray) -> bytes | None:
        if not self._connected and speaks_http(buffer):
            self._connected, self._exchange = True, Exchange(self._here)
            self.client, self.at_once = "an administrator", 1
        if self._exchange is not None:
            return self._cut_request(self._exchange, buffer)
        try:
            return cut_frame(buffer)
        except BadCommand as error:
            raise BadFrame(error.args[0]) from error

    def _cut_request(self, exchange: Exchange, buffer: bytearray) -> bytes | None:
        """The body of a request, whose head `read` then finds beside it."""
        try:
            self._request = exchange.take(buffer)
        except HttpError as error:
            raise Refused(write_refusal(exchange, error), str(error), last=True) from error
        return None if self._request is None else self._request.body

    def read(self, frame: bytes) -> ClientRequest:
        """Read one frame as a request: a command of the binary protocol, the first of which (and no
        other) must be CONNECT, or an HTTP request of the admin API. The request also says whether
        it has no answer (`one_way`), and whether its answer may take long (`waits`). Raises
        BadFrame."""
        if (request := self._request) is not None:  # `cut` has found an HTTP request
            ask = AdminAsk(request.method, request.target, frame, self._here)
            return ClientRequest(ask, last=request.last)
        try:
            command = decode_command(frame)
        except BadCommand as error:
            raise BadFrame(error.args[0]) from error
        # CONNECT comes first, and only once
        if self._connected and command.name == "CONNECT":
            raise BadFrame("CONNECT again")
        if not self._connected and command.name != "CONNECT":
            raise BadFrame("{} before CONNECT", command.name)
        if command.name == "CONNECT":
            self.client = command.body.client_version
        self._connected = True
        one_way = command.name in ONE_WAY
        if command.name == "ACK":
            one_way = not command.body.HasField("request_id")
        elif command.name == "FLOW":  # no permits: answered by closing
            one_way = command.body.messagePermits > 0
        waits = command.name in ("NEW_TXN", "END_TXN") or (
            command.name == "PRODUCER" and command.body.producer_access_mode == WAIT_FOR_EXCLUSIVE
        )
        return ClientRequest(Ask(command, self._here), one_way=one_way, waits=waits)

    def write(self, request: ClientRequest, answer: Any) -> bytes:
        if isinstance(request.body, AdminAsk):
            response = answer if isinstance(answer, AdminAnswer) else write_status(answer)
            assert self._exchange is not None
            exchange, self._exchange = self._exchange, Exchange(self._here)
            return write_response(exchange, response)
        return write_answer(request.body, answer)

    def name(self, request: ClientRequest) -> str:
        if isinstance(request.body, AdminAsk):
            return name_of(str(request.body))
        topic = getattr(request.body.command.body, "topic", "")
        name = request.body.command.name
        return f"{name} of {name_of(topic)}" if topic else name

    def refusals(self, answer: Any) -> Iterator[str]:
        if isinstance(answer, AdminAnswer):
            if answer.status == HTTPStatus.NOT_IMPLEMENTED:
                yield answer.body["reason"]
        elif not answer.ok:
            yield answer.words
