"""Two-phase commit on nodes of its own.

system two_phase participants=orders,stock 'app=commit T1'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from ...kernel import NodeSpec, Snapshot, World
from ...kernel.claims import Claim
from ..client import Client
from ..model import Model, check_among
from . import words
from .claims import COMMITS, KEPT, TM, UNKEPT
from .config import SAFEGUARDS
from .coordinator import Coordinator
from .messages import CommitTransaction
from .participant import Participant
from .picture import draw


@dataclass(frozen=True)
class TwoPhase(Model):
    """`participants`: the databases. `refuses`: those of them that vote no."""

    participants: tuple[str, ...] = ("orders", "stock")
    refuses: tuple[str, ...] = ()

    name = "two_phase"
    retrying = ("retry", "ask")
    title = words.TITLE
    guards = SAFEGUARDS
    kept = (*KEPT, COMMITS)
    unkept = UNKEPT
    whys = words.WHYS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_among("refuses", self.refuses, "participants", self.participants)

    def nodes(self) -> tuple[NodeSpec, ...]:
        manager = partial(Coordinator.recover, self.config, self.participants)
        return (
            NodeSpec("app", (("app", partial(Client.recover, TM)),), self.program("app")),
            NodeSpec(TM, ((TM, manager),)),
            *(NodeSpec(name, ((name, self._participant(name)),)) for name in self.participants),
        )

    def _participant(self, name: str) -> Any:
        return partial(Participant.recover, self.config, TM, name, name in self.refuses)

    def call(self, words: tuple[str, ...]) -> CommitTransaction:
        match words:
            case ("commit", txn):
                return CommitTransaction(txn)
        raise ValueError(f"{' '.join(words)!r} is no call; expected commit TRANSACTION")

    def draw(self, world: World) -> Snapshot:
        return draw(self, world)

    def chosen(self) -> tuple[Claim[Any], ...]:
        """Where a participant votes no, nothing can commit."""
        return KEPT if self.refuses else self.kept
