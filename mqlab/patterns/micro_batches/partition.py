"""A partition of the topic: orders arrive whenever they like, and stay.

That they stay is what a batch rests on: read again, the same offsets give the same orders.
"""

from __future__ import annotations

from ...kernel import (
    Append,
    Disk,
    Effects,
    Event,
    Flush,
    Quiet,
    Reply,
    Request,
    Send,
    frozen,
    worded,
)
from ..records import Record, read_records
from .messages import Arrive, Fetch, FetchResponse, LatestOffset, LatestOffsetResponse

LOG = "orders"
ORDER = "order"


@worded("{what} {more}")
class Order(Record):
    """An order is no batch's before one is planned."""


@frozen
class Partition(Quiet):
    """`orders`: those that will have arrived in the end."""

    name: str
    orders: tuple[str, ...]

    @staticmethod
    def recover(
        name: str, orders: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Partition, Effects]:
        role = Partition(name, orders)
        return role, role._await_next(disk.log(LOG).end)

    def step(self, event: Event, disk: Disk) -> tuple[Partition, Effects]:
        end = disk.log(LOG).end
        match event:
            case Request(body=Arrive()) if end < len(self.orders):
                kept = Append(LOG, Order(ORDER, "", end, self.orders[end]), notify=False)
                return self, (kept, Flush(), *self._await_next(end + 1))
            case Request(caller=caller, body=LatestOffset()):
                return self, (Reply(caller, LatestOffsetResponse(end)),)
            case Request(caller=caller, body=Fetch(number, start, until)):
                rows = list_orders(disk)[start:until]
                return self, (Reply(caller, FetchResponse(number, rows)),)
        return self, ()

    def _await_next(self, end: int) -> Effects:
        return (Send(self.name, Arrive()),) if end < len(self.orders) else ()


def list_orders(disk: Disk) -> tuple[str, ...]:
    """What has arrived, in its order."""
    return tuple(record.more for record in read_records(disk, LOG))
