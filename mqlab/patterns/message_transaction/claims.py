"""The safeguards of a message transaction, and what is true: in the end, and not twice."""

from __future__ import annotations

from ...kernel import OK, Text, Words, World, tr
from ...kernel.claims import claim
from ..claims import list_outcomes, reads_disks, reads_running, reads_told
from ..records import read_latest, read_records
from .roles import APPLIED_LOG, ORDERS_LOG

SAFEGUARDS: dict[str, Text] = {
    "outbox": tr("the order and the message about it are written in one local transaction"),
    "publish_again": tr("a message is sent until the queue has acknowledged it"),
    "redelivery": tr("the queue gives a message again until it is acknowledged"),
    "acknowledge_last": tr("the consumer acknowledges only what it has applied"),
    "applies_once": tr("the consumer writes what it has applied, and applies nothing twice"),
}

SHOP, QUEUE, WAREHOUSE = "shop", "queue", "warehouse"


def list_ordered(world: World) -> set[str]:
    return {*read_latest(world.disk(SHOP), ORDERS_LOG)}


def list_applied(world: World) -> list[str]:
    return [record.txn for record in read_records(world.disk(WAREHOUSE), APPLIED_LOG)]


@claim("applied once", Words("no order is applied twice"), reads=reads_disks)
def is_applied_once(system: object, world: World) -> bool:
    applied = list_applied(world)
    return len(applied) == len(set(applied))


@claim("ordered first", Words("nothing is applied that was not ordered"), reads=reads_disks)
def is_applied_for_an_order(system: object, world: World) -> bool:
    return {*list_applied(world)} <= list_ordered(world)


@claim("as told", Words("an order that was acknowledged is stored"), reads=reads_told)
def is_as_told(system: object, world: World) -> bool:
    return {txn for txn, status in list_outcomes(world) if status == OK} <= list_ordered(world)


@claim("arrives", Words("every order can still be applied"), "can_always", reads=reads_running)
def has_arrived(system: object, world: World) -> bool:
    running = all(world.nodes[name].up for name in (SHOP, QUEUE, WAREHOUSE))
    return running and list_ordered(world) <= {*list_applied(world)}


@claim(
    "consistent at once",
    Words("an order and its effect are there at the same time"),
    reads=reads_disks,
)
def is_consistent_now(system: object, world: World) -> bool:
    return list_ordered(world) == {*list_applied(world)}


@claim("applies", Words("an order can be applied"), "sometimes", reads=reads_disks)
def can_apply(system: object, world: World) -> bool:
    return bool(list_applied(world))


KEPT = (is_applied_once, is_applied_for_an_order, is_as_told)
UNKEPT = (is_consistent_now,)
