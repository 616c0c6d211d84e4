"""What is true of an outbox: nothing is lost or applied twice, though a topic may repeat itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...kernel import OK, World
from ...kernel.claims import Claim
from ..claims import list_outcomes, reads_disks, reads_running, reads_told
from ..records import read_records
from . import words
from .broker import ORDERS, SHIPMENTS
from .consumer import APPLIED
from .shop import ORDERED
from .table import LOG

if TYPE_CHECKING:
    from .system import Outbox

SHOP, BROKER, RELAY, SECOND = "shop", "broker", "relay", "relay-2"


def list_written(world: World, node: str, what: str) -> list[str]:
    """The transactions of a service's rows of one kind, in the order of their commits."""
    return [record.txn for record in read_records(world.disk(node), LOG) if record.what == what]


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
    Claim("effect once", words.EFFECT_ONCE, is_applied_once, reads=reads_disks),
    Claim("no message without row", words.HAS_A_ROW, has_a_row, reads=reads_disks),
    Claim("order of commits", words.IN_ORDER, is_in_order, reads=reads_disks),
    Claim("as told", words.AS_TOLD, is_as_told, reads=reads_told),
)
REACHES = Claim("reaches all", words.REACHES_ALL, has_arrived, "can_always", reads_running)
APPLIES = Claim("applies", words.APPLIES, can_apply, "sometimes", reads_disks)
UNKEPT = (
    Claim("published once", words.PUBLISHED_ONCE, is_published_once, reads=reads_disks),
    Claim("seen at once", words.SEEN_AT_ONCE, is_seen_at_once, reads=reads_disks),
)
