"""What is true of a correct Kafka, as properties over a world.

Careful wording is the point. "A transaction is atomic" is not true: its partitions get
their markers one after the other, and a reader may see half of it meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable

from ..kernel import Property, World
from ..kernel.world import NodeState
from ..storage import COMMIT
from . import words
from .leader.fetch import limit
from .messages import READ_COMMITTED
from .snapshot import Cluster, view
from .states import TxnState


def properties(cluster: Cluster) -> tuple[Property, ...]:
    """The lights of the picture, and the claims of a search."""

    def same_outcome(world: World) -> bool:
        seen = view(cluster, world)
        ends: dict[str, set[str]] = {}
        for rows in seen.rows.values():
            for batch, txn, outcome in rows:
                if txn is not None and outcome and not batch.control:
                    ends.setdefault(txn.name, set()).add(outcome)
        return all(len(outcomes) == 1 for outcomes in ends.values())

    def clean_read(world: World) -> bool:
        seen = view(cluster, world)
        for partition in cluster.partitions:
            how = {batch.base: (txn, end) for batch, txn, end in seen.rows[partition]}
            for batch, _ in seen.got(partition, READ_COMMITTED):
                if how[batch.base][1] != COMMIT:
                    return False
        return True

    def replicated_read(world: World) -> bool:
        seen = view(cluster, world)
        return all(
            batch.last < seen.parts[p].hw
            for p in cluster.partitions
            for batch, _ in seen.got(p, READ_COMMITTED)
        )

    def no_needless_wait(world: World) -> bool:
        seen = view(cluster, world)
        return all(
            limit(seen.parts[p], READ_COMMITTED) >= seen.parts[p].lso for p in cluster.partitions
        )

    def decided_first(world: World) -> bool:
        seen = view(cluster, world)
        return all(
            txn is None or txn.outcome == batch.control
            for rows in seen.rows.values()
            for batch, txn, _ in rows
            if batch.control
        )

    def commits(world: World) -> bool:
        seen = view(cluster, world)
        return any(t.state is TxnState.COMPLETE_COMMIT for t in seen.all_txns())

    def read_back(world: World) -> bool:
        seen = view(cluster, world)
        return any(
            txn is not None for p in cluster.partitions for _, txn in seen.got(p, READ_COMMITTED)
        )

    def reads(name: str, node: NodeState) -> Hashable:
        """What a view is made of: the coordinator's disk, and what leaders have and know."""
        if name == cluster.config.coordinator:
            return node.disk
        if name in leaders:
            return node.disk, node.up, node.roles[0].part if node.up else None
        return None

    leaders = frozenset((*cluster.partitions, *cluster.groups))
    ruled = cluster.config.lso_rule is not None
    needless = Property("no needless wait", words.NO_NEEDLESS_WAIT(), no_needless_wait, reads=reads)
    return (
        *((needless,) if ruled else ()),
        Property("same outcome", words.SAME_OUTCOME(), same_outcome, reads=reads),
        Property("clean read", words.CLEAN_READ(), clean_read, reads=reads),
        Property("replicated read", words.REPLICATED_READ(), replicated_read, reads=reads),
        Property("decided first", words.DECIDED_FIRST(), decided_first, reads=reads),
        Property("commits", words.COMMITS(), commits, "sometimes", reads),
        Property("read back", words.READ_BACK(), read_back, "sometimes", reads),
    )
