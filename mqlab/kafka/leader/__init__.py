"""The partition leader: who orders, and who says how far one may read.

**Durable** are the log (data and markers in one sequence of offsets) and the index of
aborted transactions beside it. Everything else (`partition.py`) is rebuilt from the log.

    Produce           produce.py    verify or add, check, append; answered once replicated
    WriteTxnMarkers   here          one control batch, one offset, the transaction is over
    Fetch             fetch.py      up to LSO or HW, with the list of aborted transactions

*What can go wrong.* A batch may come twice (its answer was lost), out of order, from an
older self of its producer, or after its transaction has ended. Each has its check, in the
order of the real broker. *Invariants:* offsets only grow; LSO ≤ HW ≤ log end; a marker
takes exactly one offset; the LSO never passes an open transaction.

*Left out:* followers, segments, retention and compaction.
Read on in ReplicaManager, UnifiedLog, ProducerStateManager (Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...kernel import (
    Append,
    Appended,
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Map,
    Reply,
    Request,
    Response,
    Text,
    Words,
)
from ...storage import ABORT, COMMIT, Batch
from ..config import KafkaConfig
from ..messages import (
    AddPartitionsToTxnResponse,
    Fetch,
    ListOffsets,
    Produce,
    Unwatch,
    Watch,
    Watched,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from ..partition import Partition
from . import fetch, produce
from .produce import Verifying

__all__ = ["Leader", "append_marker", "index_of"]

FRONTIERS = Words("HW={hw} LSO={lso}", "HW={hw} LSO={lso}")
RECOVERED = Words("recovered, HW={hw} LSO={lso}", "已恢复，HW={hw} LSO={lso}")


def index_of(partition: str) -> str:
    """The name of a partition's `.txnindex`."""
    return f"{partition}.txnindex"


@dataclass(frozen=True, slots=True)
class Leader:
    """`acks`: (end, who, answer) of appends that are not yet replicated. `verifying`:
    batches whose transaction the coordinator is being asked about. `watchers`: long polls."""

    config: KafkaConfig
    name: str
    part: Partition
    acks: tuple[tuple[int, Caller, object], ...] = ()
    verifying: Map[int, Verifying] = Map()
    watchers: tuple[tuple[Caller, Watch], ...] = ()

    def step(self, event: Event, disk: Disk) -> tuple[Leader, Effects]:
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self._asked(body, caller, disk, at_ms)
            case Appended(end=end):
                return self._replicated(end)
            case Response(corr=corr, body=AddPartitionsToTxnResponse(error=error)):
                return produce.verified(self, corr, error, disk)
            case ConnectionLost(peer=peer) if peer == self.config.coordinator:
                return produce.unverifiable(self)
        # A timer or a call is nothing a leader ever has.
        return self, ()

    def _asked(
        self, body: object, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        match body:
            case Produce():
                return produce.handle(self, body, caller, disk)
            case WriteTxnMarkers():
                return self._end(body, caller, disk, at_ms)
            case Fetch():
                return self, (Reply(caller, fetch.answer(self.part, self.name, body, disk)),)
            case ListOffsets():
                return self, (Reply(caller, fetch.offset(self.part, self.name, body, disk)),)
            case Watch(offset=offset, isolation=isolation):
                if offset < fetch.limit(self.part, isolation):
                    return self, (Reply(caller, Watched()),)
                return replace(self, watchers=(*self.watchers, (caller, body))), ()
            case Unwatch(corr=corr):
                gone = (caller.name, corr)
                left = tuple(w for w in self.watchers if (w[0].name, w[0].corr) != gone)
                return replace(self, watchers=left), ()
        raise TypeError(f"a partition leader is never sent {type(body).__name__}")

    def _end(
        self, ask: WriteTxnMarkers, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        error = self.part.marker_refusal(ask)
        if error:
            answer = WriteTxnMarkersResponse(ask.txn_id, ask.pid, error)
            return self, (Reply(caller, answer),)
        part, effects, end = append_marker(self.part, self.name, ask, disk, at_ms)
        done = WriteTxnMarkersResponse(ask.txn_id, ask.pid)
        return replace(self, part=part, acks=(*self.acks, (end, caller, done))), effects

    def _replicated(self, end: int) -> tuple[Leader, Effects]:
        """Everything below `end` is safe: the HW moves, who waited for it is answered."""
        part = self.part.advanced(end)
        ready = tuple(Reply(caller, answer) for at, caller, answer in self.acks if at <= end)
        woken = [w for w in self.watchers if w[1].offset < fetch.limit(part, w[1].isolation)]
        new = replace(
            self,
            part=part,
            acks=tuple(a for a in self.acks if a[0] > end),
            watchers=tuple(w for w in self.watchers if w not in woken),
        )
        return new, (*ready, *(Reply(caller, Watched()) for caller, _ in woken))

    def changed(self, old: Leader | None) -> tuple[Text, ...]:
        part = self.part
        if old is None:
            return (RECOVERED(hw=part.hw, lso=part.lso),)
        if (part.hw, part.lso) != (old.part.hw, old.part.lso):
            return (FRONTIERS(hw=part.hw, lso=part.lso),)
        return ()

    @staticmethod
    def recover(config: KafkaConfig, name: str, disk: Disk, at_ms: int) -> tuple[Leader, Effects]:
        part, effects = recover_partition(config, name, disk)
        return Leader(config, name, part), effects


def append_marker(
    part: Partition, name: str, ask: WriteTxnMarkers, disk: Disk, at_ms: int
) -> tuple[Partition, Effects, int]:
    """Write a control batch and, for an abort that ends something, its index entry:
    (partition, effects, end of the log)."""
    base = disk.log(name).end
    batch = Batch(
        base=base,
        pid=ask.pid,
        epoch=ask.epoch,
        transactional=True,
        control=COMMIT if ask.commit else ABORT,
        coordinator_epoch=ask.coordinator_epoch,
        at_ms=at_ms,
        size=78,
    )
    index = disk.log(index_of(name)).end
    part, aborted = part.with_marker(batch, index)
    entry = () if aborted is None else (Append(index_of(name), aborted, notify=False),)
    return part, (Append(name, batch), *entry), base + 1


def recover_partition(config: KafkaConfig, name: str, disk: Disk) -> tuple[Partition, Effects]:
    """Replay the log; index entries that a stop kept from being written are written now."""
    log = disk.log(name)
    part, aborted = Partition.replayed(config, log.read(log.start), log.end)
    have = disk.log(index_of(name)).end
    missing = tuple(Append(index_of(name), a, notify=False) for a in aborted[have:])
    return part, missing
