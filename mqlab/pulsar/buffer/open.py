"""The buffer's memory, and what each entry that has become safe does to it."""

from __future__ import annotations

from ...kernel import Map, frozen, replace
from ..ledger import Marks
from ..messages import LedgerEntry, TxnID
from ..states import RECOVERED, BufferState, MarkerType


@frozen
class Buffer:
    """`ongoing`: each open transaction with the position of its first message here, in the order
    of those. `aborts`: each aborted one with its marker's. `changes`: how often maxReadPosition
    has advanced since the last snapshot."""

    state: BufferState = BufferState.INITIALIZING
    ongoing: tuple[tuple[TxnID, int], ...] = ()
    aborts: Map[TxnID, int] = Map()
    max_read_position: int = -1
    marks: Marks = Marks()
    changes: int = 0

    @property
    def readable(self) -> int:
        """How far dispatchers read (getMaxReadPosition): nothing while it recovers, and nothing
        while the first snapshot is written."""
        return self.max_read_position if self.state in RECOVERED else -1

    def is_ongoing(self, txn: TxnID) -> bool:
        return any(open_txn == txn for open_txn, _ in self.ongoing)

    def find_start(self, txn: TxnID) -> int | None:
        """Where an open transaction begins here."""
        return next((at for open_txn, at in self.ongoing if open_txn == txn), None)

    def take(self, entry: LedgerEntry) -> Buffer:
        """This buffer after one more entry of the ledger, which is now the last confirmed one."""
        if entry.marker is not None:
            return self._take_marker(entry, entry.marker)
        if entry.txn is not None:
            return self._take_transactional(entry.base, entry.txn)
        return self._take_normal(entry.base)

    def _take_normal(self, position: int) -> Buffer:
        """syncMaxReadPositionForNormalPublish: only where nothing is open."""
        if self.state is BufferState.NO_SNAPSHOT:
            return self._move(position)
        if self.state is BufferState.READY and not self.ongoing:
            return self._move(position)
        return self

    def _take_transactional(self, position: int, txn: TxnID) -> Buffer:
        """handleTransactionMessage: only a transaction's first message here counts. One of a
        transaction that was aborted already changes nothing, and is above maxReadPosition until
        the next entry moves that."""
        if self.is_ongoing(txn) or txn in self.aborts:
            return self
        new = replace(self, ongoing=(*self.ongoing, (txn, position)))
        return new._move(new.ongoing[0][1] - 1)

    def _take_marker(self, entry: LedgerEntry, marker: MarkerType) -> Buffer:
        """removeTxnAndUpdateMaxReadPosition: also where the transaction has written nothing."""
        assert entry.txn is not None
        left = tuple(pair for pair in self.ongoing if pair[0] != entry.txn)
        new = replace(self, ongoing=left)
        if marker is MarkerType.TXN_ABORT:
            new = replace(new, aborts=new.aborts.set(entry.txn, entry.base))
        return new._move(left[0][1] - 1 if left else entry.base)

    def _move(self, position: int) -> Buffer:
        """updateMaxReadPosition: an advance counts towards the next snapshot once there is one."""
        counts = position > self.max_read_position and self.state is not BufferState.NO_SNAPSHOT
        changes = self.changes + (1 if counts else 0)
        return replace(self, max_read_position=position, changes=changes)
