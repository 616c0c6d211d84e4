"""A message arrives. One with TRAN_MSG goes to the half topic instead of its own, one with DELAY
to the queue of its delay level.

Sources: SendMessageProcessor#sendMessage, #sendBatchMessage,
TransactionalMessageServiceImpl#asyncPrepareMessage,
TransactionalMessageBridge#parseHalfMessageInner (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Reply
from ..check.halves import build_half
from ..config import NOT_ALLOWED_TO_SEND, TIMER_TOPIC, RocketMQConfig
from ..errors import NOT_ALLOWED, SEND_TOO_LARGE, ResponseCode
from ..log import Writer, find_misfit
from ..messages import (
    UNIQ_KEY,
    Message,
    SendBatchMessage,
    SendBatchResponse,
    SendMessage,
    SendMessageResponse,
)
from .delay import put_later, schedule_level
from .safety import acknowledge
from .timer import ILLEGAL, is_timed, put_on_time, read_delivery, schedule

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]

_TOO_LARGE = SendMessageResponse(ResponseCode.MESSAGE_ILLEGAL, SEND_TOO_LARGE)


def store_message(
    broker: Broker, ask: SendMessage, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """The property decides, not the PREPARED bit of the request."""
    message = ask.message
    if refusal := _find_refusal(message, broker.config):
        return broker, (Reply(caller, refusal),)
    if message.is_half:
        message, timed = build_half(message, broker.config), False
    else:
        timed = is_timed(message, broker.config)
        if timed and read_delivery(message, at_ms) is None:
            refusal = SendMessageResponse(ResponseCode.MESSAGE_ILLEGAL, ILLEGAL)
            return broker, (Reply(caller, refusal),)
        message = put_on_time(message, at_ms) if timed else put_later(message)
    if find_misfit(message, broker.config.release):
        return broker, (Reply(caller, _TOO_LARGE),)
    timer = schedule_level(message, disk, broker)
    writer = Writer(disk, at_ms, notify=broker.config.flush == "sync")
    stored = writer.put(message)
    if timed:
        broker, timer = schedule(broker, stored, at_ms)
    answer = SendMessageResponse(
        queue_id=ask.message.queue_id,
        queue_offset=stored.queue_offset,
        commit_log_offset=stored.base,
        transaction_id=_name_transaction(message, broker.config),
    )
    new, replies = acknowledge(broker, stored, caller, answer)
    return new, (*writer.effects, *timer, *replies)


def store_batch(
    broker: Broker, ask: SendBatchMessage, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """All of them in one step, with one answer, when the last is as safe as it is to be. They lie
    there at once, whatever delay they name: a store looks at the request's own properties
    (CommitLog#asyncPutMessages), and clients batch no such message
    (MessageBatch#generateFromList)."""
    if refusal := _find_refusal(ask.messages[0], broker.config):
        return broker, (Reply(caller, refusal),)
    if any(find_misfit(message, broker.config.release) for message in ask.messages):
        return broker, (Reply(caller, _TOO_LARGE),)
    writer = Writer(disk, at_ms, notify=broker.config.flush == "sync")
    stored = [writer.put(message) for message in ask.messages]
    answer = SendBatchResponse(
        queue_id=ask.messages[0].queue_id,
        queue_offset=stored[0].queue_offset,
        commit_log_offset=stored[0].base,
        commit_log_offsets=tuple(one.base for one in stored),
    )
    new, replies = acknowledge(broker, stored[-1], caller, answer)
    return new, (*writer.effects, *replies)


def _find_refusal(message: Message, config: RocketMQConfig) -> SendMessageResponse | None:
    timers = TIMER_TOPIC if config.release != "4.9" else ""
    if message.topic not in NOT_ALLOWED_TO_SEND and message.topic != timers:
        return None
    remark = NOT_ALLOWED.format(topic=message.topic)
    return SendMessageResponse(ResponseCode.NO_PERMISSION, remark)


def _name_transaction(message: Message, config: RocketMQConfig) -> str:
    """transactionId of the answer: the client's own key; 4.9 says nothing there."""
    return "" if config.release == "4.9" else message.get(UNIQ_KEY) or ""
