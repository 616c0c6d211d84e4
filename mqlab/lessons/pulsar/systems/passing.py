"""Pulsar and a worker that passes orders on: it receives one, and sends its income.

    system passing pieces=receive,begin,send,ack,commit

`pieces`: what the worker does, in this order; it starts from the first one when its process does,
and goes round until nothing more comes. What one of its calls is refused ends the process. The
orders are there before it begins.

    receive    consumer.receive()
    begin      client.newTransaction()
    send       the income of each order, in the transaction
    ack        acknowledge each order, in the transaction
    plain      acknowledge each order, without a transaction
    commit     txn.commit()

The money is that of the real orders: what was ordered must be booked as income, each order once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from ....kernel import Asking, Money, NodeSpec, Outcome, Property, Snapshot, Words, World, replace
from ....kernel.options import FREE, LISTED
from ....kernel.role import Program
from ....kernel.text import say_unknown
from ....kernel.world import NodeState
from ....pulsar import PulsarSystem
from ....pulsar.client.calls import Acknowledge, Commit, NewTransaction, Receive, Send, SubscribeTo
from ....pulsar.config import CURSORS
from ....pulsar.ledger import Cursor
from ....pulsar.messages import LedgerEntry
from ....pulsar.picture.snapshot import Cluster, read_coordinators, read_entries
from ....pulsar.states import SubType
from ....pulsar.topic import Topic
from ...patterns.systems import find_worth

PIECES = ("receive", "begin", "send", "ack", "plain", "commit")
SOURCE, SINK, GROUP = "orders-0", "income-0", "work"
WORKER, SHOP = "worker", "shop"
TXN = "t"
#: a worker that goes round more often never comes to an end
ROUNDS = 3
COUNTED_ONCE = Words("no order's income is counted twice")
PASSED_ON = Words("the income of every order that is done with is counted")
ORDERED, BOOKED = Words("ordered"), Words("booked as income")
DONE = Words("every order can be done")


@dataclass(frozen=True, slots=True)
class Worker:
    """The pieces as a program."""

    pieces: tuple[str, ...]

    def __call__(self, asking: Asking) -> None:
        asking(SubscribeTo(SOURCE, GROUP, SubType.SHARED, "Earliest"))
        for _ in range(ROUNDS):
            orders: tuple[str, ...] = ()
            for piece in self.pieces:
                for call in _list_calls(piece, orders):
                    outcome: Outcome = asking(call)
                    if not outcome.ok:
                        return
                    if piece == "receive":
                        orders = _read_orders(outcome)
                        if not orders:
                            return


def _list_calls(piece: str, orders: tuple[str, ...]) -> Iterator[Any]:
    match piece:
        case "receive":
            yield Receive(GROUP)
        case "begin":
            yield NewTransaction(TXN)
        case "send":
            yield from (Send(SINK, (order,), TXN) for order in orders)
        case "ack":
            yield Acknowledge(GROUP, (), TXN)
        case "plain":
            yield Acknowledge(GROUP, ())
        case "commit":
            yield Commit(TXN)


def _read_orders(outcome: Outcome) -> tuple[str, ...]:
    """The values of what was received, from words like `580538 @0, 580539 @1 again 1`, each once:
    a request that was still in flight when its process died may have doubled the delivery."""
    if outcome.detail == "nothing":
        return ()
    return tuple(dict.fromkeys(words.split()[0] for words in outcome.detail.split(", ")))


@dataclass(frozen=True)
class PassingSystem(PulsarSystem):
    """`pieces`: what the worker does. Its client is `worker`; `shop` sends the orders."""

    topic: Annotated[str, LISTED] = "orders,income"
    clients: tuple[str, ...] = (SHOP, WORKER)
    pieces: Annotated[tuple[str, ...], FREE] = ()

    name = "passing"
    needs = (SOURCE, SINK)

    def __post_init__(self) -> None:
        super().__post_init__()
        for piece in self.pieces:
            if piece not in PIECES:
                raise ValueError(say_unknown("piece", piece, PIECES))

    def nodes(self) -> tuple[NodeSpec, ...]:
        return tuple(replace(spec, program=self._program(spec)) for spec in super().nodes())

    def _program(self, spec: NodeSpec) -> Program | None:
        if spec.name == WORKER and self.pieces:
            return Worker(self.pieces)
        return spec.program

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        kept = (claim for claim in super()._properties if claim.kind != "sometimes")
        return (
            Property("counted once", COUNTED_ONCE(), self._counts_once, "always", self._reads),
            Property("passed on", PASSED_ON(), self._passes_on, "can_always", self._reads),
            *kept,
            Property("done", DONE(), self._is_done, "sometimes", self._reads),
        )

    def snapshot(self, world: World) -> Snapshot:
        return replace(super().snapshot(world), money=self._sum_up(world))

    def _sum_up(self, world: World) -> Money:
        """The money of all orders that were sent, and that of the income which counts. An order
        that is done with and has no income is lost as soon as no transaction and no worker can
        still bring it."""
        ordered = [str(value) for entry in read_entries(world, SOURCE) for value in entry.values]
        booked, done = self.list_income(world), self.list_done(world)
        lost = [] if self._is_under_way(world) else [one for one in done if one not in booked]
        return Money(
            _sum_pence(ordered),
            _sum_pence(booked),
            ORDERED(),
            BOOKED(),
            missing=_sum_pence(lost),
            extra=_sum_pence(one for i, one in enumerate(booked) if one in booked[:i]),
        )

    def _is_under_way(self, world: World) -> bool:
        """Whether a transaction is open, or a process is in the middle of its calls."""
        written = read_coordinators(self.cluster, world)
        open_one = any(txn not in written.decisions for txn in written.begun)
        return open_one or any(_is_busy(world.nodes[name]) for name in self.clients)

    # -- what is counted, and what is done with ----------------------------------------------

    def list_income(self, world: World) -> list[str]:
        """The orders whose income is committed, as often as it is."""
        written = read_coordinators(self.cluster, world)
        return [
            str(value)
            for entry in read_entries(world, SINK)
            if entry.marker is None and (entry.txn is None or written.has_committed(entry.txn))
            for value in entry.values
        ]

    def list_done(self, world: World) -> list[str]:
        """The orders that are acknowledged for good."""
        cursor: Cursor = world.disk(SOURCE).table(CURSORS).get(GROUP, Cursor())
        done = (entry for entry in read_entries(world, SOURCE) if cursor.is_deleted(entry.base))
        return [str(value) for entry in done for value in entry.values]

    def _counts_once(self, world: World) -> bool:
        income = self.list_income(world)
        return len(set(income)) == len(income)

    def _passes_on(self, world: World) -> bool:
        """While a commit is in flight, it has reached the one or the other: what is decided
        counts."""
        return set(self.list_done(world)) <= set(self.list_income(world))

    def _is_done(self, world: World) -> bool:
        return bool(self.list_done(world)) and self._passes_on(world)

    def _reads(self, name: str, node: NodeState) -> Hashable:
        return None if name in self.clients else node.disk


def _sum_pence(numbers: Iterable[str]) -> int:
    """What these orders are worth; a number that the shop never gave is worth nothing."""
    return sum(map(find_worth, numbers))


def _is_busy(node: NodeState) -> bool:
    """Whether a running process has a call in flight or still to make."""
    app = node.app if node.up else None
    return app is not None and bool(app.waiting or app.next_call())


# Pulsar and the money of its orders: what was sent to accounting, or acknowledged by billing.
#
#     system books clients=app,web,accounting
#     run accounting: subscribe orders-0 books from=earliest
#     run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
#
# A message in `orders-0` is the number of a real order, and worth what the shop was paid for it;
# other messages are worth nothing. An order counts once it is written without a transaction, or
# once its transaction has committed. Money in = money out: the subscription `books` is sent as
# much. An order that counts may be in flight, or wait after an open transaction; that comes right
# by itself.
#
#     system billing clients=shop,worker
#
# The same, but the orders that count are compared with those that the subscription `billing` has
# acknowledged for good. The others are pending, or have still to be billed.


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
    needs = (PARTITION,)

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
    needs = (PARTITION,)

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
