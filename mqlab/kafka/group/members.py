"""A group and its members, as their coordinator holds them in memory, and its one durable record.

Everything here is a value that answers questions; who is sent what, and when, is said in
`membership.py`. The messages of membership and the table of a group's states are here too.

Sources: ClassicGroup, ClassicGroupMember, GroupMetadataValue (Kafka 4.3).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Collection
from enum import StrEnum
from typing import Any

from ...kernel import Caller, Map, Word, frozen, phrase, replace, worded
from ..errors import Error

# ---- The messages of group membership: who is in a group, and who reads what ---------
#
# The coordinator never looks into what members pass to each other through it: `protocols`
# (what each would read, by the name of an assignment strategy) and `assignments` (what the
# leader, itself a consumer, gave each) are the clients' own. In a lesson they are tuples of
# names, in the server opaque bytes.

CONSUMER = "consumer"  # the protocol type of every consumer group


def describe_assignment(value: Any) -> str:
    """A lesson's partitions in words; of a server's bytes there is nothing to say."""
    return "{" + ", ".join(value) + "}" if isinstance(value, tuple) else ""


@frozen
class JoinGroup:
    """`member` "" for one that has no id yet; `instance`: a static member's name. From `version` 4
    on a new member first gets an id, and asks again with it (KIP-394). `protocols`: (assignment
    strategy, metadata). `session_ms`, `rebalance_ms`: its session and rebalance timeouts."""

    group: str
    member: str = ""
    client: str = ""
    protocols: tuple[tuple[str, Any], ...] = ()
    instance: str | None = None
    session_ms: int = 45_000
    rebalance_ms: int = 300_000
    protocol_type: str = CONSUMER
    version: int = 9
    host: str = ""

    def __str__(self) -> str:
        return f"JoinGroup {self.group}" + (f" member={self.member}" if self.member else "")


@frozen
class JoinedMember:
    """A member as it is reported to the group's leader. `instance`: a static member's name."""

    member: str
    instance: str | None
    metadata: Any


@frozen
class JoinGroupResponse:
    """`members` only for the leader, who assigns. `skip_assignment`: it need not."""

    error: Error = Error.NONE
    member: str = ""
    generation: int = -1
    leader: str = ""
    protocol: str = ""
    protocol_type: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False

    def __str__(self) -> str:
        if self.error is Error.MEMBER_ID_REQUIRED:
            return f"{self.error} member={self.member}"
        if self.error:
            return self.error.words
        lead = " leader" if self.member == self.leader else ""
        said = self.error.words
        return f"{said} member={self.member} generation={self.generation}{lead}"


@frozen
class SyncGroup:
    """Asks for the own assignment; the leader brings those of all: (member, assignment).
    `assignments`: (member, assignment), from the leader only; `instance`: a static member's
    name."""

    group: str
    member: str
    generation: int
    assignments: tuple[tuple[str, Any], ...] = ()
    instance: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None

    def __str__(self) -> str:
        given = ", ".join(
            f"{m}: {describe_assignment(a)}" for m, a in self.assignments if describe_assignment(a)
        )
        return f"SyncGroup {self.group} generation={self.generation}" + (given and f" {given}")


@frozen
class SyncGroupResponse:
    """What the member is assigned, or the error."""

    error: Error = Error.NONE
    assignment: Any = b""
    protocol: str = ""
    protocol_type: str = ""

    def __str__(self) -> str:
        given = "" if self.error else describe_assignment(self.assignment)
        return f"{self.error.words} {given}".rstrip()


@worded("Heartbeat {group} generation={generation}")
class Heartbeat:
    group: str
    member: str
    generation: int
    instance: str | None = None


@frozen
class HeartbeatResponse:
    """REBALANCE_IN_PROGRESS is how a member learns that it must join again."""

    error: Error = Error.NONE

    def __str__(self) -> str:
        return self.error.words


@frozen
class LeaveGroup:
    """`members`: (member id, instance); an instance alone removes a static member."""

    group: str
    members: tuple[tuple[str, str | None], ...]

    def __str__(self) -> str:
        return f"LeaveGroup {self.group} " + ", ".join(m or str(i) for m, i in self.members)


@frozen
class LeaveGroupResponse:
    """`errors`: one for each member named, in their order."""

    error: Error = Error.NONE
    errors: tuple[Error, ...] = ()

    def __str__(self) -> str:
        return next((e.words for e in (self.error, *self.errors) if e), Error.NONE.words)


@worded("DescribeGroup {group}")
class DescribeGroup:
    group: str


@frozen
class DescribedMember:
    """A member as DescribeGroups shows it; `instance`: a static member's name."""

    member: str
    instance: str | None
    client: str
    host: str
    metadata: Any
    assignment: Any


