"""A world, read once: who leads, whose every batch is, and what a reader gets of it.

Pictures and claims look at nothing else. Reading a world is dear and many ask about the same
one, so the last View is kept; and what is read of one log, because many worlds share it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...kernel import Disk, World, frozen
from ...kernel.claims import keep_answers, keep_last_world
from ...kernel.role import LogView
from ..clients.consumer import filter_readable
from ..group import GroupCoordinator
from ..leader import Leader
from ..log import Batch, fetch
from ..log.partition import Partition
from ..messages import Fetch
from ..replication.copying import CHECKPOINT
from .cluster import Cluster
from .transactions import Txn, attribute_batches, read_transactions

Row = tuple[Batch, Txn | None, str]
Readable = list[tuple[Batch, Txn | None]]


@keep_answers
def _read_transactions(cluster: Cluster, disk: Disk) -> dict[str, list[Txn]]:
    return read_transactions(disk, cluster.ids)


@keep_answers
def _attribute_batches(name: str, log: LogView, txns: dict[str, list[Txn]]) -> list[Row]:
    return attribute_batches(name, log.read(0), txns)


@keep_answers
def _list_readable(
    partition: str, isolation: str, part: Partition, disk: Disk, rows: list[Row]
) -> Readable:
    ask = Fetch(0, isolation, max_bytes=1 << 40)
    fetched = fetch.answer_fetch(part, partition, ask, disk)
    batches, _ = filter_readable(fetched.batches, fetched.aborted, 0)
    owner = {batch.base: txn for batch, txn, _ in rows}
    return [(batch, owner[batch.base]) for batch in batches]


@frozen
class View:
    """A world, read once: every partition's batches with their transactions."""

    cluster: Cluster
    world: World
    txns: dict[str, list[Txn]]
    rows: dict[str, list[Row]]
    parts: dict[str, Partition]

    def list_readable(self, partition: str, isolation: str) -> Readable:
        """What a reader from offset 0 gets from one partition, by the broker's cut and the
        client's filter. From a node that is down nobody gets anything."""
        node = self.cluster.leader(self.world, partition)
        if not self.world.nodes[node].up:
            return []
        disk = self.world.disk(node)
        return _list_readable(
            partition, isolation, self.parts[partition], disk, self.rows[partition]
        )

    def list_txns(self) -> Iterator[Txn]:
        for mine in self.txns.values():
            yield from mine


@keep_last_world
def read_world(cluster: Cluster, world: World) -> View:
    """A world, read once."""
    tc = cluster.leader(world, cluster.config.coordinator)
    txns = _read_transactions(cluster, world.disk(tc))
    rows, parts = {}, {}
    for name in (*cluster.partitions, *cluster.groups):
        node = cluster.leader(world, name)
        log = world.disk(node).log(name)
        rows[name] = _attribute_batches(name, log, txns)
        role = cluster.leading_role(world, name)
        if isinstance(role, Leader | GroupCoordinator):
            parts[name] = role.part
        else:  # nobody leads it just now: what a leader would know after a restart
            hw = world.disk(node).table(CHECKPOINT).get(name, 0)
            safe = log.end if cluster.replicas == 1 else hw
            parts[name] = Partition.replay(cluster.config, log.read(0), safe)[0]
    return View(cluster, world, txns, rows, parts)
