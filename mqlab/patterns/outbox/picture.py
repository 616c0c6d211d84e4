"""What an outbox looks like, and why: databases, topics, how far the latest order has come."""

from __future__ import annotations

from itertools import compress, pairwise
from typing import TYPE_CHECKING

from ...kernel import (
    NOTHING,
    Frontier,
    Graph,
    Log,
    Reader,
    Snapshot,
    Table,
    Words,
    World,
    replace,
    tr,
)
from ..picture import draw_lanes, draw_log, get_each, place_states
from ..records import read_latest, read_records
from .claims import BROKER, RELAY, SECOND, SHOP, list_published, list_written
from .roles import (
    APPLIED,
    DATABASE,
    MESSAGE,
    ORDERED,
    ORDERS,
    SENT,
    SHIPMENTS,
    list_rows,
    position_of,
)

if TYPE_CHECKING:
    from . import Outbox

RELAY_TITLE = Words("relay")
GRAPH = Words("How far {txn} has come")
BEHIND = Words("{txn} is ordered, its effect is not here yet")


WAY = ("committed", "published", "applied", "marked")
PLACES = {name: (place, 0) for place, name in enumerate(WAY)}
EDGES = (*pairwise(WAY), ("published", "marked"), ("marked", "applied"))
IDLE = Graph(tr("No order yet"), place_states(PLACES), EDGES)
SHORT = {ORDERED: "order", MESSAGE: "msg", APPLIED: "appl"}


def draw(system: Outbox, world: World) -> Snapshot:
    """Draw the model's Snapshot: the databases of the shop and its consumers, the broker's topics,
    the outbox tables, and how far the messages have come."""
    titles = [
        *((name, tr("application")) for name in system.apps),
        (SHOP, tr("orders and outbox")),
        (RELAY, RELAY_TITLE()),
        (BROKER, tr("broker", "outbox")),
        *((name, tr("consumer with inbox")) for name in system.consumers),
        *([(SECOND, RELAY_TITLE())] if system.follow_up else []),
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


def _draw_database(world: World, name: str) -> Log:
    return draw_log(name, read_records(world.disk(name), DATABASE), SHORT, (SENT,))


def _draw_topics(system: Outbox, world: World) -> list[Log]:
    disk = world.disk(BROKER)
    positions = tuple(Frontier(name, disk.log(position_of(name)).end) for name in system.consumers)
    orders = draw_log(ORDERS, read_records(disk, ORDERS), SHORT)
    if not system.follow_up:
        return [replace(orders, frontiers=positions)]
    more = draw_log(SHIPMENTS, read_records(disk, SHIPMENTS), SHORT)
    return [replace(orders, frontiers=positions), more]


def _draw_readers(system: Outbox, world: World) -> tuple[Reader, ...]:
    ordered = list_written(world, SHOP, ORDERED)
    return (
        Reader("orders", get_each(SHOP, ordered)),
        *(_draw_effects(world, name, ordered) for name in system.consumers),
    )


def _draw_effects(world: World, name: str, ordered: list[str]) -> Reader:
    applied = list_written(world, name, APPLIED)
    behind = [txn for txn in ordered if txn not in applied]
    note = BEHIND(txn=", ".join(behind)) if behind else NOTHING
    return Reader(name, get_each(name, applied), note)


def _draw_way(system: Outbox, world: World) -> Graph:
    """How far the latest order has come."""
    ordered = list_written(world, SHOP, ORDERED)
    if not ordered:
        return IDLE
    txn = ordered[-1]
    steps = (
        True,
        txn in list_published(world, ORDERS),
        all(txn in list_written(world, name, APPLIED) for name in system.consumers),
        read_latest(world.disk(SHOP), DATABASE)[txn].what == SENT,
    )
    return replace(IDLE, title=GRAPH(txn=txn), path=tuple(compress(WAY, steps)), txn=txn)


def _draw_outboxes(system: Outbox, world: World) -> Table:
    owners = (SHOP, system.consumers[0]) if system.follow_up else (SHOP,)
    rows = tuple(
        (name, row.txn, f"#{row.number}") for name in owners for row in list_rows(world.disk(name))
    )
    return Table(tr("Outbox rows without a mark"), ("outbox of", "row", "number"), rows)
