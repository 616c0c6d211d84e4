"""The money of orders: Kafka, whose topic holds one charge an order, and one more light.

    system charges partitions=1 producers=old:order-service,new:order-service
    run old: init, begin, send charges-0 580538, commit

A value is the number of an order, whose customer owes its price once. *Money in = money out*: a
reader of committed data is shown no order's charge twice, and every charge whose commit was
acknowledged, once its coordinator counts the transaction as complete. Clients by hand may take part
(`asking`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

from ....kafka.claims.invariants import reads
from ....kafka.claims.promises import Sent, brackets
from ....kafka.messages import READ_COMMITTED
from ....kafka.picture.view import read_world
from ....kafka.states import COMPLETED
from ....kernel import Money, Property, Snapshot, Words, World
from ....kernel.options import LISTED
from ....kernel.world import NodeState
from .asking import AskingSystem
from .shop import find_price

MONEY = Words("money in = money out: each order is charged once")
OWED = Words("owed")
CHARGED = Words("charged")


@dataclass(frozen=True)
class ChargesSystem(AskingSystem):
    """`asking` with the topic `charges`, the light `money`, and the money itself."""

    topic: Annotated[str, LISTED] = "charges"

    name = "charges"

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        money = Property("money", MONEY(), self._balanced, "always", self._money_reads)
        return (money, *super()._properties)

    def snapshot(self, world: World) -> Snapshot:
        shown = self._shown(world)
        there = set(shown)
        money = Money(
            _sum_up(there | self._acknowledged(world)),
            _sum_up(shown),
            OWED(),
            CHARGED(),
            missing=_sum_up(self._settled(world) - there),
            extra=_sum_up(shown) - _sum_up(there),
        )
        return replace(super().snapshot(world), money=money)

    def _balanced(self, world: World) -> bool:
        shown = self._shown(world)
        return len(shown) == len(set(shown)) and self._settled(world) <= set(shown)

    def _shown(self, world: World) -> list[Sent]:
        """What a reader of committed data is given."""
        seen = read_world(self.cluster, world)
        return [
            (partition, value)
            for partition in self.cluster.partitions
            for batch, _ in seen.list_readable(partition, READ_COMMITTED)
            for value in batch.records
        ]

    def _settled(self, world: World) -> set[Sent]:
        """What must be shown by now. While markers are owed or nothing is decided that is nothing,
        and one who cannot be asked has lost nothing yet."""
        cluster = self.cluster
        if any(t.state not in COMPLETED for t in read_world(cluster, world).list_txns()):
            return set()
        up = {p for p in cluster.partitions if world.role(cluster.leader(world, p)) is not None}
        return {sent for sent in self._acknowledged(world) if sent[0] in up}

    def _acknowledged(self, world: World) -> set[Sent]:
        """What was sent in transactions whose commit returned ok."""
        return {
            sent
            for name, _ in self.cluster.producers
            for bracket in brackets(world.nodes[name])
            if bracket.end == "commit" and bracket.ok
            for sent in bracket.sent
        }

    def _money_reads(self, name: str, node: NodeState) -> Hashable:
        results = node.app.results if node.app is not None else ()
        return reads(self.cluster, name, node), results, node.up


def _sum_up(charges: Iterable[Sent]) -> int:
    """What these charges amount to, in pence."""
    return sum(find_price(str(value)) for _, value in charges)
