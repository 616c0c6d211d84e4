"""The partition leader: who orders, and who says how far one may read.

**Durable** are the log (data and markers in one sequence of offsets) and the index of
aborted transactions beside it. Everything else (`log/partition.py`) is rebuilt from the log.

    Produce           produce.py    verify or add, check, append; answered once replicated
    WriteTxnMarkers   here          one control batch, one offset, the transaction is over
    Fetch, …          ../log        up to LSO or HW, with the list of aborted transactions
    DeleteRecords     deletion.py   the log begins later
    (a segment rolls) ../log        what a restart need not read the whole log for

*What can go wrong.* A batch may come twice (its answer was lost), out of order, from an
older self of its producer, or after its transaction has ended. Each has its check, in the
order of the real broker. *Invariants:* offsets only grow; LSO ≤ HW ≤ log end; a marker
takes exactly one offset; the LSO never passes an open transaction.

With several replicas this role is the leader's half only: `replication/` copies the log and
says what is safe. *Left out:* compaction, and retention by itself.
Read on in ReplicaManager, UnifiedLog, ProducerStateManager (Kafka 4.3).
"""

from __future__ import annotations

from functools import partial

from ...kernel import (
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
    Text,
    frozen,
    replace,
)
from ..config import KafkaConfig
from ..errors import Error
from ..log import fetch, verification
from ..log.markers import append_marker
from ..log.messages import DescribeProducers
from ..log.partition import Partition
from ..log.recovery import recover_partition
from ..log.role import (
    EXPIRE,
    ReaderRequest,
    answer_reader,
    forget_idle,
    schedule_expiry,
    tell_frontiers,
)
from ..log.verification import Verifying
from ..log.watching import Watchers, add_ack, take_safe, wake_watchers
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

__all__ = ["Leader", "LeaderRequest"]

#: what is sent to a partition's leader
LeaderRequest = Produce | WriteTxnMarkers | DeleteRecords | ReaderRequest


@frozen
class Leader:
    """`acks`: (end, who, answer) of appends that are not yet replicated. `verifying`:
    batches whose transaction the coordinator is being asked about. `behind`: batches that came
    on the connection of one of these. `watchers`: long polls."""

    config: KafkaConfig
    name: str
    part: Partition
    acks: tuple[tuple[int, Caller, ProduceResponse | WriteTxnMarkersResponse], ...] = ()
    verifying: Map[int, Verifying[Produce]] = Map()
    behind: tuple[tuple[Produce, Caller], ...] = ()
    watchers: Watchers = Map()

    def step(self, event: Event, disk: Disk) -> tuple[Leader, Effects]:
        new, effects = self._handle_event(event, disk)
        new.check_invariants(disk)
        return new, (*effects, *schedule_expiry(self.config, self.part, new.part))

    def check_invariants(self, disk: Disk) -> None:
        """AssertionError where a reader could be told more than the log has."""
        part = self.part
        assert part.lso <= part.hw <= disk.log(self.name).end, (part.lso, part.hw)

    def _handle_event(self, event: Event, disk: Disk) -> tuple[Leader, Effects]:
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self.handle_request(body, caller, disk, at_ms)
            case Appended(end=end):
                return produce.go_on(*self.finish_appends(end), disk)
            case AppendFailed(error=error):
                return self._fail_appends(error)
            case Response(corr=corr, body=AddPartitionsToTxnResponse(error=error)):
                return produce.handle_verification(self, corr, error, disk)
            case ConnectionLost(peer=peer) if peer == self.config.coordinator:
                return produce.handle_lost_coordinator(self, disk)
            case Fired(timer=timer, at_ms=at_ms) if timer == EXPIRE:
                return forget_idle(self, at_ms)
            case Fired(timer=timer):
                return produce.ask_again(self, timer)
        # A call, or an answer to a question that is no longer open, changes nothing here.
        return self, ()

    def _fail_appends(self, error: str) -> tuple[Leader, Effects]:
        """This broker leads no more, or too few replicas are left: what was appended may
        be cut off again, and nobody who waits for it is told that it is safe."""
        refusals = tuple(Reply(c, answer.refuse(Error[error])) for _, c, answer in self.acks)
        return replace(self, acks=()), refusals

    def handle_request(
        self, body: LeaderRequest, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        match body:
            case Produce():
                return produce.handle(self, body, caller, disk)
            case WriteTxnMarkers():
                return self._write_marker(body, caller, disk, at_ms)
            case Fetch() | ListOffsets() | DescribeProducers() | Watch() | Unwatch():
                return answer_reader(self, body, caller, disk)
            case DeleteRecords():
                return deletion.handle(self, body, caller, disk)
        raise TypeError(f"a partition leader is never sent {type(body).__name__}")

    def _write_marker(
        self, ask: WriteTxnMarkers, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        error = self.part.check_marker(ask)
        if error:
            answer = WriteTxnMarkersResponse(ask.txn_id, ask.pid, error, ask.epoch)
            return self, (Reply(caller, answer),)
        part, effects, marker = append_marker(self.part, self.name, ask, disk, at_ms)
        done = WriteTxnMarkersResponse(ask.txn_id, ask.pid, epoch=ask.epoch)
        ack = (marker.last + 1, caller, done)
        return replace(self, part=part, acks=add_ack(self.acks, ack)), effects

    def finish_appends(self, end: int) -> tuple[Leader, Effects]:
        """Everything below `end` is safe: the HW moves, who waited for it is answered."""
        part = self.part.advance(end)
        safe, acks = take_safe(self.acks, end)
        ready = tuple(Reply(caller, answer) for _, caller, answer in safe)
        watchers, woken = wake_watchers(self.watchers, partial(fetch.upper_bound, part))
        return replace(self, part=part, acks=acks, watchers=watchers), (*ready, *woken)

    def describe_changes(self, old: Leader | None) -> tuple[Text, ...]:
        return tell_frontiers(None if old is None else old.part, self.part)

    def resign(self) -> Effects:
        """Another broker leads now: who waits here is told to look for it."""
        refusal = ProduceResponse(Error.NOT_LEADER_OR_FOLLOWER)
        _, callers, pauses = verification.give_up_questions(self)
        asking = tuple(
            Reply(caller, refusal) for caller in (*callers, *(c for _, c in self.behind))
        )
        return (*pauses, *asking, *self._fail_appends(Error.NOT_LEADER_OR_FOLLOWER.name)[1])

    @classmethod
    def recover(
        cls,
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
        return cls(config, name, part), (*effects, *schedule_expiry(config, None, part))
