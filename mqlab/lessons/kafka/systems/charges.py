"""The money of orders: Kafka, whose topic holds one charge an order, and one more light.

    system charges partitions=1 producers=old:order-service,new:order-service
    run old: init, begin, send charges-0 order-17, commit

The customer of order 17 owes its price once. *Money in = money out*: a reader of committed
data is shown no order's charge twice, and every charge whose commit was acknowledged, once
its coordinator counts the transaction as complete. Clients by hand may take part (`asking`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

from ....kafka.claims.invariants import reads
from ....kafka.claims.promises import brackets
from ....kafka.messages import READ_COMMITTED
from ....kafka.picture.view import read_world
from ....kafka.states import COMPLETED
from ....kernel import Property, Words, World
from ....kernel.world import NodeState
from .asking import AskingSystem

MONEY = Words("money in = money out: each order is charged once", "进账 = 出账：每个订单只收一次款")


@dataclass(frozen=True)
class ChargesSystem(AskingSystem):
    """`asking` with the topic `charges` and the light `money`."""

    topic: str = "charges"

    name = "charges"

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        money = Property("money", MONEY(), self._balanced, "always", self._money_reads)
        return (money, *super()._properties)

    def _balanced(self, world: World) -> bool:
        cluster = self.cluster
        seen = read_world(cluster, world)
        shown = [
            (partition, value)
            for partition in cluster.partitions
            for batch, _ in seen.list_readable(partition, READ_COMMITTED)
            for value in batch.records
        ]
        if len(shown) > len(set(shown)):
            return False
        if any(txn.state not in COMPLETED for txn in seen.list_txns()):
            return True  # markers are owed, or nothing is decided
        return all(sent in shown for sent in self._acknowledged(world))

    def _acknowledged(self, world: World) -> set[tuple[str, str]]:
        """What was sent in transactions whose commit returned ok, to partitions that can be
        asked: whoever cannot be asked has lost nothing yet."""
        cluster = self.cluster
        up = {p for p in cluster.partitions if world.role(cluster.leader(world, p)) is not None}
        return {
            sent
            for name, _ in cluster.producers
            for bracket in brackets(world.nodes[name])
            if bracket.end == "commit" and bracket.ok
            for sent in bracket.sent
            if sent[0] in up
        }

    def _money_reads(self, name: str, node: NodeState) -> Hashable:
        results = node.app.results if node.app is not None else ()
        return reads(self.cluster, name, node), results, node.up
