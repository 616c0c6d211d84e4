"""The safeguards of an outbox, and what is true: messages may be repeated, no effect is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...kernel import OK, Text, Words, World, tr
from ...kernel.claims import claim
from ..claims import list_outcomes, reads_disks, reads_running, reads_told
from ..records import read_records
from .roles import APPLIED, DATABASE, ORDERED, ORDERS, SHIPMENTS

if TYPE_CHECKING:
    from . import Outbox

SAFEGUARDS: dict[str, Text] = {
    "row_with_message": tr("a row and the row of its message are written in one local transaction"),
    "marks_each_row": tr(
        "each outbox row has a mark of its own; no number says how far the relay has read"
    ),
    "marked_when_stored": tr("the relay marks a row only when the broker has stored its message"),
    "inbox": tr(
        "a consumer writes the id of a message together with its effect, and applies no id twice"
    ),
    "id_of_the_row": tr("a message is known by the id of its row, not by its place in the topic"),
    "effect_before_ack": tr("a consumer acknowledges a message only when its effect is written"),
}

SHOP, BROKER, RELAY, SECOND = "shop", "broker", "relay", "relay-2"


def list_written(world: World, node: str, what: str) -> list[str]:
    """The transactions of a service's rows of one kind, in the order of their commits."""
    return [
        record.txn for record in read_records(world.disk(node), DATABASE) if record.what == what
    ]


def list_published(world: World, topic: str) -> list[str]:
    return [record.txn for record in read_records(world.disk(BROKER), topic)]


def drop_repeated(txns: Iterable[str]) -> Iterator[str]:
    return iter(dict.fromkeys(txns))


@claim("effect once", Words("no consumer applies an order twice"), reads=reads_disks)
def is_applied_once(system: Outbox, world: World) -> bool:
    lists = (list_written(world, name, APPLIED) for name in system.consumers)
    return all(len(applied) == len({*applied}) for applied in lists)


@claim(
    "no message without row", Words("every message stands for a committed row"), reads=reads_disks
)
def has_a_row(system: Outbox, world: World) -> bool:
    """Whether each message belongs to a row that was committed."""
    if not {*list_published(world, ORDERS)} <= {*list_written(world, SHOP, ORDERED)}:
        return False
    return {*list_published(world, SHIPMENTS)} <= {
        *list_written(world, system.consumers[0], APPLIED)
    }


@claim(
    "order of commits",
    Words("messages are in the topic in the order of commits, apart from repetitions"),
    reads=reads_disks,
)
def is_in_order(system: Outbox, world: World) -> bool:
    published = [*drop_repeated(list_published(world, ORDERS))]
    return published == list_written(world, SHOP, ORDERED)[: len(published)]


@claim("as told", Words("an order that was acknowledged is stored"), reads=reads_told)
def is_as_told(system: Outbox, world: World) -> bool:
    ordered = list_written(world, SHOP, ORDERED)
    return all(txn in ordered for txn, status in list_outcomes(world) if status == OK)


@claim(
    "reaches all",
    Words("every order can still reach every consumer"),
    "can_always",
    reads=reads_running,
)
def has_arrived(system: Outbox, world: World) -> bool:
    """Everything runs, every consumer has applied every order, every follow-up is published."""
    if not all(world.nodes[name].up for name in system.running):
        return False
    ordered = {*list_written(world, SHOP, ORDERED)}
    if not all(ordered <= {*list_written(world, name, APPLIED)} for name in system.consumers):
        return False
    return not system.follow_up or ordered <= {*list_published(world, SHIPMENTS)}


@claim("published once", Words("a topic holds each message once"), reads=reads_disks)
def is_published_once(system: Outbox, world: World) -> bool:
    lists = [list_published(world, topic) for topic in (ORDERS, SHIPMENTS)]
    return all(len(published) == len({*published}) for published in lists)


@claim(
    "seen at once", Words("an order and its message are there at the same time"), reads=reads_disks
)
def is_seen_at_once(system: Outbox, world: World) -> bool:
    return list_written(world, SHOP, ORDERED) == list_published(world, ORDERS)


@claim("applies", Words("an order can be applied"), "sometimes", reads=reads_disks)
def can_apply(system: Outbox, world: World) -> bool:
    return any(list_written(world, name, APPLIED) for name in system.consumers)


KEPT = (is_applied_once, has_a_row, is_in_order, is_as_told)
UNKEPT = (is_published_once, is_seen_at_once)
