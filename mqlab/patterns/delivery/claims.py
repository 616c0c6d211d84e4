"""What is true of a delivery exactly once, as claims over a world.

"Lost" needs care. An order that is not in the books may still be on its way. It is lost when no
process is left that would do anything for it: the shop has done with it and the queue has not got
it, or accounting has passed it over. A message on a broken connection may still arrive, and a world
does not show it; so a search asks whether there is a way on to a world in which no order is lost.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Protocol

from ...kernel import Text, Words, World, tr
from ...kernel.claims import claim
from ...kernel.world import NodeState
from .roles import (
    ACCOUNTING,
    BOOKS,
    ORDERS,
    QUEUE,
    SHOP,
    DeliveryConfig,
    Order,
    SendOrder,
    committed_position,
    noted_position,
    notes_position,
)

SAFEGUARDS: dict[str, Text] = {
    "send_again": tr("the shop sends an order again until it is acknowledged"),
    "append_first": tr("the queue acknowledges an order after it has written it"),
    "recognise": tr("the queue recognises an order that it has already"),
    "one_write": tr("accounting writes an amount and how far it has read in one write"),
}


class Path(Protocol):
    """What a claim must know besides a world: the system, as far as it matters here."""

    @property
    def config(self) -> DeliveryConfig: ...


def list_queued(world: World) -> list[Order]:
    """The orders in the queue's log, by their offsets."""
    return [message.order for message in world.disk(QUEUE).log(ORDERS).read(0)]


def list_booked(world: World) -> list[Order]:
    """The orders in the books, in the order in which they were counted."""
    return [entry.order for entry in world.disk(ACCOUNTING).log(BOOKS).read(0)]


def list_ordered(world: World) -> list[Order]:
    """What the shop is to send, from the first order to the last."""
    app = world.nodes[SHOP].app
    calls = app.program if app is not None and isinstance(app.program, tuple) else ()
    return list(dict.fromkeys(call.order for call in calls if isinstance(call, SendOrder)))


def list_released(world: World) -> Iterator[str]:
    """The numbers of the orders that the shop has done with."""
    node = world.nodes[SHOP]
    if node.up and node.app is not None:
        unheard = node.roles[0].unheard
        for result in node.app.results:
            if result.call.order.number not in unheard:
                yield result.call.order.number


def passed_position(path: Path, world: World) -> int:
    """Offsets below it are not fetched any more, unless accounting rewinds."""
    role = world.role(ACCOUNTING)
    going_on = role.offset if role is not None else 0
    if notes_position(path.config):
        return max(noted_position(world.disk(ACCOUNTING)), going_on)
    return max(committed_position(world.disk(QUEUE)), going_on)


def read_node(path: Path, name: str, node: NodeState) -> Hashable:
    """What the claims look at of each node."""
    if name == SHOP:
        return node.app, node.up and node.roles[0].unheard
    if name == QUEUE:
        return node.disk, node.up and node.roles[0].unwritten
    return node.disk, node.up and (node.roles[0].offset, node.roles[0].held)


@claim("counted once", Words("no order is in the books twice"), reads=read_node)
def counted_once(path: Path, world: World) -> bool:
    numbers = [order.number for order in list_booked(world)]
    return len(numbers) == len(set(numbers))


def list_lost(path: Path, world: World) -> list[str]:
    """List the numbers of the orders that are lost, which are not and will not be in the books.
    Either the shop is done with them and the queue neither has them nor is about to write them, or
    accounting has passed their offset without booking them. `path`: the system's configuration."""
    queued = [order.number for order in list_queued(world)]
    booked = {order.number for order in list_booked(world)}
    queue, accounting = world.role(QUEUE), world.role(ACCOUNTING)
    # acknowledged by the queue before it has written them
    unwritten = {order.number for order in queue.unwritten} if queue is not None else set()
    # -1: accounting has no order at hand
    held_offset = accounting.held.offset if accounting is not None and accounting.held else -1
    lost = [
        number
        for number in list_released(world)
        if number not in queued and number not in booked | unwritten
    ]
    passed = passed_position(path, world)
    return lost + [
        number
        for offset, number in enumerate(queued)
        if offset < passed and offset != held_offset and number not in booked
    ]


@claim("none lost", Words("no order is lost"), "can_always", reads=read_node)
def none_lost(path: Path, world: World) -> bool:
    return not list_lost(path, world)


@claim("all counted", Words("every order can get into the books"), "sometimes", reads=read_node)
def all_counted(path: Path, world: World) -> bool:
    ordered = [order.number for order in list_ordered(world)]
    booked = [order.number for order in list_booked(world)]
    app = world.nodes[SHOP].app
    finished = app is not None and not app.waiting and app.next_call() is None
    return finished and sorted(ordered) == sorted(booked)


CLAIMS = (counted_once, none_lost, all_counted)
