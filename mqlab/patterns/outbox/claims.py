"""The safeguards of an outbox, and what is true: messages may be repeated, no effect is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...kernel import OK, Text, Words, World, tr
from ...kernel.claims import Claim
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


def is_applied_once(system: Outbox, world: World) -> bool:
    lists = (list_written(world, name, APPLIED) for name in system.consumers)
    return all(len(applied) == len({*applied}) for applied in lists)


def has_a_row(system: Outbox, world: World) -> bool:
    """Whether each message stands for a row that was committed."""
    if not {*list_published(world, ORDERS)} <= {*list_written(world, SHOP, ORDERED)}:
        return False
    return {*list_published(world, SHIPMENTS)} <= {
        *list_written(world, system.consumers[0], APPLIED)
    }


def is_in_order(system: Outbox, world: World) -> bool:
    published = [*drop_repeated(list_published(world, ORDERS))]
    return published == list_written(world, SHOP, ORDERED)[: len(published)]


def is_as_told(system: Outbox, world: World) -> bool:
    ordered = list_written(world, SHOP, ORDERED)
    return all(txn in ordered for txn, status in list_outcomes(world) if status == OK)


def has_arrived(system: Outbox, world: World) -> bool:
    """Everything runs, every consumer has applied every order, every follow-up is published."""
    if not all(world.nodes[name].up for name in system.running):
        return False
    ordered = {*list_written(world, SHOP, ORDERED)}
    if not all(ordered <= {*list_written(world, name, APPLIED)} for name in system.consumers):
        return False
    return not system.follow_up or ordered <= {*list_published(world, SHIPMENTS)}


def is_published_once(system: Outbox, world: World) -> bool:
    lists = [list_published(world, topic) for topic in (ORDERS, SHIPMENTS)]
    return all(len(published) == len({*published}) for published in lists)


def is_seen_at_once(system: Outbox, world: World) -> bool:
    return list_written(world, SHOP, ORDERED) == list_published(world, ORDERS)


def can_apply(system: Outbox, world: World) -> bool:
    return any(list_written(world, name, APPLIED) for name in system.consumers)


KEPT = (
    Claim(
        "effect once",
        Words("no consumer applies an order twice"),
        is_applied_once,
        reads=reads_disks,
    ),
    Claim(
        "no message without row",
        Words("every message stands for a committed row"),
        has_a_row,
        reads=reads_disks,
    ),
    Claim(
        "order of commits",
        Words("messages stand in the topic in the order of commits, apart from repetitions"),
        is_in_order,
        reads=reads_disks,
    ),
    Claim(
        "as told",
        Words("an order that was acknowledged is stored"),
        is_as_told,
        reads=reads_told,
    ),
)
REACHES = Claim(
    "reaches all",
    Words("every order can still reach every consumer"),
    has_arrived,
    "can_always",
    reads_running,
)
APPLIES = Claim(
    "applies",
    Words("an order can be applied"),
    can_apply,
    "sometimes",
    reads_disks,
)
UNKEPT = (
    Claim(
        "published once",
        Words("a topic holds each message once"),
        is_published_once,
        reads=reads_disks,
    ),
    Claim(
        "seen at once",
        Words("an order and its message are there at the same time"),
        is_seen_at_once,
        reads=reads_disks,
    ),
)
