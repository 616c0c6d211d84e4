"""What application, orchestrator and services say to each other."""

from __future__ import annotations

from ...kernel import frozen


@frozen
class StartSaga:
    """The application's call."""

    txn: str

    def __str__(self) -> str:
        return f"start {self.txn}"


@frozen
class Do:
    """One step: a local transaction."""

    txn: str

    def __str__(self) -> str:
        return f"Do {self.txn}"


@frozen
class DoResponse:
    txn: str
    ok: bool

    @property
    def key(self) -> str:
        return "step done" if self.ok else "step refused"

    def __str__(self) -> str:
        return "done" if self.ok else "cannot be done"


@frozen
class Undo:
    """The compensation of a step: another local transaction."""

    txn: str

    def __str__(self) -> str:
        return f"Undo {self.txn}"


@frozen
class UndoResponse:
    txn: str

    def __str__(self) -> str:
        return "undone"
