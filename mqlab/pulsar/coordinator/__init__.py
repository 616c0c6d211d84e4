"""The transaction coordinator: who counts transactions and ends them.

A coordinator is a number. The number stands in every transaction's id, and the owner of that
partition of `transaction_coordinator_assign` keeps its log; a standalone broker has one.

**Durable** is one record for each thing that happens to a transaction: NEW, ADD_PARTITION,
ADD_SUBSCRIPTION, UPDATE. They lie in a managed ledger that is no topic. When a transaction has
ended, its records are deleted by a cursor, and **it is forgotten**: a client that asks about it
then, a second commit among them, hears TransactionNotFound. **In memory** are the live
transactions.

    TcClientConnect        loading.py    the first one loads the log: not the broker's start
    NewTxn                 here          an id, one higher than the last
    AddPartitionToTxn …    here          where the end will have to be told
    EndTxn                 ending.py     decided in the log, then told to every participant,
                                         then logged as done, and only then answered
    (its time is over)     timing.py     aborted, if it is still open
    getTransactionMetadata describe.py   an administrator asks

*What can go wrong.* The coordinator dies after COMMITTING was logged: the next load ends the
transaction again, and a participant that had finished gets a second marker. A participant does
not answer: a second later all of them are told again, without limit, and the caller waits.
*Invariants:*
ids only grow, also over restarts; a decision never changes; no participant hears of an end that is
not in the log.

*Left out:* several records in one entry (PIP-160), owners, the fencing of a log by a second broker,
the coordinator on a metadata store for scalable topics (PIP-473).
Read on in TransactionMetadataStoreService, MLTransactionMetadataStore, MLTransactionLogImpl (4.2).
"""

from __future__ import annotations

from typing import Any

from ...kernel import (
    Append,
    Appended,
    Caller,
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
    Text,
    Words,
    frozen,
    replace,
)
from ..config import CURSORS, TRANSACTION_CURSOR, PulsarConfig, name_transaction_log
from ..errors import ServerError
from ..ledger import Cursor
from ..messages import (
    AddPartitionToTxn,
    AddPartitionToTxnResponse,
    AddSubscriptionToTxn,
    AddSubscriptionToTxnResponse,
    Answer,
    EndTxn,
    EndTxnOnPartitionResponse,
    EndTxnOnSubscriptionResponse,
    NewTxn,
    NewTxnResponse,
    TcClientConnect,
    TcClientConnectResponse,
    TransactionMetadataEntry,
    TxnID,
)
from ..states import ENDED, STATES_OF, StoreState
from . import describe, ending, loading, timing
from .meta import End, TxnMeta, Write

__all__ = ["Coordinator", "End", "TxnMeta", "Write"]

NOT_LOADED = Words("not loaded until a client connects")
LOADED = Words("loaded: {txns}")
NOTHING_OPEN = Words("loaded, nothing open")
GONE = ServerError.TransactionNotFound
#: a record was written, and the transaction had moved on meanwhile
LATE = ServerError.InvalidTxnStatus

Result = tuple["Coordinator", Effects]
AddToTxn = AddPartitionToTxn | AddSubscriptionToTxn


@frozen
class Coordinator:
    """`sequence`: the last id given, -1 before the first. `writes`: records that are not safe
    yet, the oldest first. `ends`: END_TXN under way. `cursor`: what of the log is deleted."""

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
                return ending.handle_answer(self, corr, answer.ok, disk)
            case ConnectionLost(peer=peer):
                return ending.lose_participant(self, peer, disk)
            case Fired(timer=timer):
                return timing.handle_timer(self, timer, disk)
        # Nothing else concerns a coordinator: it calls nobody but participants.
        return self, ()

    def check_invariants(self) -> None:
        """AssertionError where participants are told an end that was not decided."""
        for end in self.ends:
            meta = self.txns.get(end.txn)
            assert meta is None or meta.status is STATES_OF[end.action][0], (end.txn, meta.status)

    def handle_request(self, body: Any, caller: Caller, disk: Disk, at_ms: int) -> Result:
        if isinstance(body, TcClientConnect):
            new, effects = (
                loading.load(self, disk, at_ms) if self.state is StoreState.NONE else (self, ())
            )
            return new, (*effects, Reply(caller, TcClientConnectResponse()))
        if self.state is not StoreState.READY:
            return self, (Reply(caller, Answer(ServerError.TransactionCoordinatorNotFound)),)
        match body:
            case NewTxn(timeout_ms=timeout_ms):
                return self._begin(timeout_ms, caller, disk, at_ms)
            case AddPartitionToTxn() | AddSubscriptionToTxn():
                return self._add(body, caller, disk)
            case EndTxn(txn=txn, action=action):
                return ending.begin_end(self, txn, action, caller, disk)
        return self, (Reply(caller, describe.answer(self, body)),)

    # -- NewTxn, AddPartitionToTxn, AddSubscriptionToTxn -------------------------------------

    def _begin(self, timeout_ms: int, caller: Caller, disk: Disk, at_ms: int) -> Result:
        """Over the limit there is no answer at all, and the client waits for its timeout
        (ServerCnx#handleNewTxn)."""
        if self.config.max_active and len(self.txns) >= self.config.max_active:
            return self, ()
        least = self.sequence + 1
        new = replace(self, sequence=least)
        return new.write(
            disk,
            Write(
                TransactionMetadataEntry(
                    -1,
                    "NEW",
                    TxnID(self.tc_id, least),
                    timeout_ms=timeout_ms,
                    start_ms=at_ms,
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
        new, effects = timing.track(new, meta, disk, at_ms)
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
        """The state is compared with the expected one only now that the record is written; a
        record that comes too late is deleted again (MLTransactionMetadataStore#updateTxnStatus)."""
        entry = write.entry
        meta = self.txns.get(entry.txn)
        if meta is None or not meta.accepts(entry):
            new, effects = self.delete((entry.base,))
            new, more = ending.refuse(new, write, LATE)
            return new, (*effects, *more)
        meta = meta.apply(entry)
        if entry.status in ENDED:
            new, effects = replace(self, txns=self.txns.remove(entry.txn)).delete(meta.records)
            new, more = ending.finish(new, write)
            return new, (*effects, *more)
        new = replace(self, txns=self.txns.set(entry.txn, meta))
        return ending.tell_participants(new, meta, write.caller, disk)

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
        """After a start nothing is loaded: nobody is timed out before a client connects."""
        return Coordinator(config, tc_id), ()


def _answer_add(entry: TransactionMetadataEntry, error: ServerError) -> Answer:
    if entry.op == "ADD_PARTITION":
        return AddPartitionToTxnResponse(error)
    return AddSubscriptionToTxnResponse(error)
