"""What two-phase and three-phase commit have in common: an application, a coordinator, databases.

The application asks the coordinator to commit a transaction; each database has a vote, and those
that are named vote no. What is said between them after that makes the difference, and is in the
packages of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

from ..kernel import NodeSpec, worded
from ..kernel.claims import Claim
from .client import Client
from .model import Model, check_among

#: the coordinator's node; in XA's words a transaction manager
TM = "tm"


class Parties(Protocol):
    """The names that a claim or a picture needs."""

    @property
    def participants(self) -> tuple[str, ...]: ...


@worded("commit {txn}")
class CommitTransaction:
    """The application's call, and what it asks the coordinator (`tx_commit`)."""

    txn: str


@dataclass(frozen=True)
class AtomicCommit(Model):
    """`participants`: the databases. `refuses`: those of them that vote no."""

    participants: tuple[str, ...] = ("orders", "stock")
    refuses: tuple[str, ...] = ()

    calls: ClassVar = {"commit TRANSACTION": CommitTransaction}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_among("refuses", self.refuses, "participants", self.participants)

    def recover_coordinator(self) -> Any:
        """How the coordinator starts from its disk."""
        raise NotImplementedError

    def recover_participant(self, name: str) -> Any:
        """How a database starts from its disk."""
        raise NotImplementedError

    def nodes(self) -> tuple[NodeSpec, ...]:
        names = self.participants
        return (
            NodeSpec("app", (("app", partial(Client.recover, TM)),), self.program("app")),
            NodeSpec(TM, ((TM, self.recover_coordinator()),)),
            *(NodeSpec(name, ((name, self.recover_participant(name)),)) for name in names),
        )

    def chosen(self) -> tuple[Claim[Any], ...]:
        """Where a participant votes no, nothing can commit."""
        possible = (
            self.kept if not self.refuses else (c for c in self.kept if c.kind != "sometimes")
        )
        return tuple(possible)
