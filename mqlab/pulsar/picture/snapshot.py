"""A Pulsar world as a Snapshot: lanes, ledgers, consumers, tables, the graph of a transaction,
lights."""

from __future__ import annotations

from ...kernel import Lane, Light, Property, Snapshot, Table, Text, World
from ..topic import Topic
from . import tables, words
from .cluster import Cluster
from .graph import draw_graph
from .ledgers import Written, read_coordinators
from .readers import draw_readers
from .strips import draw_strips


def draw_snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    written = read_coordinators(cluster, world)
    roles = (world.role(name) for name in cluster.partitions)
    topics = [role for role in roles if role is not None]
    return Snapshot(
        lanes=_draw_lanes(cluster, world),
        logs=draw_strips(cluster, world),
        readers=draw_readers(cluster, world, written),
        graphs=(draw_graph(written),),
        tables=_draw_tables(cluster, world, topics, written),
        lights=tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
    )


def _draw_tables(
    cluster: Cluster, world: World, topics: list[Topic], written: Written
) -> tuple[Table, ...]:
    """Those that are empty most of the time show when they have rows."""
    roles = (world.role(name) for name in cluster.coordinators)
    live = [meta for role in roles if role is not None for meta in role.txns.values()]
    subs = [(topic.name, sub) for topic in topics for sub in topic.subs.values()]
    always = (
        tables.draw_transactions(live, written),
        tables.draw_buffers(topics, written),
    )
    seldom = (
        tables.draw_pending(subs, written),
        tables.draw_producers(topics),
        tables.draw_timers(cluster, world),
    )
    return (*always, *(table for table in seldom if table.rows))


def _draw_lanes(cluster: Cluster, world: World) -> tuple[Lane, ...]:
    """Clients, coordinators, partitions."""
    kinds = (
        (cluster.clients, words.CLIENT()),
        (cluster.coordinators, words.COORDINATOR()),
        (cluster.partitions, words.PARTITION()),
    )
    return tuple(
        Lane(name, Text(name), title, world.nodes[name].up)
        for names, title in kinds
        for name in names
    )
