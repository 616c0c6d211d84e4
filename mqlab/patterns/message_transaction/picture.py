"""What a message transaction looks like, and why: three disks, and what has not arrived yet."""

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
    Words,
    World,
    replace,
    tr,
)
from ..picture import draw_lanes, draw_log
from ..records import Record, read_latest, read_records
from .claims import QUEUE, SHOP, WAREHOUSE, list_applied, list_ordered
from .roles import (
    APPLIED,
    APPLIED_LOG,
    MESSAGE,
    MESSAGES_LOG,
    ORDERED,
    ORDERS_LOG,
    POSITION,
    SENT,
    WITH_MESSAGE,
)

GRAPH = Words("How far {txn} has come")
BEHIND = Words("{txn} is ordered, its goods are not set aside yet")


WAY = ("ordered", "in the queue", "applied", "acknowledged")
STATES = tuple(GraphState(name, place, 0) for place, name in enumerate(WAY))
EDGES = tuple(pairwise(WAY))
SHORT = {ORDERED: "order", MESSAGE: "msg", APPLIED: "appl"}


def draw(world: World) -> Snapshot:
    """Draw the model's Snapshot: the shop's orders with their outbox, the queue's messages and
    position, what the consumer has applied, and how far the latest order is."""
    titles = [
        ("app", Text("app"), tr("application")),
        (SHOP, Text(SHOP), tr("orders and outbox")),
        (QUEUE, Text(QUEUE), tr("queue")),
        (WAREHOUSE, Text(WAREHOUSE), tr("consumer")),
    ]
    # this log has one entry for each message that the consumer has acknowledged
    position = world.disk(QUEUE).log(POSITION).end
    messages = draw_log(QUEUE, read_records(world.disk(QUEUE), MESSAGES_LOG), _label)
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            draw_log(SHOP, read_records(world.disk(SHOP), ORDERS_LOG), _label, control=(SENT,)),
            replace(messages, frontiers=(Frontier("position", position),)),
            draw_log(WAREHOUSE, read_records(world.disk(WAREHOUSE), APPLIED_LOG), _label),
        ),
        readers=(_draw_orders(world), _draw_goods(world)),
        graphs=(_draw_way(world),),
        tables=(_draw_outbox(world),),
    )


def _label(record: Record) -> str:
    return SHORT.get(record.what, record.what)


def _draw_orders(world: World) -> Reader:
    behind = sorted(list_ordered(world) - {*list_applied(world)})
    note = BEHIND(txn=", ".join(behind)) if behind else NOTHING
    return Reader("orders", tuple(Got(SHOP, t, t) for t in sorted(list_ordered(world))), note)


def _draw_goods(world: World) -> Reader:
    return Reader("goods", tuple(Got(WAREHOUSE, txn, txn) for txn in list_applied(world)))


def _draw_way(world: World) -> Graph:
    """How far the latest order has come."""
    ordered = [record.txn for record in read_records(world.disk(SHOP), ORDERS_LOG)]
    if not ordered:
        return Graph(tr("No order yet"), STATES, EDGES)
    txn = ordered[-1]
    steps = (
        True,
        txn in read_latest(world.disk(QUEUE), MESSAGES_LOG),
        txn in list_applied(world),
        txn in read_latest(world.disk(QUEUE), POSITION),
    )
    path = tuple(name for name, done in zip(WAY, steps, strict=True) if done)
    return Graph(GRAPH(txn=txn), STATES, EDGES, path, txn)


def _draw_outbox(world: World) -> Table:
    last = read_latest(world.disk(SHOP), ORDERS_LOG).values()
    rows = tuple((record.txn, "message") for record in last if record.more == WITH_MESSAGE)
    return Table(tr("Outbox of the shop"), ("order", "waits"), rows)
