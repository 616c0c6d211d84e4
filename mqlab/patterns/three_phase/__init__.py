"""Three-phase commit: no party waits for a coordinator that has stopped, at a cost.

Two-phase commit blocks because a participant that has voted yes cannot know whether another one
has committed already. Skeen puts a phase between vote and commit: with all votes the coordinator
first says PreCommit ("all have voted yes"), and commits only when all have acknowledged that. So no
party commits while another one is still *uncertain*, and those that are left can decide without
those who are gone, by the **termination protocol**:

    1. Who notices that all before it in the line have stopped takes over.
    2. It asks all that it reaches how far they are.
    3. One has committed or aborted: so do all. One has been sent PreCommit: commit, but first all
       are sent PreCommit. All are uncertain: abort.

What is durable: `uncertain` (a yes), `precommitted`, `committed`, `aborted`, each forced.

What it needs: that a stop is noticed, and that only a stop is noticed. A broken connection to a
node that lives breaks this assumption: then two of them may decide, each for its own side, and one
side commits what the other aborts. **Three phases do not prevent that**, and no protocol that
always ends does (Fischer, Lynch and Paterson, 1985): with quorums the smaller side waits instead.

Noticing is modelled as it is done: each party keeps a connection to every other (`Watch`, never
answered), and hears when it breaks.

Left out: a party that comes back and votes again (its own transactions it ends); a total failure,
after which those who were last to stop must be found (who restarts uncertain asks until one who
knows is back); quorums.

Read on: Skeen, "Nonblocking Commit Protocols", SIGMOD 1981; Bernstein, Hadzilacos and Goodman,
"Concurrency Control and Recovery in Database Systems", 1987, chapter 7.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from ...kernel import tr
from ..commit import TM, AtomicCommit
from ..picture import read_model
from .claims import KEPT, SAFEGUARDS, UNKEPT, can_commit
from .picture import draw as draw_world
from .roles import Coordinator, Participant


@dataclass(frozen=True)
class ThreePhase(AtomicCommit):
    """Three-phase commit on nodes of its own.

        system three_phase participants=orders,stock 'app=commit T1'

    `participants` take over from the coordinator in the order in which they are named.
    """

    name = "three_phase"
    retrying = ("ask",)
    title = tr("Three-phase commit")
    guards = SAFEGUARDS
    kept = (*KEPT, can_commit)
    unkept = UNKEPT
    sentences = read_model(__file__)
    draw = draw_world

    def recover_coordinator(self) -> Any:
        return partial(Coordinator.recover, self.config, self.participants)

    def recover_participant(self, name: str) -> Any:
        line = (TM, *self.participants)
        return partial(Participant.recover, self.config, line, name, name in self.refuses)
