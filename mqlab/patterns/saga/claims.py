"""The safeguards of a saga, what is true when it is over, and what may be seen before.

Three of the safeguards are the orchestrator's, the others are what each service needs.
"""

from __future__ import annotations

from typing import Protocol

from ...kernel import FAILED, OK, Words, World
from ...kernel.claims import Claim
from ..claims import list_outcomes, reads_disks, reads_running, reads_told
from ..model import name_safeguards
from ..records import read_latest, read_records
from .roles import END, LOG, SAGA_LOG, count_effects

SAFEGUARDS = name_safeguards(
    {
        "saga_log": (
            "the orchestrator writes what is done before it asks for the next step",
            "编排者先写下已完成的步骤，再请求下一步",
        ),
        "compensation": (
            "the steps before a refused one are taken back",
            "某一步被拒绝时，之前的步骤都被补偿",
        ),
        "step_again": (
            "a step without an answer is asked for again until there is one",
            "没有应答的步骤一直重复请求，直到得到应答",
        ),
        "idempotent_step": (
            "a step that is asked for twice is done once",
            "被请求两次的步骤只执行一次",
        ),
        "idempotent_undo": (
            "a compensation that is asked for twice is done once",
            "被请求两次的补偿只执行一次",
        ),
        "undone_stays_undone": (
            "a step that arrives after its compensation is refused",
            "在补偿之后才到达的步骤被拒绝",
        ),
    }
)

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


def is_done_once(parties: Parties, world: World) -> bool:
    return all({*counts} <= {0, 1} for counts in count_all(parties, world).values())


def is_all_or_nothing(parties: Parties, world: World) -> bool:
    """Of sagas that are over."""
    over = read_latest(world.disk(ORCHESTRATOR), SAGA_LOG)
    return all(
        len({*counts}) == 1
        for txn, counts in count_all(parties, world).items()
        if txn in over and over[txn].what == END
    )


def is_as_told(parties: Parties, world: World) -> bool:
    counts = count_all(parties, world)
    whole = {OK: True, FAILED: False}
    return not any(
        all(counts[txn]) != whole.get(status)
        for txn, status in list_outcomes(world)
        if status in whole
    )


def has_ended(parties: Parties, world: World) -> bool:
    """Nobody is down, and every saga is whole or taken back."""
    running = all(world.nodes[name].up for name in (ORCHESTRATOR, *parties.services))
    return running and all(len({*c}) == 1 for c in count_all(parties, world).values())


def is_isolated(parties: Parties, world: World) -> bool:
    return all(len({*counts}) == 1 for counts in count_all(parties, world).values())


def can_end_well(parties: Parties, world: World) -> bool:
    return any(all(counts) for counts in count_all(parties, world).values())


KEPT = (
    Claim(
        "done once",
        Words("no step is done or undone twice", "没有步骤被执行或补偿两次"),
        is_done_once,
        reads=reads_disks,
    ),
    Claim(
        "all or nothing",
        Words(
            "a saga that is over is done everywhere or nowhere",
            "结束的 Saga 要么处处完成，要么处处无效",
        ),
        is_all_or_nothing,
        reads=reads_disks,
    ),
    Claim(
        "as told",
        Words("what the application was told is what is in effect", "应用得到的应答与实际效果一致"),
        is_as_told,
        reads=reads_told,
    ),
    Claim(
        "comes to an end",
        Words("every saga can still come to an end", "每个 Saga 最终都能结束"),
        has_ended,
        "can_always",
        reads_running,
    ),
)
ENDS_WELL = Claim(
    "ends well",
    Words("a saga can be done everywhere", "Saga 可以处处完成"),
    can_end_well,
    "sometimes",
    reads_disks,
)
UNKEPT = (
    Claim(
        "isolated",
        Words("nobody sees half of a saga", "没有人看到半个 Saga"),
        is_isolated,
        reads=reads_disks,
    ),
)
