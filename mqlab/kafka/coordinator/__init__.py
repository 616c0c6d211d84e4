"""The transaction coordinator: who decides.

Every broker is coordinator for some partitions of `__transaction_state`; a transactional
id belongs to partition abs(hash) mod 50, and the leader of that partition keeps its state.

**Durable** is one record an id and transition (`entry.py`): Empty, Ongoing with the
partitions written to so far, PrepareCommit or PrepareAbort, CompleteCommit or
CompleteAbort. **In memory** are the entries read from it, one pending transition an id,
and the markers still owed.

The life of a transaction, and the file that tells it:

    InitProducerId        → Empty               init_producer_id.py   an older self is fenced
    AddPartitionsToTxn    → Ongoing             add_partitions.py     where markers will be owed
    EndTxn                → PrepareCommit       end_txn.py            the decision; answered here
    WriteTxnMarkers       → every partition     markers.py            what makes it visible
    (all have answered)   → CompleteCommit
    (a record fails)      → as before           failures.py           the caller asks again
    (seven idle days)     → Dead                expiry.py             the id is forgotten
    ListTransactions, …                         describe.py           an administrator asks

*What can go wrong.* The coordinator may die between any two effects. Before the Prepare
record is safe nothing was promised: the transaction is still Ongoing, and its client asks
again or its timeout aborts it. After it, `recover` finds the record and owes every marker
again. *Invariants:* a decision never changes; no marker leaves before the decision is
durable; an id has one transition under way at most.

With several replicas this role is the leader's half only: `replication/` copies the log and
moves the leadership. *Left out:* 2PC (KIP-939), ACLs.
Read on in TransactionCoordinator, TransactionStateManager (core, Kafka 4.3).
"""

from __future__ import annotations

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
from ..log.watching import add_ack, take_safe
from ..messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    Answer,
    EndTxn,
    InitProducerId,
    SendMarkers,
    WriteTxnMarkersResponse,
)
from ..states import PREPARED, TxnState, may_enter
from . import add_partitions, describe, end_txn, expiry, failures, init_producer_id, markers
from .entry import EXHAUSTED, Entry, Pending, StateRecord, to_record
from .messages import CoordinatorRequest, DescribeTransactions, ListTransactions

__all__ = ["Coordinator", "Entry", "Pending", "StateRecord", "next_epoch"]

RECOVERED = Words("recovered")
OWES = Words("recovered {state}, owes markers to {partitions}")
TIMEOUT = "timeout "


