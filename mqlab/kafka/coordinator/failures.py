"""A record that could not be made safe.

Too few replicas are in sync, or this broker leads the log no more. The transition did not
happen: its caller hears a retriable error and asks again. Two cases need more than that. A
*completion* has no caller, so the coordinator itself tries again. A *fence* that fails with
transaction.version 0 has raised the epoch in memory already; that is remembered, or every
further attempt would raise it once more.

Sources: TransactionStateManager#appendTransactionToLog, TransactionCoordinator
#handleInitProducerId (hasFailedEpochFence), TransactionMarkerChannelManager
#retryLogAppends (Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...kernel import AppendFailed, Effects, Map, Reply, SetTimer
from ..errors import Error
from ..states import COMPLETED, PREPARED, TxnState
from . import markers
from .entry import Entry, Pending

if TYPE_CHECKING:
    from ...kernel import Disk
    from . import Coordinator

Result = tuple["Coordinator", Effects]
Writes = Map[str, tuple[tuple[int, str], ...]]

AGAIN = "append again "
PAUSE_MS = 100
#: what the log says → what a client is told
TOLD = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
}


def append_again(tc: Coordinator, txn_id: str, disk: Disk, at_ms: int) -> Result:
    """The pause before a completion is over; somebody else may have completed it."""
    entry: Entry | None = tc.entries.get(txn_id)
    if entry is None or entry.state not in PREPARED or txn_id in tc.pending:
        return tc, ()
    return markers.write_complete(tc, txn_id, disk, at_ms)


def handle_failed_append(tc: Coordinator, event: AppendFailed) -> Result:
    """The record that would have ended at (log, end) is not there."""
    log, end = event.log, event.end
    txn_id = dict(tc.writes.get(log, ())).get(end)
    if txn_id is None:
        return tc, ()
    pending: Pending = tc.pending[txn_id]
    old: Entry = tc.entries[txn_id]
    tc = replace(
        tc,
        pending=tc.pending.remove(txn_id),
        writes=_forget(tc.writes, log, end),
        entries=tc.entries.set(txn_id, _keep_entry(tc, old, pending.entry)),
    )
    error = TOLD.get(Error[event.error], Error.UNKNOWN_SERVER_ERROR)
    if pending.entry.state in COMPLETED:
        gone = error is Error.NOT_COORDINATOR  # the new leader does it
        return tc, () if gone else (SetTimer(AGAIN + txn_id, PAUSE_MS),)
    if pending.caller is None or pending.answer is None:
        return tc, tc.restart_timer(old, event.at_ms)
    answer = pending.answer.refuse(error)
    return tc, (*tc.restart_timer(old, event.at_ms), Reply(pending.caller, answer))


def _forget(writes: Writes, log: str, end: int) -> Writes:
    left = tuple(write for write in writes[log] if write[0] != end)
    return writes.set(log, left) if left else writes.remove(log)


def _keep_entry(tc: Coordinator, old: Entry, new: Entry) -> Entry:
    """What stays in memory: the entry as it was, but for a failed fence of version 0."""
    fencing = old.state is TxnState.ONGOING and new.epoch > old.epoch and new.client_version < 2
    if fencing and tc.config.transaction_version < 2:
        return replace(old, epoch=new.epoch, failed_fence=True)
    return old
