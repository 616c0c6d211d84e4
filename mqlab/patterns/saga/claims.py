"""The safeguards of a saga, what is true when it is over, and what may be seen before.

Three of the safeguards are the orchestrator's, the others are what each service needs.
"""

from __future__ import annotations

from typing import Protocol

from ...kernel import FAILED, OK, Text, Words, World, tr
from ...kernel.claims import claim
from ..claims import list_outcomes, reads_disks, reads_running, reads_told
from ..records import read_latest, read_records
from .roles import END, LOG, SAGA_LOG, count_effects

SAFEGUARDS: dict[str, Text] = {
    "saga_log": tr("the orchestrator writes what is done before it asks for the next step"),
    "compensation": tr("the steps before a refused one are taken back"),
    "step_again": tr("a step without an answer is asked for again until there is one"),
    "idempotent_step": tr("a step that is asked for twice is done once"),
    "idempotent_undo": tr("a compensation that is asked for twice is done once"),
    "undone_stays_undone": tr("a step that arrives after its compensation is refused"),
}

ORCHESTRATOR = "saga"


class Parties(Protocol):
    """The names a claim needs."""

    @property
    def services(self) -> tuple[str, ...]: ...


def count_all(parties: Parties, world: World) -> dict[str, tuple[int, ...]]:
    """For each saga that is known anywhere: how often its step is in effect at each service."""
    ledgers = [list(read_records(world.disk(name), LOG)) for name in parties.services]
    known = {record.txn for ledger in ledgers for record in ledger}
    known |= {record.txn for record in read_records(world.disk(ORCHESTRATOR), SAGA_LOG)}
    return {txn: tuple(count_effects(one, txn) for one in ledgers) for txn in sorted(known)}


@claim("done once", Words("no step is done or undone twice"), reads=reads_disks)
def is_done_once(parties: Parties, world: World) -> bool:
    return all({*counts} <= {0, 1} for counts in count_all(parties, world).values())


@claim(
    "all or nothing", Words("a saga that is over is done everywhere or nowhere"), reads=reads_disks
)
def is_all_or_nothing(parties: Parties, world: World) -> bool:
    """Of sagas that are over."""
    over = read_latest(world.disk(ORCHESTRATOR), SAGA_LOG)
    return all(
        len({*counts}) == 1
        for txn, counts in count_all(parties, world).items()
        if txn in over and over[txn].what == END
    )


@claim("as told", Words("what the application was told is what is in effect"), reads=reads_told)
def is_as_told(parties: Parties, world: World) -> bool:
    counts = count_all(parties, world)
    whole = {OK: True, FAILED: False}
    return not any(
        all(counts[txn]) != whole.get(status)
        for txn, status in list_outcomes(world)
        if status in whole
    )


@claim(
    "comes to an end",
    Words("every saga can still come to an end"),
    "can_always",
    reads=reads_running,
)
def has_ended(parties: Parties, world: World) -> bool:
    """No node is down, and every saga is whole or taken back."""
    running = all(world.nodes[name].up for name in (ORCHESTRATOR, *parties.services))
    return running and all(len({*c}) == 1 for c in count_all(parties, world).values())


@claim("isolated", Words("nobody sees half of a saga"), reads=reads_disks)
def is_isolated(parties: Parties, world: World) -> bool:
    return all(len({*counts}) == 1 for counts in count_all(parties, world).values())


@claim("ends well", Words("a saga can be done everywhere"), "sometimes", reads=reads_disks)
def can_end_well(parties: Parties, world: World) -> bool:
    return any(all(counts) for counts in count_all(parties, world).values())


KEPT = (is_done_once, is_all_or_nothing, is_as_told, has_ended)
UNKEPT = (is_isolated,)
