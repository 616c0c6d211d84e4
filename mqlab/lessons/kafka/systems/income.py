"""Orders become income: Kafka with one worker's loop and its two promises.

    system income orders=580538:31678,580539:31073 'worker=init; subscribe accounting orders; …'

The orders, a number and pence each, are in `orders-0` before anything happens, written without
a transaction. A worker reads them and writes each one's income (`580538+31678`) to `income-0`; a
second stage, where one is named (`outputs=income,ledger`), makes `580538=31678` of that. Two
records with one number in a topic are one order, counted twice.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated

from ....kafka import KafkaConfig, KafkaSystem
from ....kafka.claims import reads
from ....kafka.clients.calls import Poll
from ....kafka.leader import Leader
from ....kafka.log import COMMIT, Batch
from ....kafka.picture.view import Cluster, read_world
from ....kafka.states import COMPLETED
from ....kafka.system import GROUPS
from ....kernel import (
    Append,
    Disk,
    Effects,
    MemoryDisk,
    Money,
    NodeSpec,
    Property,
    Snapshot,
    Words,
    World,
)
from ....kernel.options import FREE, Pairs
from ....kernel.text import BadValue
from ....kernel.world import NodeState
from ...roles import put_roles
from .loop import Loop, Work

ONCE = Words("no order is counted twice")
NONE_SKIPPED = Words("when the work is done, every order was counted")
READ_COUNTED = Words("what counts as read was counted")
MONEY = Words(
    "money in = money out: the income that counts is that of the orders that count as read"
)
READ = Words("read from {topic}")
BOOKED = Words("booked in {topic}")
ORDERED = Words("ordered in {topic}")
DONE = Words("the work gets done")
RECOVERS = Words("the work gets done although a round fails")


@dataclass(frozen=True)
class IncomeSystem(KafkaSystem):
    """`orders`: the records of the first topic. `outputs`: the topics after it, one a stage.
    `fails`: how often the price service does not answer before it does (of a loop that is
    written as a function, `rules` "work")."""

    topic: str = "orders"
    partitions: int = 1
    groups: Annotated[int, GROUPS] = 1
    producers: Pairs = ()
    workers: Pairs = (("worker", "worker"),)
    orders: Annotated[tuple[str, ...], FREE] = ("580538:31678",)
    outputs: tuple[str, ...] = ("income",)
    fails: int = 0

    name = "income"
    most_replicas = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.outputs:
            raise BadValue("outputs=: expected one topic at least, as in outputs=income")

    @property
    def needs(self) -> tuple[str, ...]:
        return (f"{self.topic}-0",)

    def with_loop(self, work: Work, member: bool = False) -> IncomeSystem:
        """With every worker running this function."""
        transactional = all(txn_id not in ("-", "plain") for _, txn_id in self.workers)
        loop = Loop(work, self.orders, self.fails, member, transactional)
        programs = tuple((node, loop) for node, _ in self.workers)
        return replace(self, programs=programs, rules=(*self.rules, ("work", work)))

    @cached_property
    def cluster(self) -> Cluster:
        seen = super().cluster
        behind = tuple(f"{topic}-0" for topic in self.outputs)
        return replace(seen, partitions=(*seen.partitions, *behind))

    def nodes(self) -> tuple[NodeSpec, ...]:
        source = f"{self.topic}-0"
        stocked = partial(_stocked, self.orders, self.config, source)
        return put_roles(super().nodes(), {source: stocked})

    # -- promises --------------------------------------------------------------------------

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        promises = [
            ("counted once", ONCE, self._once, "always"),
            ("none skipped", NONE_SKIPPED, self._none_skipped, "always"),
        ]
        if self.rules:  # a function's calls are judged by what comes of them
            end = ("recovers", RECOVERS) if self.fails else ("done", DONE)
            promises.append(("read is counted", READ_COUNTED, self._read_counted, "always"))
            promises.append((*end, self._done, "sometimes"))
        mine = tuple(Property(n, w(), holds, kind, self._reads) for n, w, holds, kind in promises)
        if self.rules:
            return mine
        money = Property("money", MONEY(), self._balanced, "always", self._money_reads)
        return (money, *mine, *(p for p in super()._properties if p.kind != "sometimes"))

    def _reads(self, name: str, node: NodeState) -> Hashable:
        if name in dict(self.workers):
            return is_finished(node)
        return reads(self.cluster, name, node)

    def _money_reads(self, name: str, node: NodeState) -> Hashable:
        return (idle(node), reads(self.cluster, name, node))

    def snapshot(self, world: World) -> Snapshot:
        money = self._loop_money(world) if self.rules else self._read_money(world)
        return replace(super().snapshot(world), money=money)

    def _read_money(self, world: World) -> Money:
        """The orders that count as read, and their income."""
        read, booked = self._sums(world)
        left = 0 if self._under_way(world) else read - booked
        return Money(
            read,
            booked,
            READ(topic=self.topic),
            BOOKED(topic=self.outputs[0]),
            missing=max(left, 0),
            extra=max(-left, 0),
        )

    def _loop_money(self, world: World) -> Money:
        """All orders and their income: a function is judged by what comes of them."""
        booked = self.amounts(world, self.outputs[0])
        names = [label(value) for value in booked]
        again = [v for i, v in enumerate(booked) if label(v) in names[:i]]
        left = [order for order in self.orders if label(order) not in names]
        return Money(
            sum(map(worth, self.orders)),
            sum(map(worth, booked)),
            ORDERED(topic=self.topic),
            BOOKED(topic=self.outputs[0]),
            missing=sum(map(worth, left)) if self._done(world) else 0,
            extra=sum(map(worth, again)),
        )

    def _balanced(self, world: World) -> bool:
        """The income that counts is that of the orders which count as read."""
        if self._under_way(world):
            return True
        read, booked = self._sums(world)
        return read == booked

    def _under_way(self, world: World) -> bool:
        """Whether a worker is at work or a transaction open."""
        if any(t.state not in COMPLETED for t in read_world(self.cluster, world).list_txns()):
            return True
        return not all(idle(world.nodes[name]) for name, _ in self.workers)

    def _sums(self, world: World) -> tuple[int, int]:
        """What the orders that count as read are worth, and the income that counts."""
        read = sum(map(worth, self.orders[: self._position(world)]))
        return read, sum(map(worth, self.amounts(world, self.outputs[0])))

    def _position(self, world: World) -> int:
        """How far the orders count as read: the furthest that any group has come."""
        source = f"{self.topic}-0"
        placed = [
            placed.position.offset
            for log in self.cluster.groups
            if (coordinator := world.role(log)) is not None
            for mine in coordinator.committed.values()
            if (placed := mine.get(source)) is not None
        ]
        return int(max([0, *placed]))

    def amounts(self, world: World, topic: str) -> list[str]:
        """The records that were decided to count: of a committed transaction, or of none."""
        rows = read_world(self.cluster, world).rows[f"{topic}-0"]
        return [
            value
            for batch, txn, _ in rows
            if not batch.control and (txn is None or txn.outcome == COMMIT)
            for value in batch.records
        ]

    def list_counted_orders(self, world: World, topic: str) -> list[str]:
        """Which order each record stands for that was decided to count, in offset order."""
        return [label(value) for value in self.amounts(world, topic)]

    def _once(self, world: World) -> bool:
        counts = (self.list_counted_orders(world, topic) for topic in self.outputs)
        return all(len(names) == len(set(names)) for names in counts)

    def _none_skipped(self, world: World) -> bool:
        """Judged when all workers have come to the end of their input."""
        if not self._done(world):
            return True
        return {label(order) for order in self.orders} <= set(
            self.list_counted_orders(world, self.outputs[0])
        )

    def _read_counted(self, world: World) -> bool:
        """No group's position is past an order whose income is not decided to count."""
        source, names = f"{self.topic}-0", set(self.list_counted_orders(world, self.outputs[0]))
        for log in self.cluster.groups:
            coordinator = world.role(log)
            for mine in coordinator.committed.values() if coordinator is not None else ():
                placed = mine.get(source)
                read = self.orders[: placed.position.offset] if placed is not None else ()
                if not {*map(label, read)} <= names:
                    return False
        return True

    def _done(self, world: World) -> bool:
        return all(is_finished(world.nodes[name]) for name, _ in self.workers)


