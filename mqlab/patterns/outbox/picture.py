"""What an outbox looks like, and why: databases, topics, how far the latest order has come."""

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
    Words,
    World,
    replace,
)
from ...kernel.reasons import build_unguarded
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_latest, read_records
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

RELAY_TITLE = Words("relay", "中继")
GRAPH = Words("How far {txn} has come", "{txn} 走到哪一步")
BEHIND = Words("{txn} is ordered, its effect is not here yet", "{txn} 已下单，效果还没有到这里")

WHYS = {
    "PlaceOrder": Words("The application stores an order.", "应用保存一个订单。"),
    "ordered": Words(
        "One local transaction commits the order and the row of its message together.",
        "一个本地事务同时提交订单和它的消息行。",
    ),
    "answer ok": Words(
        "The database has committed, so the order counts; the broker was not asked.",
        "数据库已提交，订单生效；没有询问消息服务器。",
    ),
    "answer failed": Words("An order is stored once.", "一个订单只保存一次。"),
    "commit": Words(
        "The transaction commits now, with the number that its row took at the start.",
        "事务现在提交，行的编号是开始时取得的。",
    ),
    "OutboxRow": Words(
        "The oldest row without a mark. Reading it changes nothing.",
        "最早的未标记的行。读取不改变任何东西。",
    ),
    "Publish": Words(
        "The row becomes a message, perhaps not for the first time.",
        "这一行变成消息，也许不是第一次。",
    ),
    "message": Words(
        "Everybody can read it from now on. A repetition looks like a new message.",
        "从此人人可读。重复的消息看起来和新消息一样。",
    ),
    "PublishResponse": Words(
        "The broker has stored it, so the row may be marked.", "消息服务器已保存，可以标记这一行。"
    ),
    "MarkSent": Words(
        "A relay that is killed before this publishes the row once more.",
        "中继若在此之前被杀，会再发布一次这一行。",
    ),
    "sent": Words("The row is marked and will not be read again.", "这一行已标记，不会再被读取。"),
    "read": Words(
        "The relay remembers one number, and will read behind it.",
        "中继记住一个编号，以后从它之后读起。",
    ),
    "PollResponse": Words(
        "The group is given it until it acknowledges.", "在确认之前，这个组会一直得到它。"
    ),
    "applied": Words(
        "One local transaction: the effect, the message's id, and the row of a follow-up.",
        "一个本地事务：效果、消息的 id，以及后续消息的行。",
    ),
    "Acknowledge": Words(
        "The effect is safe, so the position may move.", "效果已安全，位置可以移动。"
    ),
    "acked": Words("The group's position moves on.", "这个组的位置前移。"),
    "retry": Words("No answer came, so it asks again.", "没有得到应答，所以再问一次。"),
    "stop shop": Words(
        "Committed rows are on the disk with their messages; the rest is rolled back.",
        "已提交的行和消息都在磁盘上。没有提交的被回滚。",
    ),
    "stop relay": Words(
        "It kept nothing: whatever has no mark will be read again.",
        "它什么也不保存：没有标记的会再读一次。",
    ),
    "stop broker": Words(
        "Orders are still taken; their messages wait in the outbox.",
        "仍然可以下单；消息在发件箱里等待。",
    ),
}

UNGUARDED = build_unguarded(
    {
        "row_with_message": (
            (
                WHYS["ordered"],
                "the order is written by itself, and the row of its message in a second write.",
                "订单单独写入，它的消息行是第二次写入。",
            ),
            (
                WHYS["stop shop"],
                "an order may be there without the row of its message; then nobody publishes it.",
                "可能有订单而没有它的消息行，那样就没有谁会发布它。",
            ),
        ),
        "marks_each_row": (
            (
                WHYS["OutboxRow"],
                "the first row after the number that the relay remembers.",
                "中继所记编号之后的第一行。",
            ),
            (
                WHYS["commit"],
                "the transaction commits now; a relay that remembers one number may have passed "
                "its row.",
                "事务现在提交；只记一个编号的中继可能已经越过它的行。",
            ),
        ),
        "marked_when_stored": (
            (
                WHYS["MarkSent"],
                "the row is marked before the broker has its message; a relay that is killed now "
                "never publishes it.",
                "消息服务器还没有消息，行就已标记；中继此刻被杀，就再也不会发布它。",
            ),
            (
                WHYS["stop relay"],
                "what it has marked and not published is lost.",
                "它标记了却还没有发布的就丢失了。",
            ),
        ),
        "inbox": (
            (
                WHYS["applied"],
                "the effect is written, and nothing tells a repetition by its id.",
                "只写入效果，没有什么能按 id 认出重复。",
            ),
        ),
        "id_of_the_row": (
            (
                WHYS["applied"],
                "the effect is written with the place in the topic; a repetition has another one.",
                "效果和主题中的位置一起写入；重复的消息位置不同。",
            ),
        ),
        "effect_before_ack": (
            (
                WHYS["Acknowledge"],
                "the position moves before the effect is written.",
                "效果还没有写入，位置就移动。",
            ),
        ),
    }
)

