"""The group coordinator: who reads what, how far they have come, and how that joins a
transaction.

A group belongs to partition abs(hash) mod N of `__consumer_offsets`; the leader of that
partition is its coordinator, so this role is a partition leader too: the same log, the
same producer state, the same markers.

    JoinGroup       membership.py  a member comes, or comes back: a rebalance
    SyncGroup       membership.py  its leader assigns; safe in the log, then handed out
    Heartbeat, …    membership.py  who is silent is no member any more
    OffsetCommit    commits.py     committed offsets, plain or pending in a transaction
    DeleteGroups, … here           what an administrator has forgotten
    ListGroups, …   here           an administrator asks
    (all of these)  here           which request is answered by what (`handle_request`)
    (generations)   members.py     a group and its members, and the table of its states

**Durable** are offset records and one record per generation (who is in it, who reads what).
**In memory**: sessions, who waits for an answer, ids given out. After a restart a stable
group is stable again and its generation goes on.

*What can go wrong.* A reader that starts while an offset is pending must not start from the
old one: `require_stable` makes it wait. Nor from one that a failover would take back: a position is
reported once it is replicated. A member that was slow, not dead, comes back and
commits what its successor has done already: its generation gives it away. *Invariants:*
generations only grow; an offset of an open or aborted transaction never counts.

*Left out:* the consumer protocol of KIP-848, share groups, streams groups, expiry of offsets and
groups.
Read on in GroupCoordinatorService, GroupMetadataManager, OffsetMetadataManager (Kafka 4.3).
"""

from __future__ import annotations

from functools import partial
from typing import Any

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
    Put,
    Reply,
    Request,
    Response,
    Text,
    Words,
    frozen,
    phrase,
    replace,
    worded,
)
from ..config import KafkaConfig
from ..errors import Error
from ..log import Batch, role
from ..log.role import (
    EXPIRE,
    DescribeProducers,
    Partition,
    ReaderRequest,
    Verifying,
    Watchers,
    add_ack,
    answer_reader,
    forget_idle,
    recover_partition,
    schedule_expiry,
    take_safe,
    tell_frontiers,
    wake_watchers,
)
from ..messages import (
    AddPartitionsToTxnResponse,
    Fetch,
    ListOffsets,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    PartitionsDeleted,
    TopicResponse,
    TxnOffsetCommit,
    Unwatch,
    Watch,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
    braces,
)
from . import commits, membership
from .commits import Offsets, Positions
from .members import (
    CONSUMER,
    DeleteGroup,
    DeleteGroupResponse,
    DeleteOffsets,
    DeleteOffsetsResponse,
    DescribedMember,
    DescribeGroup,
    DescribeGroupResponse,
    Group,
    GroupMetadata,
    GroupState,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    ListedGroup,
    ListGroups,
    ListGroupsResponse,
    SyncGroup,
    subscribed_topics,
)
from .membership import Assigning, restart_session

# ---- Administration: a group, or some of its committed offsets, deleted --------------
#
# Nothing is erased at once. A *tombstone*, a record with the key and no value, is appended
# like any other record; it takes effect when it is read, now and after every restart, and
# compaction drops both later. Only a group without members may be deleted, and only the positions
# of topics that no member reads: else a member would find its place gone. The positions of a topic
# that is deleted go all the same.
#
# A tombstone also takes back what an open transaction has written for that position: its
# commit marker, when it comes, finds nothing that would count.
#
# Source: GroupCoordinatorShard#deleteGroups, #deleteOffsets, ClassicGroup#validateDeleteGroup,
# OffsetMetadataManager#deleteAllOffsets, #deleteOffsets, #onPartitionsDeleted, #replay (Kafka 4.3).

Result = tuple["GroupCoordinator", Effects]


