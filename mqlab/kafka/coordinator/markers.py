"""Transaction markers (WriteTxnMarkers): telling every partition how a transaction ended.

One WriteTxnMarkers a partition; each partition that has answered is crossed off; when
none is left the Complete record is written. A coordinator that recovers an id in
PrepareCommit or PrepareAbort sends all of its markers again: a partition may get a second
marker, an empty control batch, which costs an offset and changes nothing.

Sources: TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Effects, Send, SetTimer, replace
from ..errors import Error
from ..messages import WriteTxnMarkers, WriteTxnMarkersResponse
from ..states import TxnState
from .entry import Entry

if TYPE_CHECKING:
    from ...kernel import Disk
    from . import Coordinator

Result = tuple["Coordinator", Effects]

COMPLETES = {
    TxnState.PREPARE_COMMIT: TxnState.COMPLETE_COMMIT,
    TxnState.PREPARE_ABORT: TxnState.COMPLETE_ABORT,
}
AGAIN = "marker "
PAUSE_MS = 100
#: the leader has seen a newer coordinator or producer: this one gives up, and the
#: transaction stays where it is.
GIVE_UP = frozenset({Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED})


def send_markers(tc: Coordinator, txn_id: str) -> Result:
    """All markers of a prepared transaction, one Send a partition, in order of name."""
    entry: Entry = tc.entries[txn_id]
    tc = replace(tc, owed=tc.owed.set(txn_id, entry.partitions))
    return tc, tuple(Send(partition, build_marker(tc, entry)) for partition in entry.partitions)


def build_marker(tc: Coordinator, entry: Entry) -> WriteTxnMarkers:
    return WriteTxnMarkers(
        txn_id=entry.txn_id,
        pid=entry.pid,
        epoch=entry.epoch,
        commit=entry.state is TxnState.PREPARE_COMMIT,
        coordinator_epoch=tc.epoch,
        transaction_version=entry.client_version,
    )


def handle_answer(
    tc: Coordinator, partition: str, answer: WriteTxnMarkersResponse, disk: Disk, at_ms: int
) -> Result:
    """A partition has its marker (or never will)."""
    owed = tc.owed.get(answer.txn_id, ())
    entry: Entry | None = tc.entries.get(answer.txn_id)
    same = entry is not None and (answer.pid, answer.epoch) == (entry.pid, entry.epoch)
    if entry is None or partition not in owed or not same:
        # An answer to an older round of markers: this one is settled already.
        return tc, ()
    if answer.error in GIVE_UP:
        return tc, ()
    if answer.error:
        # No leader there, or too few replicas: the same marker again, after a pause.
        return tc, (SetTimer(f"{AGAIN}{partition} {entry.epoch} {entry.txn_id}", PAUSE_MS),)
    place = owed.index(partition)
    left = (*owed[:place], *owed[place + 1 :])
    tc = replace(tc, owed=tc.owed.set(answer.txn_id, left))
    return (tc, ()) if left else write_complete(tc, answer.txn_id, disk, at_ms)


def send_again(tc: Coordinator, timer: str) -> Result:
    """The pause before a refused marker is over; it may be settled meanwhile."""
    partition, epoch, txn_id = timer.removeprefix(AGAIN).split(" ", 2)
    entry: Entry | None = tc.entries.get(txn_id)
    if entry is None or partition not in tc.owed.get(txn_id, ()) or entry.epoch != int(epoch):
        return tc, ()
    return tc, (Send(partition, build_marker(tc, entry)),)


def write_complete(tc: Coordinator, txn_id: str, disk: Disk, at_ms: int) -> Result:
    """Nothing is owed any more: write the Complete record."""
    entry: Entry = tc.entries[txn_id]
    version = tc.config.transaction_version
    done = entry.enter(COMPLETES[entry.state], version, partitions=(), next_pid=-1)
    if entry.next_pid >= 0:
        done = replace(done, pid=entry.next_pid, epoch=0)
    return tc.write(done, disk, at_ms)
