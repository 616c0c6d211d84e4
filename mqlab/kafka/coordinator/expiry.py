"""Ids that nobody uses any more.

A transactional id in Empty, CompleteCommit or CompleteAbort that was not touched for seven
days is forgotten: a tombstone is written and the entry removed. A producer that still holds
the old (producer id, epoch) is then told INVALID_PRODUCER_ID_MAPPING, which is fatal; a new
initTransactions gets a new producer id.

Sources: TransactionStateManager#removeExpiredTransactionalIds, TransactionState (Dead).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Effect, Effects, SetTimer
from ..config import txn_log
from ..states import COMPLETED, TxnState

if TYPE_CHECKING:
    from ...kernel import Disk
    from . import Coordinator

Result = tuple["Coordinator", Effects]

SWEEP = "expire ids"


def expire_ids(tc: Coordinator, disk: Disk, at_ms: int) -> Result:
    """Every hour: a tombstone for every id that was idle too long."""
    limit = at_ms - tc.config.id_expiration_ms
    effects: list[Effect] = []
    ahead: dict[str, int] = {}
    for txn_id, entry in tc.entries.items():
        idle = entry.state is TxnState.EMPTY or entry.state in COMPLETED
        if idle and txn_id not in tc.pending and entry.update_ms <= limit:
            log = txn_log(txn_id, tc.config)
            dead = entry.enter(TxnState.DEAD, tc.config.transaction_version, partitions=())
            tc, written = tc.write(dead, disk, at_ms, ahead=ahead.get(log, 0))
            ahead[log] = ahead.get(log, 0) + 1
            effects += written
    return tc, (*effects, SetTimer(SWEEP, tc.config.id_sweep_ms))
