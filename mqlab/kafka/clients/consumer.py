"""The consumer: half of read_committed is its work.

The broker cuts a fetch at the LSO and says which transactions in it were aborted; the
*client* skips their batches, steps over markers, and keeps its position (`filter_readable`).
Nothing is ever pushed to a consumer, and no mode buffers: what must not be read yet is
simply not sent.

Positions jump: over markers, over aborted batches. A consumer at the end of a partition may
have a position well above the last record it was given. **A position is memory**: an
aborted transaction drops the offsets that were to be committed with it, and leaves the
position where it is. Going back (`seek`) is the application's work.

With `subscribe` it becomes a member of a group (`join_group`): who else is in it decides
which partitions it reads, and a generation number says how fresh that is.

*Left out:* automatic commits, pausing, cooperative rebalancing, several topics' metadata.
Read on in CompletedFetch, SubscriptionState, AbstractCoordinator (clients, Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...kernel import (
    Call,
    CancelTimer,
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
    worded,
)
from ..config import KafkaConfig, offsets_log
from ..errors import Error
from ..group.members import (
    Heartbeat,
    HeartbeatResponse,
    JoinedMember,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    SyncGroup,
    SyncGroupResponse,
)
from ..log import ABORT, AbortedTxn, Batch
from ..messages import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    Fetch,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Position,
    say_no_call,
)
from .calls import (
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

# ---- Fetching: what a client hands out of what it was sent, and where it reads on ----
#
# Sources: CompletedFetch, SubscriptionState, FetchCollector (clients, Kafka 4.3).

Result = tuple["Consumer", Effects]


def filter_readable(
    batches: Iterable[Batch], aborted: Iterable[AbortedTxn] | None, start: int
) -> tuple[list[Batch], int]:
    """Choose the data batches that a client hands to its application from what it fetched; returns
    them and the client's position afterwards (CompletedFetch#nextFetchedRecord, #isBatchAborted,
    #containsAbortMarker).

    `aborted`: the aborted transactions of this range, whose batches are skipped up to their abort
    marker; None: read_uncommitted, only markers are skipped. A leader sends whole batches: the
    records of the first one before `start` are cut off.
    """
    not_begun = sorted(aborted or (), key=lambda a: a.first_offset)
    aborted_pids: set[int] = set()
    readable: list[Batch] = []
    position = start
    for batch in batches:
        # `not_begun`: those whose first offset is not reached yet
        while not_begun and not_begun[0].first_offset <= batch.last:
            aborted_pids.add(not_begun.pop(0).pid)
        position = batch.last + 1
        if batch.control == ABORT:
            aborted_pids.discard(batch.pid)
        elif not batch.control and not (batch.transactional and batch.pid in aborted_pids):
            readable.append(_cut_before(batch, start))
    return readable, position


def _cut_before(batch: Batch, start: int) -> Batch:
    """The batch without the records before offset `start`."""
    before = start - batch.base
    if before <= 0:
        return batch
    return replace(batch, records=batch.records[before:], count=batch.count - before, base=start)


def poll(consumer: Consumer, call: Poll) -> Result:
    """One partition, or all that are assigned: those whose position is not known yet are
    first looked up among the group's committed offsets."""
    wanted = (call.partition,) if call.partition else consumer.assigned
    if not call.partition:
        unknown = tuple(p for p in wanted if p not in consumer.positions)
        if unknown:
            return consumer.send_requests(*build_offset_fetch(consumer, unknown))
    if not wanted:
        return consumer.return_outcome(build_success(call, "nothing"))
    asks = tuple(Send(p, Fetch(consumer.positions.get(p, 0), call.isolation)) for p in wanted)
    return consumer.send_requests(*asks)


def build_offset_fetch(consumer: Consumer, partitions: tuple[str, ...]) -> tuple[Send]:
    """The question where the group has come to; stable offsets only (KIP-447)."""
    group = consumer.membership.group
    where = offsets_log(group, consumer.config.cluster)
    return (Send(where, OffsetFetch(group, partitions)),)


