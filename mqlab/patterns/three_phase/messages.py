"""What the parties of a three-phase commit say to each other."""

from __future__ import annotations

from dataclasses import dataclass

UNCERTAIN, PRECOMMITTED = "uncertain", "precommitted"
COMMITTED, ABORTED = "committed", "aborted"
ENDED = (COMMITTED, ABORTED)
UNKNOWN_HERE = "unknown here"  # nothing is written: it has not voted, or is the one that asks


@dataclass(frozen=True, slots=True)
class Watch:
    """A connection that is kept open to notice a stop; nobody answers it."""

    quiet = True

    def __str__(self) -> str:
        return "Watch"


@dataclass(frozen=True, slots=True)
class CanCommit:
    txn: str

    def __str__(self) -> str:
        return f"CanCommit {self.txn}"


@dataclass(frozen=True, slots=True)
class CanCommitResponse:
    """The vote."""

    txn: str
    yes: bool

    @property
    def key(self) -> str:
        return "vote yes" if self.yes else "vote no"

    def __str__(self) -> str:
        return self.key


@dataclass(frozen=True, slots=True)
class PreCommit:
    """All have voted yes; from the coordinator, or from who took over."""

    txn: str

    def __str__(self) -> str:
        return f"PreCommit {self.txn}"


@dataclass(frozen=True, slots=True)
class PreCommitResponse:
    txn: str

    def __str__(self) -> str:
        return f"precommitted {self.txn}"


@dataclass(frozen=True, slots=True)
class DoCommit:
    """Nobody is uncertain any more."""

    txn: str

    def __str__(self) -> str:
        return f"DoCommit {self.txn}"


@dataclass(frozen=True, slots=True)
class Abort:
    txn: str

    def __str__(self) -> str:
        return f"Abort {self.txn}"


@dataclass(frozen=True, slots=True)
class AskState:
    """How far are you? `takes_over`: who asks decides, and nobody before it is obeyed now."""

    txn: str
    takes_over: bool = True

    @property
    def key(self) -> str:
        return "AskState" if self.takes_over else "AskState after a restart"

    def __str__(self) -> str:
        return f"AskState {self.txn}"


@dataclass(frozen=True, slots=True)
class AskStateResponse:
    txn: str
    state: str

    def __str__(self) -> str:
        return self.state
