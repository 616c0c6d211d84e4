"""A consumer could not process a message: it comes back later, and after 16 times no more.

The message is written once more, to the retry topic of the *group*, so that other groups do not
get it again, and with a delay that grows: level 3 (10 s) the first time, level 18 (2 h) the last.
After that it goes to the group's dead letter queue, where nobody reads it unless somebody looks.
The producer hears nothing of all this. **A message that can never be processed is not rolled
back, and its row stays.**

Sources: AbstractSendMessageProcessor#consumerSendMsgBack, SubscriptionGroupConfig (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Reply, replace
from ..config import DLQ_PREFIX, RETRY_PREFIX, RocketMQConfig
from ..errors import BACK_NOT_FOUND, ResponseCode
from ..group import ConsumerSendMsgBack, ConsumerSendMsgBackResponse
from ..log import Stored, Writer, find_misfit, read_stored
from ..messages import DELAY, ORIGIN_MESSAGE_ID, RETRY_TOPIC, WAIT, Message, wrap
from .delay import put_later, schedule_level

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]

#: the first delay level of a retry
FIRST_LEVEL = 3


def take_back(
    broker: Broker, ask: ConsumerSendMsgBack, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    stored = read_stored(disk, ask.commit_log_offset)
    if stored is None:
        remark = BACK_NOT_FOUND.format(offset=ask.commit_log_offset)
        refusal = ConsumerSendMsgBackResponse(ResponseCode.SYSTEM_ERROR, remark)
        return broker, (Reply(caller, refusal),)
    copy, release = build_retry(ask, stored, broker.config), broker.config.release
    message = put_later(copy)
    if misfit := find_misfit(copy, release) or find_misfit(message, release):
        refusal = ConsumerSendMsgBackResponse(ResponseCode.SYSTEM_ERROR, misfit)
        return broker, (Reply(caller, refusal),)
    timer = schedule_level(message, disk, broker)
    writer = Writer(disk, at_ms)
    writer.put(message)
    return broker, (*writer.effects, *timer, Reply(caller, ConsumerSendMsgBackResponse()))


def build_retry(ask: ConsumerSendMsgBack, stored: Stored, config: RocketMQConfig) -> Message:
    """The copy for the group's retry topic, or for its dead letter queue. It keeps the sysFlag of a
    committed message, and points to no half. `ORIGIN_MESSAGE_ID` says where the first one lies,
    for anyone who wants to look at it; the key of the client (UNIQ_KEY) stays as it is."""
    message, times = stored.message, stored.message.reconsume_times
    most = config.retry_max if ask.most is None else ask.most
    here = ask.msg_id or f"{config.broker}@{stored.base}"
    origin = message.get(ORIGIN_MESSAGE_ID) or here
    topic = message.get(RETRY_TOPIC) or message.topic
    copy = replace(
        message.put((RETRY_TOPIC, topic), (ORIGIN_MESSAGE_ID, origin), (WAIT, "false")),
        queue_id=0,
        reconsume_times=wrap(times + 1, 32),
        prepared_offset=0,
    )
    if times >= most or ask.delay_level < 0:
        return replace(copy.put((DELAY, "0")), topic=f"{DLQ_PREFIX}{ask.group}")
    level = ask.delay_level or FIRST_LEVEL + times
    return replace(copy.put((DELAY, str(level))), topic=f"{RETRY_PREFIX}{ask.group}")
