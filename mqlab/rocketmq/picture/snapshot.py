"""A RocketMQ world as a Snapshot: lanes, queues, tables, the graph of a half message, lights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ...kernel import Lane, Light, Property, Reader, Snapshot, Table, Text, World, replace
from ...kernel.snapshot import Part, draw_part
from . import tables, words
from .cluster import Cluster
from .graph import draw_graph
from .readers import draw_readers
from .strips import draw_strip
from .view import Seen, read_world


def draw_snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    """A lesson's, with the database and the timers, which a server does not see."""
    seen = read_world(cluster, world)
    drawn = draw_seen(
        seen,
        lambda: _draw_lanes(cluster, world),
        lambda: draw_readers(seen),
        lambda: tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
        cluster.config.check_max,
    )
    rows = tables.draw_rows(seen.rows.items())
    timers = world.nodes[cluster.config.broker].timers
    timed = tables.draw_timers((name, ms) for _, name, ms in timers)
    return replace(drawn, tables=(rows, *drawn.tables, timed))


def draw_seen(
    seen: Seen,
    draw_lanes: Callable[[], tuple[Lane, ...]],
    draw_readers: Callable[[], tuple[Reader, ...]],
    draw_lights: Callable[[], tuple[Light, ...]],
    check_max: int,
    part: Part = draw_part,
) -> Snapshot:
    """A lesson's, or a server's. `check_max`: how often a half is asked about."""
    strips = seen.list_strips()
    return Snapshot(
        lanes=part("lanes", "", draw_lanes),
        logs=tuple(part("log", strip[0], partial(draw_strip, seen, *strip)) for strip in strips),
        readers=part("readers", "", draw_readers),
        graphs=part("graphs", "", lambda: (draw_graph(seen.book.txns.values(), check_max),)),
        tables=tuple(_draw_tables(seen, part)),
        lights=part("lights", "", draw_lights),
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


def _draw_tables(seen: Seen, part: Part) -> Iterator[Table]:
    """What only later releases have, or only a broker that runs, shows when it has rows."""
    if seen.broker is not None:
        producers = seen.broker.producers
        yield part("group", "", lambda: tables.draw_group(producers, seen.limits))
    if seen.ops:
        yield part("waiting", "", lambda: tables.draw_waiting(seen.ops, seen.book, seen.limits))
