"""What the parties of a three-phase commit say to each other."""

from __future__ import annotations

from ...kernel import worded

UNCERTAIN, PRECOMMITTED = "uncertain", "precommitted"
COMMITTED, ABORTED = "committed", "aborted"
ENDED = (COMMITTED, ABORTED)
UNKNOWN_HERE = "unknown here"  # nothing is written: it has not voted, or is the one that asks


@worded("Watch")
class Watch:
    """A connection that is kept open to notice a stop; nobody answers it."""

    quiet = True


@worded("CanCommit {txn}")
class CanCommit:
    txn: str


@worded("{key}")
class CanCommitResponse:
    """The vote."""

    txn: str
    yes: bool

    @property
    def key(self) -> str:
        return "vote yes" if self.yes else "vote no"


@worded("PreCommit {txn}")
class PreCommit:
    """All have voted yes; from the coordinator, or from who took over."""

    txn: str


@worded("precommitted {txn}")
class PreCommitResponse:
    txn: str


@worded("DoCommit {txn}")
class DoCommit:
    """Nobody is uncertain any more."""

    txn: str


@worded("Abort {txn}")
class Abort:
    txn: str


@worded("AskState {txn}")
class AskState:
    """How far are you? `takes_over`: who asks decides, and nobody before it is obeyed now."""

    txn: str
    takes_over: bool = True

    @property
    def key(self) -> str:
        return "AskState" if self.takes_over else "AskState after a restart"


@worded("{state}")
class AskStateResponse:
    txn: str
    state: str
