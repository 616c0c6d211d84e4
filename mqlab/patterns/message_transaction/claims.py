"""What is true of a message transaction: not at once, but in the end, and not twice."""

from __future__ import annotations

from ...kernel import OK, World
from ...kernel.claims import Claim
from ..claims import list_outcomes, reads_disks, reads_running, reads_told
from ..records import read_latest, read_records
from . import consumer, shop, words

SHOP, QUEUE, WAREHOUSE = "shop", "queue", "warehouse"


def list_ordered(world: World) -> set[str]:
    return {*read_latest(world.disk(SHOP), shop.LOG)}


def list_applied(world: World) -> list[str]:
    return [record.txn for record in read_records(world.disk(WAREHOUSE), consumer.LOG)]


def is_applied_once(system: object, world: World) -> bool:
    applied = list_applied(world)
    return len(applied) == len(set(applied))


def is_applied_for_an_order(system: object, world: World) -> bool:
    return {*list_applied(world)} <= list_ordered(world)


def is_as_told(system: object, world: World) -> bool:
    return {txn for txn, status in list_outcomes(world) if status == OK} <= list_ordered(world)


def has_arrived(system: object, world: World) -> bool:
    running = all(world.nodes[name].up for name in (SHOP, QUEUE, WAREHOUSE))
    return running and list_ordered(world) <= {*list_applied(world)}


def is_consistent_now(system: object, world: World) -> bool:
    return list_ordered(world) == {*list_applied(world)}


def can_apply(system: object, world: World) -> bool:
    return bool(list_applied(world))


KEPT = (
    Claim("applied once", words.APPLIED_ONCE, is_applied_once, reads=reads_disks),
    Claim("ordered first", words.ORDERED_FIRST, is_applied_for_an_order, reads=reads_disks),
    Claim("as told", words.AS_TOLD, is_as_told, reads=reads_told),
)
ARRIVES = Claim("arrives", words.ARRIVES, has_arrived, "can_always", reads_running)
APPLIES = Claim("applies", words.APPLIES, can_apply, "sometimes", reads_disks)
UNKEPT = (Claim("consistent at once", words.AT_ONCE, is_consistent_now, reads=reads_disks),)
