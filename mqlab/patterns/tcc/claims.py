"""The safeguards of TCC, what is true of it, and what it gives up: isolation.

Two of the safeguards are the coordinator's, the others are what each service must know.
"""

from __future__ import annotations

from typing import Protocol

from ...kernel import FAILED, OK, Text, Words, World, tr
from ...kernel.claims import claim
from ..claims import (
    LastWords,
    contradicts_outcomes,
    has_both,
    has_everywhere,
    read_last_words,
    reads_disks,
    reads_running,
    reads_told,
)
from ..records import read_records
from .roles import CANCELLED, CONFIRMED, EMPTY, LOG, TRIED, Balance, add_up

SAFEGUARDS: dict[str, Text] = {
    "begun_on_disk": tr(
        "the coordinator writes that a transaction has begun before any Try leaves"
    ),
    "decision_on_disk": tr("the decision is on disk before any Confirm or Cancel leaves"),
    "until_acknowledged": tr("Confirm and Cancel are repeated until they are acknowledged"),
    "idempotent_confirm": tr("a second Confirm changes nothing"),
    "idempotent_cancel": tr("a second Cancel changes nothing"),
    "empty_cancel": tr(
        "a Cancel whose Try never came succeeds and gives nothing back (empty cancel)"
    ),
    "suspended_try": tr("a Try that comes after its Cancel is refused (suspended try)"),
}

TM = "tm"
START = 2  # pieces that each service has in the beginning


class Parties(Protocol):
    """The names a claim needs."""

    @property
    def services(self) -> tuple[str, ...]: ...


def read_ledgers(parties: Parties, world: World) -> LastWords:
    """transaction → service → the last entry of its ledger."""
    return read_last_words(world, ((name, LOG) for name in parties.services))


def read_balance(world: World, name: str) -> Balance:
    return add_up(read_records(world.disk(name), LOG), START)


@claim("balanced", Words("nothing is used or given back that was not reserved"), reads=reads_disks)
def is_balanced(parties: Parties, world: World) -> bool:
    return all(read_balance(world, name).reserved >= 0 for name in parties.services)


@claim("same end", Words("no service confirms what another cancels"), reads=reads_disks)
def has_same_end(parties: Parties, world: World) -> bool:
    ledgers = read_ledgers(parties, world)
    return not has_both(ledgers, CONFIRMED, CANCELLED) and not has_both(ledgers, CONFIRMED, EMPTY)


@claim("as told", Words("what the application was told is what happens"), reads=reads_told)
def is_as_told(parties: Parties, world: World) -> bool:
    against = {OK: CANCELLED, FAILED: CONFIRMED}
    return not contradicts_outcomes(world, read_ledgers(parties, world), against)


@claim(
    "nothing stays reserved",
    Words("nothing stays reserved for ever"),
    "can_always",
    reads=reads_running,
)
def has_nothing_reserved(parties: Parties, world: World) -> bool:
    running = all(world.nodes[name].up for name in (TM, *parties.services))
    ledgers = read_ledgers(parties, world).values()
    return running and not any(TRIED in last.values() for last in ledgers)


@claim(
    "whole order", Words("a reader sees an order at every service or at none"), reads=reads_disks
)
def is_whole(parties: Parties, world: World) -> bool:
    used = {read_balance(world, name).used for name in parties.services}
    return len(used) == 1


@claim("confirms", Words("an order can be confirmed everywhere"), "sometimes", reads=reads_disks)
def can_confirm(parties: Parties, world: World) -> bool:
    return has_everywhere(read_ledgers(parties, world), parties.services, CONFIRMED)


KEPT = (is_balanced, has_same_end, is_as_told, has_nothing_reserved)
UNKEPT = (is_whole,)
