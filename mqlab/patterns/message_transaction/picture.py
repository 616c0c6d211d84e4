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
from ...kernel.reasons import Unguarded
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

WHYS = {
    "PlaceOrder": Words("The application stores an order."),
    "ordered": Words(
        "One local transaction: order and message are written together, or neither is."
    ),
    "answer ok": Words("The order counts from now on; the warehouse has not heard of it."),
    "answer failed": Words("An order is stored once."),
    "Publish": Words("The message is taken out of the outbox, perhaps not for the first time."),
    "message": Words(
        "The queue keeps it. A plain queue cannot tell a repetition from a new message."
    ),
    "PublishResponse": Words("It is safe there, so the shop need not send it again."),
    "sent": Words("The outbox is emptied of it."),
    "Poll": Words("The warehouse asks for the oldest message."),
    "PollResponse": Words(
        "Given, but not crossed out: without an acknowledgement it is given again."
    ),
    "applied": Words(
        "Another local transaction: the effect, and that it has been done, in one write."
    ),
    "Acknowledge": Words("It is applied, so it need not come again."),
    "acked": Words("The position moves on after it."),
    "AcknowledgeResponse": Words("On to the next message."),
    "retry": Words("Not acknowledged, so again."),
    "stop shop": Words(
        "What is written will be sent after the restart, for the message is written too."
    ),
}

TOLD = ("ordered", "answer ok", "answer failed", "message", "applied", "acked")

UNGUARDED: Unguarded = {
    "outbox": {
        WHYS["ordered"]: Words("the order is written, and its message is only in memory."),
        WHYS["stop shop"]: Words("the order is written, and its message is gone with the memory."),
    },
    "publish_again": {
        WHYS["Publish"]: Words(
            "the message is sent once: if the connection breaks, it is not sent again."
        )
    },
    "redelivery": {
        WHYS["PollResponse"]: Words("given, and crossed out at once: it is not given again.")
    },
    "acknowledge_last": {WHYS["Acknowledge"]: Words("it is acknowledged before it is applied.")},
    "applies_once": {
        WHYS["applied"]: Words("the effect is written, and nothing says that it has been done.")
    },
}

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
