"""The safeguards of three-phase commit, each a line of Skeen's protocol, and what they keep true.

It is true while every stop is noticed and nothing else is taken for one, and ends with that
assumption.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...kernel import FAILED, OK, Text, Words, World, tr
from ...kernel.claims import Claim, claim
from ...kernel.world import NodeState
from ..claims import (
    LastWords,
    contradicts_outcomes,
    has_both,
    has_everywhere,
    read_last_words,
    reads_disks,
    reads_told,
)
from ..commit import TM, Parties
from .roles import ABORTED, ASK, COMMITTED, DECISIONS, LOG

SAFEGUARDS: dict[str, Text] = {
    "third_phase": tr("nobody commits before everybody has been told that all have voted yes"),
    "acknowledged_precommit": tr(
        "the coordinator commits only when every PreCommit is acknowledged"
    ),
    "asks_before_deciding": tr("who takes over asks everybody it reaches before it decides"),
    "levels_before_commit": tr("who takes over tells all others PreCommit before it commits"),
    "obeys_the_latest": tr("who has answered a successor obeys nobody before it any more"),
}


def read_states(parties: Parties, world: World) -> LastWords:
    """transaction → party → the last word on that party's disk."""
    logs = ((TM, DECISIONS), *((name, LOG) for name in parties.participants))
    return read_last_words(world, logs)


def reads_running(parties: Parties, name: str, node: NodeState) -> Hashable:
    if name in ("app", TM) or not node.up:
        return node.up, None if name == "app" else node.disk
    role = node.roles[0]
    return node.disk, role.behind, role.states, node.timers


def ends_alike(parties: Parties, world: World) -> bool:
    return not has_both(read_states(parties, world), COMMITTED, ABORTED)


@claim("told the truth", Words("what the application was told is what happens"), reads=reads_told)
def is_as_told(parties: Parties, world: World) -> bool:
    against = {OK: ABORTED, FAILED: COMMITTED}
    return not contradicts_outcomes(world, read_states(parties, world), against)


@claim(
    "ends without it",
    Words("each node that runs can end, no matter which others are down"),
    "can_always",
    reads=reads_running,
)
def all_have_ended(parties: Parties, world: World) -> bool:
    """Each node that runs has ended, no matter which others are down. One that was down itself may
    have to wait."""
    for name in parties.participants:
        node = world.nodes[name]
        if not node.up:
            continue
        timers = {timer for _, timer, _ in node.timers}
        if any(
            not node.roles[0].behind or f"{ASK} {txn}" not in timers
            for txn in node.roles[0].list_open()
        ):
            return False
    return True


@claim("commits", Words("a transaction can commit everywhere"), "sometimes", reads=reads_disks)
def can_commit(parties: Parties, world: World) -> bool:
    return has_everywhere(read_states(parties, world), (TM, *parties.participants), COMMITTED)


KEPT = (
    Claim(
        "ends alike", Words("no party commits what another aborts"), ends_alike, reads=reads_disks
    ),
    is_as_told,
    all_have_ended,
)
UNKEPT = (
    Claim(
        "survives a partition",
        Words("no party commits what another aborts, though a connection breaks"),
        ends_alike,
        reads=reads_disks,
    ),
)
