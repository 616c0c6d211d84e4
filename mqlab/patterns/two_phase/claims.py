"""What is true of two-phase commit, and the one thing that is not: that nobody waits.

All claims but one look at disks alone: what is written there is what counts after any restart.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from ...kernel import FAILED, OK, World
from ...kernel.claims import Claim
from ...kernel.world import NodeState
from ..records import read_latest
from . import words
from .coordinator import LOG as DECISIONS
from .messages import CommitTransaction
from .participant import ASK, COMMITTED, LOG, ROLLED_BACK


class Parties(Protocol):
    """The names a claim needs."""

    @property
    def participants(self) -> tuple[str, ...]: ...


TM = "tm"


def read_outcomes(parties: Parties, world: World) -> dict[str, dict[str, str]]:
    """transaction → participant → the last word on that participant's disk."""
    out: dict[str, dict[str, str]] = {}
    for name in parties.participants:
        for txn, record in read_latest(world.disk(name), LOG).items():
            out.setdefault(txn, {})[name] = record.what
    return out


def has_same_outcome(parties: Parties, world: World) -> bool:
    return not any(
        {COMMITTED, ROLLED_BACK} <= {*ends.values()}
        for ends in read_outcomes(parties, world).values()
    )


def is_as_told(parties: Parties, world: World) -> bool:
    app = world.nodes["app"].app
    if app is None:
        return True
    outcomes = read_outcomes(parties, world)
    against = {OK: ROLLED_BACK, FAILED: COMMITTED}
    return not any(
        isinstance(told.call, CommitTransaction)
        and against.get(told.status) in outcomes.get(told.call.txn, {}).values()
        for told in app.results
    )


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
    """Everybody is up, and whoever is in doubt will ask, and be told."""
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
    outcomes = read_outcomes(parties, world)
    return any(
        len(ends) == len(parties.participants) and {*ends.values()} == {COMMITTED}
        for ends in outcomes.values()
    )


def reads_disks(parties: Parties, name: str, node: NodeState) -> Hashable:
    return None if name == "app" else node.disk


def reads_told(parties: Parties, name: str, node: NodeState) -> Hashable:
    return node.app.results if node.app is not None else node.disk


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
