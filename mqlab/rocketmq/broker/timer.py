"""Timed messages, and what else a broker does later: delayed messages by levels, rounds of the
check, retries of what consumers gave back.

A timed message (since 5.0) is delivered at any time up to three days ahead, to the second. With one
of the properties TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS it goes to rmq_sys_wheel_timer.
The time of its delivery is rounded to a whole second (TIMER_OUT_MS), and all messages of one second
are delivered together, a second later: so never before the time that was asked for, and up to two
seconds after it. What is due is written once more, to its own topic.

*Durable*: the messages, and, as seldom as a consumer's offset, the last second that was
delivered; a crash makes the service deliver again what it had delivered since. *Memory*: which
seconds something waits for. The real one keeps a wheel of slots, one per second, each with a chain
of positions in a file; here a start reads the topic from its beginning.

Sources: HookUtils#handleScheduleMessage, #transformTimerMessage, TimerMessageStore#dequeue,
#convertMessage (5.5.0). *Left out:* taking a message back (recall), delivery times of more than two
days being put off in turns, metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Append, Caller, Disk, Effects, Event, Fired, Map, Reply, SetTimer, replace
from ..check import build_resumed, run_round
from ..config import (
    DELAY_LEVELS_S,
    DLQ_PREFIX,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    RocketMQConfig,
)
from ..errors import BACK_NOT_FOUND, NOT_RESUMED, ResponseCode
from ..group import ConsumerSendMsgBack, ConsumerSendMsgBackResponse
from ..log import (
    HALF_KEY,
    HALF_QUEUE,
    OP_KEY,
    OP_QUEUE,
    Offsets,
    Stored,
    Writer,
    find_misfit,
    is_dispatched,
    list_queues,
    offset_key,
    read_queue,
    read_stored,
    walk_queue,
)
from ..messages import (
    DELAY,
    ORIGIN_MESSAGE_ID,
    REAL_QID,
    REAL_TOPIC,
    RETRY_TOPIC,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_OUT_MS,
    WAIT,
    Message,
    ResumeCheckHalfMessage,
    ResumeCheckHalfMessageResponse,
    name_queue,
    read_number,
    split_queue,
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
    """The time in ms at which a timed message is to be delivered, by the first of its three timer
    properties that it has; None where that is no number, or too far in the future, or where it has
    none. A sum that overflows a Java long is negative, so such a message is delivered at once.
    `at_ms`: the time now."""
    # the property, its unit, and the time from which it counts
    for name, unit_ms, start_ms in (
        (TIMER_DELAY_SEC, 1_000, at_ms),
        (TIMER_DELAY_MS, 1, at_ms),
        (TIMER_DELIVER_MS, 1, 0),
    ):
        text = message.get(name)
        if text is not None:
            delay = read_number(text, 64)
            if delay is None:
                return None
            deliver_ms = wrap(start_ms + wrap(delay * unit_ms, 64), 64)
            return deliver_ms if deliver_ms - at_ms <= MOST_MS else None
    return None


def put_on_time(message: Message, at_ms: int) -> Message:
    """The message as it is stored while it waits; one whose time has come is stored as it is."""
    deliver_ms = read_delivery(message, at_ms)
    if deliver_ms is None or deliver_ms <= at_ms:
        return message
    out_ms = (deliver_ms - 1) // PRECISION_MS * PRECISION_MS
    waiting = message.put(
        (TIMER_OUT_MS, str(out_ms)), (REAL_TOPIC, message.topic), (REAL_QID, str(message.queue_id))
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
    """After a start: everything after the last second that is known to be delivered."""
    done, effects = broker.offsets.get(PROGRESS, 0), list[SetTimer]()
    for stored in walk_queue(disk, TIMER_QUEUE):
        text = stored.message.get(TIMER_OUT_MS) or ""
        if text.isascii() and text.isdigit() and len(text) < 19 and int(text) > done:
            broker, timer = schedule(broker, stored, at_ms)
            effects += timer  # type: ignore[arg-type]
    return broker, tuple(effects)


# ---- Delayed messages: eighteen fixed levels, one queue for each ---------------------
#
# A message with the property DELAY does not go to its topic. It goes to SCHEDULE_TOPIC_XXXX, into
# the queue of its level, and since all messages of a queue have the same delay, the first one is
# always the next one that is due. What is due is written once more, to its own topic. How far each
# queue has come is an offset like a consumer's, and is written as seldom: a crash makes the service
# deliver again what it had delivered since.
#
# Sources: HookUtils#handleScheduleMessage, ScheduleMessageService#messageTimeup,
# MessageStoreConfig#messageDelayLevel (5.5.0). For a time of delivery: `timer.py`.

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
    """Deliver the messages of a delay level that are due: the first one, for which the timer was
    set, and those that have become due meanwhile. For the next one the timer is set again. One
    whose properties are too long for a record is left out. `timer`: its name, which ends with the
    level, from 1."""
    level = int(timer.rpartition(" ")[2])
    queue = name_queue(SCHEDULE_TOPIC, level - 1)
    first = _progress(broker, queue)
    writer, end = Writer(disk, at_ms), first
    next_timer: Effects = ()
    for stored in walk_queue(disk, queue, first):
        # the first message is due in any case: the timer was set for it
        if end > first and _time_left(stored, at_ms) > 0:
            next_timer = (SetTimer(timer, _time_left(stored, at_ms)),)
            break
        message, end = _restore(stored.message), end + 1
        if not find_misfit(message, broker.config.release):
            writer.put(message)
    offsets = broker.offsets.set(offset_key(GROUP, queue), end)
    return replace(broker, offsets=offsets), (*writer.effects, *next_timer)


def schedule_levels(broker: Broker, disk: Disk, at_ms: int) -> Effects:
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


# ---- When the check service makes its rounds, and an operator's way back into the half topic
#
# Sources: TransactionalMessageCheckService, AdminBrokerProcessor#resumeCheckHalfMessage (5.5.0).

CHECK = "check"


def read_progress(offsets: Offsets) -> tuple[int, int]:
    """Where the next round begins in the half topic and in the op topic."""
    return offsets.get(HALF_KEY, 0), offsets.get(OP_KEY, 0)


def make_round(broker: Broker, disk: Disk, at_ms: int) -> Result:
    """One round; how far it came is noted last."""
    half, op = read_progress(broker.offsets)
    result = run_round(broker.config, disk, at_ms, half, op, broker.producers)
    offsets = broker.offsets
    if result.half_offset != half:
        offsets = offsets.set(HALF_KEY, result.half_offset)
    if result.op_offset != op:
        offsets = offsets.set(OP_KEY, result.op_offset)
    return replace(broker, offsets=offsets, producers=result.producers), result.effects


def plan_round(broker: Broker, event: Event, effects: Effects, disk: Disk) -> Effects:
    """The service's rounds come at a fixed interval, whatever there is. Here none is waited for
    that would find nothing: the timer is set while one of the two topics has an unread end."""
    written = any(isinstance(e, Append) and e.log in (HALF_QUEUE, OP_QUEUE) for e in effects)
    if written or (isinstance(event, Fired) and event.timer == CHECK and _has_unread(broker, disk)):
        return _set_timer(broker, event.at_ms)
    return ()


def resume_rounds(broker: Broker, missing: Effects, disk: Disk, at_ms: int) -> Effects:
    """After a start: the next round, if there is something to read."""
    return _set_timer(broker, at_ms) if missing or _has_unread(broker, disk) else ()


def _has_unread(broker: Broker, disk: Disk) -> bool:
    half, op = read_progress(broker.offsets)
    return disk.log(HALF_QUEUE).end > half or disk.log(OP_QUEUE).end > op


def _set_timer(broker: Broker, at_ms: int) -> Effects:
    if "check_back" not in broker.config.on:
        return ()
    interval = broker.config.check_interval_ms
    return (SetTimer(CHECK, interval - at_ms % interval),)


def resume(
    broker: Broker, ask: ResumeCheckHalfMessage, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """A half message that was given up goes to the half topic again, with all its checks before
    it."""
    stored = read_stored(disk, ask.commit_log_offset)
    if stored is None:
        refusal = ResumeCheckHalfMessageResponse(ResponseCode.SYSTEM_ERROR)
        return broker, (Reply(caller, refusal),)
    half, writer = build_resumed(stored), Writer(disk, at_ms)
    if find_misfit(half, broker.config.release):
        refusal = ResumeCheckHalfMessageResponse(ResponseCode.SYSTEM_ERROR, NOT_RESUMED)
        return broker, (Reply(caller, refusal),)
    writer.put(half)
    return broker, (*writer.effects, Reply(caller, ResumeCheckHalfMessageResponse()))


# ---- A consumer could not process a message: it comes back later, and after 16 times no more
#
# The message is written once more, to the retry topic of the *group*, so that other groups do not
# get it again, and with a delay that grows: level 3 (10 s) the first time, level 18 (2 h) the last.
# After that it goes to the group's dead letter queue, where it is read only by those who look for
# it. The producer hears nothing of all this. **A message that can never be processed is not rolled
# back, and its row stays.**
#
# Sources: AbstractSendMessageProcessor#consumerSendMsgBack, SubscriptionGroupConfig (5.5.0).

#: the first delay level of a retry
FIRST_LEVEL = 3


def take_back(
    broker: Broker, ask: ConsumerSendMsgBack, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """Handle CONSUMER_SEND_MSG_BACK: a consumer could not process this message. A copy of it is
    stored on the group's retry topic, to be delivered after a delay, or on its dead letter queue.
    Refused are a message that is not there and a copy with properties too long for a record."""
    stored = read_stored(disk, ask.commit_log_offset)
    if stored is None:
        remark = BACK_NOT_FOUND.format(offset=ask.commit_log_offset)
        refusal = ConsumerSendMsgBackResponse(ResponseCode.SYSTEM_ERROR, remark)
        return broker, (Reply(caller, refusal),)
    copy, release = build_retry(ask, stored, broker.config), broker.config.release
    # as it is stored while it waits; both forms must fit into a record
    message = put_later(copy)
    if misfit := find_misfit(copy, release) or find_misfit(message, release):
        refusal = ConsumerSendMsgBackResponse(ResponseCode.SYSTEM_ERROR, misfit)
        return broker, (Reply(caller, refusal),)
    timer = schedule_level(message, disk, broker)
    writer = Writer(disk, at_ms)
    writer.put(message)
    return broker, (*writer.effects, *timer, Reply(caller, ConsumerSendMsgBackResponse()))


def build_retry(ask: ConsumerSendMsgBack, stored: Stored, config: RocketMQConfig) -> Message:
    """Build the copy of a message for its group's retry topic or, after its last retry or where the
    consumer asks for it (a delay level below 0), for the dead letter queue. It refers to no half
    message; `ORIGIN_MESSAGE_ID` names the message that was sent back first, and the client's key
    (UNIQ_KEY) stays as it is."""
    message, times = stored.message, stored.message.reconsume_times
    max_retries = config.retry_max if ask.most is None else ask.most
    own_id = ask.msg_id or f"{config.broker}@{stored.base}"
    first_id = message.get(ORIGIN_MESSAGE_ID) or own_id
    # the property names the topic that it was first sent to
    topic = message.get(RETRY_TOPIC) or message.topic
    copy = replace(
        message.put((RETRY_TOPIC, topic), (ORIGIN_MESSAGE_ID, first_id), (WAIT, "false")),
        queue_id=0,
        reconsume_times=wrap(times + 1, 32),  # a Java int
        prepared_offset=0,
    )
    if times >= max_retries or ask.delay_level < 0:
        return replace(copy.put((DELAY, "0")), topic=f"{DLQ_PREFIX}{ask.group}")
    # 0: the broker chooses the delay level, one more with each retry
    level = ask.delay_level or FIRST_LEVEL + times
    return replace(copy.put((DELAY, str(level))), topic=f"{RETRY_PREFIX}{ask.group}")
