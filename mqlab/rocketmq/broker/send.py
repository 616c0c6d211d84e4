"""A message arrives. One with TRAN_MSG goes to the half topic instead of its own, one with DELAY
to the queue of its delay level.

Sources: SendMessageProcessor#sendMessage, TransactionalMessageServiceImpl#asyncPrepareMessage,
TransactionalMessageBridge#parseHalfMessageInner (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Reply
from ..check.halves import build_half
from ..config import NOT_ALLOWED_TO_SEND, TIMER_TOPIC
from ..errors import NOT_ALLOWED, ResponseCode
from ..log import Writer
from ..messages import TRAN_MSG, UNIQ_KEY, SendMessage, SendMessageResponse
from .delay import put_later, schedule_level
from .safety import acknowledge
from .timer import ILLEGAL, is_timed, put_on_time, read_delivery, schedule

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]


def store_message(
    broker: Broker, ask: SendMessage, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """The property decides, not the PREPARED bit of the request."""
    message = ask.message
    timers = TIMER_TOPIC if broker.config.release != "4.9" else ""
    if message.topic in NOT_ALLOWED_TO_SEND or message.topic == timers:
        remark = NOT_ALLOWED.format(topic=message.topic)
        refusal = SendMessageResponse(ResponseCode.NO_PERMISSION, remark)
        return broker, (Reply(caller, refusal),)
    if message.get(TRAN_MSG) == "true":
        message = build_half(message, broker.config)
    else:
        timed = is_timed(message, broker.config)
        if timed and read_delivery(message, at_ms) is None:
            refusal = SendMessageResponse(ResponseCode.MESSAGE_ILLEGAL, ILLEGAL)
            return broker, (Reply(caller, refusal),)
        message = put_on_time(message, at_ms) if timed else put_later(message)
    timer = schedule_level(message, disk, broker)
    writer = Writer(disk, at_ms, notify=broker.config.flush == "sync")
    stored = writer.put(message)
    if message.topic == timers:
        broker, timer = schedule(broker, stored, at_ms)
    answer = SendMessageResponse(
        queue_id=ask.message.queue_id,
        queue_offset=stored.queue_offset,
        commit_log_offset=stored.base,
        transaction_id=message.get(UNIQ_KEY) or "",
    )
    new, told = acknowledge(broker, stored, caller, answer)
    return new, (*writer.effects, *timer, *told)
