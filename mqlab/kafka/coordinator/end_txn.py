"""EndTxn: the decision.

The answer leaves when PrepareCommit or PrepareAbort is safe in the log, *before any marker
is written*. From then on the outcome cannot change, no matter who dies; what is left is work.

A legacy client (request v4 and older) keeps its epoch. A v2 client gets a new one with
every answer, so that nothing it sent late can land in its next transaction; and since it
cannot know whether its first Produce ever arrived, it may abort what the server never saw.

Sources: TransactionCoordinator#endTransactionWithTV1, #endTransaction (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Effects, Reply, replace
from ..errors import Error
from ..messages import EndTxn, EndTxnResponse
from ..states import COMPLETED, TxnState
from . import markers
from .entry import EXHAUSTED, Entry
from .init_producer_id import allocate

if TYPE_CHECKING:
    from ...kernel import Disk
    from . import Coordinator

Result = tuple["Coordinator", Effects]

PREPARE = {True: TxnState.PREPARE_COMMIT, False: TxnState.PREPARE_ABORT}
COMPLETE = {True: TxnState.COMPLETE_COMMIT, False: TxnState.COMPLETE_ABORT}


def handle(tc: Coordinator, ask: EndTxn, caller: Caller, disk: Disk, at_ms: int) -> Result:
    if not ask.txn_id:
        return tc, (Reply(caller, EndTxnResponse(Error.INVALID_REQUEST)),)
    entry: Entry | None = tc.entries.get(ask.txn_id)
    if ask.v2:
        error, done = check_v2(tc, ask, entry)
    else:
        error, done = check_legacy(tc, ask, entry)
    if error or entry is None:
        return tc, (Reply(caller, EndTxnResponse(error)),)
    if done:
        return tc, (Reply(caller, EndTxnResponse(Error.NONE, entry.pid, entry.epoch)),)
    effects: Effects = ()
    version = tc.config.transaction_version
    new = entry.enter(PREPARE[ask.commit], version, client_version=2 if ask.v2 else 0)
    if ask.v2:
        tc, new, effects = raise_epoch(tc, new)
    # At the last epoch the answer already names the next producer id.
    rotated = new.next_pid >= 0
    answer = EndTxnResponse(
        Error.NONE, new.next_pid if rotated else new.pid, 0 if rotated else new.epoch
    )
    if "prepare_before_markers" not in tc.config.on:
        return _send_unrecorded(tc, new, caller, answer)
    tc, written = tc.write(new, disk, at_ms, caller, answer)
    return tc, (*effects, *written)


def raise_epoch(tc: Coordinator, entry: Entry) -> tuple[Coordinator, Entry, Effects]:
    """The entry with the epoch its markers carry: one above the producer's own."""
    if "epoch_bump" not in tc.config.on:
        return tc, entry, ()
    new = replace(entry, epoch=entry.epoch + 1, last_epoch=entry.epoch)
    if entry.epoch < EXHAUSTED:
        return tc, new, ()
    tc, pid, effects = allocate(tc)
    return tc, replace(new, next_pid=pid), effects


def _send_unrecorded(tc: Coordinator, new: Entry, caller: Caller, answer: EndTxnResponse) -> Result:
    """The safeguard `prepare_before_markers` is off: markers leave while the decision
    exists in memory only, and a coordinator that dies now has forgotten it."""
    tc = replace(tc, entries=tc.entries.set(new.txn_id, new))
    tc, sent = markers.send_markers(tc, new.txn_id)
    return tc, (Reply(caller, answer), *sent)


def check_legacy(tc: Coordinator, ask: EndTxn, entry: Entry | None) -> tuple[Error, bool]:
    """(error, already done): the checks in the real order, then state by state."""
    error = tc.check_owner(ask)
    if error or entry is None:
        return error, False
    match entry.state:
        case TxnState.ONGOING:
            return Error.NONE, False
        case state if state is PREPARE[ask.commit]:
            return Error.CONCURRENT_TRANSACTIONS, False
        case state if state is COMPLETE[ask.commit]:
            # The same call again, its answer was lost.
            return Error.NONE, True
    return Error.INVALID_TXN_STATE, False


def check_owner(tc: Coordinator, ask: EndTxn) -> Error:
    """What is wrong with it whatever the state: whose it is, how old, and whether now."""
    entry: Entry | None = tc.entries.get(ask.txn_id)
    if entry is None or entry.pid != ask.pid:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if entry.epoch != ask.epoch and "epoch_fencing" in tc.config.on:
        return Error.PRODUCER_FENCED
    return Error.CONCURRENT_TRANSACTIONS if tc.busy(ask.txn_id) else Error.NONE


def check_v2(tc: Coordinator, ask: EndTxn, entry: Entry | None) -> tuple[Error, bool]:
    """(error, already done). Here a pending transition is noticed before anything else."""
    if entry is None:
        return Error.INVALID_PRODUCER_ID_MAPPING, False
    if tc.busy(ask.txn_id):
        return Error.CONCURRENT_TRANSACTIONS, False
    overflow = ask.pid == entry.prev_pid and ask.epoch == EXHAUSTED and entry.epoch == 0
    if entry.pid != ask.pid and not overflow:
        return Error.INVALID_PRODUCER_ID_MAPPING, False
    retry = overflow or ask.epoch + 1 == entry.epoch
    current = ask.epoch == entry.epoch or "epoch_fencing" not in tc.config.on
    completed = entry.state in COMPLETED
    if entry.state in PREPARE.values():
        if not retry:
            return Error.PRODUCER_FENCED, False
        same = entry.state is PREPARE[ask.commit]
        return (Error.CONCURRENT_TRANSACTIONS if same else Error.INVALID_TXN_STATE), False
    if completed and retry:
        if entry.state is COMPLETE[ask.commit]:
            return Error.NONE, True
        return Error.INVALID_TXN_STATE, False
    if not current:
        return Error.PRODUCER_FENCED, False
    if entry.state is TxnState.ONGOING or not ask.commit:
        # An abort in Empty or Complete ends a transaction the server never saw.
        return Error.NONE, False
    return Error.INVALID_TXN_STATE, False
