"""Sending: what the broker looks at before a message is stored, and batches.

Source: AbstractSendMessageProcessor#msgCheck, #randomQueueId, SendMessageProcessor#sendMessage,
#sendBatchMessage (5.5.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....kernel import Caller, Disk, Effects, Reply, Request, Send, replace
from ....rocketmq.log import read_stored
from ....rocketmq.messages import (
    CHECK_TIMES,
    DELAY,
    PREPARED_QUEUE_OFFSET,
    REAL_QID,
    STORED,
    TRAN_MSG,
    Message,
    ResumeCheckHalfMessage,
    SendMessage,
    SendMessageResponse,
)
from ....rocketmq.remoting import ResponseCode
from ....rocketmq.states import TransactionType
from ..wire import asks
from ..wire.answers import Said, Sent
from ..wire.asks import Ask
from .topic import WRITE, Topic
from .topics import create_itself, find_creation_fault, find_topic

if TYPE_CHECKING:
    from . import Front

FRONT = "broker"  # the role's own name
LARGEST = 4 << 20  # bytes of a body: maxMessageSize
NOT_WRITABLE = "the broker[{host}] sending message is forbidden"
TOO_LARGE = "the message is illegal, maybe msg body or properties length not matched."
ILLEGAL_QUEUE = "request queueId[{queue}] is illegal, {topic}, at most {queues} queues"
#: what the engine reads as numbers; a client may write anything
NUMBERS = (CHECK_TIMES, PREPARED_QUEUE_OFFSET, DELAY, REAL_QID)
DIGITS = 10
NO_NUMBER = "the property {name} is no number"
NOTHING_THERE = "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC."
NO_BATCH = "batch messages cannot be in a transaction"
Result = tuple["Front", Effects]


def begin_send(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    return store(front, caller, ask.body, at_ms, disk)


def store(front: Front, caller: Caller, body: asks.Send, at_ms: int, disk: Disk) -> Result:
    """Take one message, or a batch; the caller is answered when they lie in the log."""
    first = body.messages[0]
    topic, made = find_topic(disk, first.topic), Effects()
    if topic is None:
        fault = find_creation_fault(front, first.topic)
        if fault:
            return front, refuse(caller, ResponseCode.TOPIC_NOT_EXIST, fault)
        topic, made = create_itself(first.topic, body.queues)
    code, remark = find_fault(front, body, topic)
    if remark:
        return front, (*made, *refuse(caller, code, remark))
    chosen = first.queue_id if first.queue_id >= 0 else at_ms % topic.write_queues
    messages = tuple(replace(front.mark(message), queue_id=chosen) for message in body.messages)
    if body.batch:
        new, effects = begin_batch(front, caller, body.group, messages, disk, at_ms)
    else:
        request = Request(caller, SendMessage(messages[0], body.group), at_ms)
        new, effects = front.ask_broker(request, disk)
    return new, (*made, *effects)


def find_fault(front: Front, body: asks.Send, topic: Topic) -> tuple[ResponseCode, str]:
    """Why these messages are not taken; no words where they are."""
    first = body.messages[0]
    if not topic.perm & WRITE or topic.write_queues < 1:
        return ResponseCode.NO_PERMISSION, NOT_WRITABLE.format(host=topic.name)
    if first.queue_id >= topic.queues:
        remark = ILLEGAL_QUEUE.format(queue=first.queue_id, topic=topic.name, queues=topic.queues)
        return front.code_of_illegal(ResponseCode.INVALID_PARAMETER), remark
    if any(len(message.body) > LARGEST for message in body.messages):
        return ResponseCode.MESSAGE_ILLEGAL, TOO_LARGE
    for message in body.messages:
        if wrong := find_wrong_number(message):
            return ResponseCode.MESSAGE_ILLEGAL, NO_NUMBER.format(name=wrong)
    if body.batch and any(is_transactional(message) for message in body.messages):
        return ResponseCode.MESSAGE_ILLEGAL, NO_BATCH
    return ResponseCode.SUCCESS, ""


def find_wrong_number(message: Message) -> str:
    """The name of a property that the engine could not read, "" where all is well."""
    for name in NUMBERS:
        text = message.get(name) or "0"
        if not (text.isdigit() and text.isascii() and len(text) < DIGITS):
            return name
    return ""


def is_transactional(message: Message) -> bool:
    """By its bits, at which the store of a real broker looks, or by what makes it a half."""
    bits = message.sys_flag & TransactionType.ROLLBACK_TYPE
    return bits != TransactionType.NOT_TYPE or bool(message.get(TRAN_MSG))


def resume_half(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Whatever lies there becomes a half (4.9.7, 5.5.0); one of a plain message is nobody's, and is
    given up after its checks."""
    body: ResumeCheckHalfMessage = ask.body
    if read_stored(disk, body.commit_log_offset) is None:
        return front, refuse(caller, ResponseCode.SYSTEM_ERROR, NOTHING_THERE)
    return front.ask_broker(Request(caller, body, at_ms), disk)


def refuse(caller: Caller, code: ResponseCode, remark: str) -> Effects:
    return (Reply(caller, Said(code, remark)),)


# ---- batches ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that is stored message by message. `answers`: of those that are stored."""

    caller: Caller
    group: str
    messages: tuple[Message, ...]
    answers: tuple[SendMessageResponse, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreNext:
    """To the front itself: the next message of a batch. The log must hold the one before."""

    number: int


def begin_batch(
    front: Front, caller: Caller, group: str, messages: tuple[Message, ...], disk: Disk, at_ms: int
) -> Result:
    number = front.last + 1
    batch = Batch(caller, group, messages)
    new = replace(front, last=number, batches=front.batches.set(number, batch))
    return store_next(new, number, at_ms, disk)


def store_next(front: Front, number: int, at_ms: int, disk: Disk) -> Result:
    batch: Batch = front.batches[number]
    message = batch.messages[len(batch.answers)]
    inner = Request(Caller(FRONT, 0, number), SendMessage(message, batch.group), at_ms)
    return front.ask_broker(inner, disk)


def take_stored(front: Front, number: int, answer: SendMessageResponse) -> Result:
    """The broker has stored, or refused, one message of a batch."""
    batch: Batch = front.batches[number]
    batch = replace(batch, answers=(*batch.answers, answer))
    if answer.code in STORED and len(batch.answers) < len(batch.messages):
        new = replace(front, batches=front.batches.set(number, batch))
        return new, (Send(FRONT, StoreNext(number)),)
    new = replace(front, batches=front.batches.remove(number))
    return new, (Reply(batch.caller, Sent(answer.code, answer.remark, batch.answers)),)
