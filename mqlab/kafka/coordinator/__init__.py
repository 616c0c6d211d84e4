"""The transaction coordinator: who decides.

Every broker is coordinator for some partitions of `__transaction_state`; a transactional
id belongs to partition abs(hash) mod 50, and the leader of that partition keeps its state.

**Durable** is one record an id and transition (`entry.py`): Empty, Ongoing with the
partitions written to so far, PrepareCommit or PrepareAbort, CompleteCommit or
CompleteAbort. **In memory** are the entries read from it, one pending transition an id,
and the markers still owed.

The life of a transaction, in the order of this file:

    InitProducerId        → Empty               an older self is fenced
    AddPartitionsToTxn    → Ongoing             where markers will be owed
    EndTxn                → PrepareCommit       the decision; answered here
    WriteTxnMarkers       → every partition     what makes it visible
    (all have answered)   → CompleteCommit
    (a record fails)      → as before           the caller asks again
    (seven idle days)     → Dead                the id is forgotten
    ListTransactions, …                         an administrator asks (`describe.py`)

*What can go wrong.* The coordinator may die between any two effects. Before the Prepare
record is safe nothing was promised: the transaction is still Ongoing, and its client asks
again or its timeout aborts it. After it, `recover` finds the record and owes every marker
again. *Invariants:* a decision never changes; no marker leaves before the decision is
durable; an id has at most one transition in progress.

With several replicas this role is the leader's part only: `replication/` copies the log and
moves the leadership. *Left out:* 2PC (KIP-939), ACLs.
Read on in TransactionCoordinator, TransactionStateManager (core, Kafka 4.3).
"""

from __future__ import annotations

from bisect import bisect_left

from ...kernel import (
    Append,
    Appended,
    AppendFailed,
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effect,
    Effects,
    Event,
    Fired,
    Map,
    Put,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    Text,
    Words,
    frozen,
    replace,
)
from ..config import KafkaConfig, offsets_log, txn_log, txn_logs
from ..errors import Error
from ..log.role import add_ack, take_safe
from ..messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    Answer,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    SendMarkers,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from ..states import COMPLETED, PREPARED, TxnState, may_enter
from . import describe
from .entry import (
    EXHAUSTED,
    TIMEOUT,
    CoordinatorRequest,
    DescribeTransactions,
    Entry,
    ListTransactions,
    Pending,
    to_record,
)

# ---- AddPartitionsToTxn: the coordinator must know where it will owe markers ---------
#
# A legacy client asks before it first writes to a partition. With transaction.version 2 the
# partition's leader asks on the client's behalf, with the first Produce (KIP-890 part 2).
# For legacy clients the leader only *verifies* that the client has asked (part 1): that is
# what keeps a late batch from opening a transaction that will never be ended.
#
# Sources: TransactionCoordinator#handleAddPartitionsToTransaction,
# #handleVerifyPartitionsInTransaction (Kafka 4.3).

Result = tuple["Coordinator", Effects]


