"""A message arrives. One with TRAN_MSG goes to the half topic instead of its own, one with DELAY
to the queue of its delay level.

Sources: SendMessageProcessor#sendMessage, TransactionalMessageServiceImpl#asyncPrepareMessage,
TransactionalMessageBridge#parseHalfMessageInner (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Reply
from ..check.halves import build_half
from ..config import NOT_ALLOWED_TO_SEND
from ..errors import NOT_ALLOWED, ResponseCode
from ..log import Writer
from ..messages import TRAN_MSG, UNIQ_KEY, SendMessage, SendMessageResponse
from .delay import put_later, schedule_level
from .safety import acknowledge

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]


def store_message(
    broker: Broker, ask: SendMessage, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """The property decides, not the PREPARED bit of the request."""
    message = ask.message
    if message.topic in NOT_ALLOWED_TO_SEND:
        remark = NOT_ALLOWED.format(topic=message.topic)
        refusal = SendMessageResponse(ResponseCode.NO_PERMISSION, remark)
        return broker, (Reply(caller, refusal),)
    if message.get(TRAN_MSG) == "true":
        message = build_half(message, broker.config)
    else:
        message = put_later(message)
    timer = schedule_level(message, disk, broker)
    writer = Writer(disk, at_ms, notify=broker.config.flush == "sync")
    stored = writer.put(message)
    answer = SendMessageResponse(
        queue_id=ask.message.queue_id,
        queue_offset=stored.queue_offset,
        commit_log_offset=stored.base,
        transaction_id=message.get(UNIQ_KEY) or "",
    )
    new, told = acknowledge(broker, stored, caller, answer)
    return new, (*writer.effects, *timer, *told)
