"""What a message transaction looks like, and why: three disks, and what has not arrived yet."""

from __future__ import annotations

from itertools import compress, pairwise

from ...kernel import (
    NOTHING,
    Frontier,
    Graph,
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
PLACES = {name: (place, 0) for place, name in enumerate(WAY)}
IDLE = Graph(tr("No order yet"), place_states(PLACES), tuple(pairwise(WAY)))
SHORT = {ORDERED: "order", MESSAGE: "msg", APPLIED: "appl"}


def draw(world: World) -> Snapshot:
    """Draw the model's Snapshot: the shop's orders with their outbox, the queue's messages and
    position, what the consumer has applied, and how far the latest order is."""
    titles = [
        ("app", tr("application")),
        (SHOP, tr("orders and outbox")),
        (QUEUE, tr("queue")),
        (WAREHOUSE, tr("consumer")),
    ]
    # this log has one entry for each message that the consumer has acknowledged
    position = world.disk(QUEUE).log(POSITION).end
    messages = draw_log(QUEUE, read_records(world.disk(QUEUE), MESSAGES_LOG), SHORT)
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            draw_log(SHOP, read_records(world.disk(SHOP), ORDERS_LOG), SHORT, control=(SENT,)),
            replace(messages, frontiers=(Frontier("position", position),)),
            draw_log(WAREHOUSE, read_records(world.disk(WAREHOUSE), APPLIED_LOG), SHORT),
        ),
        readers=(_draw_orders(world), Reader("goods", get_each(WAREHOUSE, list_applied(world)))),
        graphs=(_draw_way(world),),
        tables=(_draw_outbox(world),),
    )


def _draw_orders(world: World) -> Reader:
    ordered = sorted(list_ordered(world))
    behind = [txn for txn in ordered if txn not in list_applied(world)]
    note = BEHIND(txn=", ".join(behind)) if behind else NOTHING
    return Reader("orders", get_each(SHOP, ordered), note)


def _draw_way(world: World) -> Graph:
    """How far the latest order has come."""
    ordered = [record.txn for record in read_records(world.disk(SHOP), ORDERS_LOG)]
    if not ordered:
        return IDLE
    txn = ordered[-1]
    steps = (
        True,
        txn in read_latest(world.disk(QUEUE), MESSAGES_LOG),
        txn in list_applied(world),
        txn in read_latest(world.disk(QUEUE), POSITION),
    )
    return replace(IDLE, title=GRAPH(txn=txn), path=tuple(compress(WAY, steps)), txn=txn)


def _draw_outbox(world: World) -> Table:
    last = read_latest(world.disk(SHOP), ORDERS_LOG).values()
    rows = tuple((record.txn, "message") for record in last if record.more == WITH_MESSAGE)
    return Table(tr("Outbox of the shop"), ("order", "waits"), rows)
