"""RocketMQ's frames on one connection: many requests at once, answered as they come.

A Java client has one connection to the broker for all of its threads. A pull that finds nothing
is held for up to fifteen seconds, one for each queue, while sends, heartbeats and offsets go on
beside it; so requests are distinguished by their `opaque` and answers leave in any order
(NettyRemotingAbstract#processMessageReceived, 5.5.0).

What the broker asks its clients, CHECK_TRANSACTION_STATE and NOTIFY_CONSUMER_IDS_CHANGED, is
one-way: the broker waits for no answer, and one that comes all the same is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...rocketmq.remoting import (
    Flag,
    RemotingError,
    RequestCode,
    ResponseCode,
    cut_frame,
    decode_command,
    encode_command,
    name_request,
    name_response,
)
from ..adapter import BadFrame, ClientRequest, Peer, PushAnswer
from ..disk import name_of
from .front import REQUESTS
from .front.clients import ClientBeat
from .wire.answers import Ask, Question, write_answer, write_host, write_question
from .wire.requests import read_request

#: held pulls among them: a consumer holds one for each of its queues
AT_ONCE = 4_096
HELD = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)
#: answers that are the usual course of things: nothing to read yet, a new topic, a new group
IN_A_MOMENT = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.QUERY_NOT_FOUND,
        ResponseCode.SUBSCRIPTION_NOT_LATEST,
    }
)


class RocketMQFrames:
    """See `serve.protocol.Frames`."""

    at_once = AT_ONCE
    in_order = False

    def __init__(self, peer: Peer) -> None:
        self.client = ""
        self._here = peer.here
        self._born_host = write_host(peer.there)

    def cut(self, buffer: bytearray) -> bytes | None:
        try:
            return cut_frame(buffer)
        except RemotingError as error:
            raise BadFrame(error.args[0]) from error

    def read(self, frame: bytes) -> ClientRequest | PushAnswer:
        try:
            command = decode_command(frame)
        except RemotingError as error:
            raise BadFrame(error.args[0]) from error
        if command.is_response:
            return PushAnswer(0, command)
        reader, _ = REQUESTS.get(command.code, (None, None))
        ask = Ask(command, read_request(command, self._born_host, reader), self._here)
        if isinstance(ask.body, ClientBeat):
            self.client = ask.body.client_id
        return ClientRequest(ask, command.opaque, command.is_oneway, command.code in HELD)

    def write(self, request: ClientRequest, answer: Any) -> bytes:
        return encode_command(write_answer(request.body, answer, self._here))

    def name(self, request: ClientRequest) -> str:
        command = request.body.command
        topic = command.fields.get("topic", command.fields.get("b", ""))
        name = name_request(command.code)
        return f"{name} of {name_of(topic)}" if topic else name

    def refusals(self, answer: Any) -> Iterator[str]:
        if answer.code not in IN_A_MOMENT:
            yield f"{name_response(answer.code)} {answer.remark}".strip()


def push_command(number: int, body: Any) -> tuple[bytes, bool]:
    """The frame of a push, numbered by `opaque`; it is one-way."""
    command = write_question(body) if isinstance(body, Question) else body
    return encode_command(replace(command, opaque=number, flag=Flag.ONEWAY)), False
