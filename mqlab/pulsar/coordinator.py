"""The transaction coordinator: who counts transactions and ends them.

A coordinator is a number. The number is in every transaction's id, and the owner of that
partition of `transaction_coordinator_assign` keeps its log; a standalone broker has one.

**Durable** is one record for each thing that happens to a transaction: NEW, ADD_PARTITION,
ADD_SUBSCRIPTION, UPDATE. They are in a managed ledger that is no topic. When a transaction has
ended, its records are deleted by a cursor, and **it is forgotten**: a client that asks about it
then, a second commit among them, hears TransactionNotFound. **In memory** are the live
transactions.

    TcClientConnect        here          the first one loads the log: not the broker's start
    NewTxn                 here          an id, one higher than the last
    AddPartitionToTxn …    here          where the end will have to be sent
    EndTxn                 here          decided in the log, then sent to every participant,
                                         then logged as done, and only then answered
    (its time is over)     here          aborted, if it is still open
    getTransactionMetadata here          an administrator asks

*What can go wrong.* The coordinator dies after COMMITTING was logged: the next load ends the
transaction again, and a participant that had finished gets a second marker. A participant does
not answer: a second later it is sent to all of them again, without limit, and the caller waits.
*Invariants:*
ids only grow, also over restarts; a decision never changes; no participant hears of an end that is
not in the log.

*Left out:* several records in one entry (PIP-160), owners, the fencing of a log by a second broker,
the coordinator on a metadata store for scalable topics (PIP-473).
Read on in TransactionMetadataStoreService, MLTransactionMetadataStore, MLTransactionLogImpl (4.2).
"""

from __future__ import annotations

from typing import Any

from ..kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
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
from .config import CURSORS, TRANSACTION_CURSOR, PulsarConfig, name_transaction_log
from .errors import ServerError
from .ledger import Cursor
from .messages import (
    AddPartitionToTxn,
    AddPartitionToTxnResponse,
    AddSubscriptionToTxn,
    AddSubscriptionToTxnResponse,
    Answer,
    Described,
    EndTxn,
    EndTxnOnPartition,
    EndTxnOnPartitionResponse,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    EndTxnResponse,
    GetCoordinatorStats,
    GetSlowTransactions,
    GetTransactionMetadata,
    NewTxn,
    NewTxnResponse,
    TcClientConnect,
    TcClientConnectResponse,
    TransactionMetadataEntry,
    TxnID,
)
from .states import ENDED, STATES_OF, StoreState, TxnAction, TxnStatus, may_enter

# ---- Administration: what a coordinator may be asked, as the REST interface answers it
#
# Two names mislead: `timeout_ms` of a transaction is called timeoutAt and is a duration, and
# slowTransactions gives those whose *configured* timeout is longer than the time that was asked
# for,
# however long they have run.
#
# Source: TransactionsBase#getTransactionMetadata, #getSlowTransactionsByCoordinatorId,
# #getCoordinatorStats (4.2).


def answer(tc: Coordinator, body: Any) -> Described:
    """Answer an administrator's request about this coordinator: a transaction's metadata, its
    statistics, or "slow" transactions: those whose timeout, a duration in ms, is longer than the
    one in the request, however long they have been open."""
    match body:
        case GetTransactionMetadata(txn=txn):
            meta = tc.txns.get(txn)
            if meta is None:
                return Described(ServerError.TransactionNotFound)
            return Described(facts=_describe(meta))
        case GetSlowTransactions(timeout_ms=timeout_ms):
            slow = [str(m.txn) for m in tc.txns.values() if m.timeout_ms > timeout_ms]
            return Described(facts=(("transactions", "{" + ", ".join(slow) + "}"),))
        case GetCoordinatorStats():
            facts = {
                "state": tc.state,
                "leastSigBits": tc.sequence,
                "lowWaterMark": tc.low_watermark,
                "ongoingTxnSize": len(tc.txns),
            }
            return Described(facts=tuple((name, str(value)) for name, value in facts.items()))
    raise TypeError(f"a coordinator is never sent {type(body).__name__}")


