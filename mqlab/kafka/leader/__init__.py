"""The partition leader: who orders, and who says how far one may read.

**Durable** are the log (data and markers in one sequence of offsets) and the index of
aborted transactions beside it. Everything else (`partition.py`) is rebuilt from the log.

    Produce           produce.py    verify or add, check, append; answered once replicated
    WriteTxnMarkers   here          one control batch, one offset, the transaction is over
    Fetch             fetch.py      up to LSO or HW, with the list of aborted transactions
    DeleteRecords     deletion.py   the log begins later
    (a segment rolls) snapshots.py  what a restart need not read the whole log for

*What can go wrong.* A batch may come twice (its answer was lost), out of order, from an
older self of its producer, or after its transaction has ended. Each has its check, in the
order of the real broker. *Invariants:* offsets only grow; LSO ≤ HW ≤ log end; a marker
takes exactly one offset; the LSO never passes an open transaction.

With several replicas this role is the leader's half only: `replica.py` copies the log and
says what is safe. *Left out:* compaction, and retention by itself.
Read on in ReplicaManager, UnifiedLog, ProducerStateManager (Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ...kernel import (
    Append,
    Appended,
    AppendFailed,
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Reply,
    Request,
    Response,
    SetTimer,
    Text,
    Words,
    replace,
)
from ..clients.admin import DescribeProducers, active
from ..config import KafkaConfig
from ..errors import Error
from ..log import ABORT, COMMIT, Batch, fetch, snapshots, verification
from ..log.partition import Partition
from ..log.verification import Verifying
from ..log.watching import Watchers, unwatched, watched, woken
from ..messages import (
    AddPartitionsToTxnResponse,
    DeleteRecords,
    Fetch,
    ListOffsets,
    Produce,
    ProduceResponse,
    Unwatch,
    Watch,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from . import deletion, produce

__all__ = ["Leader", "append_marker", "index_of"]

FRONTIERS = Words("HW={hw} LSO={lso}", "HW={hw} LSO={lso}")
RECOVERED = Words("recovered, HW={hw} LSO={lso}", "已恢复，HW={hw} LSO={lso}")
EXPIRE = "expire producers"


def expiring(config: KafkaConfig, old: Partition | None, new: Partition) -> Effects:
    """The timer that looks for producers nobody hears of, once there is somebody to forget;
    `old` None: none is running."""
    begins = new.known and (old is None or not old.known)
    if not config.pid_expiration_ms or not begins:
        return ()
    return (SetTimer(EXPIRE, config.pid_sweep_ms),)


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
    watchers: Watchers = ()

    def step(self, event: Event, disk: Disk) -> tuple[Leader, Effects]:
        new, effects = self._stepped(event, disk)
        return new, (*effects, *expiring(self.config, self.part, new.part))

    def _stepped(self, event: Event, disk: Disk) -> tuple[Leader, Effects]:
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self._asked(body, caller, disk, at_ms)
            case Appended(end=end):
                return self._replicated(end)
            case AppendFailed(error=error):
                return self._failed(error)
            case Response(corr=corr, body=AddPartitionsToTxnResponse(error=error)):
                return produce.verified(self, corr, error, disk)
            case ConnectionLost(peer=peer) if peer == self.config.coordinator:
                return produce.unverifiable(self)
            case Fired(timer=timer, at_ms=at_ms) if timer == EXPIRE:
                part = self.part.without_expired(at_ms)
                return replace(self, part=part), expiring(self.config, None, part)
            case Fired(timer=timer):
                return produce.ask_again(self, timer)
        # A call, or an answer to a question that is no longer open, changes nothing here.
        return self, ()

    def _failed(self, error: str) -> tuple[Leader, Effects]:
        """This broker leads no more, or too few replicas are left: what was appended may
        be cut off again, and nobody who waits for it is told that it is safe."""
        told = tuple(Reply(c, replace_error(answer, Error[error])) for _, c, answer in self.acks)
        return replace(self, acks=()), told

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
            case DescribeProducers():
                return self, (Reply(caller, active(self.part)),)
            case DeleteRecords():
                return deletion.handle(self, body, caller, disk)
            case Watch(isolation=isolation):
                limit = fetch.limit(self.part, isolation)
                watchers, effects = watched(self.watchers, caller, body, limit)
                return replace(self, watchers=watchers), effects
            case Unwatch(corr=corr):
                return replace(self, watchers=unwatched(self.watchers, caller, corr)), ()
        raise TypeError(f"a partition leader is never sent {type(body).__name__}")

    def _end(
        self, ask: WriteTxnMarkers, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        error = self.part.marker_refusal(ask)
        if error:
            answer = WriteTxnMarkersResponse(ask.txn_id, ask.pid, error, ask.epoch)
            return self, (Reply(caller, answer),)
        part, effects, end = append_marker(self.part, self.name, ask, disk, at_ms)
        done = WriteTxnMarkersResponse(ask.txn_id, ask.pid, epoch=ask.epoch)
        return replace(self, part=part, acks=(*self.acks, (end, caller, done))), effects

    def _replicated(self, end: int) -> tuple[Leader, Effects]:
        """Everything below `end` is safe: the HW moves, who waited for it is answered."""
        part = self.part.advanced(end)
        ready = tuple(Reply(caller, answer) for at, caller, answer in self.acks if at <= end)
        watchers, told = woken(self.watchers, partial(fetch.limit, part))
        new = replace(
            self,
            part=part,
            acks=tuple(a for a in self.acks if a[0] > end),
            watchers=watchers,
        )
        return new, (*ready, *told)

    def changed(self, old: Leader | None) -> tuple[Text, ...]:
        part = self.part
        if old is None:
            return (RECOVERED(hw=part.hw, lso=part.lso),)
        if (part.hw, part.lso) != (old.part.hw, old.part.lso):
            return (FRONTIERS(hw=part.hw, lso=part.lso),)
        return ()

    def resigned(self) -> Effects:
        """Another broker leads now: who waits here is told to look for it."""
        told = ProduceResponse(Error.NOT_LEADER_OR_FOLLOWER)
        _, callers, pauses = verification.given_up(self)
        asking = tuple(Reply(caller, told) for caller in callers)
        return (*pauses, *asking, *self._failed(Error.NOT_LEADER_OR_FOLLOWER.name)[1])

    @staticmethod
    def recover(
        config: KafkaConfig,
        name: str,
        disk: Disk,
        at_ms: int,
        hw: int | None = None,
        since: int | None = None,
    ) -> tuple[Leader, Effects]:
        """`hw`: what is known to be replicated; None: the only replica has it all. `since`:
        what this replica has copied since it started, and still has in memory."""
        part, effects = recover_partition(config, name, disk, hw, since)
        return Leader(config, name, part), (*effects, *expiring(config, None, part))


def replace_error(answer: object, error: Error) -> object:
    """The answer somebody waits for, turned into a refusal."""
    if isinstance(answer, WriteTxnMarkersResponse):
        return replace(answer, error=error)
    return type(answer)(error)  # type: ignore[call-arg]


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
    roll = snapshots.rolled(part, name, disk)
    part, aborted = part.with_marker(batch, index)
    entry = () if aborted is None else (Append(index_of(name), aborted, notify=False),)
    return part, (*roll, Append(name, batch), *entry), base + 1


def recover_partition(
    config: KafkaConfig,
    name: str,
    disk: Disk,
    hw: int | None = None,
    since: int | None = None,
) -> tuple[Partition, Effects]:
    """Read the newest snapshot and replay the tail of the log; index entries that a stop
    kept from being written are written now."""
    log, index = disk.log(name), disk.log(index_of(name))
    start, at = snapshots.restored(config, name, disk)
    before = sum(entry.last_offset < at for entry in index.read(0)) if at else 0
    safe = log.end if hw is None else hw
    part, aborted = Partition.replayed(config, log.read(at), safe, start, before, since)
    part = replace(part, start=deletion.batch_at(log, log.start)) if log.start else part
    effects: Effects = tuple(
        Append(index_of(name), a, notify=False) for a in aborted if a.base >= index.end
    )
    if config.segment_records and log.end > at:
        effects = (*effects, snapshots.taken(part, name, log.end))
    return part, effects
