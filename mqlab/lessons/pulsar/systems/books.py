"""Pulsar and the money of its orders: what was sent to accounting, or acknowledged by billing.

    system books clients=app,web,accounting
    run accounting: subscribe orders-0 books from=earliest
    run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1

A message in `orders-0` is the number of a real order, and worth what the shop was paid for it;
other messages are worth nothing. An order counts once it is written without a transaction, or once
its transaction has committed. Money in = money out: the subscription `books` is sent as much. An
order that counts may be on its way, or wait behind an open transaction; that comes right by itself.

    system billing clients=shop,worker

The same, but the orders that count are held against those that the subscription `billing` has
acknowledged for good. The others are pending, or have still to be billed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from ....kernel import Money, Snapshot, Words, World
from ....kernel.options import LISTED
from ....pulsar import PulsarSystem
from ....pulsar.config import CURSORS
from ....pulsar.ledger import Cursor
from ....pulsar.messages import LedgerEntry
from ....pulsar.picture.snapshot import Cluster, read_coordinators, read_entries
from ....pulsar.topic import Topic
from ...patterns.systems import find_worth

PARTITION, SUBSCRIPTION = "orders-0", "books"
COUNTS = Words("orders that count")
SENT = Words("sent to accounting")
BILLING = "billing"
BILLED = Words("acknowledged")


@dataclass(frozen=True)
class BooksSystem(PulsarSystem):
    """`pulsar` with the topics `orders` and `payments`, and the money."""

    topic: Annotated[str, LISTED] = "orders,payments"

    name = "books"

    @property
    def needs(self) -> tuple[str, ...]:
        return (PARTITION,)

    def snapshot(self, world: World) -> Snapshot:
        entries = list_messages(world)
        sent = self._list_sent(world)
        counts = {entry.base for entry in list_counting(self.cluster, world)}
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


@dataclass(frozen=True)
class BillingSystem(PulsarSystem):
    """`pulsar` with the money of the orders that the subscription `billing` reads."""

    name = "billing"

    @property
    def needs(self) -> tuple[str, ...]:
        return (PARTITION,)

    def snapshot(self, world: World) -> Snapshot:
        cursor: Cursor = world.disk(PARTITION).table(CURSORS).get(BILLING, Cursor())
        ordered = list_counting(self.cluster, world)
        money = Money(
            _sum_up(ordered),
            _sum_up(entry for entry in ordered if cursor.is_deleted(entry.base)),
            COUNTS(),
            BILLED(),
        )
        return replace(super().snapshot(world), money=money)


def list_messages(world: World) -> list[LedgerEntry]:
    return [entry for entry in read_entries(world, PARTITION) if entry.marker is None]


def list_counting(cluster: Cluster, world: World) -> list[LedgerEntry]:
    """The messages that were sent without a transaction, or in one that has committed."""
    written = read_coordinators(cluster, world)
    return [e for e in list_messages(world) if e.txn is None or written.has_committed(e.txn)]


def _sum_up(entries: Iterable[LedgerEntry]) -> int:
    """What the orders in these entries are worth, in pence."""
    return sum(find_worth(str(value)) for entry in entries for value in entry.values)
