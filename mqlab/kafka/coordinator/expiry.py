"""Ids that nobody uses any more.

A transactional id in Empty, CompleteCommit or CompleteAbort that was not touched for seven
days is forgotten: a tombstone is written and the entry removed. A producer that still holds
the old (producer id, epoch) is then told INVALID_PRODUCER_ID_MAPPING, which is fatal; a new
initTransactions gets a new producer id.

Sources: TransactionStateManager#removeExpiredTransactionalIds, TransactionState (Dead).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...kernel import Effects, SetTimer
from ..states import COMPLETED, TxnState

if TYPE_CHECKING:
    from ...kernel import Disk
    from . import Coordinator

Result = tuple["Coordinator", Effects]

SWEEP = "expire ids"


def sweep(tc: Coordinator, disk: Disk, at_ms: int) -> Result:
    """Every hour: begin, and look again after an hour."""
    tc, effects = forget(tc, disk, at_ms)
    return tc, (*effects, SetTimer(SWEEP, tc.config.id_sweep_ms))


def forget(tc: Coordinator, disk: Disk, at_ms: int) -> Result:
    """The tombstone of the next id that was idle too long. One at a time: when it is safe
    the coordinator comes back for the next."""
    limit = at_ms - tc.config.id_expiration_ms
    for txn_id, entry in tc.entries.items():
        idle = entry.state is TxnState.EMPTY or entry.state in COMPLETED
        if idle and txn_id not in tc.pending and entry.update_ms <= limit:
            return tc.write(replace(entry, state=TxnState.DEAD, partitions=()), disk, at_ms)
    return tc, ()


def buried(tc: Coordinator, txn_id: str, disk: Disk, at_ms: int) -> Result:
    """The tombstone is safe: the id is unknown from now on."""
    return forget(replace(tc, entries=tc.entries.remove(txn_id)), disk, at_ms)
