"""Low watermarks: up to which transaction of each coordinator everything has ended.

Source: TopicTransactionBuffer#handleLowWaterMark, PendingAckHandleImpl#handleLowWaterMark (4.2).
"""

from __future__ import annotations

from ...kernel import Map, frozen, replace
from ..messages import TxnID


@frozen
class Marks:
    """The highest mark heard of each coordinator. In memory only: after a restart there is none."""

    by_coordinator: Map[int, int] = Map()

    def covers(self, txn: TxnID) -> bool:
        """Whether this transaction has certainly ended."""
        mark: int | None = self.by_coordinator.get(txn.most)
        return mark is not None and txn.least <= mark

    def hear(self, tc_id: int, mark: int) -> Marks:
        old: int | None = self.by_coordinator.get(tc_id)
        if old is not None and old >= mark:
            return self
        return replace(self, by_coordinator=self.by_coordinator.set(tc_id, mark))