@frozen
class DescribeGroupResponse:
    """An unknown group is Dead."""

    error: Error = Error.NONE
    state: str = "Dead"
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()
    message: str = ""

    def __str__(self) -> str:
        return phrase("{}, {} members", self.state, len(self.members))


@worded("ListGroups")
class ListGroups:
    pass


@frozen
class ListedGroup:
    name: str
    protocol_type: str
    state: str


@frozen
class ListGroupsResponse:
    groups: tuple[ListedGroup, ...] = ()

    def __str__(self) -> str:
        return "{" + ", ".join(group.name for group in self.groups) + "}"


@worded("DeleteGroups {group}")
class DeleteGroup:
    group: str


@frozen
class DeleteGroupResponse:
    error: Error = Error.NONE

    def __str__(self) -> str:
        return self.error.words


@frozen
class DeleteOffsets:
    """OffsetDelete: the group's positions of these partitions."""

    group: str
    partitions: tuple[str, ...]

    def __str__(self) -> str:
        return f"OffsetDelete {self.group} {{{', '.join(self.partitions)}}}"


@frozen
class DeleteOffsetsResponse:
    """`errors`: one for each partition named, in their order."""

    error: Error = Error.NONE
    errors: tuple[Error, ...] = ()

    def __str__(self) -> str:
        return next((e.words for e in (self.error, *self.errors) if e), Error.NONE.words)


def subscribed_topics(metadata: Any) -> tuple[str, ...]:
    """Read the topics out of a member's subscription: a tuple of names (in lessons), or the bytes
    of ConsumerProtocolSubscription: 2 bytes version, then an array of strings with 4 bytes for its
    length and 2 for each string's. Empty where the bytes are something else."""
    if isinstance(metadata, tuple):
        return metadata
    if not isinstance(metadata, bytes):
        return ()
    topics: list[str] = []
    try:
        (topic_count,) = struct.unpack_from(">i", metadata, 2)
        offset = 6
        for _ in range(topic_count):
            (size,) = struct.unpack_from(">h", metadata, offset)
            name = metadata[offset + 2 : offset + 2 + size]
            if size < 0 or len(name) < size:
                return ()
            topics.append(name.decode())
            offset += 2 + size
    except (struct.error, UnicodeDecodeError):
        return ()
    return tuple(topics)


# ---- The states of a consumer group, as a table (ClassicGroupState, Kafka 4.3) -------
#
# The coordinator checks every change of state against it, and a test that every transition of it
# can be reached.
#
#     Empty ──join──▶ PreparingRebalance ──all have joined──▶ CompletingRebalance
#       ▲                  ▲      │                                │
#       └──no member left──│──────┘        the leader's SyncGroup is safe in the log
#                          │                                       ▼
#                          └────a member joins, leaves, is silent──Stable