@frozen
class OffsetTombstones:
    """One tombstone for each of these partitions' positions."""

    group: str
    partitions: tuple[str, ...]

    def __str__(self) -> str:
        return phrase("{}: tombstones of {}", self.group, braces(self.partitions))

    @property
    def label(self) -> str:
        return "✗ " + ", ".join(self.partitions)


@worded("{group}: tombstone")
class GroupTombstone:
    group: str

    @property
    def label(self) -> str:
        return f"✗ {self.group}"


def delete_group(gc: GroupCoordinator, ask: DeleteGroup, caller: Caller, disk: Disk) -> Result:
    """Its positions first, then the group, in one batch."""
    error = _check_deletable(gc, ask.group)
    if error:
        return gc, (Reply(caller, DeleteGroupResponse(error)),)
    partitions = _positions(gc, ask.group)
    records = (*_tombstones(ask.group, partitions), GroupTombstone(ask.group))
    batch = Batch(records, count=len(partitions) + 1)
    return gc.write_records(batch, disk, (caller, DeleteGroupResponse()))


def _check_deletable(gc: GroupCoordinator, name: str) -> Error:
    group: Group | None = gc.groups.get(name)
    if group is None or group.state is GroupState.DEAD:
        return Error.GROUP_ID_NOT_FOUND
    return Error.NONE if group.state is GroupState.EMPTY else Error.NON_EMPTY_GROUP


def delete_offsets(gc: GroupCoordinator, ask: DeleteOffsets, caller: Caller, disk: Disk) -> Result:
    """Handle OffsetDelete: remove committed offsets of a group by appending tombstones. Each
    partition has an error of its own in the answer, except where the group does not exist or its
    members are no consumers; the offsets of a topic that a member subscribes to stay."""
    group: Group | None = gc.groups.get(ask.group)
    error = _check_known(group)
    if error:
        return gc, (Reply(caller, DeleteOffsetsResponse(error)),)
    read = _subscribed_topics(group)
    errors = tuple(
        Error.GROUP_SUBSCRIBED_TO_TOPIC if _topic(p) in read else Error.NONE for p in ask.partitions
    )
    has_offset = frozenset(_positions(gc, ask.group))
    allowed = [p for p, e in zip(ask.partitions, errors, strict=True) if not e]
    # dict.fromkeys: a partition that is named twice is removed once
    removed = tuple(p for p in dict.fromkeys(allowed) if p in has_offset)
    answer = DeleteOffsetsResponse(errors=errors)
    if not removed:
        return gc, (Reply(caller, answer),)
    batch = Batch(_tombstones(ask.group, removed), count=len(removed))
    return gc.write_records(batch, disk, (caller, answer))


def forget_partitions(
    gc: GroupCoordinator, gone: PartitionsDeleted, caller: Caller, disk: Disk
) -> Result:
    """A topic is deleted: its positions go, also those that members read, who are not told."""
    wanted, records = frozenset(gone.partitions), list[OffsetTombstones]()
    for group in dict.fromkeys((*gc.committed, *gc.open_in)):
        had = tuple(one for one in _positions(gc, group) if one in wanted)
        records += _tombstones(group, had)
    if not records:
        return gc, (Reply(caller, TopicResponse()),)
    batch = Batch(tuple(records), count=sum(len(one.partitions) for one in records))
    return gc.write_records(batch, disk, (caller, TopicResponse()))


def _check_known(group: Group | None) -> Error:
    if group is None or group.state is GroupState.DEAD:
        return Error.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER:
        return Error.NON_EMPTY_GROUP  # what such members read cannot be known here
    return Error.NONE


def _topic(partition: str) -> str:
    return partition.rpartition("-")[0]


def _subscribed_topics(group: Group | None) -> frozenset[str]:
    """The topics that some member subscribes to."""
    if group is None:
        return frozenset()
    subscriptions = (dict(m.protocols).get(group.protocol) for m in group.members.values())
    return frozenset(topic for metadata in subscriptions for topic in subscribed_topics(metadata))


