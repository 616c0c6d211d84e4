"""A partition's transaction buffer: which transactions are open here, and how far one may read.

It buffers nothing. Messages of open transactions are in the partition's own ledger, between all
others; the buffer knows where each open transaction *begins* here, and which ones were aborted.
From that follows one number:

    maxReadPosition = the entry before the first message of the oldest open transaction,
                      or the last entry, when none is open

Nothing above it is sent to a consumer, a plain message neither. "Oldest" is by the first message in
this partition: a transaction that commits earlier stays invisible until all that began here before
it have ended. Committed transactions are not remembered at all.

**Durable** is the topic itself and, now and then, a snapshot: maxReadPosition and the aborted
transactions. Until the first transactional message there is none (NoSnapshot); that message waits
until the first one is safe. Recovery loads the last one and reads the topic from there on
(`recover_buffer`), so it knows again what was open.

*What can go wrong.* A message of a transaction that ended long ago arrives: it begins an open
transaction that will never be ended, and **blocks the partition**. The low watermark, which comes
with every end, refuses such messages, and aborts what slipped through before. But it is in memory
only: after a restart it is empty. And the aborted are known by their id alone: aborting a stale
message of a *committed* transaction hides what that transaction had committed here from anyone who
reads it later. A snapshot that is lost is no error: the buffer is NoSnapshot then, as where no
transaction has written, and everything is read, what is open or was aborted too (4.2.4 does so).

*Invariant:* no message of an open transaction is at or below maxReadPosition.
*Left out:* segmented snapshots (PIP-196), and forgetting an aborted transaction once retention has
deleted its marker.
Read on in TopicTransactionBuffer, SingleSnapshotAbortedTxnProcessorImpl (4.2).
"""

from __future__ import annotations

from ..kernel import Disk, Map, frozen, replace
from .config import SNAPSHOT_LOG, PulsarConfig
from .ledger import Marks
from .messages import BufferSnapshot, LedgerEntry, TxnID
from .states import RECOVERED, BufferState, MarkerType


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


# ---- recovery -------------------------------------------------------------------------


def recover_buffer(config: PulsarConfig, partition: str, disk: Disk) -> Buffer:
    """Rebuild a partition's transaction buffer when the topic is loaded: take the last snapshot and
    replay the topic's entries above the snapshot's maxReadPosition. A transaction that was open
    when the snapshot was taken began above it, so nothing is missed. If no transaction is open at
    the end, or if there is no snapshot, everything may be read. (Low watermarks are not restored.)

    Source: TopicTransactionBufferRecover, TopicTransactionBuffer#handleTxnEntry (4.2).
    """
    log = disk.log(partition)
    last_confirmed = log.end - 1
    snapshot = find_snapshot(disk)
    if snapshot is None:
        return Buffer(BufferState.NO_SNAPSHOT, max_read_position=last_confirmed)
    buffer = Buffer(aborts=Map(snapshot.aborts), max_read_position=snapshot.max_read_position)
    later_entries = log.read(snapshot.max_read_position + 1)
    # without this safeguard the buffer knows only what the snapshot says
    if "replay_topic" in config.on:
        for entry in later_entries:
            buffer = buffer.take(entry)
    readable = buffer.max_read_position if buffer.ongoing else last_confirmed
    return replace(buffer, state=BufferState.READY, max_read_position=readable)


def find_snapshot(disk: Disk) -> BufferSnapshot | None:
    """The last one: the topic of snapshots is compacted."""
    log = disk.log(SNAPSHOT_LOG)
    last: BufferSnapshot | None = next(iter(log.read(log.end - 1)), None)
    return last
