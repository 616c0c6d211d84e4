"""A coordinator after Part 5: older clients.

mqlab build check --part 5
"""

from __future__ import annotations

from mqlab.lessons.builder.api import (
    AddPartitionsToTxn, AddPartitionsToTxnResponse, Appended, Caller, CancelTimer, ConnectionLost,
    Disk, EndTxn, EndTxnResponse, Entry, Error, Fired, InitProducerId, InitProducerIdResponse,
    KafkaConfig, Map, Pending, Reply, Request, Response, Send, SetTimer, TIMEOUT, TxnState,
    WriteTxnMarkers, WriteTxnMarkersResponse, append, entries_of, frozen, replace,
)  # fmt: skip


PREPARE = {True: TxnState.PREPARE_COMMIT, False: TxnState.PREPARE_ABORT}
COMPLETE = {
    TxnState.PREPARE_COMMIT: TxnState.COMPLETE_COMMIT,
    TxnState.PREPARE_ABORT: TxnState.COMPLETE_ABORT,
}


@frozen
class Coordinator:
    """`epoch`: the leader epoch of its log, in each marker. `entries`: what is safe in the log, by
    transactional id. `pending`: records that are not safe yet, by log and end; when one is, its
    caller gets its answer. `owed`: the partitions whose marker is not written yet."""

    config: KafkaConfig
    epoch: int = 0
    entries: Map[str, Entry] = Map()
    pending: Map[tuple[str, int], Pending] = Map()
    owed: Map[str, tuple[str, ...]] = Map()

    def step(self, event, disk: Disk):
        match event:
            case Request(caller=caller, body=InitProducerId() as ask):
                return self.introduce(ask, caller, disk)
            case Request(caller=caller, body=AddPartitionsToTxn() as ask):
                return self.add(ask, caller, disk)
            case Request(caller=caller, body=EndTxn() as ask):
                return self.end(ask, caller, disk)
            case Appended(log=log, end=end):
                return self.finish(log, end, disk)
            case Response(peer=peer, body=WriteTxnMarkersResponse() as said):
                return self.cross_off(said, peer, disk)
            case ConnectionLost(peer=peer):
                return self, tuple(
                    self.mark(txn_id, peer) for txn_id, left in self.owed.items() if peer in left
                )
            case Fired(timer=timer):
                return self.time_out(timer.removeprefix(TIMEOUT), disk)
        return self, ()

    # -- what is asked -----------------------------------------------------------------------

    def introduce(self, ask: InitProducerId, caller: Caller, disk: Disk):
        if self.is_busy(ask.txn_id):
            return self, (Reply(caller, InitProducerIdResponse(Error.CONCURRENT_TRANSACTIONS)),)
        pids = [entry.pid for entry in self.entries.values()]
        pids += [pending.entry.pid for pending in self.pending.values()]
        new = Entry(ask.txn_id, 1 + max(pids, default=-1), -1)
        entry = self.entries.get(ask.txn_id) or new
        if entry.state is TxnState.ONGOING:
            # Its older self left a transaction open: abort it, with an epoch that shuts it out.
            answer = InitProducerIdResponse(Error.CONCURRENT_TRANSACTIONS)
            return self.write(self.decide(entry, commit=False), disk, caller, answer)
        new = replace(entry, state=TxnState.EMPTY, epoch=entry.epoch + 1, timeout_ms=ask.timeout_ms)
        return self.write(new, disk, caller, InitProducerIdResponse(pid=new.pid, epoch=new.epoch))

    def add(self, ask: AddPartitionsToTxn, caller: Caller, disk: Disk):
        entry = self.entries.get(ask.txn_id)
        error = self.refuse(ask, entry)
        if not error and ask.verify_only and not set(ask.partitions) <= set(entry.partitions):
            error = Error.TRANSACTION_ABORTABLE
        if error or ask.verify_only:
            return self, (Reply(caller, AddPartitionsToTxnResponse(error)),)
        added = tuple(sorted({*entry.partitions, *ask.partitions}))
        if entry.state is TxnState.ONGOING and added == entry.partitions:
            return self, (Reply(caller, AddPartitionsToTxnResponse()),)
        new = replace(entry, state=TxnState.ONGOING, partitions=added)
        return self.write(new, disk, caller, AddPartitionsToTxnResponse())

    def end(self, ask: EndTxn, caller: Caller, disk: Disk):
        entry = self.entries.get(ask.txn_id)
        again = entry is not None and ask.epoch + ask.v2 == entry.epoch
        if again and entry.state in COMPLETE.values() and not self.is_busy(ask.txn_id):
            # The same call again: its answer was lost.
            same = entry.state is COMPLETE[PREPARE[ask.commit]]
            error = Error.NONE if same else Error.INVALID_TXN_STATE
            return self, (Reply(caller, EndTxnResponse(error, entry.pid, entry.epoch)),)
        error = self.refuse(ask, entry)
        if not error and entry.state is not TxnState.ONGOING and ask.commit:
            error = Error.INVALID_TXN_STATE
        if error:
            return self, (Reply(caller, EndTxnResponse(error)),)
        new = self.decide(entry, ask.commit, ask.v2)
        return self.write(new, disk, caller, EndTxnResponse(pid=new.pid, epoch=new.epoch))

    def refuse(self, ask: AddPartitionsToTxn | EndTxn, entry: Entry | None) -> Error:
        if entry is None or entry.pid != ask.pid:
            return Error.INVALID_PRODUCER_ID_MAPPING
        if self.is_busy(ask.txn_id):
            return Error.CONCURRENT_TRANSACTIONS
        return Error.NONE if entry.epoch == ask.epoch else Error.PRODUCER_FENCED

    def is_busy(self, txn_id: str) -> bool:
        """Whether a transition is under way: until it is over, nobody knows what comes next."""
        entry = self.entries.get(txn_id)
        writes = any(pending.entry.txn_id == txn_id for pending in self.pending.values())
        return writes or (entry is not None and entry.state in COMPLETE)

    # -- the log and the markers ---------------------------------------------------------------

    def decide(self, entry: Entry, commit: bool, v2: bool = True) -> Entry:
        # The next epoch: nothing that was sent before the end belongs to what comes after it.
        # An older client does not read the epoch in the answer: it goes on with the one it has.
        version = 2 if v2 else 0
        return replace(entry, state=PREPARE[commit], epoch=entry.epoch + v2, client_version=version)

    def write(self, new: Entry, disk: Disk, caller: Caller | None = None, answer=None):
        """Begin a transition: append its record; the answer waits until that is safe."""
        record = append(new, disk, self.config)
        key = record.log, record.entry.base + 1
        old = self.entries.get(new.txn_id)
        was_open = old is not None and old.state is TxnState.ONGOING
        timers = ()
        if new.state is TxnState.ONGOING and not was_open:
            timers = (SetTimer(TIMEOUT + new.txn_id, new.timeout_ms),)
        elif new.state is not TxnState.ONGOING and was_open:
            timers = (CancelTimer(TIMEOUT + new.txn_id),)
        pending = self.pending.set(key, Pending(new, caller, answer))
        return replace(self, pending=pending), (record, *timers)

    def finish(self, log: str, end: int, disk: Disk):
        """A record is safe: the transition has happened."""
        done = self.pending.get((log, end))
        if done is None:
            return self, ()
        entry, txn_id = done.entry, done.entry.txn_id
        new = replace(
            self, entries=self.entries.set(txn_id, entry), pending=self.pending.remove((log, end))
        )
        reply = (Reply(done.caller, done.answer),) if done.caller else ()
        if entry.state not in COMPLETE:
            return new, reply
        new = replace(new, owed=new.owed.set(txn_id, entry.partitions))
        if not entry.partitions:
            new, completed = new.complete(txn_id, disk)
            return new, (*reply, *completed)
        return new, (*reply, *(new.mark(txn_id, partition) for partition in entry.partitions))

    def mark(self, txn_id: str, partition: str) -> Send:
        entry = self.entries.get(txn_id)
        commit = entry.state is TxnState.PREPARE_COMMIT
        version = entry.client_version  # 2: the leader demands an epoch above the one it knows
        marker = WriteTxnMarkers(txn_id, entry.pid, entry.epoch, commit, self.epoch, version)
        return Send(partition, marker)

    def cross_off(self, said: WriteTxnMarkersResponse, partition: str, disk: Disk):
        entry, owed = self.entries.get(said.txn_id), self.owed.get(said.txn_id, ())
        if partition not in owed or said.epoch != entry.epoch or said.error:
            return self, ()
        left = tuple(one for one in owed if one != partition)
        new = replace(self, owed=self.owed.set(said.txn_id, left))
        return (new, ()) if left else new.complete(said.txn_id, disk)

    def complete(self, txn_id: str, disk: Disk):
        """Nothing is owed any more."""
        entry = self.entries.get(txn_id)
        new = replace(self, owed=self.owed.remove(txn_id))
        return new.write(replace(entry, state=COMPLETE[entry.state], partitions=()), disk)

    def time_out(self, txn_id: str, disk: Disk):
        """Its producer has not ended it in time: abort it, and shut that producer out."""
        entry = self.entries.get(txn_id)
        if self.is_busy(txn_id):
            return self, (SetTimer(TIMEOUT + txn_id, entry.timeout_ms if entry else 1),)
        if entry is None or entry.state is not TxnState.ONGOING:
            return self, ()
        return self.write(self.decide(entry, commit=False), disk)

    @staticmethod
    def recover(config: KafkaConfig, disk: Disk, at_ms: int, epoch: int):
        """What is in the log is decided, and what was decided is owed again."""
        entries = entries_of(disk)
        owed = Map((e.txn_id, e.partitions) for e in entries.values() if e.state in COMPLETE)
        new = Coordinator(config, epoch, entries, owed=owed)
        timers = tuple(
            SetTimer(TIMEOUT + e.txn_id, e.timeout_ms)
            for e in entries.values()
            if e.state is TxnState.ONGOING
        )
        return new, (*(new.mark(id, one) for id, left in owed.items() for one in left), *timers)
