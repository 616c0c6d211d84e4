"""A Kafka world as a Snapshot: lanes, logs, what readers get, the coordinator's graph."""

from __future__ import annotations

from ...kernel import Graph, Lane, Light, Property, Snapshot, Table, Text, World
from ..config import txn_log, txn_logs
from ..coordinator import Entry
from ..group import GroupCoordinator
from ..log.index import index_of
from ..states import TxnState
from . import words
from .cluster import Cluster
from .graph import draw_graph
from .readers import draw_committed_reader, draw_uncommitted_reader
from .strips import draw_strips
from .tables import draw_index, draw_members, draw_positions, draw_states
from .view import View, read_world


def draw_snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    seen = read_world(cluster, world)
    return Snapshot(
        lanes=_draw_lanes(cluster, world),
        logs=tuple(
            log
            for name in (*cluster.partitions, *cluster.groups)
            for log in draw_strips(seen, name)
        ),
        readers=(draw_committed_reader(seen), draw_uncommitted_reader(seen)),
        graphs=(_draw_latest(seen),) if cluster.ids else (),
        tables=_draw_tables(seen),
        lights=tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
    )


def _draw_lanes(cluster: Cluster, world: World) -> tuple[Lane, ...]:
    """A lane is called as its node is, in the narration and in schedules; what it is stands
    below."""
    below: list[tuple[str, Text]] = [
        (name, _producer(cluster, name, txn_id)) for name, txn_id in cluster.producers
    ]
    if cluster.ids:
        below += _copies(cluster, world, cluster.config.coordinator, _txn_logs(cluster))
    for partition in cluster.partitions:
        below += _copies(cluster, world, partition, words.LEADER())
    for group in cluster.groups:
        below += _copies(cluster, world, group, words.GROUP())
    below += [(reader, words.READER()) for reader in cluster.readers]
    below += [(admin, words.ADMIN()) for admin in cluster.admins]
    if cluster.replicas > 1:
        below.append(("controller", words.CONTROLLER()))
    return tuple(Lane(name, Text(name), what, world.nodes[name].up) for name, what in below)


def _copies(cluster: Cluster, world: World, name: str, leads: Text) -> list[tuple[str, Text]]:
    """The nodes that hold a log; `leads`: what the one is that leads it."""
    leader = cluster.leader(world, name)
    return [(n, leads if n == leader else words.FOLLOWER()) for n in cluster.copies(name)]


def _txn_logs(cluster: Cluster) -> Text:
    logs = ", ".join(sorted({txn_log(i, cluster.config).rsplit("-", 1)[1] for i in cluster.ids}))
    return words.TXN_LOGS(logs=logs)


def _producer(cluster: Cluster, name: str, txn_id: str) -> Text:
    """Its transactional id, where it has one that is not its name."""
    if txn_id and txn_id != name:
        return Text(txn_id)
    return (words.WORKER if name in cluster.workers else words.PRODUCER)()


def _draw_latest(seen: View) -> Graph:
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


def _draw_tables(seen: View) -> tuple[Table, ...]:
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
    role = seen.cluster.leading_role(seen.world, name)
    return role if isinstance(role, GroupCoordinator) else None