def _describe(meta: TxnMeta) -> tuple[tuple[str, str], ...]:
    produced = ", ".join(meta.partitions)
    acked = ", ".join(f"{partition}/{name}" for partition, name in meta.subscriptions)
    return (
        ("status", str(meta.status)),
        ("timeoutAt", str(meta.timeout_ms)),
        ("producedPartitions", f"{{{produced}}}"),
        ("ackedPartitions", f"{{{acked}}}"),
    )


# ---- What a coordinator remembers of a transaction, and what it is doing for one -----
#
# Sources: TxnMetaImpl, MLTransactionMetadataStore (4.2).

#: the first words of the names of timers
TIMEOUT = "timeout "
RETRY = "retry "

#: who takes part: a partition, and a subscription on it or "" for the partition itself
Participant = tuple[str, str]


@frozen
class TxnMeta:
    """A live transaction. `partitions` and `subscriptions`: where its end will be sent, sorted,
    each once. `records`: its positions in the log, which are deleted when it has ended."""

    txn: TxnID
    status: TxnStatus = TxnStatus.OPEN
    partitions: tuple[str, ...] = ()
    subscriptions: tuple[Participant, ...] = ()
    timeout_ms: int = 0
    start_ms: int = 0
    records: tuple[int, ...] = ()

    @property
    def deadline_ms(self) -> int:
        return self.start_ms + self.timeout_ms

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Whom its end concerns: the subscriptions first, then the partitions."""
        return (*self.subscriptions, *((name, "") for name in self.partitions))

    def accepts(self, entry: TransactionMetadataEntry) -> bool:
        """Whether a record that has been written comes in time: participants are added to what is
        open, and an update finds the state that it expected."""
        if entry.status is None:
            return self.status is TxnStatus.OPEN
        return self.status is entry.expected and may_enter(entry.status, self.status)

    def apply(self, entry: TransactionMetadataEntry) -> TxnMeta:
        """This transaction after one more of its records."""
        new = replace(self, records=(*self.records, entry.base))
        match entry.op:
            case "ADD_PARTITION":
                names = {*self.partitions, *entry.partitions}
                return replace(new, partitions=tuple(sorted(names)))
            case "ADD_SUBSCRIPTION":
                where = {*self.subscriptions, *entry.subscriptions}
                return replace(new, subscriptions=tuple(sorted(where)))
        assert entry.status is not None
        return replace(new, status=entry.status)


@frozen
class Write:
    """A record that was appended and is not safe yet, with what will then be done for whom.
    `end`: the number of the End that a final state belongs to."""

    entry: TransactionMetadataEntry
    caller: Caller | None = None
    end: int = -1


@frozen
class End:
    """One END_TXN in progress. Two callers may end the same transaction at once, and then each has
    an End and informs every participant. `owed`: by number, who has not answered; `failed`: some
    answer was an error, or was lost. `number`: its own, the lowest that was free."""

    number: int
    txn: TxnID
    action: TxnAction
    caller: Caller | None
    owed: Map[int, Participant] = Map()
    failed: bool = False


# ---- END_TXN: decide, inform all participants, write that it is done, answer ---------
#
#     OPEN        log COMMITTING, and go on when it is safe
#     COMMITTING  asked to commit again: go on at once, beside the one that is at it already
#     otherwise   InvalidTxnStatus; TransactionNotFound for what is forgotten
#
# Every participant is informed in parallel: the subscriptions on which the transaction acknowledged
# and the partitions it was going to write to. If one does not answer, or cannot, **all** of them
# are informed again a second later; those that had finished append another marker, which changes
# nothing. Markers are idempotent, not unique.
#
# Source: TransactionMetadataStoreService#endTransaction, #endTxnInTransactionBuffer (4.2).

Result = tuple["Coordinator", Effects]

#: a request's number: its end's number, and its place among the participants
PLACES = 1 << 16


def begin_end(
    tc: Coordinator, txn: TxnID, action: TxnAction, caller: Caller | None, disk: Disk
) -> Result:
    """Begin to end a transaction (END_TXN): write the decision to the log if it is open, or send it
    to the participants again if the same decision was made before; otherwise refuse. `caller` None:
    it has timed out, and no caller waits for an answer."""
    meta = tc.txns.get(txn)
    if meta is None:
        return tc, _answer(caller, ServerError.TransactionNotFound)
    decided, _ = STATES_OF[action]
    if meta.status is decided:
        return tell_participants(tc, meta, caller, disk)
    if meta.status is not TxnStatus.OPEN:
        return tc, _answer(caller, ServerError.InvalidTxnStatus)
    if "decision_before_markers" not in tc.config.on:
        # without this safeguard the decision is sent to the participants unwritten
        meta = replace(meta, status=decided)
        return tell_participants(replace(tc, txns=tc.txns.set(txn, meta)), meta, caller, disk)
    return tc.write(disk, Write(_build_update(meta, decided), caller))


def _build_update(meta: TxnMeta, status: TxnStatus) -> TransactionMetadataEntry:
    return TransactionMetadataEntry(-1, "UPDATE", meta.txn, status, expected=meta.status)


def _answer(caller: Caller | None, error: ServerError) -> Effects:
    """No caller waits for the end of a transaction that has timed out."""
    return () if caller is None else (Reply(caller, EndTxnResponse(error)),)


# ---- all participants are informed ---------------------------------------------------


def tell_participants(tc: Coordinator, meta: TxnMeta, caller: Caller | None, disk: Disk) -> Result:
    """Send the end to all participants at once, with this coordinator's low watermark (the
    transaction itself is live until it has ended, so the watermark is below it), and wait for their
    answers; without participants the final state is written at once. `caller`: who is answered in
    the end; None: no caller."""
    commits = meta.status is TxnStatus.COMMITTING
    action = TxnAction.COMMIT if commits else TxnAction.ABORT
    number = _find_free_number(tc)
    owed = tuple((number * PLACES + i, who) for i, who in enumerate(meta.participants))
    begun = End(number, meta.txn, action, caller, Map(owed))
    sent = tuple(_send(tc, begun, number, who) for number, who in owed)
    new, effects = _end_if_answered(replace(tc, ends=(*tc.ends, begun)), begun, disk)
    return new, (CancelTimer(f"{TIMEOUT}{meta.txn}"), *sent, *effects)


def _find_free_number(tc: Coordinator) -> int:
    taken = {end.number for end in tc.ends}
    return next(n for n in range(len(taken) + 1) if n not in taken)


def _send(tc: Coordinator, end: End, number: int, who: Participant) -> Send:
    partition, subscription = who
    mark = tc.low_watermark
    if subscription:
        ask = EndTxnOnSubscription(end.txn, end.action, partition, subscription, mark)
        return Send(partition, ask, number)
    return Send(partition, EndTxnOnPartition(end.txn, end.action, partition, mark), number)


def handle_answer(tc: Coordinator, number: int, ok: bool, disk: Disk) -> Result:
    """A participant has answered, well or ill; what is done next waits for all of them."""
    end = next((e for e in tc.ends if number in e.owed), None)
    if end is None:
        return tc, ()
    owed = end.owed.remove(number)
    return _end_if_answered(tc, replace(end, owed=owed, failed=end.failed or not ok), disk)


def lose_participant(tc: Coordinator, peer: str, disk: Disk) -> Result:
    """The connection to a partition broke, which takes the place of a request's timeout of 3 s,
    too: whether it was done is unknown."""
    effects: Effects = ()
    for end in tc.ends:
        owed = Map(pair for pair in end.owed.items() if pair[1][0] != peer)
        if len(owed) < len(end.owed):
            tc, more = _end_if_answered(tc, replace(end, owed=owed, failed=True), disk)
            effects = (*effects, *more)
    return tc, effects


def _end_if_answered(tc: Coordinator, end: End, disk: Disk) -> Result:
    """When no answer is pending any more: log that it is done, or try all of it again."""
    new = replace(tc, ends=tuple(end if e.number == end.number else e for e in tc.ends))
    if end.owed:
        return new, ()
    if end.failed and "retry_until_answered" in tc.config.on:
        return new, (SetTimer(f"{RETRY}{end.txn}", tc.config.retry_ms),)
    meta = tc.txns.get(end.txn)
    if meta is None:  # another one ended it first
        return _leave(new, end, ServerError.TransactionNotFound)
    return new.write(disk, Write(_build_update(meta, STATES_OF[end.action][1]), end=end.number))


def try_again(tc: Coordinator, txn: TxnID, disk: Disk) -> Result:
    """A second after some participant did not answer: from the beginning, for every caller."""
    effects: Effects = ()
    for end in tc.ends:
        if end.txn == txn and end.failed and not end.owed:
            tc = replace(tc, ends=tuple(e for e in tc.ends if e.number != end.number))
            tc, more = begin_end(tc, end.txn, end.action, end.caller, disk)
            effects = (*effects, *more)
    return tc, effects


# ---- it is done ------------------------------------------------------------------------


def finish(tc: Coordinator, write: Write) -> Result:
    """COMMITTED or ABORTED is safe: now the caller is answered."""
    return _leave(tc, _find(tc, write), ServerError.NoError)


def refuse(tc: Coordinator, write: Write, error: ServerError) -> Result:
    """A record came too late: another caller ended the transaction meanwhile."""
    if write.end < 0:
        return tc, _answer(write.caller, error)
    return _leave(tc, _find(tc, write), error)


def _find(tc: Coordinator, write: Write) -> End:
    return next(end for end in tc.ends if end.number == write.end)


def _leave(tc: Coordinator, end: End, error: ServerError) -> Result:
    rest = tuple(e for e in tc.ends if e.number != end.number)
    return replace(tc, ends=rest), _answer(end.caller, error)


# ---- Deadlines, and the second after which an end is tried again ---------------------
#
# A transaction's deadline is absolute: its start and its timeout are in the log, so a restart does
# not prolong it. It fires when the deadline is *before* now, and only what is still OPEN is
# aborted then. A timeout below a tick of the wheel (100 ms) aborts at once.
#
# Source: TransactionTimeoutTrackerImpl, TransactionRecoverTrackerImpl (4.2).


def track(tc: Coordinator, meta: TxnMeta, disk: Disk, at_ms: int) -> Result:
    """Watch a transaction's deadline. A search has no clock: there it is always ahead."""
    if "transaction_timeout" not in tc.config.on:
        return tc, ()
    if meta.timeout_ms < tc.config.tick_ms:
        return begin_end(tc, meta.txn, TxnAction.ABORT, None, disk)
    left = max(0, meta.deadline_ms - at_ms) if at_ms else meta.timeout_ms
    return tc, (SetTimer(f"{TIMEOUT}{meta.txn}", left + 1),)