def _positions(gc: GroupCoordinator, group: str) -> tuple[str, ...]:
    """Partitions of which the group has a position, be it still pending."""
    counted = gc.committed.get(group, commits.NONE_YET)
    return tuple(dict.fromkeys((*counted, *commits.list_pending(gc, group))))


def _tombstones(group: str, partitions: tuple[str, ...]) -> tuple[OffsetTombstones, ...]:
    return (OffsetTombstones(group, partitions),) if partitions else ()


# ---- what a tombstone does -----------------------------------------------------------


def apply_offset_tombstones(
    gc: GroupCoordinator, gone: OffsetTombstones, end: int
) -> GroupCoordinator:
    """`end`: of the batch of these tombstones."""
    group, without, place = gone.group, _without, commits.set_or_remove
    left = without(gc.committed.get(group, commits.NONE_YET), gone.partitions)
    committed = place(gc.committed, group, left)
    pending, pids = gc.pending, gc.open_in.get(group, Map())
    for pid in pids:
        held = without(pending[pid][group], gone.partitions)
        pending = place(pending, pid, place(pending[pid], group, held))
        pids = pids if held else pids.remove(pid)
    gc = replace(gc, pending=pending, open_in=place(gc.open_in, group, pids))
    return commits.count_offsets(gc, committed, end)


def _without(positions: Map[str, commits.Placed], gone: tuple[str, ...]) -> Map[str, Any]:
    for partition in gone:
        positions = positions.remove(partition)
    return positions


def apply_group_tombstone(gc: GroupCoordinator, gone: GroupTombstone) -> GroupCoordinator:
    return replace(gc, groups=gc.groups.remove(gone.group))


# ---- Groups as an administrator sees them --------------------------------------------
#
# Source: GroupMetadataManager#describeGroups, #listGroups (Kafka 4.3).


def list_groups(gc: GroupCoordinator) -> ListGroupsResponse:
    groups = gc.groups.values()
    return ListGroupsResponse(
        tuple(ListedGroup(g.name, g.protocol_type, str(g.state)) for g in groups)
    )


def describe_group(gc: GroupCoordinator, name: str) -> DescribeGroupResponse:
    """Answer DescribeGroups for one group, as an administrator sees it. What members subscribe to
    is shown only while the group is stable; what they are assigned, also while that is changing
    (ClassicGroup#describe)."""
    group: Group | None = gc.groups.get(name)
    if group is None:
        return DescribeGroupResponse(Error.GROUP_ID_NOT_FOUND, message=f"Group {name} not found.")
    stable = group.state is GroupState.STABLE
    members = tuple(
        DescribedMember(
            m.id,
            m.instance,
            m.client,
            m.host,
            dict(m.protocols).get(group.protocol, b"") if stable else b"",
            m.assignment,
        )
        for m in group.members.values()
    )
    protocol = group.protocol if stable else ""
    return DescribeGroupResponse(
        Error.NONE, str(group.state), group.protocol_type, protocol, members
    )


# ---- What a group coordinator is asked, and the file that answers it -----------------

GroupRequest = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | OffsetCommit
    | TxnOffsetCommit
    | OffsetFetch
    | WriteTxnMarkers
    | DescribeGroup
    | ListGroups
    | DeleteGroup
    | DeleteOffsets
    | PartitionsDeleted
    | ReaderRequest
)

#: what a caller may wait for until a record is safe
GroupAnswer = (
    JoinGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | DeleteGroupResponse
    | DeleteOffsetsResponse
    | TopicResponse
    | WriteTxnMarkersResponse
)


