"""What the parties of a two-phase commit say to each other, by the names of XA."""

from __future__ import annotations

from dataclasses import dataclass

COMMIT, ROLLBACK = "commit", "rollback"


@dataclass(frozen=True, slots=True)
class Prepare:
    """Can you commit, whatever happens from now on (`xa_prepare`)?"""

    txn: str

    def __str__(self) -> str:
        return f"Prepare {self.txn}"


@dataclass(frozen=True, slots=True)
class PrepareResponse:
    """The vote. Yes is a promise."""

    txn: str
    yes: bool

    @property
    def key(self) -> str:
        return "vote yes" if self.yes else "vote no"

    def __str__(self) -> str:
        return f"vote {'yes' if self.yes else 'no'}"


@dataclass(frozen=True, slots=True)
class Commit:
    """Everybody has voted yes (`xa_commit`)."""

    txn: str

    def __str__(self) -> str:
        return f"Commit {self.txn}"


@dataclass(frozen=True, slots=True)
class CommitResponse:
    txn: str

    def __str__(self) -> str:
        return f"committed {self.txn}"


@dataclass(frozen=True, slots=True)
class Rollback:
    """Not everybody has (`xa_rollback`). Nobody waits for an answer: see presumed abort."""

    txn: str

    def __str__(self) -> str:
        return f"Rollback {self.txn}"


@dataclass(frozen=True, slots=True)
class Inquire:
    """A participant in doubt asks what was decided."""

    txn: str

    def __str__(self) -> str:
        return f"Inquire {self.txn}"


@dataclass(frozen=True, slots=True)
class InquireResponse:
    """`outcome`: commit, rollback, or "" while votes are still being counted."""

    txn: str
    outcome: str

    @property
    def key(self) -> str:
        return f"told {self.outcome or 'to wait'}"

    def __str__(self) -> str:
        return self.outcome or "not decided yet"
