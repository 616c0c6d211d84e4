"""What the parties of a three-phase commit say to each other."""

from __future__ import annotations

from ...kernel import frozen

UNCERTAIN, PRECOMMITTED = "uncertain", "precommitted"
COMMITTED, ABORTED = "committed", "aborted"
ENDED = (COMMITTED, ABORTED)
UNKNOWN_HERE = "unknown here"  # nothing is written: it has not voted, or is the one that asks


@frozen
class Watch:
    """A connection that is kept open to notice a stop; nobody answers it."""

    quiet = True

    def __str__(self) -> str:
        return "Watch"


@frozen
class CanCommit:
    txn: str

    def __str__(self) -> str:
        return f"CanCommit {self.txn}"


@frozen
class CanCommitResponse:
    """The vote."""

    txn: str
    yes: bool

    @property
    def key(self) -> str:
        return "vote yes" if self.yes else "vote no"

    def __str__(self) -> str:
        return self.key


@frozen
class PreCommit:
    """All have voted yes; from the coordinator, or from who took over."""

    txn: str

    def __str__(self) -> str:
        return f"PreCommit {self.txn}"


@frozen
class PreCommitResponse:
    txn: str

    def __str__(self) -> str:
        return f"precommitted {self.txn}"


@frozen
class DoCommit:
    """Nobody is uncertain any more."""

    txn: str

    def __str__(self) -> str:
        return f"DoCommit {self.txn}"


@frozen
class Abort:
    txn: str

    def __str__(self) -> str:
        return f"Abort {self.txn}"


@frozen
class AskState:
    """How far are you? `takes_over`: who asks decides, and nobody before it is obeyed now."""

    txn: str
    takes_over: bool = True

    @property
    def key(self) -> str:
        return "AskState" if self.takes_over else "AskState after a restart"

    def __str__(self) -> str:
        return f"AskState {self.txn}"


@frozen
class AskStateResponse:
    txn: str
    state: str

    def __str__(self) -> str:
        return self.state
