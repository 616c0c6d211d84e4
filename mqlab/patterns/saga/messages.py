"""What application, orchestrator and services say to each other."""

from __future__ import annotations

from ...kernel import frozen, worded


@worded("start {txn}")
class StartSaga:
    """The application's call."""

    txn: str


@worded("Do {txn}")
class Do:
    """One step: a local transaction."""

    txn: str


@frozen
class DoResponse:
    txn: str
    ok: bool

    @property
    def key(self) -> str:
        return "step done" if self.ok else "step refused"

    def __str__(self) -> str:
        return "done" if self.ok else "cannot be done"


@worded("Undo {txn}")
class Undo:
    """The compensation of a step: another local transaction."""

    txn: str


@worded("undone")
class UndoResponse:
    txn: str
