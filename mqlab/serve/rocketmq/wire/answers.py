"""Answers: what roles say, as commands.

A message leaves as a record of the commit log, as a real broker gives it away. What differs is
the number that says where it is: the real one counts bytes, the engine counts records. To a
client it is a number that it is given and gives back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from ....kernel import frozen, worded
from ....rocketmq.config import HALF_TOPIC
from ....rocketmq.group import OffsetResponse
from ....rocketmq.log import Stored
from ....rocketmq.messages import (
    UNIQ_KEY,
    Answer,
    CheckTransactionState,
    Message,
    SendBatchResponse,
    SendMessage,
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
from ..front.clients import Subscription

# Requests of clients that the engine's roles have no word for: they are about topics, about who
# is connected, or read what is in the log. The server's front answers them. What a request says
# may also be a single text or number, or nothing: then it has no class here.


@frozen
class Ask:
    """A request as it came, what it says, and the address at which it has reached us."""

    command: RemotingCommand
    body: Any
    here: tuple[str, int] = ("127.0.0.1", 0)

    def __str__(self) -> str:
        return str(self.body)


@frozen
class UnregisterClient:
    """A client leaves: one of its groups, or one of each kind."""

    producer: str
    consumer: str


@frozen
class QueueLocks:
    """LOCK_BATCH_MQ and UNLOCK_BATCH_MQ. `queues`: (topic, queue id) of each."""

    group: str
    client_id: str
    queues: tuple[tuple[str, int], ...]


# ---- topics and queues ---------------------------------------------------------------


@worded("UpdateAndCreateTopic {topic}, {write_queues} queues")
class UpdateAndCreateTopic:
    topic: str
    read_queues: int
    write_queues: int
    perm: int
    sys_flag: int


@frozen
class UpdateAndCreateSubscriptionGroup:
    """`retry_max`: how often a message of this group comes back."""

    group: str
    retry_max: int


@frozen
class OfQueue:
    """A question about a queue; `at_ms`: about a time in it."""

    topic: str
    queue_id: int
    at_ms: int = 0


@frozen
class GetConsumeStats:
    """`topic`: "" for all that the group reads."""

    group: str
    topic: str


@frozen
class ResetOffset:
    """INVOKE_BROKER_TO_RESET_OFFSET. `queue_id`: -1 for all; `offset`: None where `at_ms` counts,
    which is negative for the end."""

    group: str
    topic: str
    at_ms: int
    queue_id: int = -1
    offset: int | None = None


# ---- messages ------------------------------------------------------------------------


@frozen
class Send:
    """One message, or a batch of some for one queue. `size`: bytes of the request's body;
    `queues`: how many a topic gets that makes itself; `head`: of a batch, the message that its
    request describes, whose properties no message of the batch has; `most`: how often the message
    may have come back, None: as its group says."""

    group: str
    messages: tuple[Message, ...]
    size: int = 0
    batch: bool = False
    queues: int = 4
    head: Message | None = None
    most: int | None = None

    def __str__(self) -> str:
        more = f" and {len(self.messages) - 1} more" if self.batch else ""
        return f"{SendMessage(self.messages[0], self.group)}{more}"


@frozen
class SendReplyMessage:
    """The answer to a message that was sent as a question (`DefaultMQProducer#request`)."""

    send: Send

    def __str__(self) -> str:
        return f"SendReplyMessage {self.send.messages[0]}"


@frozen
class PullMessage:
    """`commit`: a position that the client wants noted, None for none; `suspend_ms`: how long it
    may wait for a message, 0 for not at all; `subscription`: what it wants, None for what its
    group has subscribed to, by `version`."""

    group: str
    topic: str
    queue_id: int
    offset: int
    most: int
    commit: int | None = None
    suspend_ms: int = 0
    subscription: Subscription | None = None
    version: int = 0


@frozen
class UpdateConsumerOffset:
    group: str
    topic: str
    queue_id: int
    offset: int


@frozen
class QueryMessage:
    """By a key, or by the id that the client gave the message (UNIQ_KEY)."""

    topic: str
    key: str
    most: int
    begin_ms: int
    end_ms: int


REGION = "DefaultRegion"
#: of a refusal without words (RemotingCommand#createResponseCommand)
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
    """Messages as they are in the log, with header fields: to a pull, a query, a look-up."""

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


# ---- words of one answer -------------------------------------------------------------


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
    """Encode the response to SEND_MESSAGE as (header fields, body): where each message was stored;
    without fields if it was not. `here` is part of the message ids, which a batch has one after the
    other, with commas."""
    if answer.queue_offset < 0:  # it was not stored
        return {}, b""
    places: tuple[int, ...] = (answer.commit_log_offset,)
    if isinstance(answer, SendBatchResponse):
        places = answer.commit_log_offsets
    fields = {
        "msgId": ",".join(make_msg_id(here, place) for place in places),
        "queueId": str(answer.queue_id),
        "queueOffset": str(answer.queue_offset),
        # as a real broker says by default; a client that traces its messages goes by these two
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


# ---- records -------------------------------------------------------------------------


def write_record(stored: Stored, here: Host) -> bytes:
    """Encode a stored message in the binary format in which PULL_MESSAGE returns it. `here`: the
    broker's address, which is also taken for that of a client that is not known."""
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
