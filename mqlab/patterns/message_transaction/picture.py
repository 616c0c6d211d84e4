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
)
from ...kernel.reasons import build_unguarded
from ..picture import draw_lanes, draw_strip
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

GRAPH = Words("How far {txn} has come", "{txn} 走到哪一步")
BEHIND = Words("{txn} is ordered, its goods are not set aside yet", "{txn} 已下单，货还没有留出")

WHYS = {
    "PlaceOrder": Words("The application stores an order.", "应用保存一个订单。"),
    "ordered": Words(
        "One local transaction: order and message are written together, or neither is.",
        "一个本地事务：订单和消息要么一起写入，要么都不写。",
    ),
    "answer ok": Words(
        "The order counts from now on; the warehouse has not heard of it.",
        "订单从此生效；仓库还不知道。",
    ),
    "answer failed": Words("An order is stored once.", "一个订单只保存一次。"),
    "Publish": Words(
        "The message is taken out of the outbox, perhaps not for the first time.",
        "从发件箱取出消息发送，也许不是第一次。",
    ),
    "message": Words(
        "The queue keeps it. A plain queue cannot tell a repetition from a new message.",
        "队列保存它。普通队列分不清重复的消息和新消息。",
    ),
    "PublishResponse": Words(
        "It is safe there, so the shop need not send it again.", "那边已安全保存，商店不必再发。"
    ),
    "sent": Words("The outbox is emptied of it.", "从发件箱中划掉。"),
    "Poll": Words("The warehouse asks for the oldest message.", "仓库索取最早的消息。"),
    "PollResponse": Words(
        "Given, but not crossed out: without an acknowledgement it is given again.",
        "已投递但没有划掉：没有确认就会再次投递。",
    ),
    "applied": Words(
        "Another local transaction: the effect, and that it has been done, in one write.",
        "另一个本地事务：效果与“已处理”的记录一次写入。",
    ),
    "Acknowledge": Words("It is applied, so it need not come again.", "已经处理，不必再来。"),
    "acked": Words("The position moves on behind it.", "位置移到它之后。"),
    "AcknowledgeResponse": Words("On to the next message.", "继续下一条消息。"),
    "retry": Words("Not acknowledged, so again.", "没有得到确认，所以再来一次。"),
    "stop shop": Words(
        "What is written will be sent after the restart, for the message is written too.",
        "已写入的在重启后会发送，因为消息也写下了。",
    ),
}

UNGUARDED = build_unguarded(
    {
        "outbox": (
            (
                WHYS["ordered"],
                "the order is written, and its message is only in memory.",
                "订单已写入，它的消息只在内存里。",
            ),
            (
                WHYS["stop shop"],
                "the order is written, and its message is gone with the memory.",
                "订单已写入，它的消息随内存一起没了。",
            ),
        ),
        "publish_again": (
            (
                WHYS["Publish"],
                "the message is sent once: if the connection breaks, it is not sent again.",
                "消息只发送一次：连接断开后不会再发。",
            ),
        ),
        "redelivery": (
            (
                WHYS["PollResponse"],
                "given, and crossed out at once: it is not given again.",
                "已投递，并且立刻划掉：不会再投递。",
            ),
        ),
        "acknowledge_last": (
            (
                WHYS["Acknowledge"],
                "it is acknowledged before it is applied.",
                "还没有处理就已确认。",
            ),
        ),
        "applies_once": (
            (
                WHYS["applied"],
                "the effect is written, and nothing says that it has been done.",
                "只写入效果，没有什么说明它已经处理过。",
            ),
        ),
    }
)

WAY = ("ordered", "in the queue", "applied", "acknowledged")
STATES = tuple(GraphState(name, place, 0) for place, name in enumerate(WAY))
EDGES = tuple(pairwise(WAY))
SHORT = {ORDERED: "order", MESSAGE: "msg", APPLIED: "appl"}


def draw(world: World) -> Snapshot:
    titles = [
        ("app", Text("app"), Text("application", "应用")),
        (SHOP, Text(SHOP), Text("orders and outbox", "订单与发件箱")),
        (QUEUE, Text(QUEUE), Text("queue", "队列")),
        (WAREHOUSE, Text(WAREHOUSE), Text("consumer", "消费者")),
    ]
    position = world.disk(QUEUE).log(POSITION).end
    kept = draw_strip(QUEUE, read_records(world.disk(QUEUE), MESSAGES_LOG), _label)
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            draw_strip(SHOP, read_records(world.disk(SHOP), ORDERS_LOG), _label, (SENT,)),
            replace(kept, frontiers=(Frontier("position", position),)),
            draw_strip(WAREHOUSE, read_records(world.disk(WAREHOUSE), APPLIED_LOG), _label),
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
        return Graph(Text("No order yet", "还没有订单"), STATES, EDGES)
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
    return Table(Text("Outbox of the shop", "商店的发件箱"), ("order", "waits"), rows)
