"""The queue: it writes orders into a log, acknowledges them, and hands them out.

On its disk are the log `orders` and, in a table, the position that accounting has committed. In
memory it keeps which numbers are in the log: that is built again from the log after a crash.

Two lines here decide how often an order arrives:

- **When it acknowledges.** An acknowledgement says "I have it" and must stay true when the process
  is killed. So the order is appended first; when it is safe (`Appended`) the acknowledgement
  leaves. A queue that acknowledges first (`append_first` off) is faster, and whatever it has not
  written when it dies is lost although the shop was told otherwise. Nobody will send it again.
- **What it does with an order that it has.** The shop sends an order again when it has heard
  nothing. A queue that looks at the number (`recognise`) acknowledges it once more and appends
  nothing; one that does not look has it twice, at two offsets.

Handing out is free of any promise. Accounting asks for an offset as often as it wants to: the log
forgets nothing, and a committed position is only a note of where to go on. So accounting may
rewind, and is then handed all orders from there a second time, committed or not.

Left out: several partitions and copies, retention, several consumers. RabbitMQ's queue does forget,
with each acknowledgement of its consumer; there, rewinding is not possible.
"""

from __future__ import annotations

from ...kernel import (
    Append,
    Appended,
    Caller,
    Disk,
    Effects,
    Event,
    Map,
    Put,
    Quiet,
    Reply,
    Request,
    Send,
    frozen,
    replace,
)
from .config import DeliveryConfig
from .messages import (
    ACCOUNTING,
    FROM_COMMITTED,
    QUEUE,
    Commit,
    CommitResponse,
    Fetch,
    FetchResponse,
    Message,
    Order,
    Publish,
    PublishResponse,
    Write,
)

ORDERS = "orders"
POSITIONS = "positions"


def committed_position(disk: Disk) -> int:
    """Where accounting goes on, as far as the queue knows."""
    position: int = disk.table(POSITIONS).get(ACCOUNTING, 0)
    return position


@frozen
class Queue(Quiet):
    """Messages below `safe` are acknowledged and handed out. `known`: where each number lies.
    `owed`: who waits for the message at which offset to be safe. `parked`: who waits for an offset
    that is not there yet. `handed`: offsets below it were handed out since the last start.
    `unwritten`: without `append_first`, what was acknowledged and is in memory only."""

    config: DeliveryConfig
    safe: int = 0
    known: Map[str, int] = Map()
    owed: tuple[tuple[int, Caller, str], ...] = ()
    parked: tuple[Caller, int] | None = None
    handed: int = 0
    unwritten: tuple[Order, ...] = ()

    @staticmethod
    def recover(config: DeliveryConfig, disk: Disk, at_ms: int) -> tuple[Queue, Effects]:
        log = disk.log(ORDERS)
        known = Map((message.order.number, message.base) for message in log.read(0))
        return Queue(config, log.end, known), ()

    def step(self, event: Event, disk: Disk) -> tuple[Queue, Effects]:
        match event:
            case Request(caller=caller, body=Publish(order)):
                return self._take(caller, order, disk)
            case Request(body=Write(order)):
                written = self._append(order, disk)
                return replace(written[0], unwritten=self.unwritten[1:]), written[1]
            case Appended(end=end):
                return self._acknowledge(end, disk)
            case Request(caller=caller, body=Fetch(offset)):
                wanted = committed_position(disk) if offset == FROM_COMMITTED else offset
                return replace(self, parked=(caller, wanted))._hand_out(disk)
            case Request(caller=caller, body=Commit(position)):
                # A commit that was long under way must not undo a newer one.
                kept = Put(POSITIONS, ACCOUNTING, max(position, committed_position(disk)))
                return self, (kept, Reply(caller, CommitResponse(position)))
        return self, ()

    def _take(self, caller: Caller, order: Order, disk: Disk) -> tuple[Queue, Effects]:
        """An order arrives, for the first time or not."""
        ack = PublishResponse(order.number)
        at = self.known.get(order.number) if "recognise" in self.config.on else None
        if at is not None and at < self.safe:
            return self, (Reply(caller, ack),)
        if at is not None:  # written, and not safe yet
            return replace(self, owed=(*self.owed, (at, caller, order.number))), ()
        if "append_first" not in self.config.on:
            memory = replace(
                self,
                known=self.known.set(order.number, -1),
                unwritten=(*self.unwritten, order),
            )
            return memory, (Reply(caller, ack), Send(QUEUE, Write(order)))
        end = disk.log(ORDERS).end
        owing = replace(self, owed=(*self.owed, (end, caller, order.number)))
        return owing._append(order, disk)

    def _append(self, order: Order, disk: Disk) -> tuple[Queue, Effects]:
        end = disk.log(ORDERS).end
        known = self.known.set(order.number, end)
        return replace(self, known=known), (Append(ORDERS, Message(order, end)),)

    def _acknowledge(self, end: int, disk: Disk) -> tuple[Queue, Effects]:
        """What lies below `end` is safe: its senders hear so, and accounting may have it."""
        acks = tuple(Reply(c, PublishResponse(number)) for at, c, number in self.owed if at < end)
        owed = tuple(one for one in self.owed if one[0] >= end)
        handing, out = replace(self, safe=end, owed=owed)._hand_out(disk)
        return handing, (*acks, *out)

    def _hand_out(self, disk: Disk) -> tuple[Queue, Effects]:
        """Answers the parked fetch if its message is there."""
        if self.parked is None or self.parked[1] >= self.safe:
            return self, ()
        caller, offset = self.parked
        (message,) = disk.log(ORDERS).read(offset, offset + 1)
        given = FetchResponse(offset, message.order, again=offset < self.handed)
        handed = max(self.handed, offset + 1)
        return replace(self, parked=None, handed=handed), (Reply(caller, given),)
