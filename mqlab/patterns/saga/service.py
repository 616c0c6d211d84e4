"""A service of a saga: a step, its compensation, and a ledger that knows both.

    Do     nothing known → `done` (one local transaction: the effect, and that it was done)
    Undo   done → `undone`

Whatever else is asked for changes nothing. What is done already is answered as done; a step that
comes after its compensation is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...kernel import Config, Disk, Effects, Event, Quiet, Reply, Request, frozen
from ..records import Record, force, read_latest
from .messages import Do, DoResponse, Undo, UndoResponse

LOG = "ledger"
DONE, UNDONE = "done", "undone"


@frozen
class Service(Quiet):
    """`refuses`: its step cannot be done."""

    config: Config
    refuses: bool = False

    @staticmethod
    def recover(config: Config, refuses: bool, disk: Disk, at_ms: int) -> tuple[Service, Effects]:
        """The ledger is all there is."""
        return Service(config, refuses), ()

    def step(self, event: Event, disk: Disk) -> tuple[Service, Effects]:
        match event:
            case Request(caller=caller, body=Do(txn)):
                last = read_latest(disk, LOG).get(txn)
                over = last is not None and last.what == UNDONE
                if self.refuses or (over and "undone_stays_undone" in self.config.on):
                    return self, (Reply(caller, DoResponse(txn, False)),)
                known = last is not None and not over and "idempotent_step" in self.config.on
                done = () if known else force(disk, LOG, DONE, txn)
                return self, (*done, Reply(caller, DoResponse(txn, True)))
            case Request(caller=caller, body=Undo(txn)):
                return self, (*self._undo(disk, txn), Reply(caller, UndoResponse(txn)))
        return self, ()

    def _undo(self, disk: Disk, txn: str) -> Effects:
        last = read_latest(disk, LOG).get(txn)
        if last is None or (last.what == UNDONE and "idempotent_undo" in self.config.on):
            return ()
        return force(disk, LOG, UNDONE, txn)


def count_effects(ledger: Iterable[Record], txn: str) -> int:
    """How often a step is in effect: 0 or 1, unless something was done or undone twice."""
    signs = {DONE: 1, UNDONE: -1}
    return sum(signs[record.what] for record in ledger if record.txn == txn)
