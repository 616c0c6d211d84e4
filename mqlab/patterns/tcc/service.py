"""A service of TCC: Try, Confirm and Cancel as local transactions over one ledger.

An entry of the ledger is a local transaction, so what it moves and that it has been done are
written together:

    tried       one piece moves from free to reserved
    confirmed   one piece moves from reserved to used
    cancelled   one piece moves from reserved back to free
    empty       nothing moves: remembered, so that a Try that comes later is refused

The last entry of a transaction says what may still be done. A table row under the transaction's id
with a unique key does the same in a database (Seata: `tcc_fence_log`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ...kernel import Caller, Config, Disk, Effects, Event, Quiet, Reply, Request, frozen
from ..records import Record, force, read_latest
from .messages import Cancel, CancelResponse, Confirm, ConfirmResponse, Try, TryResponse

LOG = "ledger"
TRIED, CONFIRMED, CANCELLED, EMPTY = "tried", "confirmed", "cancelled", "empty"


@frozen
class Service(Quiet):
    """`lacks`: it has nothing to reserve, so every Try fails."""

    config: Config
    lacks: bool = False

    @staticmethod
    def recover(config: Config, lacks: bool, disk: Disk, at_ms: int) -> tuple[Service, Effects]:
        """The ledger is all there is."""
        return Service(config, lacks), ()

    def step(self, event: Event, disk: Disk) -> tuple[Service, Effects]:
        match event:
            case Request(caller=caller, body=Try(txn)):
                return self, self._try(disk, caller, txn)
            case Request(caller=caller, body=Confirm(txn)):
                return self, (*self._confirm(disk, txn), Reply(caller, ConfirmResponse(txn)))
            case Request(caller=caller, body=Cancel(txn)):
                return self, (*self._cancel(disk, txn), Reply(caller, CancelResponse(txn)))
        return self, ()

    def _last(self, disk: Disk, txn: str) -> str:
        """What was done last for a transaction; "" for nothing."""
        record = read_latest(disk, LOG).get(txn)
        return "" if record is None else record.what

    def _try(self, disk: Disk, caller: Caller, txn: str) -> Effects:
        over = bool(self._last(disk, txn)) and "suspended_try" in self.config.on
        if self.lacks or over:
            return (Reply(caller, TryResponse(txn, False)),)
        return (*force(disk, LOG, TRIED, txn), Reply(caller, TryResponse(txn, True)))

    def _confirm(self, disk: Disk, txn: str) -> Effects:
        if self._last(disk, txn) != TRIED and "idempotent_confirm" in self.config.on:
            return ()
        return force(disk, LOG, CONFIRMED, txn)

    def _cancel(self, disk: Disk, txn: str) -> Effects:
        match self._last(disk, txn):
            case "":
                empty = EMPTY if "empty_cancel" in self.config.on else CANCELLED
                return force(disk, LOG, empty, txn)
            case "cancelled" if "idempotent_cancel" not in self.config.on:
                return force(disk, LOG, CANCELLED, txn)
            case "tried":
                return force(disk, LOG, CANCELLED, txn)
        return ()


@frozen
class Balance:
    """What a ledger adds up to. Reserved below zero: something was ended twice, or was never
    reserved."""

    free: int
    reserved: int = 0
    used: int = 0


def add_up(ledger: Iterable[Record], start: int) -> Balance:
    """The balance of a service that had so many pieces in the beginning."""
    moved = [record.what for record in ledger]
    tried, confirmed, cancelled = (moved.count(w) for w in (TRIED, CONFIRMED, CANCELLED))
    return Balance(start - tried + cancelled, tried - confirmed - cancelled, confirmed)
