"""Delayed messages: eighteen fixed levels, one queue for each.

A message with the property DELAY does not go to its topic. It goes to SCHEDULE_TOPIC_XXXX, into
the queue of its level, and since all messages of a queue have the same delay, the first one is
always the next one that is due. What is due is written once more, to its own topic. How far each
queue has come is an offset like a consumer's, and is written as seldom: a kill makes the service
deliver again what it had delivered since.

Sources: HookUtils#handleScheduleMessage, ScheduleMessageService#messageTimeup,
MessageStoreConfig#messageDelayLevel (5.5.0). For a time of delivery: `timer.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Disk, Effects, SetTimer, replace
from ..config import DELAY_LEVELS_S, SCHEDULE_TOPIC
from ..log.offsets import offset_key
from ..log.store import (
    Stored,
    Writer,
    find_misfit,
    is_dispatched,
    list_queues,
    read_queue,
    walk_queue,
)
from ..messages import DELAY, REAL_QID, REAL_TOPIC, Message, name_queue, split_queue

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]

LEVEL = "delay level"
GROUP = "delayOffset.json"


def put_later(message: Message) -> Message:
    """The message as it is stored while it waits; one without a delay is stored as it is."""
    level = message.delay_level
    if level <= 0 or not is_dispatched(message):
        return message
    if level > len(DELAY_LEVELS_S):
        level = len(DELAY_LEVELS_S)
        message = message.put((DELAY, str(level)))
    delayed = message.put((REAL_TOPIC, message.topic), (REAL_QID, str(message.queue_id)))
    return replace(delayed, topic=SCHEDULE_TOPIC, queue_id=level - 1)


def schedule_level(message: Message, disk: Disk, broker: Broker) -> Effects:
    """A timer for its level, unless an earlier message of the level has set it."""
    if message.topic != SCHEDULE_TOPIC:
        return ()
    level = message.queue_id + 1
    if disk.log(message.queue).end > _progress(broker, message.queue):
        return ()
    return (SetTimer(f"{LEVEL} {level}", DELAY_LEVELS_S[level - 1] * 1_000),)


def deliver_level(broker: Broker, timer: str, disk: Disk, at_ms: int) -> Result:
    """The first message of the level is due, and whatever else has become so meanwhile."""
    level = int(timer.rpartition(" ")[2])
    queue = name_queue(SCHEDULE_TOPIC, level - 1)
    start = _progress(broker, queue)
    writer, end = Writer(disk, at_ms), start
    again: Effects = ()
    for stored in walk_queue(disk, queue, start):
        if end > start and _time_left(stored, at_ms) > 0:
            again = (SetTimer(timer, _time_left(stored, at_ms)),)
            break
        message, end = _restore(stored.message), end + 1
        if not find_misfit(message, broker.config.release):
            writer.put(message)
    offsets = broker.offsets.set(offset_key(GROUP, queue), end)
    return replace(broker, offsets=offsets), (*writer.effects, *again)


def schedule_all(broker: Broker, disk: Disk, at_ms: int) -> Effects:
    """After a start: the timers of all levels in which something waits."""
    timers: list[SetTimer] = []
    for queue in list_queues(disk, SCHEDULE_TOPIC):
        for stored in read_queue(disk, queue, _progress(broker, queue), 1):
            level = split_queue(queue)[1] + 1
            timers.append(SetTimer(f"{LEVEL} {level}", _time_left(stored, at_ms)))
    return tuple(timers)


def _progress(broker: Broker, queue: str) -> int:
    offset: int = broker.offsets.get(offset_key(GROUP, queue), 0)
    return offset


def _time_left(stored: Stored, at_ms: int) -> int:
    due_ms: int = stored.store_ms + DELAY_LEVELS_S[stored.message.queue_id] * 1_000
    return max(0, due_ms - at_ms)


def _restore(message: Message) -> Message:
    """Its own topic and queue again; the properties stay, so that a consumer sees them."""
    topic = message.get(REAL_TOPIC) or message.topic
    return replace(message, topic=topic, queue_id=int(message.get(REAL_QID) or 0))
