"""What an outbox looks like: the databases, the topics, and how far the latest order has come."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ...kernel import (
    NOTHING,
    Frontier,
    Got,
    Graph,
    GraphState,
    Log,
    Reader,
    Snapshot,
    Table,
    Text,
    World,
    replace,
)
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_latest, read_records
from . import broker, consumer, shop, table, words
from .claims import BROKER, RELAY, SECOND, SHOP, list_published, list_written

if TYPE_CHECKING:
    from .system import Outbox

WAY = ("committed", "published", "applied", "marked")
STATES = tuple(GraphState(name, place, 0) for place, name in enumerate(WAY))
EDGES = (*pairwise(WAY), ("published", "marked"), ("marked", "applied"))
SHORT = {shop.ORDERED: "order", broker.MESSAGE: "msg", consumer.APPLIED: "appl"}


def draw(system: Outbox, world: World) -> Snapshot:
    titles = [
        *((name, Text(name), words.APPLICATION()) for name in system.apps),
        (SHOP, Text(SHOP), words.SHOP()),
        (RELAY, Text(RELAY), words.RELAY()),
        (BROKER, Text(BROKER), words.BROKER()),
        *((name, Text(name), words.CONSUMER()) for name in system.consumers),
        *([(SECOND, Text(SECOND), words.RELAY())] if system.follow_up else []),
    ]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            _draw_database(world, SHOP),
            *_draw_topics(system, world),
            *(_draw_database(world, name) for name in system.consumers),
        ),
        readers=_draw_readers(system, world),
        graphs=(_draw_way(system, world),),
        tables=(_draw_outboxes(system, world),),
    )


def _label(record: Record) -> str:
    return SHORT.get(record.what, record.what)


def _draw_database(world: World, name: str) -> Log:
    return draw_strip(name, read_records(world.disk(name), table.LOG), _label, (table.SENT,))


def _draw_topics(system: Outbox, world: World) -> list[Log]:
    disk = world.disk(BROKER)
    positions = tuple(
        Frontier(name, disk.log(broker.position_of(name)).end) for name in system.consumers
    )
    orders = draw_strip(broker.ORDERS, read_records(disk, broker.ORDERS), _label)
    if not system.follow_up:
        return [replace(orders, frontiers=positions)]
    more = draw_strip(broker.SHIPMENTS, read_records(disk, broker.SHIPMENTS), _label)
    return [replace(orders, frontiers=positions), more]


def _draw_readers(system: Outbox, world: World) -> tuple[Reader, ...]:
    ordered = list_written(world, SHOP, shop.ORDERED)
    return (
        Reader("orders", tuple(Got(SHOP, txn, txn) for txn in ordered)),
        *(_draw_effects(world, name, ordered) for name in system.consumers),
    )


def _draw_effects(world: World, name: str, ordered: list[str]) -> Reader:
    applied = list_written(world, name, consumer.APPLIED)
    behind = [txn for txn in ordered if txn not in applied]
    note = words.BEHIND(txn=", ".join(behind)) if behind else NOTHING
    return Reader(name, tuple(Got(name, txn, txn) for txn in applied), note)


def _draw_way(system: Outbox, world: World) -> Graph:
    """How far the latest order has come."""
    ordered = list_written(world, SHOP, shop.ORDERED)
    if not ordered:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES)
    txn = ordered[-1]
    steps = (
        True,
        txn in list_published(world, broker.ORDERS),
        all(txn in list_written(world, name, consumer.APPLIED) for name in system.consumers),
        read_latest(world.disk(SHOP), table.LOG)[txn].what == table.SENT,
    )
    path = tuple(name for name, done in zip(WAY, steps, strict=True) if done)
    return Graph(words.GRAPH(txn=txn), STATES, EDGES, path, txn)


def _draw_outboxes(system: Outbox, world: World) -> Table:
    owners = (SHOP, system.consumers[0]) if system.follow_up else (SHOP,)
    rows = tuple(
        (name, row.txn, f"#{row.number}")
        for name in owners
        for row in table.list_rows(world.disk(name))
    )
    return Table(words.TABLE(), ("outbox of", "row", "number"), rows)