@frozen
class Coordinator:
    """`epoch`: the leader epoch of its log, carried by every marker. `owed`: partitions
    whose answer to WriteTxnMarkers is missing, by id. `writes`: by log, at which offset a
    record ends that is not yet safe, and whose it is. `stride`: how many coordinators share the
    producer ids."""

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
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self.handle_request(body, caller, disk, at_ms)
            case Appended(log=log, end=end):
                return self._finish_writes(log, end)
            case AppendFailed():
                return failures.handle_failed_append(self, event)
            case Response(peer=peer, body=WriteTxnMarkersResponse() as said, at_ms=at_ms):
                return markers.handle_answer(self, peer, said, disk, at_ms)
            case ConnectionLost(peer=peer):
                return self, self._send_owed(peer)
            case Fired(timer=timer, at_ms=at_ms):
                return self._handle_timer(timer, disk, at_ms)
        # Nothing else concerns a coordinator: its requests to leaders have one answer.
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
        match body:
            case InitProducerId():
                return init_producer_id.handle(self, body, caller, disk, at_ms)
            case AddPartitionsToTxn():
                return add_partitions.handle(self, body, caller, disk, at_ms)
            case AddOffsetsToTxn(txn_id=txn_id, pid=pid, epoch=epoch, group=group):
                where = (offsets_log(group, self.config),)
                ask = AddPartitionsToTxn(txn_id, pid, epoch, where)
                return add_partitions.handle(self, ask, caller, disk, at_ms)
            case EndTxn():
                return end_txn.handle(self, body, caller, disk, at_ms)
            case ListTransactions():
                return self, (Reply(caller, describe.list_transactions(self, body, at_ms)),)
            case DescribeTransactions():
                return self, (Reply(caller, describe.describe_transaction(self, body)),)
            case SendMarkers(txn_id=txn_id):
                if not self.entries[txn_id].partitions:
                    return markers.write_complete(self, txn_id, disk, at_ms)
                return markers.send_markers(self, txn_id)
        raise TypeError(f"a coordinator is never sent {type(body).__name__}")

    # -- transitions ---------------------------------------------------------------------

    def check_add(self, ask: AddPartitionsToTxn) -> Error:
        """Whether the one who asks may add partitions to this transaction, or verify them."""
        return add_partitions.check_request(self, ask)

    def check_owner(self, ask: EndTxn) -> Error:
        """Whether a legacy client may end this transaction."""
        return end_txn.check_owner(self, ask)

    def busy(self, txn_id: str) -> bool:
        """Whether a transition is under way. A prepared transaction always has its
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
        """Begin a transition: its record is appended, its caller waits until it is safe.
        `ahead`: records that this step has appended to the same log before it."""
        old: Entry | None = self.entries.get(new.txn_id)
        before = old.state if old is not None else TxnState.EMPTY
        log = txn_log(new.txn_id, self.config)
        base = disk.log(log).end + ahead
        # TransactionMetadata#prepareTransitionTo: the id it has now, rotated or not.
        new = replace(new, update_ms=at_ms, prev_pid=(old or new).pid)
        tc = replace(
            self,
            # A new id has no epoch before its first record is safe.
            entries=self.entries
            if old is not None
            else self.entries.set(new.txn_id, replace(new, epoch=-1)),
            pending=self.pending.set(new.txn_id, Pending(new, caller, answer)),
            writes=self.writes.set(log, add_ack(self.writes.get(log, ()), (base + 1, new.txn_id))),
        )
        effects = (Append(log, to_record(new, base)), *tc.adjust_timer(new, before))
        if self.config.id_expiration_ms and not self.entries:
            effects = (*effects, SetTimer(expiry.SWEEP, self.config.id_sweep_ms))
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
        """A record is safe: the transition has happened, its caller gets the answer."""
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
            note = (Send(tc.config.coordinator, SendMarkers(txn_id)),)
            return tc, tc.config.arrange("prepared", reply=reply, markers=note)
        return replace(tc, owed=tc.owed.remove(txn_id)), reply

    def fence(
        self, entry: Entry, disk: Disk, at_ms: int, caller: Caller | None, answer: Answer | None
    ) -> tuple[Coordinator, Effects]:
        """Abort an open transaction from here, with an epoch above its producer's: the
        markers carry it to every leader and so shut the old producer out everywhere."""
        v2 = self.config.transaction_version >= 2
        new = entry.enter(
            TxnState.PREPARE_ABORT,
            self.config.transaction_version,
            epoch=entry.epoch if entry.failed_fence else entry.epoch + 1,
            last_epoch=entry.epoch if v2 else -1,
            client_version=2 if v2 else 0,
            failed_fence=False,
        )
        tc: Coordinator = self
        effects: Effects = ()
        if v2 and entry.epoch >= EXHAUSTED and self.config.release != "4.2":
            # Since 4.3 (KAFKA-20090); before, the next InitProducerId gets the new id.
            tc, pid, effects = init_producer_id.allocate(self)
            new = replace(new, next_pid=pid)
        tc, written = tc.write(new, disk, at_ms, caller, answer)
        return tc, (*effects, *written)

    def _handle_timer(self, timer: str, disk: Disk, at_ms: int) -> tuple[Coordinator, Effects]:
        if timer == expiry.SWEEP:
            return expiry.expire_ids(self, disk, at_ms)
        if timer.startswith(markers.AGAIN):
            return markers.send_again(self, timer)
        if timer.startswith(failures.AGAIN):
            return failures.append_again(self, timer.removeprefix(failures.AGAIN), disk, at_ms)
        return self._abort_timed_out(timer.removeprefix(TIMEOUT), disk, at_ms)

    def _abort_timed_out(self, txn_id: str, disk: Disk, at_ms: int) -> tuple[Coordinator, Effects]:
        entry: Entry | None = self.entries.get(txn_id)
        if txn_id in self.pending:
            # Something is being written for it just now: the next sweep looks again.
            return self, (SetTimer(TIMEOUT + txn_id, self.config.sweep_ms),)
        if entry is None or entry.state is not TxnState.ONGOING:
            return self, ()
        return self.fence(entry, disk, at_ms, None, None)

    def _send_owed(self, partition: str) -> Effects:
        """The connection to a leader broke: what it was sent may be lost, so again."""
        return tuple(
            Send(partition, markers.build_marker(self, self.entries[txn_id]))
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
        """Read every partition of `__transaction_state`; what was prepared is owed again,
        what was Ongoing stays so (its producer may go on and commit). Producer ids go on
        with a new block; `stride` coordinators take turns at the blocks."""
        entries: Map[str, Entry] = Map()
        for log in txn_logs(disk):
            for record in disk.log(log).read(0):
                entry = record.entry
                dead = entry.state is TxnState.DEAD
                entries = entries.remove(entry.txn_id) if dead else entries.set(entry.txn_id, entry)
        block = disk.table("producer ids").get("next block", first_block * config.pid_block)
        tc = Coordinator(config, epoch, block, entries, stride=stride)
        effects: list[Effect] = [
            Put("producer ids", "next block", block + stride * config.pid_block)
        ]
        for entry in entries.values():
            if entry.state in PREPARED:
                effects.append(Send(config.coordinator, SendMarkers(entry.txn_id)))
            effects += tc.restart_timer(entry, at_ms)
        if entries and config.id_expiration_ms:
            effects.append(SetTimer(expiry.SWEEP, config.id_sweep_ms))
        return tc, tuple(effects)

    def resign(self) -> Effects:
        """Another broker leads now: who waits for a record is told to look for it."""
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