def label(value: str) -> str:
    """The order that a record is about: 580538 of `580538:31678` and of `580538+31678`."""
    return value.rstrip("0123456789")[:-1]


def worth(value: str) -> int:
    """The pence of a record, 31678 in `580538+31678`; 0 where no amount is named."""
    return int(value[len(value.rstrip("0123456789")) :] or 0)


def idle(node: NodeState) -> bool:
    """Whether a process runs and has nothing more to do."""
    return node.up and node.app is not None and not node.app.waiting and not node.app.next_call()


def is_finished(node: NodeState) -> bool:
    """Whether a running process has ended because there was nothing left to read."""
    app = node.app
    if not node.up or app is None or app.waiting or app.next_call() is not None:
        return False
    last = app.results[-1] if app.results else None
    return last is not None and isinstance(last.call, Poll) and last.detail == "nothing"


def _stocked(
    orders: tuple[str, ...], config: KafkaConfig, name: str, disk: Disk, at_ms: int
) -> tuple[Leader, Effects]:
    """A leader that finds the orders in its log when it starts for the first time."""
    if disk.log(name).end:
        return Leader.recover(config, name, disk, at_ms)
    stock = tuple(
        Append(name, Batch((order,), base=i), notify=False) for i, order in enumerate(orders)
    )
    full = MemoryDisk()
    for append in stock:
        full = full.apply(append)
    leader, effects = Leader.recover(config, name, full, at_ms)
    return leader, (*stock, *effects)
