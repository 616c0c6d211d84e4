"""A group of the newer protocol, its members, and the records that make both durable.

Everything is counted in one number, the epoch. The *group's* grows with every change of who
is in it, what they subscribe to, or how many partitions there are. The *target's* says for
which of them the assignment was last computed. A *member's* says how far it has come: it
reaches the target's once it has let go of what others are to have. And each partition it
holds remembers the epoch at which it got it: a commit that says an older one is stale.

    Empty        nobody is in it
    Assigning    the target is older than the group
    Reconciling  some member has not reached the target
    Stable       all have

Sources: ConsumerGroup, ConsumerGroupMember, MemberState, GroupCoordinatorRecordHelpers
(Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum
from typing import Any

from ....kernel import Map, frozen, replace, worded
from ...errors import Error
from ...messages import Position, braces


class MemberState(StrEnum):
    """Where a member stands between what it has and what it shall have."""

    STABLE = "STABLE"
    UNREVOKED_PARTITIONS = "UNREVOKED_PARTITIONS"
    UNRELEASED_PARTITIONS = "UNRELEASED_PARTITIONS"


#: partition → the member epoch at which it was given
Held = tuple[tuple[str, int], ...]


@frozen
class ConsumerMember:
    """`topics`, sorted. `assigned`: what it may use; `revoking`: what it must let go first.
    `previous`: its epoch before this one, for an answer that was lost."""

    id: str
    instance: str | None = None
    rack: str | None = None
    client: str = ""
    host: str = ""
    topics: tuple[str, ...] = ()
    regex: str = ""
    rebalance_ms: int = -1
    assignor: str | None = None
    epoch: int = 0
    previous: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Held = ()
    revoking: Held = ()

    @property
    def partitions(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.assigned)

    @property
    def holds(self) -> Held:
        """Nobody else may have any of these."""
        return (*self.assigned, *self.revoking)

    def may_commit(self, epoch: int, positions: Iterable[Position]) -> bool:
        """With its epoch, anything; with an older one, what it has held since then."""
        if epoch == self.epoch:
            return True
        held = dict(self.holds)
        return epoch < self.epoch and all(
            held.get(p.partition, epoch + 1) <= epoch for p in positions
        )


@frozen
class ConsumerGroup:
    """`target`: by member, the partitions it shall have. `subscribed`: a number that changes
    with the topics the group reads; `image`: the topics it was last computed from. A new
    group is at epoch 1, and so is its target: nobody is in it."""

    name: str
    epoch: int = 1
    subscribed: int = 0
    target_epoch: int = 1
    target_ms: int = 0
    members: Map[str, ConsumerMember] = Map()
    target: Map[str, tuple[str, ...]] = Map()
    image: Any = field(default=None, compare=False)

    @property
    def state(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        settled = all(
            m.state is MemberState.STABLE and m.epoch == self.target_epoch
            for m in self.members.values()
        )
        return "Stable" if settled else "Reconciling"

    @property
    def assignor(self) -> str:
        """The one that most members ask for (uniform, where they leave it to the group)."""
        votes = [m.assignor for m in self.members.values() if m.assignor]
        return max(sorted(set(votes)), key=votes.count) if votes else UNIFORM

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted({t for m in self.members.values() for t in m.topics}))

    def find_static(self, instance: str | None) -> ConsumerMember | None:
        if instance is None:
            return None
        return next((m for m in self.members.values() if m.instance == instance), None)

    def with_member(self, member: ConsumerMember) -> ConsumerGroup:
        return replace(self, members=self.members.set(member.id, member))

    def without_member(self, member: str) -> ConsumerGroup:
        return replace(self, members=self.members.remove(member), target=self.target.remove(member))

    def check_commit(
        self,
        member_id: str,
        epoch: int,
        positions: Iterable[Position],
        version: int,
        *,
        anonymous: bool,
    ) -> Error:
        """Whether this member may commit these positions now
        (ConsumerGroup#validateOffsetCommit). `anonymous`: a transaction that names nobody."""
        if anonymous or (epoch < 0 and not self.members):
            return Error.NONE
        member: ConsumerMember | None = self.members.get(member_id)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        if version < FIRST_VERSION:
            return Error.UNSUPPORTED_VERSION
        return Error.NONE if member.may_commit(epoch, positions) else Error.STALE_MEMBER_EPOCH

    def check_fetch(self, member_id: str | None, epoch: int) -> Error:
        """Whether it may ask for positions (ConsumerGroup#validateOffsetFetch)."""
        if member_id is None and epoch < 0:
            return Error.NONE
        member: ConsumerMember | None = self.members.get(member_id or "")
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        return Error.NONE if member.epoch == epoch else Error.STALE_MEMBER_EPOCH


UNIFORM, RANGE = "uniform", "range"
FIRST_VERSION = 9  # of OffsetCommit, that knows member epochs


# ---- records ---------------------------------------------------------------------------


@frozen
class MemberMetadata:
    """What a member said of itself; its epochs and partitions are left at their defaults."""

    group: str
    member: ConsumerMember

    def __str__(self) -> str:
        return f"{self.group}: member {self.member.id} reads {braces(self.member.topics)}"

    @property
    def label(self) -> str:
        return self.member.id


@worded("{group}: group epoch {epoch}")
class GroupEpoch:
    group: str
    epoch: int
    subscribed: int

    @property
    def label(self) -> str:
        return f"epoch {self.epoch}"


@frozen
class TargetAssignment:
    group: str
    member: str
    partitions: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.group}: target of {self.member} {braces(self.partitions)}"

    @property
    def label(self) -> str:
        return ", ".join(self.partitions)


