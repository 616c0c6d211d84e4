"""What a message transaction looks like: three disks, and what has not arrived yet."""

from __future__ import annotations

from itertools import pairwise

from ...kernel import (
    NOTHING,
    Frontier,
    Got,
    Graph,
    GraphState,
    Reader,
    Snapshot,
    Table,
    Text,
    World,
    replace,
)
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_latest, read_records
from . import consumer, queue, shop, words
from .claims import QUEUE, SHOP, WAREHOUSE, list_applied, list_ordered

WAY = ("ordered", "in the queue", "applied", "acknowledged")
STATES = tuple(GraphState(name, place, 0) for place, name in enumerate(WAY))
EDGES = tuple(pairwise(WAY))
SHORT = {shop.ORDERED: "order", queue.MESSAGE: "msg", consumer.APPLIED: "appl"}


def draw(world: World) -> Snapshot:
    titles = [
        ("app", Text("app"), words.APPLICATION()),
        (SHOP, Text(SHOP), words.SHOP()),
        (QUEUE, Text(QUEUE), words.QUEUE()),
        (WAREHOUSE, Text(WAREHOUSE), words.WAREHOUSE()),
    ]
    position = world.disk(QUEUE).log(queue.POSITION).end
    kept = draw_strip(QUEUE, read_records(world.disk(QUEUE), queue.LOG), _label)
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            draw_strip(SHOP, read_records(world.disk(SHOP), shop.LOG), _label, (shop.SENT,)),
            replace(kept, frontiers=(Frontier("position", position),)),
            draw_strip(WAREHOUSE, read_records(world.disk(WAREHOUSE), consumer.LOG), _label),
        ),
        readers=(_draw_orders(world), _draw_goods(world)),
        graphs=(_draw_way(world),),
        tables=(_draw_outbox(world),),
    )


def _label(record: Record) -> str:
    return SHORT.get(record.what, record.what)


def _draw_orders(world: World) -> Reader:
    behind = sorted(list_ordered(world) - {*list_applied(world)})
    note = words.BEHIND(txn=", ".join(behind)) if behind else NOTHING
    return Reader("orders", tuple(Got(SHOP, t, t) for t in sorted(list_ordered(world))), note)


def _draw_goods(world: World) -> Reader:
    return Reader("goods", tuple(Got(WAREHOUSE, txn, txn) for txn in list_applied(world)))


def _draw_way(world: World) -> Graph:
    """How far the latest order has come."""
    ordered = [record.txn for record in read_records(world.disk(SHOP), shop.LOG)]
    if not ordered:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES)
    txn = ordered[-1]
    steps = (
        True,
        txn in read_latest(world.disk(QUEUE), queue.LOG),
        txn in list_applied(world),
        txn in read_latest(world.disk(QUEUE), queue.POSITION),
    )
    path = tuple(name for name, done in zip(WAY, steps, strict=True) if done)
    return Graph(words.GRAPH(txn=txn), STATES, EDGES, path, txn)


def _draw_outbox(world: World) -> Table:
    last = read_latest(world.disk(SHOP), shop.LOG).values()
    rows = tuple((record.txn, "message") for record in last if record.more == shop.WITH_MESSAGE)
    return Table(words.TABLE(), ("order", "waits"), rows)
