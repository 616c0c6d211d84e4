"""What a dispatcher sees of its topic at one moment (PersistentTopic, TransactionBuffer)."""

from __future__ import annotations

from ...kernel import Map, frozen
from ...kernel.role import LogView
from ..messages import TxnID


@frozen
class TopicView:
    """`max_read`: dispatchers read up to here and no further (TransactionBuffer#
    getMaxReadPosition); `lac`: the last confirmed entry; `aborts`: the transactions of which the
    buffer knows that they were aborted (TransactionBuffer#isTxnAborted asks by the id alone,
    wherever the message stands). Given for one step, never kept."""

    partition: str
    log: LogView
    lac: int
    max_read: int
    aborts: Map[TxnID, int]
    at_ms: int = 0

    def is_aborted(self, txn: TxnID) -> bool:
        return txn in self.aborts
