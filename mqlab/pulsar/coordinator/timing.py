"""Deadlines, and the second after which an end is tried again.

A transaction's deadline is absolute: its start and its timeout are in the log, so a restart does
not prolong it. It fires when the deadline lies *before* now, and only what is still OPEN is
aborted then. A timeout below a tick of the wheel (100 ms) aborts at once.

Source: TransactionTimeoutTrackerImpl, TransactionRecoverTrackerImpl (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Disk, Effects, SetTimer
from ..messages import TxnID
from ..states import TxnAction, TxnStatus
from . import ending
from .meta import RETRY, TIMEOUT, TxnMeta

if TYPE_CHECKING:
    from . import Coordinator

Result = tuple["Coordinator", Effects]


def track(tc: Coordinator, meta: TxnMeta, disk: Disk, at_ms: int) -> Result:
    """Watch a transaction's deadline. A search has no clock: there it always lies ahead."""
    if "transaction_timeout" not in tc.config.on:
        return tc, ()
    if meta.timeout_ms < tc.config.tick_ms:
        return ending.begin_end(tc, meta.txn, TxnAction.ABORT, None, disk)
    left = max(0, meta.deadline_ms - at_ms) if at_ms else meta.timeout_ms
    return tc, (SetTimer(f"{TIMEOUT}{meta.txn}", left + 1),)


def handle_timer(tc: Coordinator, timer: str, disk: Disk) -> Result:
    if timer.startswith(RETRY):
        waiting = (end.txn for end in tc.ends if timer == f"{RETRY}{end.txn}")
        txn: TxnID | None = next(waiting, None)
        return (tc, ()) if txn is None else ending.try_again(tc, txn, disk)
    metas = (meta for meta in tc.txns.values() if timer == f"{TIMEOUT}{meta.txn}")
    meta = next(metas, None)
    if meta is None or meta.status is not TxnStatus.OPEN:
        return tc, ()
    return ending.begin_end(tc, meta.txn, TxnAction.ABORT, None, disk)
