"""The broker: topics and the position of each group. It knows no transactions.

A message that is published twice stands in its topic twice: nothing here looks inside. A group is
given its oldest message until it has acknowledged it; its position is on disk.
"""

from __future__ import annotations

from ...kernel import Caller, Config, Disk, Effects, Event, Quiet, Reply, Request, frozen, replace
from ..records import Record, force, read_records
from .messages import Acknowledge, AcknowledgeResponse, Poll, PollResponse, Publish, PublishResponse

ORDERS, SHIPMENTS = "orders", "shipments"
MESSAGE, ACKED = "message", "acked"


def position_of(group: str) -> str:
    """The log that holds what a group has acknowledged."""
    return f"position of {group}"


@frozen
class Broker(Quiet):
    """`waiting`: (caller, group) of Polls without an answer yet. One of them may have come on a
    connection that has broken since; each is answered, for nobody can tell here."""

    config: Config
    waiting: tuple[tuple[Caller, str], ...] = ()

    @staticmethod
    def recover(config: Config, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        """Those who waited have lost their connection, and will ask again."""
        return Broker(config), ()

    def step(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        match event:
            case Request(caller=caller, body=Publish(topic, txn)):
                message = Record(MESSAGE, txn, disk.log(topic).end)
                stored = (*force(disk, topic, MESSAGE, txn), Reply(caller, PublishResponse(txn)))
                if topic != ORDERS:
                    return self, stored
                given = tuple(Reply(to, give(message)) for to, _ in self.waiting)
                return replace(self, waiting=()), (*stored, *given)
            case Request(caller=caller, body=Poll(group)):
                oldest = find_next(disk, group)
                if oldest is None:
                    return replace(self, waiting=(*self.waiting, (caller, group))), ()
                return self, (Reply(caller, give(oldest)),)
            case Request(caller=caller, body=Acknowledge(group, txn, offset)):
                new = offset == disk.log(position_of(group)).end
                moved = force(disk, position_of(group), ACKED, txn) if new else ()
                return self, (*moved, Reply(caller, AcknowledgeResponse()))
        return self, ()


def give(message: Record) -> PollResponse:
    return PollResponse(message.txn, message.base)


def find_next(disk: Disk, group: str) -> Record | None:
    """The oldest order that a group has not acknowledged."""
    position = disk.log(position_of(group)).end
    return next((m for m in read_records(disk, ORDERS) if m.base == position), None)
