"""A Kafka world as a Snapshot: lanes, logs, what readers get, the coordinator's graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...kernel import (
    NOTHING,
    Cell,
    Frontier,
    Got,
    Graph,
    Lane,
    Light,
    Log,
    Property,
    Reader,
    Snapshot,
    Table,
    Text,
    World,
)
from ...kernel.claims import keep_last_world
from ..clients.consumer import filter_readable
from ..config import KafkaConfig, txn_log, txn_logs
from ..coordinator import Entry
from ..group import GroupCoordinator
from ..leader import Leader
from ..log import Batch, fetch
from ..log.index import index_of
from ..log.partition import Partition
from ..messages import READ_COMMITTED, READ_UNCOMMITTED, Fetch
from ..replication import Leadership, Replica
from ..replication.controller import TABLE as LEADERSHIP
from ..replication.copying import CHECKPOINT
from ..replication.messages import replica_name
from ..states import TxnState
from . import words
from .graph import draw_graph
from .tables import draw_index, draw_members, draw_positions, draw_states
from .transactions import Txn, attributed, transactions


@dataclass(frozen=True, slots=True)
class Cluster:
    """The names a picture needs: node names by their part, and the ids in a fixed order.
    With several `replicas` a partition stands on several nodes, one of which leads."""

    config: KafkaConfig
    producers: tuple[tuple[str, str], ...]
    partitions: tuple[str, ...]
    readers: tuple[str, ...]
    groups: tuple[str, ...]
    admins: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    replicas: int = 1

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(txn_id for _, txn_id in self.producers if txn_id))

    def copies(self, partition: str) -> tuple[str, ...]:
        """The nodes that hold a copy of a partition (or of the coordinator's log)."""
        if self.replicas == 1:
            return (partition,)
        return tuple(replica_name(partition, n) for n in range(1, self.replicas + 1))

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

    def leading(self, world: World, partition: str) -> Any:
        """The role that leads a partition; None while its node is down, follows or loads."""
        role = world.role(self.leader(world, partition))
        return role.role if isinstance(role, Replica) else role


@dataclass(frozen=True, slots=True)
class View:
    """A world, read once: every partition's batches with their transactions."""

    cluster: Cluster
    world: World
    txns: dict[str, list[Txn]]
    rows: dict[str, list[tuple[Batch, Txn | None, str]]]
    parts: dict[str, Partition]

    def got(self, partition: str, isolation: str) -> list[tuple[Batch, Txn | None]]:
        """What a reader from offset 0 gets from one partition, by the broker's cut and the
        client's filter. From a node that is down nobody gets anything."""
        node = self.cluster.leader(self.world, partition)
        if not self.world.nodes[node].up:
            return []
        part = self.parts[partition]
        ask = Fetch(0, isolation, max_bytes=1 << 40)
        said = fetch.answer_fetch(part, partition, ask, self.world.disk(node))
        batches, _ = filter_readable(said.batches, said.aborted, 0)
        owner = {batch.base: txn for batch, txn, _ in self.rows[partition]}
        return [(batch, owner[batch.base]) for batch in batches]

    def all_txns(self) -> Iterator[Txn]:
        for mine in self.txns.values():
            yield from mine


@keep_last_world
def view(cluster: Cluster, world: World) -> View:
    """A world, read once."""
    txns = transactions(world, cluster.leader(world, cluster.config.coordinator), cluster.ids)
    rows, parts = {}, {}
    for name in (*cluster.partitions, *cluster.groups):
        node = cluster.leader(world, name)
        log = world.disk(node).log(name)
        rows[name] = attributed(name, log.read(0), txns)
        role = cluster.leading(world, name)
        if isinstance(role, Leader | GroupCoordinator):
            parts[name] = role.part
        else:  # nobody leads it just now: what a leader would know after a restart
            hw = world.disk(node).table(CHECKPOINT).get(name, 0)
            safe = log.end if cluster.replicas == 1 else hw
            parts[name] = Partition.replay(cluster.config, log.read(0), safe)[0]
    return View(cluster, world, txns, rows, parts)


def snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    seen = view(cluster, world)
    return Snapshot(
        lanes=lanes(cluster, world),
        logs=tuple(
            log for name in (*cluster.partitions, *cluster.groups) for log in strips(seen, name)
        ),
        readers=(committed_reader(seen), uncommitted_reader(seen)),
        graphs=(graph(seen),) if cluster.ids else (),
        tables=tables(seen),
        lights=tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
    )


def lanes(cluster: Cluster, world: World) -> tuple[Lane, ...]:
    tc = cluster.config.coordinator
    logs = ", ".join(sorted({txn_log(i, cluster.config).rsplit("-", 1)[1] for i in cluster.ids}))
    named: list[tuple[str, Text, Text]] = [
        _producer_lane(cluster, name, txn_id) for name, txn_id in cluster.producers
    ]
    if cluster.ids:
        subtitle = Text(words.TXN_LOG().en + f" {logs}", words.TXN_LOG().zh + f" {logs}")
        if cluster.replicas == 1:
            named.append((tc, words.COORDINATOR(), subtitle))
        else:
            named += [(node, words.COORDINATOR(), Text(node)) for node in cluster.copies(tc)]
    for partition in cluster.partitions:
        named += [
            (n, Text(n), _leads(cluster, world, partition, n)) for n in cluster.copies(partition)
        ]
    named += [(n, words.GROUP(), Text(n)) for g in cluster.groups for n in cluster.copies(g)]
    named += [(r, Text(r), words.READER()) for r in cluster.readers]
    named += [(a, Text(a), words.ADMIN()) for a in cluster.admins]
    if cluster.replicas > 1:
        named.append(("controller", Text("controller"), words.CONTROLLER()))
    return tuple(Lane(name, title, sub, world.nodes[name].up) for name, title, sub in named)


def _leads(cluster: Cluster, world: World, partition: str, node: str) -> Text:
    return (words.LEADER if cluster.leader(world, partition) == node else words.FOLLOWER)()


def _producer_lane(cluster: Cluster, name: str, txn_id: str) -> tuple[str, Text, Text]:
    """Called by its transactional id; two instances with one id by their own names."""
    twins = sum(other == txn_id for _, other in cluster.producers) > 1
    if txn_id and twins:
        return name, Text(name), Text(txn_id)
    kind = words.WORKER if name in cluster.workers else words.PRODUCER
    return name, Text(txn_id or name), kind()


def strips(seen: View, partition: str) -> list[Log]:
    """The leader's log, and beside it what each follower has copied of it."""
    cluster, leader = seen.cluster, seen.cluster.leader(seen.world, partition)
    logs = [strip(seen, partition)]
    for node in cluster.copies(partition):
        if node == leader:
            continue
        disk = seen.world.disk(node)
        hw = disk.table(CHECKPOINT).get(partition, 0)
        part = Partition.replay(cluster.config, disk.log(partition).read(0), hw)[0]
        rows = attributed(partition, disk.log(partition).read(0), seen.txns)
        logs.append(_strip(node, part, rows))
    return logs


def strip(seen: View, partition: str) -> Log:
    name = seen.cluster.leader(seen.world, partition)
    return _strip(name, seen.parts[partition], seen.rows[partition])


def _strip(name: str, part: Partition, rows: list[tuple[Batch, Txn | None, str]]) -> Log:
    limit = fetch.upper_bound(part, READ_COMMITTED)
    cells = []
    for batch, txn, outcome in rows:
        for i in range(batch.count):
            label = batch.control[:1] or _label(batch, i)
            cells.append(
                Cell(
                    offset=batch.base + i,
                    label=label,
                    kind="control" if batch.control else "data",
                    txn=txn.name if txn else "",
                    readable=batch.base + i < limit,
                    aborted=outcome == "ABORT" and not batch.control,
                )
            )
    return Log(name, tuple(cells), (Frontier("LSO", part.lso), Frontier("HW", part.hw)))


def _label(batch: Batch, i: int) -> str:
    records = batch.records
    if not isinstance(records, tuple) or i >= len(records):
        return "·"
    return str(getattr(records[i], "label", records[i]))


def committed_reader(seen: View) -> Reader:
    got = {p: seen.got(p, READ_COMMITTED) for p in seen.cluster.partitions}
    return Reader(READ_COMMITTED, _given(got), torn(seen, got) or waiting(seen))


def uncommitted_reader(seen: View) -> Reader:
    got = {p: seen.got(p, READ_UNCOMMITTED) for p in seen.cluster.partitions}
    note = NOTHING
    for txn in {t.name: t for rows in got.values() for _, t in rows if t}.values():
        if txn.outcome == "ABORT":
            note = words.ABORTED_READ(txn=txn.name)
        elif not txn.outcome and not note.en:
            note = words.UNDECIDED(txn=txn.name)
    return Reader(READ_UNCOMMITTED, _given(got), note)


def _given(got: dict[str, list[tuple[Batch, Txn | None]]]) -> tuple[Got, ...]:
    return tuple(
        Got(p, _label(batch, i), txn.name if txn else "")
        for p, batches in got.items()
        for batch, txn in batches
        for i in range(batch.count)
    )


def torn(seen: View, got: dict[str, list[tuple[Batch, Txn | None]]]) -> Text | None:
    """In words, that a reader gets part of a committed transaction."""
    for txn in seen.all_txns():
        holding = {
            p
            for p in seen.cluster.partitions
            for _, t, _ in seen.rows[p]
            if t and t.name == txn.name and seen.world.nodes[seen.cluster.leader(seen.world, p)].up
        }
        shown = {p for p, rows in got.items() for _, t in rows if t and t.name == txn.name}
        if shown and holding - shown:
            return words.TORN(txn=txn.name, where=", ".join(sorted(holding - shown)))
    return None


def waiting(seen: View) -> Text:
    """In words, which transaction holds a reader up."""
    for partition in seen.cluster.partitions:
        part = seen.parts[partition]
        if part.lso < part.hw:
            for batch, txn, _ in seen.rows[partition]:
                if batch.base == part.lso and txn is not None:
                    return words.WAITS(where=partition, txn=txn.name)
    return NOTHING


def graph(seen: View) -> Graph:
    """Where the transaction is that goes on, the first id's before the others'."""
    latest = [mine[-1] for mine in seen.txns.values() if mine]
    return draw_graph(latest, begun=bool(_latest_entries(seen)))


def _latest_entries(seen: View) -> list[Entry]:
    """The latest record of each transactional id that is still known."""
    cluster = seen.cluster
    disk = seen.world.disk(cluster.leader(seen.world, cluster.config.coordinator))
    latest: dict[str, Entry] = {}
    for log in txn_logs(disk):
        for record in disk.log(log).read(0):
            latest[record.entry.txn_id] = record.entry
    return [entry for entry in latest.values() if entry.state is not TxnState.DEAD]


def tables(seen: View) -> tuple[Table, ...]:
    """What is empty for ever in most lessons, an index or a group, shows when it has rows."""
    cluster, world = seen.cluster, seen.world
    out = [draw_states(_latest_entries(seen))] if cluster.ids else []
    index = draw_index(
        (p, aborted)
        for p in cluster.partitions
        for aborted in world.disk(cluster.leader(world, p)).log(index_of(p)).read(0)
    )
    groups = [_group_coordinator(seen, name) for name in cluster.groups]
    out += [index] if index.rows else []
    out += [draw_positions(gc) for gc in groups]
    out += [members for gc in groups if (members := draw_members(gc)).rows]
    return tuple(out)


def _group_coordinator(seen: View, name: str) -> GroupCoordinator | None:
    role = seen.cluster.leading(seen.world, name)
    return role if isinstance(role, GroupCoordinator) else None
