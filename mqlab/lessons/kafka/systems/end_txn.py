"""Kafka with a coordinator whose EndTxn is in pieces, and what must be true in any order.

end_txn partitions=2 order.end_txn=prepare,reply,markers,wait,complete 'app=init; …'
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

from ....kafka import KafkaSystem
from ....kafka.claims.invariants import reads
from ....kafka.clients.calls import Commit
from ....kafka.coordinator import Coordinator
from ....kafka.picture.view import read_world
from ....kafka.states import COMPLETED
from ....kernel import NodeSpec, Property, Words, World
from ....kernel.options import Order
from ....kernel.world import NodeState
from ...roles import put_roles, recover_as
from .coordinator_pieces import PIECES, STEP, PiecewiseCoordinator

KEPT = Words("a commit that was answered ok is never aborted")
SETTLED = Words("a marker that is missing is owed by somebody who knows it")
TOLD = Words("the client gets its answer")


@dataclass(frozen=True)
class EndTxnSystem(KafkaSystem):
    """`order`: of the pieces of EndTxn; Kafka's own where none is given."""

    order: Order = ((STEP, PIECES),)

    name = "end_txn"
    orderable: ClassVar = {STEP: PIECES}
    most_replicas = 1

    def nodes(self) -> tuple[NodeSpec, ...]:
        whole = Coordinator.recover
        mine = partial(recover_as, PiecewiseCoordinator, whole, {}, self.config)
        return put_roles(super().nodes(), {self.config.coordinator: mine})

    def properties(self) -> tuple[Property, ...]:
        return (*super().properties(), *self._ends)

    @cached_property
    def _ends(self) -> tuple[Property, ...]:
        return (
            Property("kept", KEPT(), self._kept, "always", self._reads),
            Property("settled", SETTLED(), self._settled, "always", self._reads),
            Property("told", TOLD(), self._committed, "sometimes", self._reads),
        )

    def _committed(self, world: World) -> bool:
        """Whether some application's commit has returned ok."""
        apps = [world.nodes[name].app for name, _ in self.producers]
        results = [result for app in apps if app is not None for result in app.results]
        return any(isinstance(result.call, Commit) and result.ok for result in results)

    def _kept(self, world: World) -> bool:
        if not self._committed(world):
            return True
        txns = read_world(self.cluster, world).list_txns()
        return all(txn.outcome != "ABORT" for txn in txns)

    def _settled(self, world: World) -> bool:
        """A coordinator that wrote Complete and has forgotten the rest tells nobody more."""
        tc = world.role(self.config.coordinator)
        if tc is None:
            return True  # after its restart it may still find out
        return not any(
            txn is not None
            and txn.state in COMPLETED
            and not outcome
            and not tc.owes(txn.txn_id, partition)
            for partition, rows in read_world(self.cluster, world).rows.items()
            for _, txn, outcome in rows
        )

    def _reads(self, name: str, node: NodeState) -> Hashable:
        results = node.app.results if node.app is not None else ()
        memory = node.roles[0].plans if name == self.config.coordinator and node.up else None
        return results, memory, reads(self.cluster, name, node)