def handle_fetch(consumer: Consumer, call: Poll, partition: str, answer: FetchResponse) -> Result:
    """Take a FetchResponse: keep the records that the isolation level lets through and move the
    partition's position past all that was fetched. The poll returns once all its requests are
    answered: with the records or, if one partition had an error, with that instead."""
    if answer.error is Error.OFFSET_OUT_OF_RANGE:
        # the records there were deleted, or there are none yet
        return consumer.send_requests(ask_reset(consumer, partition, call.isolation))
    new = replace(consumer, error=consumer.error or answer.error)
    if not answer.error:
        offset = consumer.positions.get(partition, 0)
        batches, position = filter_readable(answer.batches, answer.aborted, offset)
        end = answer.lso if call.isolation == READ_COMMITTED else answer.hw
        new = replace(
            consumer,
            positions=consumer.positions.set(partition, position),
            ends=consumer.ends.set(partition, end),
            got=(*consumer.got, *(b.words for b in batches)),
        )
    if new.in_flight or new.paused:  # requests without an answer, or to be sent again
        return new, ()
    got, error = ", ".join(new.got) or "nothing", new.error
    new = replace(new, got=(), error=Error.NONE)
    return new.return_outcome(build_failure(call, error) if error else build_success(call, got))


def ask_reset(consumer: Consumer, partition: str, isolation: str) -> Send:
    """The question from where auto.offset.reset reads on."""
    at_ms = LATEST if consumer.membership.reset == "latest" else EARLIEST
    return Send(partition, ListOffsets(at_ms, isolation))


def reset_position(
    consumer: Consumer, call: Poll | PositionOf, partition: str, answer: ListOffsetsResponse
) -> Result:
    """Read on from there. With auto.offset.reset=latest one poll may reset several partitions."""
    new = replace(consumer, positions=consumer.positions.set(partition, answer.offset))
    if isinstance(call, PositionOf):
        return new.return_outcome(build_success(call, str(answer.offset)))
    return new.send_requests(Send(partition, Fetch(answer.offset, call.isolation)))


def handle_offsets(
    consumer: Consumer, call: Committed | Poll | PositionOf | Lag, answer: OffsetFetchResponse
) -> Result:
    """Take what the group has committed: for Committed it is the call's outcome; for the others it
    is where this member reads on from. A Poll then fetches there, a PositionOf returns it. Where
    nothing is committed and auto.offset.reset is latest, the end is requested first (ListOffsets)
    and its answer goes on with the call."""
    if isinstance(call, Committed):
        return consumer.return_outcome(build_success(call, ", ".join(map(str, answer.positions))))
    positions = consumer.positions
    unknown: list[Send] = []  # nothing is committed for them
    for position in answer.positions:
        if position.offset < 0 and consumer.membership.reset == "latest":
            isolation = call.isolation if isinstance(call, Poll) else READ_COMMITTED
            unknown.append(ask_reset(consumer, position.partition, isolation))
            continue
        # Nothing committed: from the beginning (auto.offset.reset=earliest).
        positions = positions.set(position.partition, max(position.offset, 0))
    new = replace(consumer, positions=positions)
    if isinstance(call, Poll):
        known = tuple(p for p in new.assigned if p in positions)
        asks = (Send(p, Fetch(positions[p], call.isolation)) for p in known)
        return new.send_requests(*asks, *unknown)
    if unknown:
        return new.send_requests(*unknown)
    return new.return_outcome(build_success(call, str(positions.get(call.partition, 0))))


def return_lag(consumer: Consumer, call: Lag) -> Result:
    """currentLag: the end as of the last fetch (LSO under read_committed) less the
    position. Nothing is asked; before the first fetch it is unknown."""
    end = consumer.ends.get(call.partition)
    if end is None:
        return consumer.return_outcome(build_success(call, "unknown"))
    return consumer.return_outcome(
        build_success(call, str(end - consumer.positions[call.partition]))
    )


# ---- Being a member of a group: join, learn what to read, stay -----------------------
#
# The member that leads a generation assigns for all (RangeAssignor): topic by topic,
# contiguous ranges in the order of the member ids. It knows how many partitions there are
# from the metadata. Everybody drops what it read before (the eager protocol): positions are
# looked up again, among what the group has committed.
#
# Sources: AbstractCoordinator, ConsumerCoordinator, RangeAssignor (clients, Kafka 4.3).

