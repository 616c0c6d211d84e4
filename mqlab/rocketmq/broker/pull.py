"""Consumers read, and say how far they have come.

A pull gets what lies at an offset, or waits for it (`Held`): that is how a "push" consumer gets
its messages at once although nothing is ever pushed. An offset that a group has reported is
memory until the next write of the table.

Sources: PullMessageProcessor, PullRequestHoldService, ConsumerManageProcessor#queryConsumerOffset
(5.5.0). *Left out:* filters in SQL, reading from a slave, a queue whose beginning has expired.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...kernel import (
    Append,
    Caller,
    CancelTimer,
    Disk,
    Effects,
    Map,
    Reply,
    Send,
    SetTimer,
    replace,
)
from ..errors import ResponseCode
from ..group.messages import (
    OffsetResponse,
    PullMessage,
    PullMessageResponse,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from ..log.offsets import PERSIST, offset_key, write_offsets
from ..log.store import QueueEntry, read_queue
from ..messages import TAGS

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]

HOLD = "hold"


@dataclass(frozen=True, slots=True)
class MessageArrived:
    """The broker's note to itself."""

    queue: str
    quiet = True


@dataclass(frozen=True, slots=True)
class Held:
    """A pull that waits, under the number that its timer has."""

    number: int
    caller: Caller
    ask: PullMessage

    @property
    def timer(self) -> str:
        return f"{HOLD} {self.number} {self.ask.queue}"


@dataclass(frozen=True, slots=True)
class Holding:
    """All pulls that wait, by their queue."""

    by_queue: Map[str, tuple[Held, ...]] = Map()
    count: int = 0

    def add(self, held: Held) -> Holding:
        queue = held.ask.queue
        there = (*self.by_queue.get(queue, ()), held)
        return replace(self, by_queue=self.by_queue.set(queue, there), count=self.count + 1)

    def remove(self, *gone: Held) -> Holding:
        by_queue = self.by_queue
        for held in gone:
            left = tuple(h for h in by_queue.get(held.ask.queue, ()) if h != held)
            by_queue = (
                by_queue.set(held.ask.queue, left) if left else by_queue.remove(held.ask.queue)
            )
        return replace(self, by_queue=by_queue)

    def of_client(self, client: str) -> tuple[Held, ...]:
        every = (held for there in self.by_queue.values() for held in there)
        return tuple(h for h in every if h.caller.name == client)


def pull(broker: Broker, ask: PullMessage, caller: Caller, disk: Disk) -> Result:
    answer = _read(ask, disk)
    if answer.code is ResponseCode.PULL_NOT_FOUND and ask.hold_ms > 0:
        held = Held(broker.holding.count, caller, ask)
        return replace(broker, holding=broker.holding.add(held)), (
            SetTimer(held.timer, ask.hold_ms),
        )
    return broker, (Reply(caller, answer),)


def _read(ask: PullMessage, disk: Disk) -> PullMessageResponse:
    log = disk.log(ask.queue)
    answer = PullMessageResponse(queue=ask.queue, min_offset=log.start, max_offset=log.end)
    if ask.offset > log.end or ask.offset < log.start:
        moved = log.end if ask.offset > log.end else log.start
        return replace(answer, code=ResponseCode.PULL_OFFSET_MOVED, next_offset=moved)
    found = read_queue(disk, ask.queue, ask.offset, ask.most)
    if not found:
        return replace(answer, code=ResponseCode.PULL_NOT_FOUND, next_offset=ask.offset)
    wanted = tuple(s for s in found if not ask.tags or s.message.get(TAGS) in ask.tags)
    code = ResponseCode.SUCCESS if wanted else ResponseCode.PULL_RETRY_IMMEDIATELY
    return replace(answer, code=code, messages=wanted, next_offset=found[-1].queue_offset + 1)


def announce_arrivals(broker: Broker, effects: Effects) -> Effects:
    """Something was written to a queue for which somebody waits. The store says so a moment later,
    when the entry is there to be read (NotifyMessageArrivingListener)."""
    written = [e.log for e in effects if isinstance(e, Append) and isinstance(e.entry, QueueEntry)]
    waited = [queue for queue in dict.fromkeys(written) if queue in broker.holding.by_queue]
    return tuple(Send(broker.config.broker, MessageArrived(queue)) for queue in waited)


def wake_pulls(broker: Broker, queue: str, disk: Disk) -> Result:
    """Who waits for this queue asks once more; whom the new message does not concern waits on."""
    done: Effects = ()
    for held in broker.holding.by_queue.get(queue, ()):
        answer = _read(held.ask, disk)
        if answer.code is not ResponseCode.PULL_NOT_FOUND:
            done = (*done, CancelTimer(held.timer), Reply(held.caller, answer))
            broker = replace(broker, holding=broker.holding.remove(held))
    return broker, done


def end_hold(broker: Broker, timer: str, disk: Disk) -> Result:
    """It waited long enough."""
    queue = timer.split(" ", 2)[2]
    (held,) = (h for h in broker.holding.by_queue[queue] if h.timer == timer)
    new = replace(broker, holding=broker.holding.remove(held))
    return new, (Reply(held.caller, _read(held.ask, disk)),)


def drop_pulls(broker: Broker, client: str) -> Result:
    """Nobody is there to be answered any more."""
    gone = broker.holding.of_client(client)
    timers = tuple(CancelTimer(held.timer) for held in gone)
    return replace(broker, holding=broker.holding.remove(*gone)), timers


def query_offset(broker: Broker, ask: QueryConsumerOffset, caller: Caller, disk: Disk) -> Result:
    """A group that has never reported one begins at 0 where the queue still has its first message;
    else it is told that nothing is known, and the client decides."""
    offset = broker.offsets.get(offset_key(ask.group, ask.queue))
    log = disk.log(ask.queue)
    if offset is None and log.start == 0 and log.end > 0:
        offset = 0
    if offset is None:
        answer = OffsetResponse(ResponseCode.QUERY_NOT_FOUND, queue=ask.queue)
    else:
        answer = OffsetResponse(queue=ask.queue, offset=offset)
    return broker, (Reply(caller, answer),)


def note_offsets(old: Broker, new: Broker, disk: Disk) -> Result:
    """After a change of the offsets in memory: they are written at the next pass, or at once."""
    if new.offsets is old.offsets or new.offsets == old.offsets:
        return new, ()
    if new.config.persist_ms == 0:
        return new, write_offsets(new.offsets, disk)
    timer = () if new.unwritten else (SetTimer(PERSIST, new.config.persist_ms),)
    return replace(new, unwritten=True), timer


def update_offset(broker: Broker, ask: UpdateConsumerOffset) -> Result:
    """The last word counts, also where it turns the group back."""
    key = offset_key(ask.group, ask.queue)
    return replace(broker, offsets=broker.offsets.set(key, ask.offset)), ()
