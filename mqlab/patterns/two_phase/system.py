"""Two-phase commit on nodes of its own.

system two_phase participants=orders,stock 'app=commit T1'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from ...kernel import Snapshot, World
from ..commit import TM, AtomicCommit
from . import words
from .claims import COMMITS, KEPT, UNKEPT
from .config import SAFEGUARDS
from .coordinator import Coordinator
from .participant import Participant
from .picture import draw


@dataclass(frozen=True)
class TwoPhase(AtomicCommit):
    """A participant in doubt asks the coordinator, and waits."""

    name = "two_phase"
    retrying = ("retry", "ask")
    title = words.TITLE
    guards = SAFEGUARDS
    kept = (*KEPT, COMMITS)
    unkept = UNKEPT
    whys = words.WHYS
    unguards = words.UNGUARDED

    @property
    def symmetric(self) -> tuple[str, ...]:
        return tuple(name for name in self.participants if name not in self.refuses)

    def recover_coordinator(self) -> Any:
        return partial(Coordinator.recover, self.config, self.participants)

    def recover_participant(self, name: str) -> Any:
        return partial(Participant.recover, self.config, TM, name, name in self.refuses)

    def draw(self, world: World) -> Snapshot:
        return draw(self, world)
