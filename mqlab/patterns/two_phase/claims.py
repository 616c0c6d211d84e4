"""What is true of two-phase commit, and the one thing that is not: that nobody waits.

All claims but one look at disks alone: what is written there is what counts after any restart.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...kernel import FAILED, OK, World
from ...kernel.claims import Claim
from ...kernel.world import NodeState
from ..claims import (
    Words,
    contradicts_outcomes,
    has_both,
    has_everywhere,
    read_last_words,
    reads_disks,
    reads_told,
)
from ..commit import TM, Parties
from ..records import read_latest
from . import words
from .coordinator import LOG as DECISIONS
from .participant import ASK, COMMITTED, LOG, ROLLED_BACK


def read_outcomes(parties: Parties, world: World) -> Words:
    """transaction → participant → the last word on that participant's disk."""
    return read_last_words(world, ((name, LOG) for name in parties.participants))


def has_same_outcome(parties: Parties, world: World) -> bool:
    return not has_both(read_outcomes(parties, world), COMMITTED, ROLLED_BACK)


def is_as_told(parties: Parties, world: World) -> bool:
    against = {OK: ROLLED_BACK, FAILED: COMMITTED}
    return not contradicts_outcomes(world, read_outcomes(parties, world), against)


def is_complete(parties: Parties, world: World) -> bool:
    outcomes = read_outcomes(parties, world)
    return all(
        outcomes.get(txn, {}).get(name) == COMMITTED
        for txn, last in read_latest(world.disk(TM), DECISIONS).items()
        if last.what == "end"
        for name in parties.participants
    )


def is_decided_first(parties: Parties, world: World) -> bool:
    written = read_latest(world.disk(TM), DECISIONS)
    return all(
        txn in written
        for txn, ends in read_outcomes(parties, world).items()
        if COMMITTED in ends.values()
    )


def nobody_gives_up(parties: Parties, world: World) -> bool:
    """Everybody is up, and each participant in doubt will ask, and be told."""
    if not all(world.nodes[name].up for name in (TM, *parties.participants)):
        return False
    tm, disk = world.role(TM), world.disk(TM)
    for name in parties.participants:
        node = world.nodes[name]
        timers = {timer for _, timer, _ in node.timers}
        for txn in node.roles[0].doubt:
            if f"{ASK} {txn}" not in timers or tm.find_outcome(disk, txn) is None:
                return False
    return True


def nobody_is_blocked(parties: Parties, world: World) -> bool:
    if world.nodes[TM].up:
        return True
    return not any(
        world.nodes[name].up and world.nodes[name].roles[0].doubt for name in parties.participants
    )


def can_commit(parties: Parties, world: World) -> bool:
    return has_everywhere(read_outcomes(parties, world), parties.participants, COMMITTED)


def reads_doubt(parties: Parties, name: str, node: NodeState) -> Hashable:
    if name == "app" or not node.up:
        return node.up
    return node.roles[0].txns if name == TM else node.roles[0].doubt, node.disk, node.timers


KEPT = (
    Claim("same outcome", words.SAME_OUTCOME, has_same_outcome, reads=reads_disks),
    Claim("as told", words.AS_TOLD, is_as_told, reads=reads_told),
    Claim("complete", words.COMPLETE, is_complete, reads=reads_disks),
    Claim("decided first", words.DECIDED_FIRST, is_decided_first, reads=reads_disks),
    Claim("ends", words.ENDS, nobody_gives_up, "can_always", reads_doubt),
)
COMMITS = Claim("commits", words.COMMITS, can_commit, "sometimes", reads_disks)
UNKEPT = (Claim("never blocked", words.NEVER_BLOCKED, nobody_is_blocked, reads=reads_doubt),)
