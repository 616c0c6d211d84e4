"""Timed messages: delivered at any time up to three days ahead, to the second (since 5.0).

A message with one of the properties TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS goes to
rmq_sys_wheel_timer. The time of its delivery is rounded to a whole second (TIMER_OUT_MS), and all
messages of one second are delivered together, a second later: so never before the time that was
asked for, and up to two seconds after it. What is due is written once more, to its own topic.

*Durable*: the messages, and, as seldom as a consumer's offset, the last second that was
delivered; a kill makes the service deliver again what it had delivered since. *Memory*: which
seconds something waits for. The real one keeps a wheel of slots, one per second, each with a chain
of positions in a file; here a start reads the topic from its beginning.

Sources: HookUtils#handleScheduleMessage, #transformTimerMessage, TimerMessageStore#dequeue,
#convertMessage (5.5.0). *Left out:* taking a message back (recall), delivery times of more than two
days being put off in turns, metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Disk, Effects, Map, SetTimer, replace
from ..config import TIMER_TOPIC, RocketMQConfig
from ..log.offsets import offset_key
from ..log.store import Stored, Writer, find_misfit, is_dispatched, read_stored, walk_queue
from ..messages import (
    REAL_QID,
    REAL_TOPIC,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_OUT_MS,
    Message,
    name_queue,
    read_number,
    wrap,
)

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]

TIMER_QUEUE = name_queue(TIMER_TOPIC, 0)
TIMED = "timed"
NAMED = (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS)
PRECISION_MS = 1_000  # timerPrecisionMs
MOST_MS = 259_200_000  # timerMaxDelaySec
#: where the service is: the last second that was delivered (its file is called timercheck)
PROGRESS = offset_key("timercheck", TIMER_QUEUE)
#: TIMER_OUT_MS → the commit log offsets of what is delivered then
Timed = Map[int, Map[int, bool]]
ILLEGAL = (
    f"timer message illegal, the delay time should not be bigger than the max delay {MOST_MS}ms; "
    "or if set del msg, the delay time should be bigger than the current time"
)


def is_timed(message: Message, config: RocketMQConfig) -> bool:
    """4.9 knows nothing of that; a delay level goes before (HookUtils#checkIfTimerMessage)."""
    if config.release == "4.9" or not is_dispatched(message):
        return False
    for name in NAMED:
        if message.get(name) is not None:
            return message.delay_level <= 0
    return False


def read_delivery(message: Message, at_ms: int) -> int | None:
    """When a timed message is to be delivered; None where that is no number, or too late. A long of
    Java that becomes too large is negative: such a message is delivered at once."""
    for name, unit_ms, start_ms in (
        (TIMER_DELAY_SEC, 1_000, at_ms),
        (TIMER_DELAY_MS, 1, at_ms),
        (TIMER_DELIVER_MS, 1, 0),
    ):
        text = message.get(name)
        if text is not None:
            number = read_number(text, 64)
            if number is None:
                return None
            deliver_ms = wrap(start_ms + wrap(number * unit_ms, 64), 64)
            return deliver_ms if deliver_ms - at_ms <= MOST_MS else None
    return None


def put_on_time(message: Message, at_ms: int) -> Message:
    """The message as it is stored while it waits; one whose time has come is stored as it is."""
    deliver_ms = read_delivery(message, at_ms)
    if deliver_ms is None or deliver_ms <= at_ms:
        return message
    out_ms = (deliver_ms - 1) // PRECISION_MS * PRECISION_MS
    waiting = message.put(
        (TIMER_OUT_MS, str(out_ms)),
        (REAL_TOPIC, message.topic),
        (REAL_QID, str(message.queue_id)),
    )
    return replace(waiting, topic=TIMER_TOPIC, queue_id=0)


def schedule(broker: Broker, stored: Stored, at_ms: int) -> Result:
    """Remember a message that waits; a timer for its second, unless another has set it."""
    out_ms = int(stored.message.get(TIMER_OUT_MS) or 0)
    there: Map[int, bool] | None = broker.timed.get(out_ms)
    known = (there if there is not None else Map()).set(stored.base, True)
    new = replace(broker, timed=broker.timed.set(out_ms, known))
    if there is not None:
        return new, ()
    left_ms = max(0, out_ms + PRECISION_MS - at_ms)
    return new, (SetTimer(f"{TIMED} {out_ms}", left_ms),)


def deliver_second(broker: Broker, timer: str, disk: Disk, at_ms: int) -> Result:
    """All messages of a second are due, in the order in which they came. One that has become too
    long by what is added here is lost (TimerMessageStore#doPut)."""
    out_ms = int(timer.rpartition(" ")[2])
    writer = Writer(disk, at_ms)
    for offset in sorted(broker.timed.get(out_ms, Map())):
        stored = read_stored(disk, offset)
        message = restore(stored, at_ms) if stored is not None else None
        if message is not None and not find_misfit(message, broker.config.release):
            writer.put(message)
    offsets = broker.offsets.set(PROGRESS, max(out_ms, broker.offsets.get(PROGRESS, 0)))
    return replace(broker, offsets=offsets, timed=broker.timed.remove(out_ms)), writer.effects


def restore(stored: Stored, at_ms: int) -> Message:
    """Its own topic and queue again; the properties stay, so that a consumer sees them."""
    message = stored.message
    enqueued_ms = stored.store_ms // PRECISION_MS * PRECISION_MS
    times = ((TIMER_ENQUEUE_MS, str(enqueued_ms)), (TIMER_DEQUEUE_MS, str(at_ms)))
    topic, queue_id = message.get(REAL_TOPIC) or "", int(message.get(REAL_QID) or 0)
    return replace(message.put(*times), topic=topic, queue_id=queue_id)


def schedule_all(broker: Broker, disk: Disk, at_ms: int) -> Result:
    """After a start: everything behind the last second that is known to be delivered."""
    done, effects = broker.offsets.get(PROGRESS, 0), list[SetTimer]()
    for stored in walk_queue(disk, TIMER_QUEUE):
        text = stored.message.get(TIMER_OUT_MS) or ""
        if text.isascii() and text.isdigit() and len(text) < 19 and int(text) > done:
            broker, timer = schedule(broker, stored, at_ms)
            effects += timer  # type: ignore[arg-type]
    return broker, tuple(effects)
