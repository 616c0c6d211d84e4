"""A RocketMQ world as a Snapshot: lanes, queues, tables, the graph of a half message, lights."""

from __future__ import annotations

from ...kernel import Lane, Light, Property, Snapshot, Table, Text, World
from . import tables, words
from .cluster import Cluster
from .graph import draw_graph
from .readers import draw_readers
from .strips import draw_strips
from .view import View, read_world


def draw_snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    seen = read_world(cluster, world)
    return Snapshot(
        lanes=_draw_lanes(cluster, world),
        logs=draw_strips(seen),
        readers=draw_readers(seen),
        graphs=(draw_graph(seen.book.txns.values(), cluster.config.check_max),),
        tables=_draw_tables(seen),
        lights=tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
    )


def _draw_lanes(cluster: Cluster, world: World) -> tuple[Lane, ...]:
    """The database stands beside the producers, whose rows it holds."""
    config = cluster.config
    named = [
        (name, Text(name), _producer_title(cluster, group)) for name, group in cluster.producers
    ]
    named.append((config.database, Text(config.database), words.DATABASE()))
    named.append((config.broker, words.BROKER(), words.MASTER()))
    if cluster.slave:
        named.append((config.slave, words.BROKER(), words.SLAVE()))
    named += [(name, Text(name), words.CONSUMER()) for name, _ in cluster.consumers]
    return tuple(Lane(name, title, sub, world.nodes[name].up) for name, title, sub in named)


def _producer_title(cluster: Cluster, group: str) -> Text:
    """Its group, by which the broker finds whom to ask."""
    return Text(group) if group else words.PRODUCER()


def _draw_tables(seen: View) -> tuple[Table, ...]:
    """What only later releases have, or only a broker that runs, shows when it has rows."""
    broker = seen.broker
    timers = seen.world.nodes[seen.cluster.config.broker].timers
    shown = [tables.draw_rows(seen.rows.items())]
    if broker is not None:
        shown.append(tables.draw_group(broker.producers))
        waiting = tables.draw_waiting(broker.ops, seen.book)
        shown += [waiting] if waiting.rows else []
    shown.append(tables.draw_timers((name, ms) for _, name, ms in timers))
    return tuple(shown)
