"""Pulsar and the money of its orders: accounting is sent every order that counts, and no other.

    system books clients=app,web,accounting
    run accounting: subscribe orders-0 books from=earliest
    run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1

A message in `orders-0` is the number of a real order, and worth what the shop was paid for it;
other messages are worth nothing. An order counts once it is written without a transaction, or once
its transaction has committed. Money in = money out: the subscription `books` is sent as much. An
order that counts may be on its way, or wait behind an open transaction; that comes right by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ....kernel import Money, Snapshot, Words, World
from ....pulsar import PulsarSystem
from ....pulsar.messages import LedgerEntry
from ....pulsar.picture.ledgers import read_coordinators, read_entries
from ....pulsar.topic import Topic
from ...patterns.orders import list_orders

PARTITION, SUBSCRIPTION = "orders-0", "books"
COUNTS = Words("orders that count", "有效订单")
SENT = Words("sent to accounting", "已发给记账方")


@dataclass(frozen=True)
class BooksSystem(PulsarSystem):
    """`pulsar` with the topics `orders` and `payments`, and the money."""

    topic: str = "orders,payments"

    name = "books"

    def __post_init__(self) -> None:
        super().__post_init__()
        if PARTITION not in self.config.partitions:
            raise ValueError(f"topic={self.topic}: orders lie in {PARTITION}; add the topic orders")

    def snapshot(self, world: World) -> Snapshot:
        written = read_coordinators(self.cluster, world)
        entries = [entry for entry in read_entries(world, PARTITION) if entry.marker is None]
        sent = self._list_sent(world)
        counts = {e.base for e in entries if e.txn is None or written.has_committed(e.txn)}
        hidden = self._list_hidden(world, entries)
        money = Money(
            _sum_up(e for e in entries if e.base in counts),
            _sum_up(e for e in entries if e.base in sent),
            COUNTS(),
            SENT(),
            missing=_sum_up(e for e in entries if e.base in (counts & hidden) - sent),
            extra=_sum_up(e for e in entries if e.base in sent - counts),
        )
        return replace(super().snapshot(world), money=money)

    def _list_sent(self, world: World) -> set[int]:
        """The positions that the subscription's consumers have received, or are about to."""
        consumers = [
            consumer
            for name in self.clients
            if (client := world.role(name)) is not None
            for consumer in client.consumers
            if (consumer.partition, consumer.subscription) == (PARTITION, SUBSCRIPTION)
        ]
        queued = {push.message_id.position for one in consumers for push in one.queue}
        return queued | {id.position for one in consumers for id in one.received}

    def _list_hidden(self, world: World, entries: list[LedgerEntry]) -> set[int]:
        """The positions that the partition holds for aborted: no dispatcher sends them."""
        topic = world.role(PARTITION)
        aborts = topic.buffer.aborts if isinstance(topic, Topic) else ()
        return {entry.base for entry in entries if entry.txn is not None and entry.txn in aborts}


def _sum_up(entries: Iterable[LedgerEntry]) -> int:
    """What the orders in these entries are worth, in pence."""
    worth = {order.number: order.pence for order in list_orders()}
    return sum(worth.get(str(value), 0) for entry in entries for value in entry.values)
