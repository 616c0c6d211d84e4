"""Two-phase commit: several databases change together, and one of them all decides.

A transaction has worked at several participants (*resource managers*). Phase one: the coordinator
(*transaction manager*) asks each to prepare. A participant that can promise to commit whatever
happens writes what it needs for that on its disk and votes yes; from then on it may neither commit
nor roll back by itself, and its locks stay. Phase two: with all votes the coordinator writes its
decision and tells it to all. The names are XA's (`xa_prepare`, `xa_commit`, `xa_rollback`,
`xa_recover`), the economy is *presumed abort*: only commits are written, and where nothing is
written a participant that asks is told to roll back.

What is durable: at a participant `prepared`, then `committed` or `rolled_back`; at the
coordinator `commit`, and `end` once every participant has acknowledged.

What can go wrong: anybody stops at any effect, a connection breaks, a vote does not come. None of
it splits a transaction. But a participant that has voted yes and hears nothing more **waits**, for
as long as the coordinator is down, and so does everybody who needs what it has locked. That is the
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

from dataclasses import dataclass
from functools import partial
from typing import Any

from ...kernel import Snapshot, World, tr
from ..commit import TM, AtomicCommit
from .claims import COMMITS, KEPT, SAFEGUARDS, UNKEPT
from .picture import UNGUARDED, WHYS, draw
from .roles import Coordinator, Participant


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
    kept = (*KEPT, COMMITS)
    unkept = UNKEPT
    whys = WHYS
    unguards = UNGUARDED

    @property
    def symmetric(self) -> tuple[str, ...]:
        return tuple(name for name in self.participants if name not in self.refuses)

    def recover_coordinator(self) -> Any:
        return partial(Coordinator.recover, self.config, self.participants)

    def recover_participant(self, name: str) -> Any:
        return partial(Participant.recover, self.config, TM, name, name in self.refuses)

    def draw(self, world: World) -> Snapshot:
        return draw(self, world)
