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
    tr,
)
from ..picture import draw_lanes
from .claims import Path, list_booked, list_lost, list_ordered, list_queued, passed_position
from .roles import ACCOUNTING, BOOKS, ORDERS, QUEUE, SHOP, Booking, FetchResponse, Message

COLUMNS = ("order", "amount", "queue", "books")


def draw_world(path: Path, world: World) -> Snapshot:
    titles = {
        SHOP: Words("sends orders"),
        QUEUE: Words("keeps them in a log"),
        ACCOUNTING: Words("counts them in its books"),
    }
    return Snapshot(
        lanes=draw_lanes(world, ((name, says()) for name, says in titles.items())),
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
        tr("ordered"),
        tr("in the books"),
        missing=sum(order.pence for order in ordered if order.number in lost),
        extra=sum(o.pence for i, o in enumerate(booked) if o in booked[:i]),
    )


def _draw_orders(world: World) -> Table:
    """A row an order: how often it is in the queue, and how often it is counted."""
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
    return Table(tr("How often each order is where"), COLUMNS, rows)


def explain_repeat(world: World, effect: Effect | None) -> Text | None:
    """The sentence of a step whose meaning depends on what was before it; None for the others."""
    match effect:
        case Append(entry=Message(order=order)) if list_queued(world).count(order) > 1:
            return tr("The same order is at two offsets now: the queue did not look at its number.")
        case Append(entry=Booking(order=order)) if list_booked(world).count(order) > 1:
            return tr("This order is in the books a second time.")
        case Append(entry=Booking(position=int())):
            return tr("Amount and position are one write: there is no moment between them.")
        case Reply(body=FetchResponse(again=True)):
            return tr("Handed out before. What became of it the queue cannot know.")
    return None