WAY = ("committed", "published", "applied", "marked")
STATES = tuple(GraphState(name, place, 0) for place, name in enumerate(WAY))
EDGES = (*pairwise(WAY), ("published", "marked"), ("marked", "applied"))
SHORT = {ORDERED: "order", MESSAGE: "msg", APPLIED: "appl"}


def draw(system: Outbox, world: World) -> Snapshot:
    titles = [
        *((name, Text(name), Text("application", "应用")) for name in system.apps),
        (SHOP, Text(SHOP), Text("orders and outbox", "订单与发件箱")),
        (RELAY, Text(RELAY), RELAY_TITLE()),
        (BROKER, Text(BROKER), Text("broker", "消息服务器")),
        *(
            (name, Text(name), Text("consumer with inbox", "消费者，带收件箱"))
            for name in system.consumers
        ),
        *([(SECOND, Text(SECOND), RELAY_TITLE())] if system.follow_up else []),
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
    return draw_strip(name, read_records(world.disk(name), DATABASE), _label, (SENT,))


def _draw_topics(system: Outbox, world: World) -> list[Log]:
    disk = world.disk(BROKER)
    positions = tuple(Frontier(name, disk.log(position_of(name)).end) for name in system.consumers)
    orders = draw_strip(ORDERS, read_records(disk, ORDERS), _label)
    if not system.follow_up:
        return [replace(orders, frontiers=positions)]
    more = draw_strip(SHIPMENTS, read_records(disk, SHIPMENTS), _label)
    return [replace(orders, frontiers=positions), more]


def _draw_readers(system: Outbox, world: World) -> tuple[Reader, ...]:
    ordered = list_written(world, SHOP, ORDERED)
    return (
        Reader("orders", tuple(Got(SHOP, txn, txn) for txn in ordered)),
        *(_draw_effects(world, name, ordered) for name in system.consumers),
    )


def _draw_effects(world: World, name: str, ordered: list[str]) -> Reader:
    applied = list_written(world, name, APPLIED)
    behind = [txn for txn in ordered if txn not in applied]
    note = BEHIND(txn=", ".join(behind)) if behind else NOTHING
    return Reader(name, tuple(Got(name, txn, txn) for txn in applied), note)


def _draw_way(system: Outbox, world: World) -> Graph:
    """How far the latest order has come."""
    ordered = list_written(world, SHOP, ORDERED)
    if not ordered:
        return Graph(Text("No order yet", "还没有订单"), STATES, EDGES)
    txn = ordered[-1]
    steps = (
        True,
        txn in list_published(world, ORDERS),
        all(txn in list_written(world, name, APPLIED) for name in system.consumers),
        read_latest(world.disk(SHOP), DATABASE)[txn].what == SENT,
    )
    path = tuple(name for name, done in zip(WAY, steps, strict=True) if done)
    return Graph(GRAPH(txn=txn), STATES, EDGES, path, txn)


def _draw_outboxes(system: Outbox, world: World) -> Table:
    owners = (SHOP, system.consumers[0]) if system.follow_up else (SHOP,)
    rows = tuple(
        (name, row.txn, f"#{row.number}") for name in owners for row in list_rows(world.disk(name))
    )
    return Table(
        Text("Outbox rows without a mark", "发件箱中未标记的行"),
        ("outbox of", "row", "number"),
        rows,
    )
