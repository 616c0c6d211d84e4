"""A group and its members, as their coordinator holds them in memory, and the one record
of it that is durable.

Everything here is a value that answers questions; who is told what, and when, is said in
`rebalance.py` and the files around it.

Sources: ClassicGroup, ClassicGroupMember, GroupMetadataValue (Kafka 4.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from ...kernel import Caller, Map, frozen, replace
from ..errors import Error
from .messages import JoinedMember, describe_assignment
from .states import GroupState, may_enter

_S = GroupState
NOTHING = b""  # what a member is given by a leader that forgot it


@frozen
class Member:
    """`protocols`: (strategy, what it would read). `joining`, `syncing`: who waits for the
    answer to JoinGroup and to SyncGroup. `new`: not yet part of any generation. Times in
    milliseconds."""

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
            return f"{self.group}: generation {self.generation}, empty"
        rows = ", ".join(
            f"{m.id} {describe_assignment(m.assignment)}".rstrip() for m in self.members
        )
        return f"{self.group}: generation {self.generation}, {rows}"

    @property
    def label(self) -> str:
        """What a picture's cell has room for."""
        return f"gen {self.generation}"


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
        """The member id behind a static member's name."""
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
        """Whether this member may commit offsets now (ClassicGroup#validateOffsetCommit). A
        transaction that names no member is let through at any time: its producer may be
        older than KIP-447."""
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
        """The members as their leader is told of them."""
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
        """What is written of it: each member with the strategy chosen and its assignment."""
        kept = tuple(
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
            self.name, self.protocol_type, self.generation, self.protocol, self.leader, kept
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