def add_partitions(
    tc: Coordinator, ask: AddPartitionsToTxn, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """Handle AddPartitionsToTxn: check producer id, epoch and state, then write the partitions to
    the transaction log; the answer waits until that is durable. The first ones begin the
    transaction, and with it its timeout. A request that only verifies (`verify_only`) is answered
    after the checks."""
    error = tc.check_add(ask)
    if error or ask.verify_only:
        return tc, (Reply(caller, AddPartitionsToTxnResponse(error)),)
    entry: Entry = tc.entries[ask.txn_id]
    added = tuple(sorted({*entry.partitions, *ask.partitions}))
    is_ongoing = entry.state is TxnState.ONGOING
    if is_ongoing and added == entry.partitions:
        # all known already: no record is written, so the answer need not wait
        return tc, (Reply(caller, AddPartitionsToTxnResponse()),)
    new = entry.enter(
        TxnState.ONGOING,
        tc.config.transaction_version,
        partitions=added,
        # The clock of the timeout starts here, not at the client's begin.
        start_ms=entry.start_ms if is_ongoing else at_ms,
        client_version=2 if ask.implicit else 0,
    )
    return tc.write(new, disk, at_ms, caller, AddPartitionsToTxnResponse())


def _has_partition(entry: Entry, partition: str) -> bool:
    """Whether it is part of the transaction; its partitions are in order."""
    place = bisect_left(entry.partitions, partition)
    return entry.partitions[place : place + 1] == (partition,)


def check_request(tc: Coordinator, ask: AddPartitionsToTxn) -> Error:
    """Why AddPartitionsToTxn is refused: the first check that fails, in the sequence of the real
    coordinator, or NONE. A `verify_only` request comes from a partition's leader, which asks
    whether the partition is in the transaction already."""
    if not ask.txn_id:
        return Error.INVALID_REQUEST
    entry: Entry | None = tc.entries.get(ask.txn_id)
    if entry is None:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if not ask.verify_only and (tc.busy(ask.txn_id) or entry.state in PREPARED):
        # checked before the producer id and epoch: until the end is complete, they may still change
        return Error.CONCURRENT_TRANSACTIONS
    if entry.pid != ask.pid:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if entry.epoch != ask.epoch and "epoch_fencing" in tc.config.on:
        return Error.PRODUCER_FENCED
    if ask.verify_only:
        if entry.state in PREPARED:
            return Error.CONCURRENT_TRANSACTIONS
        has_all = all(_has_partition(entry, partition) for partition in ask.partitions)
        return Error.NONE if has_all else Error.TRANSACTION_ABORTABLE
    return Error.NONE


# ---- Transaction markers (WriteTxnMarkers): telling every partition how a transaction ended
#
# One WriteTxnMarkers a partition; each partition that has answered is crossed off; when
# none is left the Complete record is written. A coordinator that recovers an id in
# PrepareCommit or PrepareAbort sends all of its markers again: a partition may get a second
# marker, an empty control batch, which costs an offset and changes nothing.
#
# Sources: TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.

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
    """Handle WriteTxnMarkersResponse: the partition has its marker, or is deleted (it then answers
    the same); one less is pending (`owed`). After the last one CompleteCommit or CompleteAbort is
    written.
    After an error the marker stays pending; an answer to an earlier round of markers changes
    nothing."""
    pending_partitions = tc.owed.get(answer.txn_id, ())
    entry: Entry | None = tc.entries.get(answer.txn_id)
    is_current = entry is not None and (answer.pid, answer.epoch) == (entry.pid, entry.epoch)
    if entry is None or partition not in pending_partitions or not is_current:
        return tc, ()
    # a newer coordinator or producer has taken over: the transaction stays as it is
    if answer.error in GIVE_UP:
        return tc, ()
    if answer.error:
        # no leader there, or too few replicas: the same marker is sent again after a pause
        return tc, (SetTimer(f"{AGAIN}{partition} {entry.epoch} {entry.txn_id}", PAUSE_MS),)
    position = pending_partitions.index(partition)
    still_pending = (*pending_partitions[:position], *pending_partitions[position + 1 :])
    tc = replace(tc, owed=tc.owed.set(answer.txn_id, still_pending))
    return (tc, ()) if still_pending else write_complete(tc, answer.txn_id, disk, at_ms)


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


# ---- InitProducerId: a producer introduces itself, and its older self is fenced ------
#
# The answer is a (producer id, epoch) pair; a producer with an older epoch is a zombie from
# then on. If the older self left a transaction open it is aborted first, and until that
# abort is complete the newcomer hears CONCURRENT_TRANSACTIONS and asks again.
#
# Sources: TransactionCoordinator#handleInitProducerId, #prepareInitProducerIdTransit,
# TransactionMetadata#prepareIncrementProducerEpoch, #prepareProducerIdRotation (Kafka 4.3).


def init_producer_id(
    tc: Coordinator, ask: InitProducerId, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """Handle InitProducerId: give the producer an id, and an epoch above that of every earlier
    producer with this transactional id, which is fenced by it. A transaction that the earlier one
    left open is aborted first; until that is complete the answer is CONCURRENT_TRANSACTIONS."""
    # -1: the caller has none yet; only one of the two is refused below (INVALID_REQUEST)
    if ask.txn_id is None and (ask.pid < 0) == (ask.epoch < 0):
        # without a transactional id: a new producer id each time, and no state in the coordinator
        tc, pid, id_block = allocate(tc)
        return tc, (*id_block, Reply(caller, InitProducerIdResponse(pid=pid, epoch=0)))
    error = check_init_producer_id(tc, ask)
    txn_id = ask.txn_id or ""
    entry: Entry | None = tc.entries.get(txn_id)
    if not error and entry is not None:
        if tc.busy(txn_id):  # a record of this id is still being written
            error = Error.CONCURRENT_TRANSACTIONS
        elif not is_expected(ask, entry):  # it names a producer id that is not its own any more
            error = Error.PRODUCER_FENCED
        elif entry.state in PREPARED:
            error = Error.CONCURRENT_TRANSACTIONS
    if error:
        return tc, (Reply(caller, InitProducerIdResponse(error)),)
    effects: Effects = ()
    if entry is None:
        tc, pid, effects = allocate(tc)
        entry = Entry(txn_id, pid, epoch=-1)
    if entry.state is TxnState.ONGOING:
        # the earlier producer left it open: it is aborted with an epoch above its own
        refusal = InitProducerIdResponse(Error.CONCURRENT_TRANSACTIONS)
        return tc.fence(entry, disk, at_ms, caller, refusal)
    tc, bumped, more = bump_epoch(tc, entry, ask)
    if isinstance(bumped, Error):
        return tc, (Reply(caller, InitProducerIdResponse(bumped)),)
    version, timeout_ms = tc.config.transaction_version, ask.timeout_ms
    new = bumped.enter(TxnState.EMPTY, version, partitions=(), timeout_ms=timeout_ms, start_ms=-1)
    answer = InitProducerIdResponse(pid=new.pid, epoch=new.epoch)
    tc, written = tc.write(new, disk, at_ms, caller, answer)
    return tc, (*effects, *more, *written)


def check_init_producer_id(tc: Coordinator, ask: InitProducerId) -> Error:
    """What is refused before any state is looked at."""
    if (ask.pid < 0) != (ask.epoch < 0) or ask.txn_id == "":
        return Error.INVALID_REQUEST
    if not 0 < ask.timeout_ms <= tc.config.max_timeout_ms:
        return Error.INVALID_TRANSACTION_TIMEOUT
    return Error.NONE


def is_expected(ask: InitProducerId, entry: Entry) -> bool:
    """Whether the id the caller believes it has can be right."""
    if ask.pid < 0 or entry.epoch < 0 or ask.pid == entry.pid:
        return True
    return ask.pid == entry.prev_pid and ask.epoch >= EXHAUSTED


def bump_epoch(
    tc: Coordinator, entry: Entry, ask: InitProducerId
) -> tuple[Coordinator, Entry | Error, Effects]:
    """The entry with its next epoch for this caller, or the error where there is none: the caller
    is an older instance (PRODUCER_FENCED), or the epochs are exhausted and the caller does not have
    the last one. The effects, if any, reserve a new block of producer ids. `ask.epoch` -1: the
    caller has no epoch yet."""
    caller_epoch, has_epoch = ask.epoch, ask.epoch >= 0
    # exhausted: the entry has the last epoch that there is
    if entry.exhausted and (not has_epoch or caller_epoch == entry.epoch):
        # after the last epoch a new producer id begins at epoch 0
        tc, pid, effects = allocate(tc)
        last = entry.epoch if has_epoch else -1
        return tc, replace(entry, pid=pid, epoch=0, last_epoch=last), effects
    if entry.exhausted:
        return tc, Error.UNKNOWN_SERVER_ERROR, ()  # an IllegalStateException in Kafka
    if not has_epoch:
        return tc, replace(entry, epoch=entry.epoch + 1, last_epoch=-1), ()
    if caller_epoch == entry.epoch or entry.epoch < 0:
        return tc, replace(entry, epoch=entry.epoch + 1, last_epoch=entry.epoch), ()
    if caller_epoch == entry.last_epoch:
        # the call is retried because its answer was lost: the epoch is not raised twice
        return tc, entry, ()
    if "epoch_fencing" not in tc.config.on:
        return tc, replace(entry, epoch=entry.epoch + 1), ()
    return tc, Error.PRODUCER_FENCED, ()


def allocate(tc: Coordinator) -> tuple[Coordinator, int, Effects]:
    """The next producer id. Ids come in blocks; a restart begins a new block and the rest
    of the old one is lost (ProducerIdsBlock, RPCProducerIdManager)."""
    pid, block = tc.next_pid, tc.config.pid_block
    if (pid + 1) % block:
        return replace(tc, next_pid=pid + 1), pid, ()
    begins = pid + 1 + (tc.stride - 1) * block
    spare = Put("producer ids", "next block", begins + tc.stride * block)
    return replace(tc, next_pid=begins), pid, (spare,)


# ---- EndTxn: the decision ------------------------------------------------------------
#
# The answer leaves when PrepareCommit or PrepareAbort is safe in the log, *before any marker
# is written*. From then on the outcome cannot change, no matter who dies; what is left is work.
#
# A legacy client (request v4 and older) keeps its epoch. A v2 client gets a new one with
# every answer, so that nothing it sent late can land in its next transaction; and since it
# cannot know whether its first Produce ever arrived, it may abort what the server never saw.
#
# Sources: TransactionCoordinator#endTransactionWithTV1, #endTransaction (Kafka 4.3).

PREPARE = {True: TxnState.PREPARE_COMMIT, False: TxnState.PREPARE_ABORT}
COMPLETE = {True: TxnState.COMPLETE_COMMIT, False: TxnState.COMPLETE_ABORT}


def end_txn(tc: Coordinator, ask: EndTxn, caller: Caller, disk: Disk, at_ms: int) -> Result:
    """Handle EndTxn: check it and write PrepareCommit or PrepareAbort, the decision. Once that
    record is durable the client is answered and the markers are sent. A retry of an end that is
    already complete is answered with success."""
    if not ask.txn_id:
        return tc, (Reply(caller, EndTxnResponse(Error.INVALID_REQUEST)),)
    entry: Entry | None = tc.entries.get(ask.txn_id)
    if ask.v2:
        error, already_done = check_end_txn_v2(tc, ask, entry)
    else:
        error, already_done = check_legacy(tc, ask, entry)
    if error or entry is None:
        return tc, (Reply(caller, EndTxnResponse(error)),)
    if already_done:
        return tc, (Reply(caller, EndTxnResponse(Error.NONE, entry.pid, entry.epoch)),)
    effects: Effects = ()
    version = tc.config.transaction_version
    # an abort of what never reached the server begins and ends now (prepareAbortOrCommit)
    start_ms = entry.start_ms if entry.state is TxnState.ONGOING else at_ms
    protocol = 2 if ask.v2 else 0
    new = entry.enter(PREPARE[ask.commit], version, client_version=protocol, start_ms=start_ms)
    if ask.v2:
        tc, new, effects = raise_epoch(tc, new)
    # after the last epoch the answer names the next producer id, at epoch 0 (next_pid -1: none)
    rotated = new.next_pid >= 0
    answer = EndTxnResponse(
        Error.NONE, new.next_pid if rotated else new.pid, 0 if rotated else new.epoch
    )
    if "prepare_before_markers" not in tc.config.on:
        # without this safeguard nothing is written before the markers are sent
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
    tc, sent = send_markers(tc, new.txn_id)
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


def check_end_txn_v2(tc: Coordinator, ask: EndTxn, entry: Entry | None) -> tuple[Error, bool]:
    """Check EndTxn of a client of transaction version 2: returns the error and whether the
    transaction has already ended this way. Each end raises the epoch by one, so a request with the
    epoch before is a retry of the last end. While a transition of this id is still being written,
    every request gets CONCURRENT_TRANSACTIONS."""
    if entry is None:
        return Error.INVALID_PRODUCER_ID_MAPPING, False
    if tc.busy(ask.txn_id):
        return Error.CONCURRENT_TRANSACTIONS, False
    # the last end exhausted the epochs, so the entry has a new producer id at epoch 0
    pid_was_replaced = ask.pid == entry.prev_pid and ask.epoch == EXHAUSTED and entry.epoch == 0
    if entry.pid != ask.pid and not pid_was_replaced:
        return Error.INVALID_PRODUCER_ID_MAPPING, False
    is_retry = pid_was_replaced or ask.epoch + 1 == entry.epoch
    is_current = ask.epoch == entry.epoch or "epoch_fencing" not in tc.config.on
    completed = entry.state in COMPLETED
    if entry.state in PREPARE.values():
        if not is_retry:
            return Error.PRODUCER_FENCED, False
        same_outcome = entry.state is PREPARE[ask.commit]
        return (Error.CONCURRENT_TRANSACTIONS if same_outcome else Error.INVALID_TXN_STATE), False
    if completed and is_retry:
        if entry.state is COMPLETE[ask.commit]:
            return Error.NONE, True
        return Error.INVALID_TXN_STATE, False
    if not is_current:
        return Error.PRODUCER_FENCED, False
    if entry.state is TxnState.ONGOING or not ask.commit:
        # an abort in Empty or Complete: of a transaction of which nothing reached the server
        return Error.NONE, False
    return Error.INVALID_TXN_STATE, False


# ---- Ids that are not used any more --------------------------------------------------
#
# A transactional id in Empty, CompleteCommit or CompleteAbort that was not touched for seven
# days is forgotten: a tombstone is written and the entry removed. A producer that still holds
# the old (producer id, epoch) is then answered INVALID_PRODUCER_ID_MAPPING, which is fatal; a new
# initTransactions gets a new producer id.
#
# Sources: TransactionStateManager#removeExpiredTransactionalIds, TransactionState (Dead).

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


# ---- A record that could not be made safe --------------------------------------------
#
# Too few replicas are in sync, or this broker leads the log no more. The transition did not
# happen: its caller hears a retriable error and asks again. Two cases need more than that. A
# *completion* has no caller, so the coordinator itself tries again. A *fence* that fails with
# transaction.version 0 has raised the epoch in memory already; that is remembered, or every
# further attempt would raise it once more.
#
# Sources: TransactionStateManager#appendTransactionToLog, TransactionCoordinator
# #handleInitProducerId (hasFailedEpochFence), TransactionMarkerChannelManager
# #retryLogAppends (Kafka 4.3).

Writes = Map[str, tuple[tuple[int, str], ...]]

APPEND_AGAIN = "append again "
#: by the error of an append to the log, the error that a client gets
CLIENT_ERRORS = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
}


def append_again(tc: Coordinator, txn_id: str, disk: Disk, at_ms: int) -> Result:
    """The pause before a completion is over; another action may have completed it."""
    entry: Entry | None = tc.entries.get(txn_id)
    if entry is None or entry.state not in PREPARED or txn_id in tc.pending:
        return tc, ()
    return write_complete(tc, txn_id, disk, at_ms)


def handle_failed_append(tc: Coordinator, event: AppendFailed) -> Result:
    """Handle a failed write to the transaction log: the transition whose record would end at (log,
    end) has not happened. Its caller gets an error (`CLIENT_ERRORS`, all of them retriable, or
    UNKNOWN_SERVER_ERROR); a completion, which has no caller, is written again after a pause, unless
    another broker leads the log now."""
    log, end = event.log, event.end
    txn_id = dict(tc.writes.get(log, ())).get(end)
    if txn_id is None:
        return tc, ()
    pending: Pending = tc.pending[txn_id]
    unchanged: Entry = tc.entries[txn_id]
    tc = replace(
        tc,
        pending=tc.pending.remove(txn_id),
        writes=_forget(tc.writes, log, end),
        # unchanged, except that version 0 keeps the epoch of an abort that it could not write
        entries=tc.entries.set(txn_id, _keep_entry(tc, unchanged, pending.entry)),
    )
    error = CLIENT_ERRORS.get(Error[event.error], Error.UNKNOWN_SERVER_ERROR)
    if pending.entry.state in COMPLETED:
        led_elsewhere = error is Error.NOT_COORDINATOR  # the new leader does it
        return tc, () if led_elsewhere else (SetTimer(APPEND_AGAIN + txn_id, PAUSE_MS),)
    # a transaction that has timed out is aborted for no caller: its timer runs again
    if pending.caller is None or pending.answer is None:
        return tc, tc.restart_timer(unchanged, event.at_ms)
    answer = pending.answer.refuse(error)
    return tc, (*tc.restart_timer(unchanged, event.at_ms), Reply(pending.caller, answer))


def _forget(writes: Writes, log: str, end: int) -> Writes:
    left = tuple(write for write in writes[log] if write[0] != end)
    return writes.set(log, left) if left else writes.remove(log)


def _keep_entry(tc: Coordinator, old: Entry, new: Entry) -> Entry:
    """What stays in memory: the entry as it was, but for a failed fence of version 0."""
    fencing = old.state is TxnState.ONGOING and new.epoch > old.epoch and new.client_version < 2
    if fencing and tc.config.transaction_version < 2:
        return replace(old, epoch=new.epoch, failed_fence=True)
    return old


RECOVERED = Words("recovered")
OWES = Words("recovered {state}, markers pending for {partitions}")


@frozen
class Coordinator:
    """`epoch`: the leader epoch of its log, carried by every marker. `owed`: partitions whose
    answer to WriteTxnMarkers is missing, by id. `writes`: by log, the offset after each record that
    is not yet safe, and its id. `stride`: how many coordinators share the producer ids.
    `next_pid`: the next producer id; `entries`: the state of each transactional id
    (TransactionMetadata); `pending`: transitions whose record is not yet safe."""

    config: KafkaConfig
    epoch: int = 0
    next_pid: int = 0
    entries: Map[str, Entry] = Map()
    pending: Map[str, Pending] = Map()
    owed: Map[str, tuple[str, ...]] = Map()
    writes: Map[str, tuple[tuple[int, str], ...]] = Map()
    stride: int = 1

    # -- events --------------------------------------------------------------------------

    def step(self, event: Event, disk: Disk) -> tuple[Coordinator, Effects]:
        """Handle one event: a request, a record that is durable or has failed, a partition's answer
        to a marker, a broken connection (its markers are sent again), or a timer."""
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self.handle_request(body, caller, disk, at_ms)
            case Appended(log=log, end=end):
                return self._finish_writes(log, end)
            case AppendFailed():
                return handle_failed_append(self, event)
            case Response(peer=peer, body=WriteTxnMarkersResponse() as answer, at_ms=at_ms):
                return handle_answer(self, peer, answer, disk, at_ms)
            case ConnectionLost(peer=peer):
                return self, self._resend_markers(peer)
            case Fired(timer=timer, at_ms=at_ms):
                return self._handle_timer(timer, disk, at_ms)
        return self, ()

    def check_invariants(self, txn_id: str) -> None:
        """AssertionError where this id's decision would change, or a marker goes round before
        it."""
        old, new = self.entries[txn_id].state, self.pending[txn_id].entry.state
        assert may_enter(new, old, self.config.transaction_version), (txn_id, old, new)
        assert txn_id not in self.owed or old in PREPARED, (txn_id, old)

    def handle_request(
        self, body: CoordinatorRequest, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Coordinator, Effects]:
        """Pass a request to the function that handles it, by its type. AddOffsetsToTxn adds the
        partition of the group's offsets. SendMarkers is the coordinator's message to itself, sent
        when a decision is durable; a transaction without partitions is complete at once."""
        match body:
            case InitProducerId():
                return init_producer_id(self, body, caller, disk, at_ms)
            case AddPartitionsToTxn():
                return add_partitions(self, body, caller, disk, at_ms)
            case AddOffsetsToTxn(txn_id=txn_id, pid=pid, epoch=epoch, group=group):
                partitions = (offsets_log(group, self.config),)
                ask = AddPartitionsToTxn(txn_id, pid, epoch, partitions)
                return add_partitions(self, ask, caller, disk, at_ms)
            case EndTxn():
                return end_txn(self, body, caller, disk, at_ms)
            case ListTransactions():
                return self, (Reply(caller, describe.list_transactions(self, body, at_ms)),)
            case DescribeTransactions():
                return self, (Reply(caller, describe.describe_transaction(self, body)),)
            case SendMarkers(txn_id=txn_id):
                if not self.entries[txn_id].partitions:
                    return write_complete(self, txn_id, disk, at_ms)
                return send_markers(self, txn_id)
        raise TypeError(f"a coordinator is never sent {type(body).__name__}")

    # -- transitions ---------------------------------------------------------------------

    def check_add(self, ask: AddPartitionsToTxn) -> Error:
        """Whether the one who asks may add partitions to this transaction, or verify them."""
        return check_request(self, ask)

    def check_owner(self, ask: EndTxn) -> Error:
        """Whether a legacy client may end this transaction."""
        return check_owner(self, ask)

    def busy(self, txn_id: str) -> bool:
        """Whether a transition is in progress. A prepared transaction always has its
        completion pending (TransactionMetadata#prepareComplete)."""
        if txn_id in self.pending:
            return True
        entry: Entry | None = self.entries.get(txn_id)
        return entry is not None and entry.state in PREPARED

    def write(
        self,
        new: Entry,
        disk: Disk,
        at_ms: int,
        caller: Caller | None = None,
        answer: Answer | None = None,
        ahead: int = 0,
    ) -> tuple[Coordinator, Effects]:
        """Begin a transition of a transactional id: append its record, and keep the transition
        pending until the record is durable; `caller` is then sent `answer`. `ahead`: how many
        records this step has already appended to the same log, which the disk does not show yet."""
        old: Entry | None = self.entries.get(new.txn_id)
        old_state = old.state if old is not None else TxnState.EMPTY
        log = txn_log(new.txn_id, self.config)
        base = disk.log(log).end + ahead
        # prev_pid: the producer id before this transition, also where the transition keeps it
        # (TransactionMetadata#prepareTransitionTo)
        new = replace(new, update_ms=at_ms, prev_pid=(old or new).pid)
        tc = replace(
            self,
            # -1: a new id has no epoch before its first record is durable
            entries=self.entries
            if old is not None
            else self.entries.set(new.txn_id, replace(new, epoch=-1)),
            pending=self.pending.set(new.txn_id, Pending(new, caller, answer)),
            # by log: the ids whose record is durable once the log is up to that offset
            writes=self.writes.set(log, add_ack(self.writes.get(log, ()), (base + 1, new.txn_id))),
        )
        effects = (Append(log, to_record(new, base)), *tc.adjust_timer(new, old_state))
        # the first id: from now on there may be one to expire
        if self.config.id_expiration_ms and not self.entries:
            effects = (*effects, SetTimer(SWEEP, self.config.id_sweep_ms))
        return tc, effects

    def adjust_timer(self, new: Entry, before: TxnState) -> Effects:
        """The timeout runs while a transaction is Ongoing and is looked at by a sweep."""
        name = TIMEOUT + new.txn_id
        if new.state is TxnState.ONGOING and before is not TxnState.ONGOING:
            if "transaction_timeout" in self.config.on:
                return (SetTimer(name, self._sweep_after(new.start_ms, new.timeout_ms)),)
        elif before is TxnState.ONGOING and new.state is not TxnState.ONGOING:
            return (CancelTimer(name),)
        return ()

    def restart_timer(self, entry: Entry, at_ms: int) -> Effects:
        """The timer of a transaction that is open already: after a restart, or after its end
        could not be written. A search has no clock: there it begins again."""
        if entry.state is not TxnState.ONGOING or "transaction_timeout" not in self.config.on:
            return ()
        left = max(0, entry.start_ms + entry.timeout_ms - at_ms) if at_ms else entry.timeout_ms
        return (SetTimer(TIMEOUT + entry.txn_id, self._sweep_after(at_ms, left)),)

    def _sweep_after(self, now_ms: int, after_ms: int) -> int:
        """Time until the first sweep (every 10 s) at which `after_ms` will be over
        (TransactionCoordinator#abortTimedOutTransactions)."""
        tick = self.config.sweep_ms
        return -(-(now_ms + after_ms + 1) // tick) * tick - now_ms

    def _finish_writes(self, log: str, end: int) -> tuple[Coordinator, Effects]:
        """Records below `end` are safe: with replicas several at once, where a follower fetches
        what several ids have written."""
        safe, left = take_safe(self.writes.get(log, ()), end)
        writes = self.writes.set(log, left) if left else self.writes.remove(log)
        tc: Coordinator = replace(self, writes=writes)
        effects: Effects = ()
        for _, txn_id in safe:
            tc, more = tc._finish_write(txn_id)
            effects = (*effects, *more)
        return tc, effects

    def _finish_write(self, txn_id: str) -> tuple[Coordinator, Effects]:
        """Complete a transition whose record is durable: the entry takes its new state and the
        caller gets its answer. After a decision the coordinator also sends itself SendMarkers;
        after a completion no marker is pending any more. An id whose record is a tombstone (Dead)
        is forgotten."""
        self.check_invariants(txn_id)
        pending = self.pending[txn_id]
        tc = replace(
            self,
            entries=self.entries.set(txn_id, pending.entry),
            pending=self.pending.remove(txn_id),
        )
        if pending.entry.state is TxnState.DEAD:
            return replace(tc, entries=tc.entries.remove(txn_id)), ()
        reply = () if pending.caller is None else (Reply(pending.caller, pending.answer),)
        if pending.entry.state in PREPARED:
            markers = (Send(tc.config.coordinator, SendMarkers(txn_id)),)
            # the reply first, unless the scenario has another sequence for this step
            return tc, tc.config.arrange("prepared", reply=reply, markers=markers)
        return replace(tc, owed=tc.owed.remove(txn_id)), reply

    def fence(
        self, entry: Entry, disk: Disk, at_ms: int, caller: Caller | None, answer: Answer | None
    ) -> tuple[Coordinator, Effects]:
        """Abort an open transaction on the coordinator's own decision, with an epoch above its
        producer's: the markers carry that epoch to every leader, which then refuses the old
        producer. Used for a timeout (`caller` None) and for a new producer with the same id, which
        is sent `answer` once the decision is durable."""
        v2 = self.config.transaction_version >= 2
        new = entry.enter(
            TxnState.PREPARE_ABORT,
            self.config.transaction_version,
            # failed_fence: an earlier attempt could not be written and has raised it already
            epoch=entry.epoch if entry.failed_fence else entry.epoch + 1,
            # -1: version 0 remembers no previous epoch
            last_epoch=entry.epoch if v2 else -1,
            # no client ends it, so the cluster decides: with 2 the markers are of version 2, of
            # which leaders demand an epoch above the producer's
            client_version=2 if v2 else 0,
            failed_fence=False,
        )
        tc: Coordinator = self
        effects: Effects = ()
        if v2 and entry.epoch >= EXHAUSTED and self.config.release != "4.2":
            # since 4.3 (KAFKA-20090); in 4.2 the next InitProducerId allocates the new id
            tc, pid, effects = allocate(self)
            new = replace(new, next_pid=pid)
        tc, written = tc.write(new, disk, at_ms, caller, answer)
        return tc, (*effects, *written)

    def _handle_timer(self, timer: str, disk: Disk, at_ms: int) -> tuple[Coordinator, Effects]:
        if timer == SWEEP:
            return expire_ids(self, disk, at_ms)
        if timer.startswith(AGAIN):
            return send_again(self, timer)
        if timer.startswith(APPEND_AGAIN):
            return append_again(self, timer.removeprefix(APPEND_AGAIN), disk, at_ms)
        return self._abort_timed_out(timer.removeprefix(TIMEOUT), disk, at_ms)

    def _abort_timed_out(self, txn_id: str, disk: Disk, at_ms: int) -> tuple[Coordinator, Effects]:
        entry: Entry | None = self.entries.get(txn_id)
        if txn_id in self.pending:
            # Something is being written for it just now: the next sweep looks again.
            return self, (SetTimer(TIMEOUT + txn_id, self.config.sweep_ms),)
        if entry is None or entry.state is not TxnState.ONGOING:
            return self, ()
        return self.fence(entry, disk, at_ms, None, None)

    def _resend_markers(self, partition: str) -> Effects:
        """The connection to a leader broke: what it was sent may be lost, so again."""
        return tuple(
            Send(partition, build_marker(self, self.entries[txn_id]))
            for txn_id, partitions in self.owed.items()
            if partition in partitions
        )

    # -- words and recovery --------------------------------------------------------------

    def describe_changes(self, old: Coordinator | None) -> tuple[Text, ...]:
        if old is not None:
            return ()
        texts = [
            OWES(state=entry.state, partitions=", ".join(entry.partitions))
            for entry in self.entries.values()
            if entry.state in PREPARED
        ]
        return tuple(texts) or (RECOVERED(),)

    @staticmethod
    def recover(config: KafkaConfig, disk: Disk, at_ms: int) -> tuple[Coordinator, Effects]:
        epoch, noted = next_epoch(disk)
        tc, effects = Coordinator.begin_leading(config, disk, at_ms, epoch)
        return tc, (noted, *effects)

    @staticmethod
    def begin_leading(
        config: KafkaConfig,
        disk: Disk,
        at_ms: int,
        epoch: int,
        first_block: int = 0,
        stride: int = 1,
    ) -> tuple[Coordinator, Effects]:
        """Load the transaction log after a start or a failover, from every partition of
        `__transaction_state`. Of a transaction that was prepared all markers are sent again; an
        Ongoing one stays open, since its producer may go on and commit. Producer ids continue with
        a new block; `stride` coordinators take blocks in turns, and `first_block` is the number of
        the first one of this coordinator. `epoch`: the coordinator epoch, which markers carry."""
        entries: Map[str, Entry] = Map()
        for log in txn_logs(disk):
            for record in disk.log(log).read(0):
                entry = record.entry
                dead = entry.state is TxnState.DEAD
                entries = entries.remove(entry.txn_id) if dead else entries.set(entry.txn_id, entry)
        block = disk.table("producer ids").get("next block", first_block * config.pid_block)
        tc = Coordinator(config, epoch, block, entries, stride=stride)
        # written before an id of this block is given out, so no id is given out twice
        effects: list[Effect] = [
            Put("producer ids", "next block", block + stride * config.pid_block)
        ]
        for entry in entries.values():
            if entry.state in PREPARED:
                effects.append(Send(config.coordinator, SendMarkers(entry.txn_id)))
            effects += tc.restart_timer(entry, at_ms)
        if entries and config.id_expiration_ms:
            effects.append(SetTimer(SWEEP, config.id_sweep_ms))
        return tc, tuple(effects)

    def resign(self) -> Effects:
        """Another broker leads now: refuse all that wait for a record (NOT_COORDINATOR)."""
        return tuple(
            Reply(p.caller, p.answer.refuse(Error.NOT_COORDINATOR))
            for p in self.pending.values()
            if p.caller is not None and p.answer is not None
        )


def next_epoch(disk: Disk) -> tuple[int, Put]:
    """After a restart of the only broker its logs lost their leader, and got one again: the leader
    epoch, and the effect that notes it."""
    epoch: int = disk.table("leadership").get("epoch", -2) + 2
    return epoch, Put("leadership", "epoch", epoch)
