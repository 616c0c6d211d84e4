"""What is drawn (`Seen`), and a lesson's: a world, read once.

Pictures look at a `Seen` and nothing else: who leads, whose every batch is, what a reader gets of
it. A lesson reads it off its whole world. Reading a world is dear and many ask about the same one,
so the last View is kept; and what is read of one log, because many worlds share it. A server keeps
notes of its last steps (`mqlab/serve/kafka/trace.py`), so it says how much is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ...kernel import Disk, World, frozen
from ...kernel.claims import keep_answers, keep_last_world
from ...kernel.role import LogView
from ..clients.consumer import filter_readable
from ..config import KafkaConfig, txn_logs
from ..coordinator.entry import Entry
from ..group import GroupCoordinator
from ..leader import Leader
from ..log import COMMIT, AbortedTxn, Batch, index_of
from ..log.role import Partition, answer_fetch
from ..messages import Fetch
from ..replication import Leadership, Replica
from ..replication.controller import TABLE as LEADERSHIP
from ..replication.controller import replica_name
from ..replication.replica import CHECKPOINT
from ..states import COMPLETED, PREPARED, TxnState

# A Kafka cluster as a picture needs it: the names, in the order in which they are drawn


@frozen
class Cluster:
    """The names a picture needs: node names by their part, and the ids in a fixed order. With
    several `replicas` a partition is on several nodes, one of which leads; a topic's and a
    group's on `topic_replicas` of them. `producers`, `workers`: (node, transactional id);
    `readers`, `admins`: node names."""

    config: KafkaConfig
    producers: tuple[tuple[str, str], ...]
    partitions: tuple[str, ...]
    readers: tuple[str, ...]
    groups: tuple[str, ...]
    admins: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    replicas: int = 1
    topic_replicas: int = 1

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(txn_id for _, txn_id in self.producers if txn_id))

    def copies(self, partition: str) -> tuple[str, ...]:
        """The nodes that hold a copy of a partition (or of the coordinator's log)."""
        if self.replicas == 1:
            return (partition,)
        return tuple(replica_name(partition, n) for n in self.numbers(partition))

    def numbers(self, partition: str) -> tuple[int, ...]:
        """The numbers of those copies, from 1."""
        own = partition == self.config.coordinator
        return tuple(range(1, 1 + (self.replicas if own else self.topic_replicas)))

    def leader(self, world: World, partition: str) -> str:
        """The node that leads a partition, by the controller's record."""
        if self.replicas == 1:
            return partition
        led: Leadership = world.disk("controller").table(LEADERSHIP)[partition]
        return led.role if led.leader > 0 else replica_name(partition, led.isr[0])

    def in_sync(self, world: World, partition: str) -> tuple[str, ...]:
        """The nodes whose copies the controller counts as in sync: one of them leads next."""
        if self.replicas == 1:
            return (partition,)
        led: Leadership = world.disk("controller").table(LEADERSHIP)[partition]
        return tuple(replica_name(partition, n) for n in led.isr)

    def leading_role(self, world: World, partition: str) -> Any:
        """The role that leads a partition; None while its node is down, follows or loads."""
        role = world.role(self.leader(world, partition))
        return role.role if isinstance(role, Replica) else role


# Which transaction is which, and what belongs to it: read off records, for pictures and
# invariants. No role knows these numbers.
#
# **Two rules for one name.** A lesson knows its transactional ids in advance, and its ids take
# turns: with two ids T1, T3 … are the first's and T2, T4 … the other's (`name_by_turn`). So a
# name never depends on what happens later, nor on an order between the logs of two ids, which
# a world does not keep; a search may therefore compare worlds by what they say of T2. A server
# does not know who will come, and has an order: its transactions are numbered as they begin
# (`name_by_beginning`). No rule serves both, since the one needs to know how many ids there
# will be and the other who was first. They agree where there is one id, and where two begin
# their transactions in turns.


@frozen
class Txn:
    """A transaction: `name` "T1" …, its id, the (pid, epoch) its data carries, every
    partition it ever named, the states it went through, the last one now. `current`: the
    (pid, epoch) in its latest record, another than its data's once a producer was fenced."""

    name: str
    txn_id: str
    pid: int
    epoch: int
    partitions: frozenset[str]
    path: tuple[TxnState, ...]
    current: tuple[int, int]

    @property
    def fenced(self) -> bool:
        """Whether nothing can be added to it any more with the epoch of its data: a newer instance
        has come, or (transaction.version 2, new client) its end has raised the epoch."""
        return self.current != (self.pid, self.epoch)

    @property
    def state(self) -> TxnState:
        return self.path[-1]

    @property
    def outcome(self) -> str:
        """ "COMMIT", "ABORT" or "" while it is not decided."""
        for state in self.path:
            if state in (TxnState.PREPARE_COMMIT, TxnState.COMPLETE_COMMIT):
                return "COMMIT"
            if state in (TxnState.PREPARE_ABORT, TxnState.COMPLETE_ABORT):
                return "ABORT"
        return ""


Row = tuple[Batch, Txn | None, str]


# ---- numbers ---------------------------------------------------------------------------


def name_by_turn(ids: tuple[str, ...], txn_id: str, nth: int) -> str:
    """The nth transaction (from 0) of an id, where all ids are known: they take turns."""
    return f"T{ids.index(txn_id) + 1 + nth * len(ids)}"


def name_by_beginning(begun: int) -> str:
    """The transaction that begins when so many have begun before it, whosever they are."""
    return f"T{begun + 1}"


# ---- from records to transactions ------------------------------------------------------


def read_transactions(disk: Disk, ids: tuple[str, ...]) -> dict[str, list[Txn]]:
    """All transactions by id, oldest first, from `__transaction_state`."""
    out: dict[str, list[Txn]] = {txn_id: [] for txn_id in ids}
    for log in txn_logs(disk):
        for record in disk.log(log).read(0):
            entry: Entry = record.entry
            mine = out.get(entry.txn_id)
            if mine is not None:
                add_record(mine, entry, partial(name_by_turn, ids, entry.txn_id, len(mine)))
    return out


def add_record(txns: list[Txn], entry: Entry, name: Callable[[], str]) -> None:
    """Take the next record of a transactional id into account: it begins a transaction or changes
    the state of the latest one. `txns`, the id's transactions, oldest first, is changed in place;
    `name` makes the name of a new one. An abort of an id that wrote nothing belongs to no
    transaction."""
    if entry.state is TxnState.EMPTY:
        return
    current = (entry.pid, entry.epoch)
    if not txns or txns[-1].state in COMPLETED:
        # a broker's log that was taken over may begin in the middle, with a decision
        decided = entry.state in PREPARED and entry.partitions
        if entry.state is TxnState.ONGOING or decided:
            states = (TxnState.ONGOING, entry.state) if decided else (entry.state,)
            partitions = frozenset(entry.partitions)
            txns.append(Txn(name(), entry.txn_id, *current, partitions, states, current))
        return  # else an empty abort, its completion, a tombstone: nothing was ever in it
    txn, state = txns[-1], entry.state
    path = txn.path if txn.state is state else (*txn.path, state)
    partitions = txn.partitions.union(entry.partitions)
    txns[-1] = Txn(txn.name, txn.txn_id, txn.pid, txn.epoch, partitions, path, current)


# ---- whose is it -----------------------------------------------------------------------


def find_last(mine: Sequence[Txn], epoch: int = -1) -> str:
    """The name of an id's latest transaction, of this producer epoch where there is one: what
    a zombie says is about its own transaction. "" where there is none."""
    fitting = [t for t in mine if t.epoch == epoch] or mine
    return fitting[-1].name if fitting else ""


def find_current(mine: Sequence[Txn], epoch: int, next_name: str, begins: bool = False) -> str:
    """The name of the transaction that a message of this epoch belongs to: a late one to an
    older transaction, one that arrives before the coordinator knows of it to the next.

    `begins`: it may begin a transaction of the same epoch, as a legacy client's
    AddPartitionsToTxn does, whose epoch stays. Its data never does: it leaves only when the
    coordinator has answered, so data of an epoch that is known is late, however late."""
    fitting = [t for t in mine if t.epoch == epoch]
    if not fitting:
        return next_name
    txn = fitting[-1]
    over = txn.state in COMPLETED and txn is mine[-1] and not txn.fenced
    return next_name if begins and over else txn.name


class Attribution:
    """Attributes the batches of a log, in order, to transactions: each with its transaction and how
    that ended *here*: "COMMIT" (so also for a batch without one), "ABORT" or "" (open here).
    `rows`: by base offset; `open`: by producer id, its transaction and the base offsets of its
    batches so far."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self.open: dict[int, tuple[Txn | None, list[int]]] = {}

    def add(self, batch: Batch, find: Callable[[Batch], Txn | None]) -> Txn | None:
        """Attribute the next batch of the log; returns its transaction (None: it has none). A
        marker ends it, so all its earlier batches get the marker's outcome. `find` looks the
        transaction up where no batch of it is open here."""
        if batch.pid < 0 or not batch.transactional:
            self.rows[batch.base] = (batch, None, COMMIT)
            return None
        txn, open_bases = self.open.get(batch.pid, (None, []))
        if not open_bases:
            txn = find(batch)
        self.rows[batch.base] = (batch, txn, batch.control)  # "" for data, until a marker comes
        if not batch.control:
            open_bases.append(batch.base)
            self.open[batch.pid] = (txn, open_bases)
            return txn
        for base in open_bases:
            if base in self.rows:  # a server keeps the newest rows only
                self.rows[base] = (*self.rows[base][:2], batch.control)
        self.open.pop(batch.pid, None)
        return txn


def attribute_batches(
    partition: str, log: Iterable[Batch], txns: Mapping[str, list[Txn]]
) -> list[Row]:
    """Every batch of a whole partition with its transaction and how that ended here."""
    attribution, here = Attribution(), _by_epoch(partition, txns)
    closed: set[tuple[str, int]] = set()
    for batch in log:
        txn = attribution.add(batch, lambda batch: _candidate(batch, here, closed))
        if batch.control and txn is not None:
            closed.add((txn.name, txn.pid))
    return list(attribution.rows.values())


def _by_epoch(partition: str, txns: Mapping[str, list[Txn]]) -> dict[tuple[int, int], list[Txn]]:
    """The transactions that know of a partition, by producer id and epoch, oldest first."""
    by_epoch: dict[tuple[int, int], list[Txn]] = {}
    for mine in txns.values():
        for txn in mine:
            if partition in txn.partitions:
                by_epoch.setdefault((txn.pid, txn.epoch), []).append(txn)
    return by_epoch


def _candidate(
    batch: Batch, here: Mapping[tuple[int, int], list[Txn]], closed: set[tuple[str, int]]
) -> Txn | None:
    """The transaction that a batch begins here (or a lonely marker ends). A marker may
    carry the epoch of the data or the next one."""
    epochs = (batch.epoch - 1, batch.epoch) if batch.control else (batch.epoch,)
    matching = [txn for epoch in epochs for txn in here.get((batch.pid, epoch), ())]
    if batch.control:
        # A marker that is sent again comes when the next transaction may be open already.
        matching = [t for t in matching if t.outcome == batch.control] or matching
    fresh = [t for t in matching if (t.name, t.pid) not in closed]
    return next(iter(fresh or matching), None)


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
        """Whether it has a leader."""
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
        """None while no node has the role."""
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
    fetched = answer_fetch(part, partition, ask, disk)
    batches, _ = filter_readable(fetched.batches, fetched.aborted, 0)
    owner = {batch.base: txn for batch, txn, _ in rows}
    return [(batch, owner[batch.base]) for batch in batches]


@frozen
class View(Seen):
    """A world, read once: every partition's batches with their transactions. `rows`: by partition,
    its batches, each with its transaction; `parts`: by partition, its state."""

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
        """By the broker's cut and the client's filter. A node that is down delivers nothing."""
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
    """Read the state of a cluster out of a world, for pictures and claims: its transactions, each
    log's batches with their transactions, and each partition as its leader knows it."""
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
        else:  # it has no leader just now: what a leader would know after a restart
            hw = world.disk(node).table(CHECKPOINT).get(name, 0)
            safe = log.end if cluster.replicas == 1 else hw
            parts[name] = Partition.replay(cluster.config, log.read(0), safe)[0]
    return View(cluster, world, txns, cluster.partitions, cluster.groups, rows, parts)