def handle_timer(tc: Coordinator, timer: str, disk: Disk) -> Result:
    if timer.startswith(RETRY):
        waiting = (end.txn for end in tc.ends if timer == f"{RETRY}{end.txn}")
        txn: TxnID | None = next(waiting, None)
        return (tc, ()) if txn is None else try_again(tc, txn, disk)
    metas = (meta for meta in tc.txns.values() if timer == f"{TIMEOUT}{meta.txn}")
    meta = next(metas, None)
    if meta is None or meta.status is not TxnStatus.OPEN:
        return tc, ()
    return begin_end(tc, meta.txn, TxnAction.ABORT, None, disk)


# The first client connects: the log is read, and what it leaves undone is gone on with
#
#     OPEN         its deadline is watched again, the one it had from the start
#     COMMITTING   it is committed again, to every participant
#     ABORTING     it is aborted again
#     COMMITTED …  its records should have been deleted: they are now
#
# A record that was too late when it was written, and that a crash kept from being deleted, is too
# late
# again, and deleted now: it is compared with the state that it expected, as it was the first time.
#
# Ids go on with the last one in the log, whether its transaction is known or not.
#
# Source: MLTransactionLogImpl#replayAsync, MLTransactionMetadataStore#init,
# TransactionRecoverTrackerImpl, MLTransactionSequenceIdGenerator (4.2).


