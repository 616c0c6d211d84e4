"""Answers: what roles say, as commands.

A message leaves as a record of the commit log, as a real broker gives it away. What differs is
the number that says where it lies: the real one counts bytes, the engine counts records. To a
client it is a number that it is given and gives back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from ....kernel import frozen
from ....rocketmq.config import HALF_TOPIC
from ....rocketmq.group import OffsetResponse
from ....rocketmq.log import Stored
from ....rocketmq.messages import (
    UNIQ_KEY,
    Answer,
    CheckTransactionState,
    SendBatchResponse,
    SendMessageResponse,
)
from ....rocketmq.remoting import (
    MessageRecord,
    RemotingCommand,
    RequestCode,
    ResponseCode,
    answer_to,
    encode_record,
    make_msg_id,
)
from .asks import Ask

REGION = "DefaultRegion"
#: of a refusal that nobody has put into words (RemotingCommand#createResponseCommand)
NO_REMARK = "not set any response code"
Host = tuple[str, int]
CLIENTS = 1_024  # whose addresses are remembered: a pull asks for one with each message


@frozen
class FrontAnswer(Answer):
    """An answer of the front's own: header fields, and a body that is ready."""

    fields: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@frozen
class Messages(Answer):
    """Messages as they lie in the log, with header fields: to a pull, a query, a look-up."""

    fields: tuple[tuple[str, str], ...] = ()
    messages: tuple[Stored, ...] = ()


@frozen
class Question:
    """CHECK_TRANSACTION_STATE, on its way to a client of the broker at `here`. `broker`: its name,
    which 4.9 does not say."""

    check: CheckTransactionState
    here: Host
    broker: str = ""

    def __str__(self) -> str:
        return str(self.check)


# ---- words of one answer ---------------------------------------------------------------------


def write_answer(ask: Ask, answer: Any, here: Host) -> RemotingCommand:
    writer = WRITERS.get(type(answer), _plain)
    fields, body = writer(ask, answer, here)
    unsaid = NO_REMARK if answer.code == ResponseCode.ILLEGAL_OPERATION else ""
    return answer_to(ask.command, answer.code, fields, body, answer.remark or unsaid)


Parts = tuple[dict[str, str], bytes]


def _plain(ask: Ask, answer: Answer, here: Host) -> Parts:
    return {}, b""


def _front_answer(ask: Ask, answer: FrontAnswer, here: Host) -> Parts:
    return dict(answer.fields), answer.body


def _messages(ask: Ask, answer: Messages, here: Host) -> Parts:
    return dict(answer.fields), b"".join(write_record(stored, here) for stored in answer.messages)


def _sent(ask: Ask, answer: SendMessageResponse, here: Host) -> Parts:
    """SendMessageResponseHeader; the ids of a batch stand in a row, and no transaction."""
    if answer.queue_offset < 0:
        return {}, b""
    places: tuple[int, ...] = (answer.commit_log_offset,)
    if isinstance(answer, SendBatchResponse):
        places = answer.commit_log_offsets
    fields = {
        "msgId": ",".join(make_msg_id(here, place) for place in places),
        "queueId": str(answer.queue_id),
        "queueOffset": str(answer.queue_offset),
        "MSG_REGION": REGION,
        "TRACE_ON": "true",
    }
    if answer.transaction_id:
        fields["transactionId"] = answer.transaction_id
    return fields, b""


def _offset(ask: Ask, answer: OffsetResponse, here: Host) -> Parts:
    return ({} if answer.code else {"offset": str(answer.offset)}), b""


WRITERS: dict[type, Callable[..., Parts]] = {
    FrontAnswer: _front_answer,
    Messages: _messages,
    OffsetResponse: _offset,
    SendMessageResponse: _sent,
    SendBatchResponse: _sent,
}


# ---- records ---------------------------------------------------------------------------------


def write_record(stored: Stored, here: Host) -> bytes:
    message = stored.message
    body = message.body
    return encode_record(
        MessageRecord(
            topic=message.topic,
            body=body.encode() if isinstance(body, str) else body,
            properties=dict(message.properties.items()),
            queue_id=message.queue_id,
            queue_offset=stored.queue_offset,
            physical_offset=stored.base,
            flag=message.flag,
            sys_flag=message.sys_flag,
            born_timestamp=message.born_ms,
            born_host=read_host(message.born_host, here),
            store_timestamp=stored.store_ms,
            store_host=here,
            reconsume_times=message.reconsume_times,
            prepared_offset=message.prepared_offset,
        )
    )


def write_host(host: Host) -> str:
    return f"{host[0]}:{host[1]}"


@lru_cache(CLIENTS)
def read_host(text: str, otherwise: Host) -> Host:
    """What `write_host` wrote; what the broker itself has written was born where it is stored."""
    address, _, port = text.rpartition(":")
    try:
        return str(ip_address(address)), int(port)
    except ValueError:
        return otherwise


def write_question(question: Question) -> RemotingCommand:
    """CheckTransactionStateRequestHeader, and the message with its real topic."""
    check, here = question.check, question.here
    fields = {
        "tranStateTableOffset": str(check.queue_offset),
        "commitLogOffset": str(check.commit_log_offset),
        "offsetMsgId": make_msg_id(here, check.commit_log_offset),
    }
    if key := check.message.get(UNIQ_KEY):
        fields |= {"msgId": key, "transactionId": key}
    if question.broker:
        fields |= {"topic": HALF_TOPIC, "bname": question.broker}
    stored = Stored(check.commit_log_offset, check.message, check.queue_offset, check.store_ms)
    return RemotingCommand(RequestCode.CHECK_TRANSACTION_STATE, fields, write_record(stored, here))
