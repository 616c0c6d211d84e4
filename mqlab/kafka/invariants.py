"""What is true of a correct Kafka, as properties over a world.

Careful wording is the point. "A transaction is atomic" is not true: its partitions get
their markers one after the other, and a reader may see half of it meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from ..kernel import Property, Words, World
from ..kernel.world import NodeState
from ..storage import COMMIT
from . import words
from .leader.fetch import limit
from .messages import READ_COMMITTED
from .snapshot import Cluster, view
from .states import TxnState


def same_outcome(cluster: Cluster, world: World) -> bool:
    ends: dict[str, set[str]] = {}
    for rows in view(cluster, world).rows.values():
        for batch, txn, outcome in rows:
            if txn is not None and outcome and not batch.control:
                ends.setdefault(txn.name, set()).add(outcome)
    return all(len(outcomes) == 1 for outcomes in ends.values())


def clean_read(cluster: Cluster, world: World) -> bool:
    seen = view(cluster, world)
    for partition in cluster.partitions:
        ends = {batch.base: end for batch, _, end in seen.rows[partition]}
        if any(ends[batch.base] != COMMIT for batch, _ in seen.got(partition, READ_COMMITTED)):
            return False
    return True


def replicated_read(cluster: Cluster, world: World) -> bool:
    seen = view(cluster, world)
    return all(
        batch.last < seen.parts[p].hw
        for p in cluster.partitions
        for batch, _ in seen.got(p, READ_COMMITTED)
    )


def no_needless_wait(cluster: Cluster, world: World) -> bool:
    parts = view(cluster, world).parts
    return all(limit(parts[p], READ_COMMITTED) >= parts[p].lso for p in cluster.partitions)


def decided_first(cluster: Cluster, world: World) -> bool:
    return all(
        txn is None or txn.outcome == batch.control
        for rows in view(cluster, world).rows.values()
        for batch, txn, _ in rows
        if batch.control
    )


def commits(cluster: Cluster, world: World) -> bool:
    txns = view(cluster, world).all_txns()
    return any(txn.state is TxnState.COMPLETE_COMMIT for txn in txns)


def read_back(cluster: Cluster, world: World) -> bool:
    seen = view(cluster, world)
    return any(
        txn is not None for p in cluster.partitions for _, txn in seen.got(p, READ_COMMITTED)
    )


def reads(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What a view is made of: the coordinator's disk, and what leaders have and know."""
    if name == cluster.config.coordinator:
        return node.disk
    if name in cluster.partitions or name in cluster.groups:
        return node.disk, node.up, node.roles[0].part if node.up else None
    return None


Claim = Callable[[Cluster, World], bool]
ALWAYS: tuple[tuple[str, Words, Claim], ...] = (
    ("same outcome", words.SAME_OUTCOME, same_outcome),
    ("clean read", words.CLEAN_READ, clean_read),
    ("replicated read", words.REPLICATED_READ, replicated_read),
    ("decided first", words.DECIDED_FIRST, decided_first),
)
SOMETIMES: tuple[tuple[str, Words, Claim], ...] = (
    ("commits", words.COMMITS, commits),
    ("read back", words.READ_BACK, read_back),
)
#: only where a learner's rule says how far one may read
RULED: tuple[tuple[str, Words, Claim], ...] = (
    ("no needless wait", words.NO_NEEDLESS_WAIT, no_needless_wait),
)


def properties(cluster: Cluster) -> tuple[Property, ...]:
    """The lights of the picture, and the claims of a search."""
    part = partial(reads, cluster)
    ruled = RULED if cluster.config.lso_rule is not None else ()
    always = [Property(n, w(), partial(f, cluster), "always", part) for n, w, f in ruled + ALWAYS]
    reached = [Property(n, w(), partial(f, cluster), "sometimes", part) for n, w, f in SOMETIMES]
    return (*always, *reached)
