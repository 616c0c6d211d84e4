"""The queue: it keeps messages in order, and gives the oldest one until it is acknowledged.

A message that is published twice stands in the log twice: a plain queue does not look inside. The
position is the offset behind the last acknowledged message, and is on disk.
"""

from __future__ import annotations

from ...kernel import Caller, Config, Disk, Effects, Event, Quiet, Reply, Request, frozen, replace
from ..records import Record, force, read_records
from .messages import Acknowledge, AcknowledgeResponse, Poll, PollResponse, Publish, PublishResponse

LOG, POSITION = "messages", "position"
MESSAGE, ACKED = "message", "acked"


@frozen
class Queue(Quiet):
    """`waiting`: Polls of the consumer that are not answered yet. A late one came on a connection
    that has broken since; which, nobody can tell here, so every one of them is answered."""

    config: Config
    waiting: tuple[Caller, ...] = ()

    @staticmethod
    def recover(config: Config, disk: Disk, at_ms: int) -> tuple[Queue, Effects]:
        """Who was waiting has lost its connection, and will ask again."""
        return Queue(config), ()

    def step(self, event: Event, disk: Disk) -> tuple[Queue, Effects]:
        match event:
            case Request(caller=caller, body=Publish(txn)):
                message = Record(MESSAGE, txn, disk.log(LOG).end)
                stored = (*force(disk, LOG, MESSAGE, txn), Reply(caller, PublishResponse(txn)))
                given = self._give(disk, self.waiting, message) if self.waiting else ()
                return replace(self, waiting=()), (*stored, *given)
            case Request(caller=caller, body=Poll()):
                following = find_next(disk)
                if following is None:
                    return replace(self, waiting=(*self.waiting, caller)), ()
                return self, self._give(disk, (caller,), following)
            case Request(caller=caller, body=Acknowledge(txn, offset)):
                new = offset == disk.log(POSITION).end
                moved = force(disk, POSITION, ACKED, txn) if new else ()
                return self, (*moved, Reply(caller, AcknowledgeResponse()))
        return self, ()

    def _give(self, disk: Disk, callers: tuple[Caller, ...], message: Record) -> Effects:
        given = tuple(Reply(to, PollResponse(message.txn, message.base)) for to in callers)
        if "redelivery" in self.config.on:
            return given
        return (*force(disk, POSITION, ACKED, message.txn), *given)


def find_next(disk: Disk) -> Record | None:
    """The oldest message that is not acknowledged."""
    position = disk.log(POSITION).end
    return next((m for m in read_records(disk, LOG) if m.base == position), None)
