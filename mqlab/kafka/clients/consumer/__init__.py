"""The consumer: half of read_committed is its work.

The broker cuts a fetch at the LSO and says which transactions in it were aborted; the
*client* skips their batches, steps over markers, and keeps its position (`fetching.py`).
Nothing is ever pushed to a consumer, and no mode buffers: what must not be read yet is
simply not sent.

Positions jump: over markers, over aborted batches. A consumer at the end of a partition may
have a position well above the last record it was given. **A position is memory**: an
aborted transaction drops the offsets that were to be committed with it, and leaves the
position where it is. Going back (`seek`) is the application's work.

With `subscribe` it becomes a member of a group (`membership.py`): who else is in it decides
which partitions it reads, and a generation number says how fresh that is.

*Left out:* automatic commits, pausing, cooperative rebalancing, several topics' metadata.
Read on in CompletedFetch, SubscriptionState, AbstractCoordinator (clients, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ....kernel import (
    Call,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Outcome,
    Quiet,
    Response,
    Return,
    Send,
    SetTimer,
    build_failure,
    build_success,
    frozen,
)
from ...config import KafkaConfig, offsets_log
from ...errors import Error
from ...group.messages import (
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    SyncGroupResponse,
)
from ...messages import (
    LATEST,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Position,
)
from ..calls import (
    CommitOffsets,
    Committed,
    EndOffset,
    GroupMetadata,
    Lag,
    Poll,
    PositionOf,
    Seek,
    Subscribe,
    Unsubscribe,
)
from . import fetching, membership
from .fetching import filter_readable
from .membership import HEARTBEAT, Membership

__all__ = ["Consumer", "ConsumerConfig", "Membership", "filter_readable"]

#: what a consumer asks for, but for heartbeats, which have an answer to themselves
ConsumerAnswer = (
    FetchResponse
    | ListOffsetsResponse
    | OffsetFetchResponse
    | OffsetCommitResponse
    | JoinGroupResponse
    | SyncGroupResponse
    | LeaveGroupResponse
)
RETRY = "retry"
RETRIABLE = frozenset(
    {
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.NOT_LEADER_OR_FOLLOWER,
    }
)
#: a refused commit after which the member has to join again
OUTSIDE = frozenset({*membership.UNKNOWN, Error.REBALANCE_IN_PROGRESS})


@frozen
class ConsumerConfig(Config):
    """`name`: its client.id. `partitions`: all there are, as the metadata says. `instance`:
    a static member's name. Times in milliseconds, Kafka's defaults."""

    cluster: KafkaConfig = KafkaConfig()
    name: str = "consumer"
    partitions: tuple[str, ...] = ()
    instance: str | None = None
    retry_ms: int = 100
    heartbeat_ms: int = 3_000
    session_ms: int = 45_000
    rebalance_ms: int = 300_000


@frozen
class Consumer(Quiet):
    """`positions`: the next offset to read, by partition; `ends`: where each ended at the
    last fetch. `call`: what has not returned; `in_flight`: its requests under way; `paused`:
    those that wait for the retry timer; `got`, `error`: what its answers brought so far."""

    config: ConsumerConfig
    positions: Map[str, int] = Map()
    ends: Map[str, int] = Map()
    membership: Membership = Membership()
    call: Any = None
    in_flight: tuple[Send, ...] = ()
    paused: tuple[Send, ...] = ()
    got: tuple[str, ...] = ()
    error: Error = Error.NONE

    def step(self, event: Event, disk: Disk) -> tuple[Consumer, Effects]:
        match event:
            case Call(body=call):
                return replace(self, call=call)._handle_call(call)
            case Response(corr=corr, body=HeartbeatResponse() as answer):
                return membership.handle_heartbeat(self, corr, answer)
            case Response(peer=peer, body=answer) if any(s.to == peer for s in self.in_flight):
                return self._handle_answer(peer, answer)
            case ConnectionLost(peer=peer):
                return self, tuple(s for s in self.in_flight if s.to == peer)
            case Fired(timer=timer) if timer == HEARTBEAT:
                return membership.send_heartbeat(self)
            case Fired() if self.paused:
                in_flight = (*self.in_flight, *self.paused)
                return replace(self, in_flight=in_flight, paused=()), self.paused
        # An answer to a call that is over.
        return self, ()

    @property
    def assigned(self) -> tuple[str, ...]:
        return self.membership.assigned

    # -- calls ---------------------------------------------------------------------------

    def _handle_call(self, call: object) -> tuple[Consumer, Effects]:
        match call:
            case Poll():
                return self.poll_assigned(call)
            case Subscribe(group=group, topics=topics):
                return membership.join_group(replace(self, membership=Membership(group, topics)))
            case Unsubscribe():
                return membership.leave_group(self, call)
            case CommitOffsets():
                return self._commit(call)
            case Committed(group=group, partitions=partitions):
                where = offsets_log(group, self.config.cluster)
                return self.send_requests(Send(where, OffsetFetch(group, partitions)))
            case EndOffset(partition=partition, isolation=isolation):
                return self.send_requests(Send(partition, ListOffsets(LATEST, isolation)))
            case PositionOf(partition=partition):
                if partition in self.assigned and partition not in self.positions:
                    return self.send_requests(*fetching.build_offset_fetch(self, (partition,)))
                return self.return_outcome(
                    build_success(call, str(self.positions.get(partition, 0)))
                )
            case Lag():
                return fetching.return_lag(self, call)
            case Seek(partition=partition, offset=offset):
                new = replace(self, positions=self.positions.set(partition, offset))
                return new.return_outcome(build_success(call))
            case GroupMetadata():
                return self.return_outcome(build_success(call, str(self.membership)))
        return self.return_outcome(build_failure(call, "a consumer has no such call"))

    def poll_assigned(self, call: Poll) -> tuple[Consumer, Effects]:
        """A poll of the assigned partitions is also where a member joins again."""
        if call.partition:
            return fetching.poll(self, call)
        if not self.membership.group:
            return self.return_outcome(build_failure(call, "subscribe first, or name a partition"))
        return membership.join_group(self) if self.membership.rejoin else fetching.poll(self, call)

    def _commit(self, call: CommitOffsets) -> tuple[Consumer, Effects]:
        """commitSync; without positions: of everything assigned. A group it is no member of
        it commits to as a consumer that assigns itself its partitions."""
        positions = call.positions or tuple(
            Position(p, self.positions[p]) for p in self.assigned if p in self.positions
        )
        if not positions:
            return self.return_outcome(build_success(call, "nothing"))
        mine = self.membership
        who = (mine.member, mine.generation) if mine.group == call.group else ("", -1)
        ask = OffsetCommit(call.group, positions, *who, instance=self.config.instance)
        return self.send_requests(Send(offsets_log(call.group, self.config.cluster), ask))

    # -- answers -------------------------------------------------------------------------

    def _handle_answer(self, peer: str, answer: ConsumerAnswer) -> tuple[Consumer, Effects]:
        question = next(s for s in self.in_flight if s.to == peer)
        new = replace(self, in_flight=tuple(s for s in self.in_flight if s is not question))
        # Unstable: a transaction holds a newer offset that may or may not count.
        unstable = isinstance(answer, OffsetFetchResponse) and answer.unstable
        if answer.error in RETRIABLE or unstable:
            later = replace(new, paused=(*new.paused, question))
            return later, (SetTimer(RETRY, self.config.retry_ms),)
        return new._take_answer(peer, answer)

    def _take_answer(self, peer: str, answer: ConsumerAnswer) -> tuple[Consumer, Effects]:
        call = self.call
        match answer:
            case FetchResponse():
                return fetching.handle_fetch(self, call, peer, answer)
            case ListOffsetsResponse() if isinstance(call, Poll):
                return fetching.reset_position(self, call, peer, answer)
            case ListOffsetsResponse(offset=offset, error=error):
                return self.return_outcome(
                    build_failure(call, error) if error else build_success(call, str(offset))
                )
            case OffsetFetchResponse():
                return fetching.handle_offsets(self, call, answer)
            case JoinGroupResponse():
                return membership.handle_join(self, answer)
            case SyncGroupResponse():
                return membership.handle_sync(self, answer)
            case LeaveGroupResponse():
                return replace(self, membership=Membership()).return_outcome(build_success(call))
            case OffsetCommitResponse(error=error):
                return self._finish_commit(error)
        raise TypeError(f"a consumer never asks for a {type(answer).__name__}")

    def _finish_commit(self, error: Error) -> tuple[Consumer, Effects]:
        """A refusal for being outside the group is final: what was to be committed has been,
        or will be, read by somebody else (CommitFailedException)."""
        if not error:
            return self.return_outcome(build_success(self.call))
        new = self
        if error is Error.REBALANCE_IN_PROGRESS:
            new = replace(self, membership=replace(self.membership, rejoin=True))
        elif error in OUTSIDE:
            new = membership.forget_membership(self)
        return new.return_outcome(build_failure(self.call, error))

    # -- what the files beside this one build on --------------------------------------------

    def send_requests(self, *sends: Send) -> tuple[Consumer, Effects]:
        return replace(self, in_flight=(*self.in_flight, *sends)), sends

    def return_outcome(self, outcome: Outcome) -> tuple[Consumer, Effects]:
        return replace(self, call=None), (Return(outcome),)
