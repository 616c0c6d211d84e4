"""Sending: what the broker looks at before a message, or a batch of them, is stored.

Source: AbstractSendMessageProcessor#msgCheck, #randomQueueId, SendMessageProcessor#sendMessage,
#sendBatchMessage (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....kernel import Caller, Disk, Effects, Reply, Request, replace
from ....rocketmq.broker.timer import is_timed
from ....rocketmq.config import DLQ_PREFIX, RETRY_PREFIX
from ....rocketmq.errors import SEND_TOO_LARGE
from ....rocketmq.log import read_stored
from ....rocketmq.messages import (
    CHECK_TIMES,
    DELAY,
    PREPARED_QUEUE_OFFSET,
    REAL_QID,
    Message,
    ResumeCheckHalfMessage,
    SendBatchMessage,
    SendMessage,
    read_number,
)
from ....rocketmq.remoting import ResponseCode
from ....rocketmq.states import TransactionType
from ..wire import answers
from ..wire.answers import Ask, FrontAnswer
from ..wire.headers import NO_NUMBER, RequestError
from .registry import GROUPS, NO_GROUP
from .topics import NO_TOPIC, Topic, create_itself, find_topic, group_fault, name_fault

if TYPE_CHECKING:
    from . import Front

FRONT = "broker"  # the role's own name
LARGEST = 4 << 20  # bytes of a body: maxMessageSize
ILLEGAL_QUEUE = "request queueId[{queue}] is illegal, {topic}, at most {queues} queues"
#: what the engine reads as numbers; a client may write anything
NUMBERS = (CHECK_TIMES, PREPARED_QUEUE_OFFSET, REAL_QID)
DIGITS = 10
NO_COUNT = "the property {name} is no number"
NO_RETRIES = "batch request does not support retry group {topic}"
INNER_BATCH = 0x80  # MessageSysFlag: a batch that is stored as one message, which is not served
NOTHING_THERE = "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC."
BATCH_TOO_LARGE = "message body size exceeded"
NO_BODY = "the message body is empty"
NO_TIME = "batch messages cannot have a time of delivery"
NO_BATCH = "batch messages cannot be in a transaction"
Result = tuple["Front", Effects]


def begin_send(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    return store(front, caller, ask.body, at_ms, disk)


def store(front: Front, caller: Caller, body: answers.Send, at_ms: int, disk: Disk) -> Result:
    """Handle SEND_MESSAGE: store one message, or a batch, in its topic, which is created if it may
    be, also where the message is then refused. The client is answered when they are in the log. A
    retry that has come back too often, or is of a group that reads in order, goes to the
    dead-letter topic instead."""
    first = body.messages[0]
    topic, create_effects = find_topic(disk, first.topic), Effects()
    if topic is None:
        if fault := name_fault(first.topic, older=front.is_older):
            code = front.code_of_illegal(ResponseCode.INVALID_PARAMETER)
            return front, refuse(caller, code, fault)
        if not front.config.auto_create:
            remark = NO_TOPIC.format(topic=first.topic)
            return front, refuse(caller, ResponseCode.TOPIC_NOT_EXIST, remark)
        topic, create_effects = create_itself(first.topic, body.queues)
    code, remark = find_fault(front, body, topic)
    if remark:
        return front, (*create_effects, *refuse(caller, code, remark))
    if first.topic.startswith(RETRY_PREFIX) and is_dead(front, body, at_ms, disk):
        dead_letter_topic = f"{DLQ_PREFIX}{first.topic.removeprefix(RETRY_PREFIX)}"
        first = replace(first, topic=dead_letter_topic, queue_id=0)
        # as 5.5 does: a dead letter is not delayed
        first = first if front.is_older else first.put((DELAY, "-1"))
    # the client has left the queue to the broker: any will do
    queue_id = first.queue_id if first.queue_id >= 0 else at_ms % topic.write_queues
    if body.batch:
        # (mark: add the properties that a broker adds to what it stores)
        messages = tuple(replace(front.mark_in_batch(m), queue_id=queue_id) for m in body.messages)
        request: SendMessage | SendBatchMessage = SendBatchMessage(messages, body.group)
    else:
        message = front.mark(first, at_ms, disk)
        if message.queue_id != queue_id:
            message = replace(message, queue_id=queue_id)
        request = SendMessage(message, body.group)
    new, effects = front.ask_broker(Request(caller, request, at_ms), disk)
    return new, (*create_effects, *effects)


def is_dead(front: Front, body: answers.Send, at_ms: int, disk: Disk) -> bool:
    """Whether a message that a client sends to a retry topic itself has come back too often, or is
    one of a group that reads in order and holds locks (#handleRetryAndDLQ)."""
    first = body.messages[0]
    group = first.topic.removeprefix(RETRY_PREFIX)
    most = disk.table(GROUPS).get(group, front.config.rocketmq.retry_max)
    most = most if body.most is None else body.most
    if front.is_older:
        return first.reconsume_times >= most
    return first.reconsume_times > most or front.locks.any_held(group, at_ms)


def find_fault(front: Front, body: answers.Send, topic: Topic) -> tuple[ResponseCode, str]:
    """Return why these messages cannot be stored in this topic: (code, words); (SUCCESS, "") if
    they can. The checks, their order and words are those of the real broker, of 5.5 or of 4.9. That
    a topic may not be written to is what clients make of its route; a broker stores it."""
    first = body.messages[0]
    if first.topic.startswith(RETRY_PREFIX):
        if group_fault(group := first.topic.removeprefix(RETRY_PREFIX), older=front.is_older):
            return ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, NO_GROUP.format(group=group)
        if body.batch and not front.is_older:
            return ResponseCode.MESSAGE_ILLEGAL, NO_RETRIES.format(topic=first.topic)
    if first.queue_id >= topic.queues:
        remark = ILLEGAL_QUEUE.format(queue=first.queue_id, topic=topic.name, queues=topic.queues)
        # (4.9 has one code for all that is wrong with a request)
        return front.code_of_illegal(ResponseCode.INVALID_PARAMETER), remark
    if body.size > LARGEST and body.batch and not front.is_older:
        return ResponseCode.SYSTEM_ERROR, BATCH_TOO_LARGE
    if body.size > LARGEST:
        return ResponseCode.MESSAGE_ILLEGAL, SEND_TOO_LARGE
    if not first.body and not body.batch and not front.is_older:
        return ResponseCode.SYSTEM_ERROR, NO_BODY
    if first.sys_flag & INNER_BATCH and not front.is_older:
        return ResponseCode.MESSAGE_ILLEGAL, SEND_TOO_LARGE
    # `head`: of a batch, the message that the request describes, with properties of its own
    delay = (first if body.head is None else body.head).get(DELAY)
    if delay is not None and read_number(delay, 32) is None:
        return ResponseCode.SYSTEM_ERROR, NO_NUMBER.format(text=delay[:100])
    for message in body.messages:
        if name := find_wrong_number(message):
            return ResponseCode.MESSAGE_ILLEGAL, NO_COUNT.format(name=name)
    if body.batch and first.transaction_type != TransactionType.NOT_TYPE:
        return ResponseCode.MESSAGE_ILLEGAL, NO_BATCH
    if body.head is not None and is_put_off(body.head, front):
        return ResponseCode.MESSAGE_ILLEGAL, NO_TIME
    return ResponseCode.SUCCESS, ""


def find_wrong_number(message: Message) -> str:
    """The name of a property that the engine could not read, "" where all is well."""
    for name in NUMBERS:
        text = message.get(name)
        if text and not (text.isdigit() and text.isascii() and len(text) < DIGITS):
            return name
    return ""


def is_put_off(message: Message, front: Front) -> bool:
    """Whether it has a delay level or, since 5, another time of delivery."""
    level = message.get(DELAY)
    return level not in (None, "0") or is_timed(message, front.config.rocketmq)


def resume_half(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Whatever is there becomes a half message (4.9.7, 5.5.0); one of a plain message has no
    producer, and is given up after its checks."""
    body: ResumeCheckHalfMessage = ask.body
    if read_stored(disk, body.commit_log_offset) is None:
        raise RequestError(NOTHING_THERE)
    return front.ask_broker(Request(caller, body, at_ms), disk)


def refuse(caller: Caller, code: ResponseCode, remark: str) -> Effects:
    """In effects and not by RequestError: what comes before stays (a topic, an answer's push)."""
    return (Reply(caller, FrontAnswer(code, remark)),)