def load(tc: Coordinator, disk: Disk, at_ms: int) -> Result:
    """Load the coordinator from its transaction log: replay the records that are not deleted, start
    the timeouts of open transactions again, and send the decisions of those that were ending to
    their participants once more."""
    log = disk.log(tc.log)
    old_cursor: Cursor = disk.table(CURSORS).get(TRANSACTION_CURSOR, Cursor())
    # the last record carries the highest id given so far; -1: the log is empty
    last_sequence = next((entry.max_local_txn_id for entry in log.read(log.end - 1)), -1)
    entries = [entry for entry in log.read(0) if not old_cursor.is_deleted(entry.base)]
    txns, useless = replay(entries)
    # without this safeguard every transaction is forgotten
    if "replay_log" not in tc.config.on:
        txns, useless = Map(), ()
    cursor = old_cursor.delete(useless)
    new = replace(tc, state=StoreState.READY, sequence=last_sequence, txns=txns, cursor=cursor)
    effects: Effects = (Put(CURSORS, TRANSACTION_CURSOR, cursor),) if useless else ()
    for meta in txns.values():
        if meta.status is TxnStatus.OPEN:
            new, more = track(new, meta, disk, at_ms)
        else:
            new, more = tell_participants(new, meta, None, disk)  # None: no client waits for it
        effects = (*effects, *more)
    return new, effects


