"""What is true of three-phase commit while every stop is noticed and nothing else is taken for one,
and what ends with that assumption."""

from __future__ import annotations

from collections.abc import Hashable

from ...kernel import FAILED, OK, World
from ...kernel.claims import Claim
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
from . import words
from .coordinator import LOG as DECISIONS
from .messages import ABORTED, COMMITTED
from .participant import ASK, LOG


def read_states(parties: Parties, world: World) -> LastWords:
    """transaction → party → the last word on that party's disk."""
    logs = ((TM, DECISIONS), *((name, LOG) for name in parties.participants))
    return read_last_words(world, logs)


def ends_alike(parties: Parties, world: World) -> bool:
    return not has_both(read_states(parties, world), COMMITTED, ABORTED)


def is_as_told(parties: Parties, world: World) -> bool:
    against = {OK: ABORTED, FAILED: COMMITTED}
    return not contradicts_outcomes(world, read_states(parties, world), against)


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


def can_commit(parties: Parties, world: World) -> bool:
    return has_everywhere(read_states(parties, world), (TM, *parties.participants), COMMITTED)


def reads_running(parties: Parties, name: str, node: NodeState) -> Hashable:
    if name in ("app", TM) or not node.up:
        return node.up, None if name == "app" else node.disk
    role = node.roles[0]
    return node.disk, role.behind, role.states, node.timers


KEPT = (
    Claim("ends alike", words.ENDS_ALIKE, ends_alike, reads=reads_disks),
    Claim("told the truth", words.TOLD_THE_TRUTH, is_as_told, reads=reads_told),
    Claim("ends without it", words.ENDS_WITHOUT_IT, all_have_ended, "can_always", reads_running),
)
COMMITS = Claim("commits", words.COMMITS, can_commit, "sometimes", reads_disks)
UNKEPT = (Claim("survives a partition", words.SURVIVES, ends_alike, reads=reads_disks),)