def handle_request(
    gc: GroupCoordinator, body: GroupRequest, caller: Caller, disk: Disk, at_ms: int
) -> tuple[GroupCoordinator, Effects]:
    """Pass a request to the function that handles it, by its type. Requests of readers are answered
    as by any partition leader: `__consumer_offsets` is an ordinary log."""
    match body:
        case JoinGroup():
            return membership.handle_join(gc, body, caller, disk)
        case SyncGroup():
            return membership.handle_sync(gc, body, caller, disk)
        case Heartbeat():
            return membership.handle_heartbeat(gc, body, caller)
        case LeaveGroup():
            return membership.handle_leave(gc, body, caller, disk)
        case TxnOffsetCommit():
            return commits.commit_in_transaction(gc, body, caller, disk)
        case OffsetCommit():
            return commits.commit_offsets(gc, body, caller, disk)
        case OffsetFetch():
            return commits.fetch_offsets(gc, body, caller, disk)
        case WriteTxnMarkers():
            return commits.write_marker(gc, body, caller, disk, at_ms)
        case DeleteGroup():
            return delete_group(gc, body, caller, disk)
        case DeleteOffsets():
            return delete_offsets(gc, body, caller, disk)
        case PartitionsDeleted():
            return forget_partitions(gc, body, caller, disk)
        case Fetch() | ListOffsets() | DescribeProducers() | Watch() | Unwatch():
            return answer_reader(gc, body, caller, disk)
        case DescribeGroup(group=name):
            return gc, (Reply(caller, describe_group(gc, name)),)
        case ListGroups():
            return gc, (Reply(caller, list_groups(gc)),)
    raise TypeError(f"a group coordinator is never sent {type(body).__name__}")


#: an append's error as it is reported to a group's member (CoordinatorOperationExceptionHelper)
AS_COORDINATOR = {
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
}
NOW = Words("{group}: {state}, generation {generation}")