RANGE = "range"
HEARTBEAT = "heartbeat"
BEAT = 1  # a heartbeat's request has this number and its generation; a call's requests have 0
#: the member has lost its id and comes back as a new one
UNKNOWN = frozenset({Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION})


@worded("member={member} generation={generation}")
class Membership:
    """`rejoin`: the next poll joins again before it reads. `fenced`: another member has its
    `instance`, the name of a static member. `reset`: auto.offset.reset. What `groupMetadata()`
    gives to a producer is group, member and generation."""

    group: str = ""
    topics: tuple[str, ...] = ()
    member: str = ""
    generation: int = -1
    assigned: tuple[str, ...] = ()
    rejoin: bool = False
    instance: str | None = None
    reset: str = "earliest"
    fenced: bool = False


def assign_ranges(
    members: tuple[JoinedMember, ...], partitions: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(member, partitions) by RangeAssignor."""
    given: dict[str, list[str]] = {m.member: [] for m in members}
    topics = sorted({p.rpartition("-")[0] for p in partitions})
    for topic in topics:
        readers = sorted(m.member for m in members if topic in m.metadata)
        mine = [p for p in partitions if p.rpartition("-")[0] == topic]
        start = 0
        for i, member in enumerate(readers):
            size = len(mine) // len(readers) + (i < len(mine) % len(readers))
            given[member] += mine[start : start + size]
            start += size
    return tuple((member, tuple(parts)) for member, parts in sorted(given.items()))


def join_group(consumer: Consumer) -> Result:
    """Ask to be in the next generation; until it has begun there is no answer."""
    config, mine = consumer.config, consumer.membership
    ask = JoinGroup(
        mine.group,
        mine.member,
        config.name,
        ((RANGE, mine.topics),),
        mine.instance,
        config.session_ms,
        config.rebalance_ms,
    )
    away = replace(mine, assigned=(), rejoin=True)
    new = replace(consumer, membership=away, positions=Map(), ends=Map())
    return new.send_requests(Send(coordinator_of(new), ask))


def coordinator_of(consumer: Consumer) -> str:
    return offsets_log(consumer.membership.group, consumer.config.cluster)


def handle_join(consumer: Consumer, answer: JoinGroupResponse) -> Result:
    """Take a JoinGroupResponse and answer with SyncGroup, which fetches this member's partitions.
    The member that leads the group assigns the partitions of all members first, and its SyncGroup
    brings this assignment; the others' is empty. Where the broker gives the consumer a member id
    first, or does not know the one it has, JoinGroup is sent again."""
    membership = consumer.membership
    if answer.error is Error.MEMBER_ID_REQUIRED:
        return join_group(replace(consumer, membership=replace(membership, member=answer.member)))
    if answer.error in UNKNOWN:
        return join_group(replace(consumer, membership=replace(membership, member="")))
    if answer.error:
        return consumer.return_outcome(build_failure(consumer.call, answer.error))
    assignments: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if answer.member == answer.leader and not answer.skip_assignment:
        assignments = assign_ranges(answer.members, consumer.config.partitions)
    membership = replace(membership, member=answer.member, generation=answer.generation)
    sync = SyncGroup(
        membership.group,
        membership.member,
        membership.generation,
        assignments,
        membership.instance,
        answer.protocol_type,
        answer.protocol,
    )
    new = replace(consumer, membership=membership)
    return new.send_requests(Send(coordinator_of(new), sync))


def handle_sync(consumer: Consumer, answer: SyncGroupResponse) -> Result:
    """Take a SyncGroupResponse: this member's partitions in the new generation. Heartbeats begin,
    and the call that waited for the rebalance goes on: a poll fetches, a subscribe returns. Where
    the group has changed meanwhile, the member joins again; where the group does not know it any
    more (UNKNOWN), as a new one, without an id. Any other error ends the call."""
    mine = consumer.membership
    if answer.error is Error.REBALANCE_IN_PROGRESS:
        return join_group(consumer)
    if answer.error in UNKNOWN:
        return join_group(replace(consumer, membership=replace(mine, member="", generation=-1)))
    if answer.error:
        return consumer.return_outcome(build_failure(consumer.call, answer.error))
    mine = replace(mine, assigned=tuple(answer.assignment), rejoin=False)
    new = replace(consumer, membership=mine)
    start_heartbeat = SetTimer(HEARTBEAT, consumer.config.heartbeat_ms)
    if isinstance(new.call, Poll):
        new, effects = new.poll_assigned(new.call)
    else:
        detail = f"{mine}: {', '.join(mine.assigned) or 'nothing to read'}"
        new, effects = new.return_outcome(build_success(new.call, detail))
    return new, (start_heartbeat, *effects)


# ---- staying -----------------------------------------------------------------------------


def send_heartbeat(consumer: Consumer) -> Result:
    """The background thread's heartbeat: the next one is due whatever comes back."""
    mine = consumer.membership
    if mine.generation < 0:
        return consumer, ()
    ask = Heartbeat(mine.group, mine.member, mine.generation, mine.instance)
    again = SetTimer(HEARTBEAT, consumer.config.heartbeat_ms)
    return consumer, (Send(coordinator_of(consumer), ask, BEAT + mine.generation), again)


def handle_heartbeat(consumer: Consumer, corr: int, answer: HeartbeatResponse) -> Result:
    """The answer is noted; joining again is the next poll's work, in the application's own
    thread. Until then the member reads on and may commit, and be refused. What is said of
    an older generation no longer matters (AbstractCoordinator's sentGeneration)."""
    if corr != BEAT + consumer.membership.generation:
        return consumer, ()
    if answer.error is Error.REBALANCE_IN_PROGRESS:
        return replace(consumer, membership=replace(consumer.membership, rejoin=True)), ()
    if answer.error in UNKNOWN:
        return forget_membership(consumer), (CancelTimer(HEARTBEAT),)
    if answer.error is Error.FENCED_INSTANCE_ID:
        fenced = replace(consumer.membership, fenced=True)
        return replace(consumer, membership=fenced), (CancelTimer(HEARTBEAT),)
    return consumer, ()


def forget_membership(consumer: Consumer) -> Consumer:
    """It knows now that it is no member any more."""
    mine = replace(consumer.membership, member="", generation=-1, rejoin=True)
    return replace(consumer, membership=mine)


def leave_group(consumer: Consumer, call: Unsubscribe) -> Result:
    """A static member does not leave: its partitions wait for it until its session is over."""
    mine = consumer.membership
    if not mine.member or mine.instance:
        new = replace(consumer, membership=Membership())
        new, effects = new.return_outcome(build_success(call))
        return new, ((CancelTimer(HEARTBEAT), *effects) if mine.member else effects)
    ask = LeaveGroup(mine.group, ((mine.member, None),))
    new, effects = consumer.send_requests(Send(coordinator_of(consumer), ask))
    return new, (CancelTimer(HEARTBEAT), *effects)


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
OUTSIDE = frozenset({*UNKNOWN, Error.REBALANCE_IN_PROGRESS})


@frozen
class ConsumerConfig(Config):
    """`name`: its client.id. `partitions`: all there are, as the metadata says. Times in
    milliseconds, Kafka's defaults. `retry_ms`: retry.backoff.ms; `heartbeat_ms`, `session_ms`,
    `rebalance_ms`: heartbeat.interval.ms, session.timeout.ms and max.poll.interval.ms."""

    cluster: KafkaConfig = KafkaConfig()
    name: str = "consumer"
    partitions: tuple[str, ...] = ()
    retry_ms: int = 100
    heartbeat_ms: int = 3_000
    session_ms: int = 45_000
    rebalance_ms: int = 300_000


@frozen
class Consumer(Quiet):
    """`positions`: the next offset to read, by partition; `ends`: where each ended at the last
    fetch. `call`: what has not returned; `in_flight`: its requests in flight; `paused`: those that
    wait for the retry timer; `got`, `error`: what its answers brought so far. `membership`: in its
    consumer group."""

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
        """Handle one event: a call of the application, an answer of a broker, a broken connection
        (the requests on it are sent again), a timer (a heartbeat is due, or requests that were
        paused are sent again)."""
        match event:
            case Call(body=call):
                return replace(self, call=call)._handle_call(call)
            case Response(corr=corr, body=HeartbeatResponse() as answer):
                return handle_heartbeat(self, corr, answer)
            case Response(peer=peer, body=answer) if any(s.to == peer for s in self.in_flight):
                return self._handle_answer(peer, answer)
            case ConnectionLost(peer=peer):
                return self, tuple(s for s in self.in_flight if s.to == peer)
            case Fired(timer=timer) if timer == HEARTBEAT:
                return send_heartbeat(self)
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
        """Begin a call of the application: send its first request, or return its outcome at once
        where no broker has to be asked."""
        match call:
            case Poll():
                return self.poll_assigned(call)
            case Subscribe(group=group, topics=topics):
                mine = Membership(
                    group, topics, instance=call.group_instance_id, reset=call.auto_offset_reset
                )
                return join_group(replace(self, membership=mine))
            case Unsubscribe():
                return leave_group(self, call)
            case CommitOffsets():
                return self._commit(call)
            case Committed(group=group, partitions=partitions, require_stable=stable):
                log = offsets_log(group, self.config.cluster)
                return self.send_requests(Send(log, OffsetFetch(group, partitions, stable)))
            case EndOffset(partition=partition, isolation=isolation):
                return self.send_requests(Send(partition, ListOffsets(LATEST, isolation)))
            case PositionOf(partition=partition):
                # the group's committed offset, where the consumer has not read there yet
                if partition in self.assigned and partition not in self.positions:
                    return self.send_requests(*build_offset_fetch(self, (partition,)))
                return self.return_outcome(
                    build_success(call, str(self.positions.get(partition, 0)))
                )
            case Lag():
                return return_lag(self, call)
            case Seek(partition=partition, offset=offset):
                new = replace(self, positions=self.positions.set(partition, offset))
                return new.return_outcome(build_success(call))
            case GroupMetadata():
                return self.return_outcome(build_success(call, str(self.membership)))
        return self.return_outcome(build_failure(call, say_no_call("a consumer")))

    def poll_assigned(self, call: Poll) -> tuple[Consumer, Effects]:
        """A poll of the assigned partitions is also where a member joins again."""
        if call.partition:
            return poll(self, call)
        if not self.membership.group:
            return self.return_outcome(build_failure(call, "subscribe first, or name a partition"))
        if self.membership.fenced:
            return self.return_outcome(build_failure(call, Error.FENCED_INSTANCE_ID))
        return join_group(self) if self.membership.rejoin else poll(self, call)

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
        instance = mine.instance if mine.group == call.group else None
        ask = OffsetCommit(call.group, positions, *who, instance=instance)
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
        """Pass an answer to the function that goes on with the waiting call, by the answer's
        type."""
        call = self.call
        match answer:
            case FetchResponse():
                return handle_fetch(self, call, peer, answer)
            case ListOffsetsResponse() if isinstance(call, (Poll, PositionOf)):
                return reset_position(self, call, peer, answer)
            case ListOffsetsResponse(offset=offset, error=error):
                return self.return_outcome(
                    build_failure(call, error) if error else build_success(call, str(offset))
                )
            case OffsetFetchResponse():
                return handle_offsets(self, call, answer)
            case JoinGroupResponse():
                return handle_join(self, answer)
            case SyncGroupResponse():
                return handle_sync(self, answer)
            case LeaveGroupResponse():
                return replace(self, membership=Membership()).return_outcome(build_success(call))
            case OffsetCommitResponse(error=error):
                return self._finish_commit(error)
        raise TypeError(f"a consumer never asks for a {type(answer).__name__}")

    def _finish_commit(self, error: Error) -> tuple[Consumer, Effects]:
        """A refusal for being outside the group is final: what was to be committed has been,
        or will be, read by another member (CommitFailedException)."""
        if not error:
            return self.return_outcome(build_success(self.call))
        new = self
        if error is Error.REBALANCE_IN_PROGRESS:
            new = replace(self, membership=replace(self.membership, rejoin=True))
        elif error in OUTSIDE:
            new = forget_membership(self)
        return new.return_outcome(build_failure(self.call, error))

    # -- what the files beside this one build on --------------------------------------------

    def send_requests(self, *sends: Send) -> tuple[Consumer, Effects]:
        return replace(self, in_flight=(*self.in_flight, *sends)), sends

    def return_outcome(self, outcome: Outcome) -> tuple[Consumer, Effects]:
        return replace(self, call=None), (Return(outcome),)