class GroupState(StrEnum):
    """A group at its coordinator. Dead belongs to groups that are unloaded or deleted."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_S = GroupState

#: state → the states it may be entered from.
PREVIOUS: dict[GroupState, frozenset[GroupState]] = {
    _S.EMPTY: frozenset({_S.PREPARING_REBALANCE}),
    _S.PREPARING_REBALANCE: frozenset({_S.STABLE, _S.COMPLETING_REBALANCE, _S.EMPTY}),
    _S.COMPLETING_REBALANCE: frozenset({_S.PREPARING_REBALANCE}),
    _S.STABLE: frozenset({_S.COMPLETING_REBALANCE}),
    _S.DEAD: frozenset(_S),
}


def may_enter(new: GroupState, old: GroupState) -> bool:
    """Whether the table has this transition."""
    return old in PREVIOUS[new]


NOTHING = b""  # what a member is given by a leader that forgot it


@frozen
class Member:
    """`protocols`: (strategy, what it would read). `joining`, `syncing`: who waits for the answer
    to JoinGroup and to SyncGroup. `new`: not yet part of any generation. Times in milliseconds.
    `id`: its member id; `instance`: a static member's name; `session_ms`, `rebalance_ms`: its
    timeouts."""

    id: str
    client: str
    host: str = ""
    instance: str | None = None
    session_ms: int = 45_000
    rebalance_ms: int = 300_000
    protocols: tuple[tuple[str, Any], ...] = ()
    assignment: Any = NOTHING
    joining: Caller | None = None
    syncing: Caller | None = None
    new: bool = False


@frozen
class GroupMetadata:
    """The record of a generation: written when its leader has assigned, and when a group
    is new or empty. Members are kept with what they read."""

    group: str
    protocol_type: str = ""
    generation: int = 0
    protocol: str = ""
    leader: str = ""
    members: tuple[Member, ...] = ()

    def __str__(self) -> str:
        if not self.members:
            return phrase("{}: generation {}, empty", self.group, self.generation)
        rows = ", ".join(
            f"{m.id} {describe_assignment(m.assignment)}".rstrip() for m in self.members
        )
        return phrase("{}: generation {}, {}", self.group, self.generation, rows)

    @property
    def label(self) -> str:
        """What a picture's cell has room for."""
        return Word(f"gen {self.generation}")


