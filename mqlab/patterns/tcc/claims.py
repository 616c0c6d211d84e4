"""What is true of TCC, and what it gives up: that one sees an order whole or not at all."""

from __future__ import annotations

from typing import Protocol

from ...kernel import FAILED, OK, World
from ...kernel.claims import Claim
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
from . import words
from .service import CANCELLED, CONFIRMED, EMPTY, LOG, TRIED, Balance, add_up

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


def is_balanced(parties: Parties, world: World) -> bool:
    return all(read_balance(world, name).reserved >= 0 for name in parties.services)


def has_same_end(parties: Parties, world: World) -> bool:
    ledgers = read_ledgers(parties, world)
    return not has_both(ledgers, CONFIRMED, CANCELLED) and not has_both(ledgers, CONFIRMED, EMPTY)


def is_as_told(parties: Parties, world: World) -> bool:
    against = {OK: CANCELLED, FAILED: CONFIRMED}
    return not contradicts_outcomes(world, read_ledgers(parties, world), against)


def has_nothing_reserved(parties: Parties, world: World) -> bool:
    running = all(world.nodes[name].up for name in (TM, *parties.services))
    ledgers = read_ledgers(parties, world).values()
    return running and not any(TRIED in last.values() for last in ledgers)


def is_whole(parties: Parties, world: World) -> bool:
    used = {read_balance(world, name).used for name in parties.services}
    return len(used) == 1


def can_confirm(parties: Parties, world: World) -> bool:
    return has_everywhere(read_ledgers(parties, world), parties.services, CONFIRMED)


KEPT = (
    Claim("balanced", words.BALANCED, is_balanced, reads=reads_disks),
    Claim("same end", words.SAME_END, has_same_end, reads=reads_disks),
    Claim("as told", words.AS_TOLD, is_as_told, reads=reads_told),
    Claim(
        "nothing stays reserved", words.RELEASED, has_nothing_reserved, "can_always", reads_running
    ),
)
CONFIRMS = Claim("confirms", words.CONFIRMS, can_confirm, "sometimes", reads_disks)
UNKEPT = (Claim("whole order", words.WHOLE_ORDER, is_whole, reads=reads_disks),)
