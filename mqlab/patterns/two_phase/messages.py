"""What the parties of a two-phase commit say to each other, by the names of XA."""

from __future__ import annotations

from ...kernel import frozen, worded

COMMIT, ROLLBACK = "commit", "rollback"


@worded("Prepare {txn}")
class Prepare:
    """Can you commit, whatever happens from now on (`xa_prepare`)?"""

    txn: str


@frozen
class PrepareResponse:
    """The vote. Yes is a promise."""

    txn: str
    yes: bool

    @property
    def key(self) -> str:
        return "vote yes" if self.yes else "vote no"

    def __str__(self) -> str:
        return f"vote {'yes' if self.yes else 'no'}"


@worded("Commit {txn}")
class Commit:
    """Everybody has voted yes (`xa_commit`)."""

    txn: str


@worded("committed {txn}")
class CommitResponse:
    txn: str


@worded("Rollback {txn}")
class Rollback:
    """Not everybody has (`xa_rollback`). Nobody waits for an answer: see presumed abort."""

    txn: str


@worded("Inquire {txn}")
class Inquire:
    """A participant in doubt asks what was decided."""

    txn: str


@frozen
class InquireResponse:
    """`outcome`: commit, rollback, or "" while votes are still being counted."""

    txn: str
    outcome: str

    @property
    def key(self) -> str:
        return f"told {self.outcome or 'to wait'}"

    def __str__(self) -> str:
        return self.outcome or "not decided yet"
