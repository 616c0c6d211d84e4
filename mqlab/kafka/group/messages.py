"""The messages of group membership: who is in a group, and who reads what.

The coordinator never looks into what members tell each other through it: `protocols`
(what each would read, by the name of an assignment strategy) and `assignments` (what the
leader, itself a consumer, gave each) are the clients' own. In a lesson they are tuples of
names, in the server opaque bytes.
"""

from __future__ import annotations

import struct
from typing import Any

from ...kernel import frozen, worded
from ..errors import Error

CONSUMER = "consumer"  # the protocol type of every consumer group


def describe_assignment(value: Any) -> str:
    """A lesson's partitions in words; of a server's bytes there is nothing to say."""
    return "{" + ", ".join(value) + "}" if isinstance(value, tuple) else ""


@frozen
class JoinGroup:
    """`member` "" for one that has no id yet; `instance`: a static member's name. From
    `version` 4 on a new member first gets an id, and asks again with it (KIP-394)."""

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
    """A member as the group's leader is told of it."""

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
        return f"ok member={self.member} generation={self.generation}{lead}"


@frozen
class SyncGroup:
    """Asks for the own assignment; the leader brings everybody's: (member, assignment)."""

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
    error: Error = Error.NONE
    assignment: Any = b""
    protocol: str = ""
    protocol_type: str = ""

    def __str__(self) -> str:
        return (
            self.error.words
            if self.error
            else f"ok {describe_assignment(self.assignment)}".rstrip()
        )


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
    member: str
    instance: str | None
    client: str
    host: str
    metadata: Any
    assignment: Any


@frozen
class DescribeGroupResponse:
    """A group nobody knows is Dead."""

    error: Error = Error.NONE
    state: str = "Dead"
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()
    message: str = ""

    def __str__(self) -> str:
        return f"{self.state}, {len(self.members)} members"


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
    """The topics in a member's subscription: a lesson's tuple of names, or the bytes of
    ConsumerProtocolSubscription (version 2, then an array of strings); of bytes that are
    something else, none."""
    if isinstance(metadata, tuple):
        return metadata
    if not isinstance(metadata, bytes):
        return ()
    topics: list[str] = []
    try:
        (count,) = struct.unpack_from(">i", metadata, 2)
        at = 6
        for _ in range(count):
            (size,) = struct.unpack_from(">h", metadata, at)
            name = metadata[at + 2 : at + 2 + size]
            if size < 0 or len(name) < size:
                return ()
            topics.append(name.decode())
            at += 2 + size
    except (struct.error, UnicodeDecodeError):
        return ()
    return tuple(topics)
