"""What is seen of a Kafka as a Snapshot: lanes, logs, what readers get, the coordinator's graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ...kernel import Graph, Lane, Light, Property, Snapshot, Table, Text, World, replace
from ...kernel.snapshot import Part, draw_part
from ..config import txn_log
from . import words
from .cluster import Cluster
from .graph import draw_graph
from .readers import draw_readers
from .strips import draw_strips
from .tables import draw_index, draw_members, draw_positions, draw_states
from .view import Seen, read_world


def draw_snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    """A lesson's. What is empty for ever in most of them, an index, shows when it has rows."""
    seen = read_world(cluster, world)
    drawn = draw_seen(
        seen,
        lambda: _draw_lanes(cluster, world),
        lambda: tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
    )
    index = draw_index(seen.list_aborted())
    tables = (*drawn.tables[:1], *([index] if index.rows else []), *drawn.tables[1:])
    if not cluster.ids:
        return replace(drawn, graphs=(), tables=tables[1:])
    return replace(drawn, tables=tables)


def draw_seen(
    seen: Seen,
    draw_lanes: Callable[[], tuple[Lane, ...]],
    draw_lights: Callable[[], tuple[Light, ...]],
    part: Part = draw_part,
) -> Snapshot:
    """A lesson's, or a server's."""
    names = (*seen.partitions, *seen.groups)
    strips = [part("log", name, partial(draw_strips, seen, name)) for name in names]
    return Snapshot(
        lanes=part("lanes", "", draw_lanes),
        logs=tuple(log for logs in strips for log in logs),
        readers=part("readers", "", partial(draw_readers, seen)),
        graphs=part("graphs", "", partial(_draw_graphs, seen)),
        tables=tuple(_draw_tables(seen, part)),
        lights=part("lights", "", draw_lights),
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


def _draw_graphs(seen: Seen) -> tuple[Graph, ...]:
    """Where the transaction is that goes on."""
    return (draw_graph(seen.list_latest(), begun=bool(seen.list_entries())),)


def _draw_tables(seen: Seen, part: Part) -> Iterator[Table]:
    """The members of a group show when there are some."""
    yield part("states", "", lambda: draw_states(seen.list_entries(), seen.limits.cut))
    for name in seen.groups:
        yield part("positions", name, partial(_draw, draw_positions, seen, name))
    for name in seen.groups:
        yield from part("members", name, partial(_list_members, seen, name))


def _list_members(seen: Seen, group: str) -> list[Table]:
    return [table for table in (_draw(draw_members, seen, group),) if table.rows]


def _draw(draw: Callable[..., Table], seen: Seen, group: str) -> Table:
    return draw(seen.find_coordinator(group), seen.limits.rows, seen.limits.cut)