@worded("{group}: target epoch {epoch}")
class TargetEpoch:
    group: str
    epoch: int
    at_ms: int

    @property
    def label(self) -> str:
        return f"target {self.epoch}"


@frozen
class CurrentAssignment:
    """How far a member has come, and what it has."""

    group: str
    member: str
    epoch: int
    previous: int
    state: str
    assigned: Held
    revoking: Held

    def __str__(self) -> str:
        names = braces(tuple(name for name, _ in self.assigned))
        return f"{self.group}: {self.member} at epoch {self.epoch} has {names}"

    @property
    def label(self) -> str:
        return f"{self.member} epoch {self.epoch}"


@worded("{group}: {member} is gone")
class MemberTombstones:
    """What it had, what it should have had, and what it said: three tombstones."""

    group: str
    member: str

    @property
    def label(self) -> str:
        return f"✗ {self.member}"


@worded("{group}: tombstones")
class ConsumerGroupTombstones:
    """Of the target's epoch and the group's."""

    group: str

    @property
    def label(self) -> str:
        return f"✗ {self.group}"


Record = (
    MemberMetadata
    | GroupEpoch
    | TargetAssignment
    | TargetEpoch
    | CurrentAssignment
    | MemberTombstones
    | ConsumerGroupTombstones
)
#: how many of Kafka's records each is
COUNTS = {MemberTombstones: 3, ConsumerGroupTombstones: 2}


def apply_record(group: ConsumerGroup, record: Record) -> ConsumerGroup:
    """The group after a record of it was written, or read again."""
    match record:
        case MemberMetadata(member=said):
            old = group.members.get(said.id) or said
            now = replace(
                said,
                epoch=old.epoch,
                previous=old.previous,
                state=old.state,
                assigned=old.assigned,
                revoking=old.revoking,
            )
            return group.with_member(now)
        case GroupEpoch(epoch=epoch, subscribed=subscribed):
            return replace(group, epoch=epoch, subscribed=subscribed)
        case TargetAssignment(member=name, partitions=partitions):
            return replace(group, target=group.target.set(name, partitions))
        case TargetEpoch(epoch=epoch, at_ms=at_ms):
            return replace(group, target_epoch=epoch, target_ms=at_ms)
        case CurrentAssignment(member=name):
            member = group.members.get(name) or ConsumerMember(name)
            now = replace(
                member,
                epoch=record.epoch,
                previous=record.previous,
                state=MemberState(record.state),
                assigned=record.assigned,
                revoking=record.revoking,
            )
            return group.with_member(now)
        case MemberTombstones(member=name):
            return group.without_member(name)
    raise TypeError(f"{type(record).__name__} changes no group")
