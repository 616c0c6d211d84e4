"""Consumers read, and say how far they have come.

A broker pushes nothing: a "push" consumer pulls, and its pull waits where there is nothing yet.
An offset that a group has reported is memory until the next write of the table, and a kill turns
the group back.

Sources: PullMessageProcessor, ConsumerManageProcessor#queryConsumerOffset (5.5.0). *Left out
here:* the waiting, tags and other filters, which the server for real clients has; reading from a
slave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Reply, SetTimer, replace
from ..errors import ResponseCode
from ..group import (
    OffsetResponse,
    PullMessage,
    PullMessageResponse,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from ..log.offsets import PERSIST, offset_key, write_offsets
from ..log.store import read_queue

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]


def pull(broker: Broker, ask: PullMessage, caller: Caller, disk: Disk) -> Result:
    """What lies there from the offset on; an offset behind the end is moved to it."""
    end = disk.log(ask.queue).end
    messages = tuple(read_queue(disk, ask.queue, ask.offset, ask.most))
    if messages:
        next_offset = messages[-1].queue_offset + 1
        answer = PullMessageResponse(queue=ask.queue, messages=messages, next_offset=next_offset)
    else:
        moved = ask.offset > end
        code = ResponseCode.PULL_OFFSET_MOVED if moved else ResponseCode.PULL_NOT_FOUND
        answer = PullMessageResponse(code, queue=ask.queue, next_offset=min(ask.offset, end))
    return broker, (Reply(caller, answer),)


def query_offset(broker: Broker, ask: QueryConsumerOffset, caller: Caller, disk: Disk) -> Result:
    """A group that has never reported one begins at 0 where the queue still has its first message;
    else it is told that nothing is known, and the client decides."""
    offset = broker.offsets.get(offset_key(ask.group, ask.queue))
    log = disk.log(ask.queue)
    if offset is not None and offset < 0:
        offset = None  # a client may report anything
    if offset is None and log.start == 0 and log.end > 0:
        offset = 0
    if offset is None:
        answer = OffsetResponse(ResponseCode.QUERY_NOT_FOUND, queue=ask.queue)
    else:
        answer = OffsetResponse(queue=ask.queue, offset=offset)
    return broker, (Reply(caller, answer),)


def note_offsets(old: Broker, new: Broker, disk: Disk) -> Result:
    """After a change of the offsets in memory: they are written at the next pass, or at once."""
    if new.offsets is old.offsets:
        return new, ()
    if new.config.persist_ms == 0:
        return new, write_offsets(new.offsets, disk)
    timer = () if new.unwritten else (SetTimer(PERSIST, new.config.persist_ms),)
    return replace(new, unwritten=True), timer


def update_offset(broker: Broker, ask: UpdateConsumerOffset) -> Result:
    """The last word counts, also where it turns the group back."""
    key = offset_key(ask.group, ask.queue)
    if broker.offsets.get(key) == ask.offset:
        return broker, ()
    return replace(broker, offsets=broker.offsets.set(key, ask.offset)), ()
