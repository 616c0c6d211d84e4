"""A delivery as a picture: two logs, how often each order is where, and why each step happened."""

from __future__ import annotations

from collections import Counter

from ...kernel import (
    Append,
    Cell,
    Effect,
    Frontier,
    Log,
    Money,
    Reply,
    Snapshot,
    Table,
    Text,
    Words,
    World,
)
from ...kernel.reasons import build_unguarded
from ..picture import draw_lanes
from .claims import Path, list_booked, list_lost, list_ordered, list_queued, passed_position
from .roles import ACCOUNTING, BOOKS, ORDERS, QUEUE, SHOP, Booking, FetchResponse, Message

#: why a step happens, by the class of its message or record, or its timer
WHYS = {
    "Publish": Words(
        "Whether it arrives the shop cannot see: it can only wait for an answer.",
        "商店看不到它是否到达，只能等待应答。",
    ),
    "Message": Words("The order is in the queue.", "订单已进入队列。"),
    "PublishResponse": Words(
        "What the queue has acknowledged it must not lose.", "队列确认过的就不能丢。"
    ),
    "Write": Words(
        "Acknowledged, and in memory only: if the queue dies now, the order is gone.",
        "已确认，但只在内存中：此刻队列崩溃，订单就没了。",
    ),
    "FetchResponse": Words(
        "The queue hands it out and keeps it: its log forgets nothing.",
        "队列把它发出去，同时保留它：日志什么也不忘。",
    ),
    "Commit": Words(
        "Here accounting would go on after a crash, and the order below is not fetched again.",
        "崩溃之后记账方将从这里继续，之前的订单不再读取。",
    ),
    "Booking": Words("The amount is in the books.", "金额已入账。"),
    "retry": Words(
        "The shop's patience is over. Lost, or only slow? It cannot tell, and asks again.",
        "商店不再等待。是丢了，还是只是慢？它无从分辨，于是重发。",
    ),
    "change": Words(
        "The shop does not send again: whether this arrives is luck now.",
        "商店不会重发：能否到达只能靠运气。",
    ),
}

UNGUARDED = build_unguarded(
    {
        "send_again": (
            (
                WHYS["Publish"],
                "whether it arrives the shop cannot see, and it will not send it again.",
                "商店看不到它是否到达，也不会重发。",
            ),
        ),
        "append_first": (
            (
                WHYS["PublishResponse"],
                "the order is acknowledged, and may be in memory only.",
                "订单已确认，但可能只在内存里。",
            ),
            (
                WHYS["Message"],
                "the order is in the log only now, after it was acknowledged.",
                "订单现在才写入日志，在确认之后。",
            ),
        ),
        "recognise": (
            (
                WHYS["Message"],
                "the order is in the queue; nothing checks whether it was there before.",
                "订单已进入队列；没有检查它以前是否来过。",
            ),
        ),
        "one_write": (
            (
                WHYS["Booking"],
                "the amount is in the books; the position is not in the same write.",
                "金额已入账；位置不在同一次写入中。",
            ),
            (
                WHYS["Commit"],
                "accounting goes on from here after a crash, whether or not the amount is in "
                "the books.",
                "崩溃之后记账方从这里继续，不管金额是否已入账。",
            ),
        ),
    }
)

COLUMNS = ("order", "amount", "queue", "books")


def draw_world(path: Path, world: World) -> Snapshot:
    titles = {
        SHOP: Words("sends orders", "发送订单"),
        QUEUE: Words("keeps them in a log", "保存在日志中"),
        ACCOUNTING: Words("counts them in its books", "逐笔记账"),
    }
    return Snapshot(
        lanes=draw_lanes(world, ((name, Text(name), says()) for name, says in titles.items())),
        logs=_draw_logs(path, world),
        tables=(_draw_orders(world),),
        money=_sum_up(path, world),
    )


def _draw_logs(path: Path, world: World) -> tuple[Log, ...]:
    """The queue's log with the place where accounting goes on, and the books."""
    queued, booked = list_queued(world), list_booked(world)
    read = Frontier("read", max(0, passed_position(path, world)))
    return (
        Log(ORDERS, tuple(Cell(i, order.number) for i, order in enumerate(queued)), (read,)),
        Log(BOOKS, tuple(Cell(i, order.number) for i, order in enumerate(booked))),
    )


def _sum_up(path: Path, world: World) -> Money:
    """The money of all orders, as soon as the shop is to send them, and that in the books."""
    ordered, booked = list_ordered(world), list_booked(world)
    lost = list_lost(path, world)
    return Money(
        sum(order.pence for order in ordered),
        sum(order.pence for order in booked),
        Text("ordered", "已订购"),
        Text("in the books", "已入账"),
        missing=sum(order.pence for order in ordered if order.number in lost),
        extra=sum(o.pence for i, o in enumerate(booked) if o in booked[:i]),
    )


def _draw_orders(world: World) -> Table:
    """A row an order: how often it lies in the queue, and how often it is counted."""
    queued = Counter(order.number for order in list_queued(world))
    booked = Counter(order.number for order in list_booked(world))
    rows = tuple(
        (
            order.number,
            f"£{order.pence / 100:.2f}",
            f"{queued[order.number]}×",
            f"{booked[order.number]}×",
        )
        for order in list_ordered(world)
    )
    return Table(Text("How often each order is where", "每个订单在各处出现的次数"), COLUMNS, rows)


def explain_repeat(world: World, effect: Effect | None) -> Text | None:
    """The sentence of a step whose meaning depends on what was before it; None for the others."""
    match effect:
        case Append(entry=Message(order=order)) if list_queued(world).count(order) > 1:
            return Text(
                "The same order lies at two offsets now: the queue did not look at its number.",
                "同一订单现在位于两个偏移量：队列没有检查订单号。",
            )
        case Append(entry=Booking(order=order)) if list_booked(world).count(order) > 1:
            return Text("This order is in the books a second time.", "这个订单第二次入账。")
        case Append(entry=Booking(position=int())):
            return Text(
                "Amount and position are one write: there is no moment between them.",
                "金额和位置在同一次写入中：两者之间没有空隙。",
            )
        case Reply(body=FetchResponse(again=True)):
            return Text(
                "Handed out before. What became of it the queue cannot know.",
                "以前发出过，结果如何，队列无从知道。",
            )
    return None