def replay(entries: list[TransactionMetadataEntry]) -> tuple[Map[TxnID, TxnMeta], tuple[int, ...]]:
    """Rebuild the live transactions from the records of the log; returns them and the positions of
    records that can be deleted, because their transaction has ended or did not accept them (they
    expected another state of it)."""
    txns: Map[TxnID, TxnMeta] = Map()
    useless: tuple[int, ...] = ()
    for entry in entries:
        meta = txns.get(entry.txn)
        if entry.op == "NEW":
            meta = TxnMeta(entry.txn, timeout_ms=entry.timeout_ms, start_ms=entry.start_ms)
            txns = txns.set(entry.txn, replace(meta, records=(entry.base,)))
        elif meta is None:
            useless = (*useless, entry.base)
        elif entry.status in ENDED:
            txns = txns.remove(entry.txn)
            useless = (*useless, *meta.records, entry.base)
        elif meta.accepts(entry):
            txns = txns.set(entry.txn, meta.apply(entry))
        else:
            useless = (*useless, entry.base)
    return txns, useless


NOT_LOADED = Words("not loaded until a client connects")
LOADED = Words("loaded: {txns}")
NOTHING_OPEN = Words("loaded, nothing open")
GONE = ServerError.TransactionNotFound
#: a record was written, and the transaction had moved on meanwhile
LATE = ServerError.InvalidTxnStatus

AddToTxn = AddPartitionToTxn | AddSubscriptionToTxn


