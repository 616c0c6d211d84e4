"""My transaction coordinator. It introduces producers; all else is still to be written.

mqlab build check --part 1
"""

from __future__ import annotations

from mqlab.lessons.builder.api import (
    AddPartitionsToTxn, AddPartitionsToTxnResponse, Appended, Caller, CancelTimer, ConnectionLost,
    Disk, EndTxn, EndTxnResponse, Entry, Error, Fired, InitProducerId, InitProducerIdResponse,
    KafkaConfig, Map, Pending, Reply, Request, Response, Send, SetTimer, TIMEOUT, TxnState,
    WriteTxnMarkers, WriteTxnMarkersResponse, append, entries_of, frozen, replace,
)  # fmt: skip


@frozen
class Coordinator:
    """`entries`: what is safe in the log, by transactional id. `pending`: records that are not
    safe yet, by log and end; when one is, its caller gets its answer."""

    config: KafkaConfig
    entries: Map[str, Entry] = Map()
    pending: Map[tuple[str, int], Pending] = Map()

    def step(self, event, disk: Disk):
        match event:
            case Request(caller=caller, body=InitProducerId() as ask):
                return self.introduce(ask, caller, disk)
            case Appended(log=log, end=end):
                return self.finish(log, end)
        return self, ()  # what is not known is not answered

    def introduce(self, ask: InitProducerId, caller: Caller, disk: Disk):
        known = [*self.entries.values(), *(waits.entry for waits in self.pending.values())]
        pid = 1 + max((entry.pid for entry in known), default=-1)  # no two ids have one
        entry = self.entries.get(ask.txn_id) or Entry(ask.txn_id, pid, -1)
        new = replace(entry, state=TxnState.EMPTY, epoch=entry.epoch + 1, timeout_ms=ask.timeout_ms)
        return self.write(new, disk, caller, InitProducerIdResponse(pid=new.pid, epoch=new.epoch))

    def write(self, new: Entry, disk: Disk, caller: Caller | None = None, answer=None):
        """Begin a transition: append its record; the answer waits until that is safe."""
        record = append(new, disk, self.config)
        key = record.log, record.entry.base + 1
        return replace(self, pending=self.pending.set(key, Pending(new, caller, answer))), (record,)

    def finish(self, log: str, end: int):
        """A record is safe: the transition has happened."""
        done = self.pending.get((log, end))
        if done is None:
            return self, ()
        entries = self.entries.set(done.entry.txn_id, done.entry)
        new = replace(self, entries=entries, pending=self.pending.remove((log, end)))
        return new, (Reply(done.caller, done.answer),) if done.caller else ()

    @staticmethod
    def recover(config: KafkaConfig, disk: Disk, at_ms: int):
        return Coordinator(config), ()
