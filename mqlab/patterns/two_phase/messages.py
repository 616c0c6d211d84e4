"""What the parties of a two-phase commit say to each other, by the names of XA."""

from __future__ import annotations

from ...kernel import frozen

COMMIT, ROLLBACK = "commit", "rollback"


@frozen
class Prepare:
    """Can you commit, whatever happens from now on (`xa_prepare`)?"""

    txn: str

    def __str__(self) -> str:
        return f"Prepare {self.txn}"


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


@frozen
class Commit:
    """Everybody has voted yes (`xa_commit`)."""

    txn: str

    def __str__(self) -> str:
        return f"Commit {self.txn}"


@frozen
class CommitResponse:
    txn: str

    def __str__(self) -> str:
        return f"committed {self.txn}"


@frozen
class Rollback:
    """Not everybody has (`xa_rollback`). Nobody waits for an answer: see presumed abort."""

    txn: str

    def __str__(self) -> str:
        return f"Rollback {self.txn}"


@frozen
class Inquire:
    """A participant in doubt asks what was decided."""

    txn: str

    def __str__(self) -> str:
        return f"Inquire {self.txn}"


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
