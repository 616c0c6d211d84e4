"""The group coordinator: who reads what, how far they have come, and how that joins a
transaction.

A group belongs to partition abs(hash) mod N of `__consumer_offsets`; the leader of that
partition is its coordinator, so this role is a partition leader too: the same log, the
same producer state, the same markers.

    JoinGroup       join.py        a member comes, or comes back: a rebalance
    SyncGroup       sync.py        its leader assigns; safe in the log, then handed out
    Heartbeat, …    sessions.py    who is silent is no member any more
    OffsetCommit    commits.py     positions, plain or pending in a transaction
    DeleteGroups, … deletion.py    what an administrator has forgotten
    ListGroups, …   describe.py    an administrator asks
    (all of these)  dispatch.py    which request goes to which file
    (generations)   rebalance.py, members.py; the states are a table in states.py

**Durable** are offset records and one record per generation (who is in it, who reads what).
**In memory**: sessions, who waits for an answer, ids given out. After a restart a stable
group is stable again and its generation goes on.

*What can go wrong.* A reader that starts while an offset is pending must not start from the
old one: `require_stable` makes it wait. Nor from one that a failover would take back: a
position is told once it is replicated. A member that was slow, not dead, comes back and
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
    replace,
)
from ..config import KafkaConfig
from ..errors import Error
from ..log import Batch, fetch
from ..log.partition import Partition
from ..log.recovery import recover_partition
from ..log.role import EXPIRE, forget_idle, schedule_expiry, tell_frontiers
from ..log.verification import Verifying
from ..log.watching import Watchers, add_ack, take_safe, wake_watchers
from ..messages import (
    AddPartitionsToTxnResponse,
    OffsetCommitResponse,
    TxnOffsetCommit,
    WriteTxnMarkersResponse,
)
from . import commits, deletion, sessions, sync
from .commits import Offsets, Placed, Positions
from .deletion import GroupTombstone, OffsetTombstones
from .dispatch import GroupAnswer, GroupRequest, handle_request
from .members import Group, GroupMetadata, Member
from .rebalance import restart_session
from .states import GroupState
from .sync import Assigning

__all__ = [
    "Group", "GroupCoordinator", "GroupMetadata", "GroupRequest", "GroupState", "GroupTombstone",
    "Member", "OffsetTombstones", "Offsets", "Placed",
]  # fmt: skip

#: an append's error as a group's member is told (CoordinatorOperationExceptionHelper)
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
    """`committed`: what counts, by all that is in the log; `safe`: by what is replicated of
    it; `timeline`: (end, what counts) of each commit in between (Kafka's TimelineHashMap).
    `pending`: by producer id, what its open transaction would make count; `open_in`: by group,
    the producer ids with something pending there. `assigning`:
    assignments that are not yet safe. `epoch`: which of its lives this is, `given`: how many
    member ids it gave out in it. `now_ms`: of the event that is being handled, for the stamps
    of what it writes."""

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
        """AssertionError where a reader could be told more than the log has, or where what is safe
        will not come to be what counts."""
        part = self.part
        assert part.lso <= part.hw <= disk.log(self.name).end, (part.lso, part.hw)
        assert (self.timeline[-1][1] if self.timeline else self.safe) == self.committed

    def _handle_event(self, event: Event, disk: Disk) -> tuple[GroupCoordinator, Effects]:
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
            case Fired(timer=timer, at_ms=at_ms) if timer == EXPIRE:
                return forget_idle(self, at_ms)
            case Fired(timer=timer):
                return sessions.handle_timer(self, timer, disk)
        # A call, or a broken connection to somebody else, is nothing to a coordinator.
        return self, ()

    # -- what the requests' files build on -------------------------------------------------

    def with_group(self, group: Group) -> GroupCoordinator:
        group.check_invariants(self.groups.get(group.name))
        return replace(self, groups=self.groups.set(group.name, group))

    def give_member_id(self, client: str) -> tuple[GroupCoordinator, str]:
        """A member id that was never given before; Kafka appends a random UUID."""
        number = self.given + 1
        life = f"{self.epoch}." if self.epoch else ""
        return replace(self, given=number), f"{client}-{life}{number}"

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
        """Write a group's record with its assignments; `then`: whom to tell what once it
        is safe."""
        base = disk.log(self.name).end
        batch = Batch((group.to_record(given),), base=base, at_ms=self.now_ms)
        acks = self.acks if then is None else add_ack(self.acks, (base + 1, *then))
        return replace(self.with_group(group), acks=acks), (Append(self.name, batch),)

    def write_records(
        self, batch: Batch, disk: Disk, then: tuple[Caller, GroupAnswer] | None
    ) -> tuple[GroupCoordinator, Effects]:
        """Write records that take effect as they do when they are read; `then`: whom to
        tell what once they are safe."""
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
        """Everything below `end` is safe: who waited for it is told."""
        safe, acks = take_safe(self.acks, end)
        effects: Effects = tuple(Reply(who, answer) for _, who, answer in safe)
        ready = [a for a in self.assigning if a.end <= end]
        part = self.part.advance(end)
        watchers, readers = wake_watchers(self.watchers, partial(fetch.upper_bound, part))
        gc = replace(
            commits.release_safe(self, end),
            part=part,
            watchers=watchers,
            acks=acks,
            assigning=tuple(a for a in self.assigning if a.end > end),
        )
        for waiting in ready:
            gc, more = sync.finish_assignment(gc, waiting)
            effects += more
        return gc, (*effects, *readers)

    def resign(self) -> Effects:
        """Another broker leads now: who waits here is told to look for it."""
        no = Error.NOT_COORDINATOR
        asking = tuple(Reply(v.caller, OffsetCommitResponse(no)) for v in self.verifying.values())
        return (
            *self._refuse_waiting(Error.NOT_LEADER_OR_FOLLOWER),
            *asking,
            *sessions.dismiss_members(self, no),
        )

    def _fail_appends(self, error: Error, disk: Disk) -> tuple[GroupCoordinator, Effects]:
        """What was appended may be cut off again: nobody is told that it is safe."""
        effects = self._refuse_waiting(error)
        gc = replace(self, acks=(), assigning=())
        for waiting in self.assigning:
            gc, more = sync.fail_assignment(gc, waiting, AS_COORDINATOR.get(error, error), disk)
            effects += more
        return gc, effects

    def _refuse_waiting(self, error: Error) -> Effects:
        """A coordinator of transactions hears the leader's own words, members hear what
        makes them look for their coordinator."""
        effects: Effects = ()
        for _, who, answer in self.acks:
            marker = isinstance(answer, WriteTxnMarkersResponse)
            heard = error if marker else AS_COORDINATOR.get(error, error)
            effects += (Reply(who, replace(answer, error=heard)),)
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
        """Replay the log: what was pending is pending again, groups are as they were when
        their last generation was written, and every member's session begins again. `hw`,
        `epoch`: of a replica that begins to lead; the only one has it all and counts its
        own starts."""
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
                    gc = deletion.apply_offset_tombstones(gc, record, batch.last + 1)
                case GroupTombstone():
                    gc = deletion.apply_group_tombstone(gc, record)
                case Offsets():
                    gc = commits.note_offsets(gc, batch, (record,))
        return gc