@frozen
class GroupCoordinator:
    """`committed`: what counts, by all that is in the log; `safe`: by what is replicated of it;
    `timeline`: (end, what counts) of each commit in between (Kafka's TimelineHashMap). `pending`:
    by producer id, what its open transaction would make count; `open_in`: by group, the producer
    ids with something pending there. `assigning`: assignments that are not yet safe. `epoch`: which
    incarnation this is, `given`: how many member ids it gave out in it. `now_ms`: of the event
    that is being handled, for the stamps of what it writes. `part`: its partition of
    `__consumer_offsets`; `acks`: answers that wait for the high watermark; `verifying`: commits
    that wait for the transaction coordinator; `watchers`: long polls."""

    config: KafkaConfig
    name: str
    part: Partition
    committed: Positions = Map()
    safe: Positions = Map()
    timeline: tuple[tuple[int, Positions], ...] = ()
    pending: Map[int, Positions] = Map()
    open_in: Map[str, Map[int, bool]] = Map()
    groups: Map[str, Group] = Map()
    acks: tuple[tuple[int, Caller, GroupAnswer], ...] = ()
    assigning: tuple[Assigning, ...] = ()
    verifying: Map[int, Verifying[TxnOffsetCommit]] = Map()
    epoch: int = 0
    given: int = 0
    now_ms: int = 0
    watchers: Watchers = Map()

    def step(self, event: Event, disk: Disk) -> tuple[GroupCoordinator, Effects]:
        now = self if event.at_ms == self.now_ms else replace(self, now_ms=event.at_ms)
        new, effects = now._handle_event(event, disk)
        new.check_invariants(disk)
        return new, (*effects, *schedule_expiry(self.config, self.part, new.part))

    def check_invariants(self, disk: Disk) -> None:
        """AssertionError where more could be reported to a reader than the log has, or where what
        is safe will not come to be what counts."""
        part = self.part
        assert part.lso <= part.hw <= disk.log(self.name).end, (part.lso, part.hw)
        assert (self.timeline[-1][1] if self.timeline else self.safe) == self.committed

    def _handle_event(self, event: Event, disk: Disk) -> tuple[GroupCoordinator, Effects]:
        """Handle one event: a request, an append that is durable or has failed, the transaction
        coordinator's answer to a verification or the end of the connection to it, or a timer."""
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return handle_request(self, body, caller, disk, at_ms)
            case Appended(end=end):
                return self.finish_appends(end)
            case AppendFailed(error=error):
                return self._fail_appends(Error[error], disk)
            case Response(corr=corr, body=AddPartitionsToTxnResponse(error=error)):
                return commits.handle_verification(self, corr, error, disk)
            case ConnectionLost(peer=peer) if peer == self.config.coordinator:
                return commits.handle_lost_coordinator(self)
            case Fired(timer=timer, at_ms=at_ms) if timer == EXPIRE:  # of producers
                return forget_idle(self, at_ms)
            case Fired(timer=timer):
                return membership.handle_timer(self, timer, disk)
        # a call, or a broken connection that none of its requests uses, changes nothing
        return self, ()

    # -- what the requests' files build on -------------------------------------------------

    def with_group(self, group: Group) -> GroupCoordinator:
        group.check_invariants(self.groups.get(group.name))
        return replace(self, groups=self.groups.set(group.name, group))

    def give_member_id(self, client: str) -> tuple[GroupCoordinator, str]:
        """A member id that was never given before; Kafka appends a random UUID."""
        number = self.given + 1
        epoch = f"{self.epoch}." if self.epoch else ""
        return replace(self, given=number), f"{client}-{epoch}{number}"

    def has_room_for(self, record: GroupMetadata) -> bool:
        """Whether a group's record fits into a batch of the log; of the model's any does."""
        return True

    def write_generation(
        self,
        group: Group,
        given: dict[str, Any],
        disk: Disk,
        then: tuple[Caller, GroupAnswer] | None = None,
    ) -> tuple[GroupCoordinator, Effects]:
        """Write a group's record with its assignments; `then`: whom to answer what once it is
        safe."""
        base = disk.log(self.name).end
        batch = Batch((group.to_record(given),), base=base, at_ms=self.now_ms)
        acks = self.acks if then is None else add_ack(self.acks, (base + 1, *then))
        return replace(self.with_group(group), acks=acks), (Append(self.name, batch),)

    def write_records(
        self, batch: Batch, disk: Disk, then: tuple[Caller, GroupAnswer] | None
    ) -> tuple[GroupCoordinator, Effects]:
        """Write records that take effect as they do when they are read; `then`: whom to answer what
        once they are safe."""
        batch = replace(batch, base=disk.log(self.name).end, at_ms=self.now_ms)
        acks = self.acks if then is None else add_ack(self.acks, (batch.last + 1, *then))
        return replace(self.replay_batch(batch), acks=acks), (Append(self.name, batch),)

    def append_offsets(
        self, batch: Batch, caller: Caller, answer: GroupAnswer, disk: Disk
    ) -> tuple[GroupCoordinator, Effects]:
        """Write offsets; their sender is answered once they are safe."""
        batch = replace(batch, base=disk.log(self.name).end, at_ms=self.now_ms)
        ack = (batch.last + 1, caller, answer)
        new = replace(self, part=self.part.with_data(batch), acks=add_ack(self.acks, ack))
        return commits.note_offsets(new, batch, batch.records), (Append(self.name, batch),)

    # -- markers and safety ----------------------------------------------------------------

    def finish_appends(self, end: int) -> tuple[GroupCoordinator, Effects]:
        """Appends to `__consumer_offsets` below offset `end` are durable: send the acknowledgements
        that waited for them, complete the assignments among them, and answer the long polls that
        now find more."""
        # `safe`: the acknowledgements (end, caller, answer) whose end is reached; `acks`: the rest
        safe, acks = take_safe(self.acks, end)
        effects: Effects = tuple(Reply(caller, answer) for _, caller, answer in safe)
        # assignments of members to partitions, which are handed out once they are durable
        now_durable = [a for a in self.assigning if a.end <= end]
        advanced = self.part.advance(end)
        watchers, poll_answers = wake_watchers(self.watchers, partial(role.upper_bound, advanced))
        gc = replace(
            commits.release_safe(self, end),  # committed offsets below `end` can be fetched
            part=advanced,
            watchers=watchers,
            acks=acks,
            assigning=tuple(a for a in self.assigning if a.end > end),
        )
        for waiting in now_durable:
            gc, assignment_effects = membership.finish_assignment(gc, waiting)
            effects += assignment_effects
        return gc, (*effects, *poll_answers)

    def resign(self) -> Effects:
        """Another broker leads now: refuse all that wait here, so that clients look for it."""
        no = Error.NOT_COORDINATOR
        asking = tuple(Reply(v.caller, OffsetCommitResponse(no)) for v in self.verifying.values())
        return (
            *self._refuse_waiting(Error.NOT_LEADER_OR_FOLLOWER),
            *asking,
            *membership.dismiss_members(self, no),
        )

    def _fail_appends(self, error: Error, disk: Disk) -> tuple[GroupCoordinator, Effects]:
        """What was appended may be cut off again: it is never reported as safe."""
        effects = self._refuse_waiting(error)
        gc = replace(self, acks=(), assigning=())
        for waiting in self.assigning:
            gc, more = membership.fail_assignment(
                gc, waiting, AS_COORDINATOR.get(error, error), disk
            )
            effects += more
        return gc, effects

    def _refuse_waiting(self, error: Error) -> Effects:
        """A coordinator of transactions hears the leader's own words, members hear what
        makes them look for their coordinator."""
        effects: Effects = ()
        for _, who, answer in self.acks:
            marker = isinstance(answer, WriteTxnMarkersResponse)
            shown = error if marker else AS_COORDINATOR.get(error, error)
            effects += (Reply(who, replace(answer, error=shown)),)
        return effects

    # -- words and recovery ----------------------------------------------------------------

    def describe_changes(self, old: GroupCoordinator | None) -> tuple[Text, ...]:
        texts = tell_frontiers(None if old is None else old.part, self.part)
        if old is None or self.groups is old.groups:
            return texts
        for group in self.groups.values():
            before = old.groups.get(group.name) or Group(group.name)
            if (group.state, group.generation) != (before.state, before.generation):
                now = NOW(group=group.name, state=str(group.state), generation=group.generation)
                texts = (*texts, now)
        return texts

    @classmethod
    def recover(
        cls,
        config: KafkaConfig,
        name: str,
        disk: Disk,
        at_ms: int,
        hw: int | None = None,
        epoch: int | None = None,
    ) -> tuple[GroupCoordinator, Effects]:
        """Build the coordinator by replaying its log after a start: offsets that were pending are
        pending again, groups are as when their last generation was written, and every member's
        session begins again. `hw`, `epoch`: given to a replica that begins to lead; None: there is
        one replica, so all of its log is replicated, and it counts its own starts."""
        part, effects = recover_partition(config, name, disk, hw)
        if epoch is None:
            epoch = disk.table("starts").get(name, -1) + 1
            effects = (*effects, Put("starts", name, epoch))
        gc = cls(config, name, part, epoch=epoch)
        log = disk.log(name)
        for batch in log.read(log.start):
            gc = commits.apply_marker(gc, batch) if batch.control else gc.replay_batch(batch)
        sessions_begin = tuple(
            restart_session(group, member)
            for group in gc.groups.values()
            for member in group.members.values()
        )
        return gc, (*effects, *sessions_begin, *schedule_expiry(config, None, part))

    def replay_batch(self, batch: Batch) -> GroupCoordinator:
        """After the records of a batch: of a generation, of positions, or tombstones."""
        gc = self
        for record in batch.records:
            match record:
                case GroupMetadata():
                    gc = gc.with_group(Group.load(record))
                case OffsetTombstones():
                    gc = apply_offset_tombstones(gc, record, batch.last + 1)
                case GroupTombstone():
                    gc = apply_group_tombstone(gc, record)
                case Offsets():
                    gc = commits.note_offsets(gc, batch, (record,))
        return gc
