"""Two-phase commit: several databases change together, and one of them all decides.

A transaction has worked at several participants (*resource managers*). Phase one: the coordinator
(*transaction manager*) asks each to prepare. A participant that can promise to commit whatever
happens writes what it needs for that on its disk and votes yes; from then on it may neither commit
nor roll back by itself, and its locks stay. Phase two: with all votes the coordinator writes its
decision and sends it to all. The names are XA's (`xa_prepare`, `xa_commit`, `xa_rollback`,
`xa_recover`), the economy is *presumed abort*: only commits are written, and where nothing is
written a participant that asks is answered to roll back.

What is durable: at a participant `prepared`, then `committed` or `rolled_back`; at the
coordinator `commit`, and `end` once every participant has acknowledged.

What can go wrong: any node stops at any effect, a connection breaks, a vote does not come. None of
it splits a transaction. But a participant that has voted yes and hears nothing more **waits**, for
as long as the coordinator is down, and so do all who need what it has locked. That is the
blocking window. No timer can close it: a participant that decides alone (`waits_in_doubt` off; XA
calls it a heuristic decision) may do the opposite of what the others have done.

Left out: reading the data (locks are only drawn), more than one coordinator in a tree, the
read-only vote, participants that ask each other (cooperative termination would help only while one
of them has not voted yes).

Read on: Gray, "Notes on Data Base Operating Systems", 1978; Mohan, Lindsay and Obermarck,
"Transaction Management in the R* Distributed Database Management System", 1986, for presumed
abort; X/Open, "Distributed Transaction Processing: The XA Specification", 1991.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...kernel import FAILED, OK, Text, Words, World, tr
from ...kernel.claims import claim
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
from ..commit import TM, AtomicCommit, Parties
from ..picture import read_model
from ..records import read_latest
from .picture import draw as draw_world
from .roles import ASK, COMMITTED, DECISIONS, LOG, ROLLED_BACK, Coordinator, Participant

# ---- The safeguards of two-phase commit, and what is true with all of them: not that none waits
#
# All claims but one look at disks alone: what is written there is what counts after any restart.

SAFEGUARDS: dict[str, Text] = {
    "prepared_on_disk": tr("a participant writes what it needs to commit before it votes yes"),
    "unanimous": tr("the coordinator commits only with every vote"),
    "decision_first": tr("the decision is on the coordinator's disk before anybody hears of it"),
    "waits_in_doubt": tr("a participant that has voted yes does not decide by itself"),
    "asks_again": tr("a participant in doubt asks until it hears what was decided"),
    "presumed_abort": tr("the answer about a transaction that is not written is to roll back"),
}


def read_outcomes(parties: Parties, world: World) -> LastWords:
    """transaction → participant → the last word on that participant's disk."""
    return read_last_words(world, ((name, LOG) for name in parties.participants))


def reads_doubt(parties: Parties, name: str, node: NodeState) -> Hashable:
    if name == "app" or not node.up:
        return node.up
    return node.roles[0].txns if name == TM else node.roles[0].doubt, node.disk, node.timers


@claim("same outcome", Words("no participant commits what another rolls back"), reads=reads_disks)
def has_same_outcome(parties: Parties, world: World) -> bool:
    return not has_both(read_outcomes(parties, world), COMMITTED, ROLLED_BACK)


@claim(
    "as told", Words("what the application was told is what happens everywhere"), reads=reads_told
)
def is_as_told(parties: Parties, world: World) -> bool:
    against = {OK: ROLLED_BACK, FAILED: COMMITTED}
    return not contradicts_outcomes(world, read_outcomes(parties, world), against)


@claim(
    "complete",
    Words("where the coordinator forgets a commit, every participant has committed"),
    reads=reads_disks,
)
def is_complete(parties: Parties, world: World) -> bool:
    outcomes = read_outcomes(parties, world)
    return all(
        outcomes.get(txn, {}).get(name) == COMMITTED
        for txn, last in read_latest(world.disk(TM), DECISIONS).items()
        if last.what == "end"
        for name in parties.participants
    )


@claim("decided first", Words("nobody commits before the decision is on disk"), reads=reads_disks)
def is_decided_first(parties: Parties, world: World) -> bool:
    written = read_latest(world.disk(TM), DECISIONS)
    return all(
        txn in written
        for txn, ends in read_outcomes(parties, world).items()
        if COMMITTED in ends.values()
    )


@claim("ends", Words("a participant in doubt gets an answer"), "can_always", reads=reads_doubt)
def nobody_gives_up(parties: Parties, world: World) -> bool:
    """Every node is up, and each participant in doubt will ask, and be answered."""
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


@claim(
    "never blocked", Words("no participant waits for a coordinator that is down"), reads=reads_doubt
)
def nobody_is_blocked(parties: Parties, world: World) -> bool:
    if world.nodes[TM].up:
        return True
    return not any(
        world.nodes[name].up and world.nodes[name].roles[0].doubt for name in parties.participants
    )


@claim("commits", Words("a transaction can commit everywhere"), "sometimes", reads=reads_disks)
def can_commit(parties: Parties, world: World) -> bool:
    return has_everywhere(read_outcomes(parties, world), parties.participants, COMMITTED)


KEPT = (has_same_outcome, is_as_told, is_complete, is_decided_first, nobody_gives_up)
UNKEPT = (nobody_is_blocked,)


@dataclass(frozen=True)
class TwoPhase(AtomicCommit):
    """Two-phase commit on nodes of its own.

        system two_phase participants=orders,stock 'app=commit T1'

    A participant in doubt asks the coordinator, and waits.
    """

    name = "two_phase"
    retrying = ("retry", "ask")
    title = tr("Two-phase commit")
    guards = SAFEGUARDS
    kept = (*KEPT, can_commit)
    unkept = UNKEPT
    sentences = read_model(__file__)
    draw = draw_world

    @property
    def symmetric(self) -> tuple[str, ...]:
        return tuple(name for name in self.participants if name not in self.refuses)

    def recover_coordinator(self) -> Any:
        return partial(Coordinator.recover, self.config, self.participants)

    def recover_participant(self, name: str) -> Any:
        return partial(Participant.recover, self.config, TM, name, name in self.refuses)