@frozen
class Coordinator:
    """`sequence`: the last id given, -1 before the first. `writes`: records that are not safe
    yet, the oldest first. `ends`: END_TXN in progress. `cursor`: what of the log is deleted."""

    config: PulsarConfig
    tc_id: int = 0
    state: StoreState = StoreState.NONE
    sequence: int = -1
    txns: Map[TxnID, TxnMeta] = Map()
    writes: tuple[Write, ...] = ()
    ends: tuple[End, ...] = ()
    cursor: Cursor = Cursor()

    @property
    def log(self) -> str:
        return name_transaction_log(self.tc_id)

    @property
    def low_watermark(self) -> int:
        """Every transaction up to it has ended; 0 when none is live (getLowWaterMark)."""
        return next((txn.least - 1 for txn in self.txns), 0)

    # -- events --------------------------------------------------------------------------

    def step(self, event: Event, disk: Disk) -> Result:
        """Handle one event: a request, a record that is durable, a participant's answer, a broken
        connection to a participant, or a timer."""
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self.handle_request(body, caller, disk, at_ms)
            case Appended(end=end, at_ms=at_ms):
                self.check_invariants()
                return self._finish_writes(end, disk, at_ms)
            case Response(
                corr=corr,
                body=EndTxnOnPartitionResponse() | EndTxnOnSubscriptionResponse() as answer,
            ):
                return handle_answer(self, corr, answer.ok, disk)
            case ConnectionLost(peer=peer):
                return lose_participant(self, peer, disk)
            case Fired(timer=timer):
                return handle_timer(self, timer, disk)
        return self, ()

    def check_invariants(self) -> None:
        """AssertionError where participants are sent an end that was not decided."""
        for end in self.ends:
            meta = self.txns.get(end.txn)
            assert meta is None or meta.status is STATES_OF[end.action][0], (end.txn, meta.status)

    def handle_request(self, body: Any, caller: Caller, disk: Disk, at_ms: int) -> Result:
        if isinstance(body, TcClientConnect):
            new, effects = load(self, disk, at_ms) if self.state is StoreState.NONE else (self, ())
            return new, (*effects, Reply(caller, TcClientConnectResponse()))
        if self.state is not StoreState.READY:
            return self, (Reply(caller, Answer(ServerError.TransactionCoordinatorNotFound)),)
        match body:
            case NewTxn(timeout_ms=timeout_ms):
                return self._begin(timeout_ms, caller, disk, at_ms)
            case AddPartitionToTxn() | AddSubscriptionToTxn():
                return self._add(body, caller, disk)
            case EndTxn(txn=txn, action=action):
                return begin_end(self, txn, action, caller, disk)
        return self, (Reply(caller, answer(self, body)),)

    # -- NewTxn, AddPartitionToTxn, AddSubscriptionToTxn -------------------------------------

    def _begin(self, timeout_ms: int, caller: Caller, disk: Disk, at_ms: int) -> Result:
        """Handle NEW_TXN: give the transaction the next id and write its record. Above the limit of
        active transactions there is no answer at all, and the client waits for its timeout
        (ServerCnx#handleNewTxn)."""
        if self.config.max_active and len(self.txns) >= self.config.max_active:
            return self, ()
        least_bits = self.sequence + 1
        new = replace(self, sequence=least_bits)
        return new.write(
            disk,
            Write(
                # -1: its position is set when it is appended
                TransactionMetadataEntry(
                    -1, "NEW", TxnID(self.tc_id, least_bits), timeout_ms=timeout_ms, start_ms=at_ms
                ),
                caller,
            ),
        )

    def _add(self, ask: AddToTxn, caller: Caller, disk: Disk) -> Result:
        """Whether the transaction is still open is looked at when the record is written."""
        entry = TransactionMetadataEntry(-1, "ADD_PARTITION", ask.txn)
        if isinstance(ask, AddPartitionToTxn):
            entry = replace(entry, partitions=tuple(sorted(set(ask.partitions))))
        else:
            where = tuple(sorted(set(ask.subscriptions)))
            entry = replace(entry, op="ADD_SUBSCRIPTION", subscriptions=where)
        if ask.txn not in self.txns:
            return self, (Reply(caller, _answer_add(entry, GONE)),)
        return self.write(disk, Write(entry, caller))

    # -- the log -----------------------------------------------------------------------------

    def write(self, disk: Disk, write: Write) -> Result:
        """Append a record; what it means happens when it is safe."""
        waiting = sum(w.entry.base >= disk.log(self.log).end for w in self.writes)
        base = disk.log(self.log).end + waiting
        entry = replace(write.entry, base=base, max_local_txn_id=self.sequence)
        new = replace(self, writes=(*self.writes, replace(write, entry=entry)))
        return new, (Append(self.log, entry),)

    def _finish_writes(self, end: int, disk: Disk, at_ms: int) -> Result:
        """Records are safe: each has its effect now, the oldest first."""
        new: Coordinator = self
        effects: Effects = ()
        while new.writes and new.writes[0].entry.base < end:
            write = new.writes[0]
            new = replace(new, writes=new.writes[1:])
            new, more = new._finish_write(write, disk, at_ms)
            effects = (*effects, *more)
        return new, effects

    def _finish_write(self, write: Write, disk: Disk, at_ms: int) -> Result:
        match write.entry.op:
            case "NEW":
                return self._finish_begin(write, disk, at_ms)
            case "UPDATE":
                return self._finish_update(write, disk, at_ms)
        return self._finish_add(write)

    def _finish_begin(self, write: Write, disk: Disk, at_ms: int) -> Result:
        entry = write.entry
        meta = TxnMeta(
            entry.txn, timeout_ms=entry.timeout_ms, start_ms=entry.start_ms, records=(entry.base,)
        )
        new = replace(self, txns=self.txns.set(entry.txn, meta))
        new, effects = track(new, meta, disk, at_ms)
        assert write.caller is not None
        return new, (*effects, Reply(write.caller, NewTxnResponse(txn=entry.txn)))

    def _finish_add(self, write: Write) -> Result:
        entry = write.entry
        meta = self.txns.get(entry.txn)
        assert write.caller is not None
        if meta is None or not meta.accepts(entry):
            new, effects = self.delete((entry.base,))
            return new, (*effects, Reply(write.caller, _answer_add(entry, LATE)))
        new = replace(self, txns=self.txns.set(entry.txn, meta.apply(entry)))
        return new, (Reply(write.caller, _answer_add(entry, ServerError.NoError)),)

    def _finish_update(self, write: Write, disk: Disk, at_ms: int) -> Result:
        """An UPDATE record is durable: the transaction takes its new state. Only now is the state
        compared with the one the record expects; a record that came too late is deleted again and
        its caller refused (MLTransactionMetadataStore#updateTxnStatus). A decision is then sent to
        the participants; after the final state the transaction is forgotten and its caller gets
        the answer."""
        entry = write.entry
        meta = self.txns.get(entry.txn)
        if meta is None or not meta.accepts(entry):
            new, effects = self.delete((entry.base,))
            new, answer_effects = refuse(new, write, LATE)
            return new, (*effects, *answer_effects)
        meta = meta.apply(entry)
        if entry.status in ENDED:
            new, effects = replace(self, txns=self.txns.remove(entry.txn)).delete(meta.records)
            new, answer_effects = finish(new, write)
            return new, (*effects, *answer_effects)
        new = replace(self, txns=self.txns.set(entry.txn, meta))
        return tell_participants(new, meta, write.caller, disk)

    def delete(self, positions: tuple[int, ...]) -> Result:
        """Delete records from the log, on its cursor."""
        cursor = self.cursor.delete(positions)
        return replace(self, cursor=cursor), (Put(CURSORS, TRANSACTION_CURSOR, cursor),)

    # -- words and recovery --------------------------------------------------------------

    def describe_changes(self, old: Coordinator | None) -> tuple[Text, ...]:
        if old is None:
            return (NOT_LOADED(),)
        if old.state is self.state:
            return ()
        if not self.txns:
            return (NOTHING_OPEN(),)
        live = ", ".join(f"{meta.status} {meta.txn}" for meta in self.txns.values())
        return (LOADED(txns=live),)

    @staticmethod
    def recover(config: PulsarConfig, tc_id: int, disk: Disk, at_ms: int) -> Result:
        """After a start nothing is loaded: no transaction is timed out before a client connects."""
        return Coordinator(config, tc_id), ()


def _answer_add(entry: TransactionMetadataEntry, error: ServerError) -> Answer:
    if entry.op == "ADD_PARTITION":
        return AddPartitionToTxnResponse(error)
    return AddSubscriptionToTxnResponse(error)
