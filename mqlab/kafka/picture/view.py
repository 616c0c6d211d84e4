"""What is drawn (`Seen`), and a lesson's: a world, read once.

Pictures look at a `Seen` and nothing else: who leads, whose every batch is, what a reader gets of
it. A lesson reads it off its whole world. Reading a world is dear and many ask about the same one,
so the last View is kept; and what is read of one log, because many worlds share it. A server keeps
notes of its last steps (`mqlab/serve/kafka/trace/model.py`), so it says how much is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from ...kernel import Disk, World, frozen
from ...kernel.claims import keep_answers, keep_last_world
from ...kernel.role import LogView
from ..clients.consumer import filter_readable
from ..config import txn_logs
from ..coordinator import Entry
from ..group import GroupCoordinator
from ..leader import Leader
from ..log import AbortedTxn, Batch, fetch
from ..log.batch import index_of
from ..log.partition import Partition
from ..messages import Fetch
from ..replication.copying import CHECKPOINT
from ..states import TxnState
from .cluster import Cluster
from .transactions import Row, Txn, attribute_batches, read_transactions

Readable = list[tuple[Batch, Txn | None]]
Given = list[tuple[str, Batch, Txn | None]]
Copy = tuple[str, Partition, Sequence[Row]]


@frozen
class Limits:
    """How much is drawn, the last of each; 0: all. `cells`: of a batch; `rows`: of a kind in a
    table. `cut` makes a name short that a stranger chose, and shows what is unseen in it."""

    cells: int = 0
    rows: int = 0
    cut: Callable[[str], str] = str


class Seen:
    """What a picture draws, as far as all have it in common. `partitions`, `groups`: the logs, in
    their order; `rows`: the batches of each, `parts`: what is known of it."""

    __slots__ = ()
    limits = Limits()
    partitions: tuple[str, ...]
    groups: tuple[str, ...]
    rows: Mapping[str, Sequence[Row]]
    parts: Mapping[str, Partition]

    def is_up(self, partition: str) -> bool:
        """Whether somebody leads it."""
        return True

    def list_copies(self, log: str) -> list[Copy]:
        """The leader's log, then what each follower has copied of it; with their names."""
        return [(log, self.parts[log], self.rows[log])]

    def list_readable(self, partition: str, isolation: str) -> Readable:
        """What a reader from the first offset gets from one partition."""
        raise NotImplementedError

    def list_given(self, isolation: str) -> Given:
        """The same from all of them, and from which."""
        return [(p, *got) for p in self.partitions for got in self.list_readable(p, isolation)]

    def list_txns(self) -> Iterable[Txn]:
        """All that are remembered."""
        raise NotImplementedError

    def list_latest(self) -> list[Txn]:
        """The latest transaction of each id, the id that matters most first."""
        raise NotImplementedError

    def list_entries(self) -> Collection[Entry]:
        """The latest record of each transactional id that is known."""
        raise NotImplementedError

    def find_coordinator(self, group: str) -> GroupCoordinator | None:
        """None while nobody plays it."""
        raise NotImplementedError


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
class View(Seen):
    """A world, read once: every partition's batches with their transactions."""

    cluster: Cluster
    world: World
    txns: dict[str, list[Txn]]
    partitions: tuple[str, ...]
    groups: tuple[str, ...]
    rows: dict[str, list[Row]]
    parts: dict[str, Partition]

    def is_up(self, partition: str) -> bool:
        return self.world.nodes[self.cluster.leader(self.world, partition)].up

    def list_copies(self, log: str) -> list[Copy]:
        leader = self.cluster.leader(self.world, log)
        copies: list[Copy] = [(leader, self.parts[log], self.rows[log])]
        for node in self.cluster.copies(log):
            if node == leader:
                continue
            disk = self.world.disk(node)
            hw = disk.table(CHECKPOINT).get(log, 0)
            part = Partition.replay(self.cluster.config, disk.log(log).read(0), hw)[0]
            copies.append((node, part, attribute_batches(log, disk.log(log).read(0), self.txns)))
        return copies

    def list_readable(self, partition: str, isolation: str) -> Readable:
        """By the broker's cut and the client's filter. From a node that is down nobody gets
        anything."""
        if not self.is_up(partition):
            return []
        disk = self.world.disk(self.cluster.leader(self.world, partition))
        return _list_readable(
            partition, isolation, self.parts[partition], disk, self.rows[partition]
        )

    def list_txns(self) -> Iterator[Txn]:
        for mine in self.txns.values():
            yield from mine

    def list_latest(self) -> list[Txn]:
        return [mine[-1] for mine in self.txns.values() if mine]

    def list_entries(self) -> list[Entry]:
        disk = self.world.disk(self.cluster.leader(self.world, self.cluster.config.coordinator))
        latest: dict[str, Entry] = {}
        for log in txn_logs(disk):
            for record in disk.log(log).read(0):
                latest[record.entry.txn_id] = record.entry
        return [entry for entry in latest.values() if entry.state is not TxnState.DEAD]

    def list_aborted(self) -> Iterator[tuple[str, AbortedTxn]]:
        """What the `.txnindex` of each partition says."""
        for partition in self.partitions:
            disk = self.world.disk(self.cluster.leader(self.world, partition))
            for aborted in disk.log(index_of(partition)).read(0):
                yield partition, aborted

    def find_coordinator(self, group: str) -> GroupCoordinator | None:
        role = self.cluster.leading_role(self.world, group)
        return role if isinstance(role, GroupCoordinator) else None


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
    return View(cluster, world, txns, cluster.partitions, cluster.groups, rows, parts)