@frozen
class Group:
    """`expected`: ids that were given out and have not joined yet; `unsynced`: members
    that have joined this generation and not yet asked for their assignment.

    Invariants: a generation never goes back; the leader is a member; only members of the
    current generation are heard.
    """

    name: str
    state: GroupState = _S.EMPTY
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    members: Map[str, Member] = Map()
    expected: tuple[str, ...] = ()
    unsynced: tuple[str, ...] = ()

    # -- questions -----------------------------------------------------------------------

    @property
    def all_joined(self) -> bool:
        return not self.expected and all(m.joining is not None for m in self.members.values())

    @property
    def rebalance_ms(self) -> int:
        """As long as the slowest member asks for."""
        return max((m.rebalance_ms for m in self.members.values()), default=0)

    def find_static(self, instance: str | None) -> str | None:
        """The member id for a static member's name."""
        if instance is None:
            return None
        return next((m.id for m in self.members.values() if m.instance == instance), None)

    def check_member(self, member: str, instance: str | None) -> Error:
        """Whether this is who it says (ClassicGroup#validateMember)."""
        if instance is not None:
            current = self.find_static(instance)
            if current is None:
                return Error.UNKNOWN_MEMBER_ID
            if current != member:
                return Error.FENCED_INSTANCE_ID
        return Error.NONE if member in self.members else Error.UNKNOWN_MEMBER_ID

    def check_commit(
        self, member: str, instance: str | None, generation: int, transactional: bool
    ) -> Error:
        """Whether this member may commit offsets now: the error, or NONE
        (ClassicGroup#validateOffsetCommit). `generation` -1 and an empty `member`: the commit names
        no membership. A transaction may do so at any time, since its producer may be older than
        KIP-447."""
        # a consumer that assigns its partitions by itself; the group only keeps its offsets
        if generation < 0 and self.state is _S.EMPTY:
            return Error.NONE
        if generation >= 0 or member or instance is not None:
            error = self.check_member(member, instance)
            if error:
                return error
            if generation != self.generation:
                return Error.ILLEGAL_GENERATION
        elif not transactional:
            return Error.UNKNOWN_MEMBER_ID
        # the member has joined this generation and not yet heard what it reads in it
        if not transactional and self.state is _S.COMPLETING_REBALANCE:
            return Error.REBALANCE_IN_PROGRESS
        return Error.NONE

    def supports(self, protocol_type: str, names: Collection[str]) -> bool:
        """Whether a member with these strategies fits to the others (if any are left)."""
        if self.state is _S.EMPTY:
            return bool(protocol_type) and bool(names)
        common = frozenset(self.common_protocols() if self.members else names)
        return protocol_type == self.protocol_type and any(n in common for n in names)

    def common_protocols(self) -> tuple[str, ...]:
        """The strategies that every member knows."""
        sets = [frozenset(name for name, _ in m.protocols) for m in self.members.values()]
        return tuple(sorted(frozenset.intersection(*sets))) if sets else ()

    def choose_protocol(self) -> str:
        """The common strategy with the most votes; each member votes for its first."""
        common = dict.fromkeys(self.common_protocols())
        votes = Counter(
            next(n for n, _ in m.protocols if n in common) for m in self.members.values()
        )
        return max(common, key=votes.__getitem__)

    def roster(self) -> tuple[JoinedMember, ...]:
        """The members as they are reported to their leader."""
        return tuple(
            JoinedMember(m.id, m.instance, dict(m.protocols).get(self.protocol, NOTHING))
            for m in self.members.values()
        )

    def check_invariants(self, old: Group | None) -> None:
        """AssertionError where a generation goes back, or the leader is no member."""
        assert old is None or old.generation <= self.generation, (old, self)
        assert not self.members or self.leader in self.members, self

    # -- changes -------------------------------------------------------------------------

    def enter(self, state: GroupState) -> Group:
        assert may_enter(state, self.state), (self.name, self.state, state)
        return replace(self, state=state)

    def with_member(self, member: Member) -> Group:
        """With this member added or changed; the first one leads."""
        return replace(
            self,
            members=self.members.set(member.id, member),
            leader=self.leader or member.id,
            expected=tuple(m for m in self.expected if m != member.id),
        )

    def without(self, gone: Collection[str]) -> Group:
        """Without these members; another one leads if the leader is one of them."""
        left = self.members
        for member in gone:
            left = left.remove(member)
        return replace(
            self,
            members=left,
            leader=next(iter(left), "") if self.leader in gone else self.leader,
            expected=tuple(m for m in self.expected if m not in gone),
            unsynced=tuple(m for m in self.unsynced if m not in gone),
        )

    def assign(self, given: dict[str, Any]) -> Group:
        """With the leader's assignments; whom it forgot reads nothing."""
        members = Map(
            (m.id, replace(m, assignment=given.get(m.id, NOTHING))) for m in self.members.values()
        )
        return replace(self, members=members)

    def to_record(self, given: dict[str, Any]) -> GroupMetadata:
        """The GroupMetadata record of the present generation: each member with the chosen
        protocol's metadata and its assignment in `given`. Requests that are still waiting for an
        answer are not part of it."""
        members = tuple(
            replace(
                m,
                protocols=tuple(p for p in m.protocols if p[0] == self.protocol),
                assignment=given.get(m.id, NOTHING),
                joining=None,
                syncing=None,
                new=False,
            )
            for m in self.members.values()
        )
        return GroupMetadata(
            self.name, self.protocol_type, self.generation, self.protocol, self.leader, members
        )

    @staticmethod
    def load(record: GroupMetadata) -> Group:
        """From its record: as stable as it was, or empty."""
        return Group(
            record.group,
            _S.STABLE if record.members else _S.EMPTY,
            record.generation,
            record.protocol_type,
            record.protocol,
            record.leader,
            Map((m.id, m) for m in record.members),
        )
