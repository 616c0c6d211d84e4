"""Answers about groups and their members, one class for all versions (see `answers.py`)."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from ....kafka.errors import Error
from ....kernel import frozen
from .answers import NO_TIME, UNASKED, Unthrottled


@frozen
class JoinedMember:
    member_id: str
    group_instance_id: str | None
    metadata: bytes


@frozen
class Joined(Unthrottled):
    error_code: Error = Error.NONE
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: tuple[JoinedMember, ...] = ()


@frozen
class Synced(Unthrottled):
    error_code: Error = Error.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@frozen
class HeartbeatResponse(Unthrottled):
    error_code: Error = Error.NONE


@frozen
class LeftMember:
    member_id: str
    group_instance_id: str | None
    error_code: Error


@frozen
class Left(Unthrottled):
    """Up to version 2 about one member, whose error is the one at the top."""

    error_code: Error = Error.NONE
    members: tuple[LeftMember, ...] = ()


@frozen
class DescribedMember:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@frozen
class DescribedGroup:
    group_id: str
    error_code: Error = Error.NONE
    error_message: str | None = None
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()
    authorized_operations: int = UNASKED


@frozen
class DescribedGroups(Unthrottled):
    groups: tuple[DescribedGroup, ...]


@frozen
class ListedGroup:
    group_id: str
    protocol_type: str
    group_state: str
    group_type: str = "classic"


@frozen
class ListedGroups(Unthrottled):
    groups: tuple[ListedGroup, ...]
    error_code: Error = Error.NONE


# ---- deletion ----------------------------------------------------------------------------


@frozen
class DeletedGroup:
    group_id: str
    error_code: Error


@frozen
class DeletedGroups(Unthrottled):
    results: tuple[DeletedGroup, ...]


@frozen
class DeletedOffset:
    partition_index: int
    error_code: Error


@frozen
class DeletedTopicOffsets:
    name: str
    partitions: tuple[DeletedOffset, ...]


@frozen
class DeletedOffsets(Unthrottled):
    error_code: Error = Error.NONE
    topics: tuple[DeletedTopicOffsets, ...] = ()


# ---- the newer protocol (KIP-848) --------------------------------------------------------


@frozen
class Partitions:
    topic_id: UUID
    partitions: tuple[int, ...]


@frozen
class NamedPartitions:
    topic_id: UUID
    topic_name: str
    partitions: tuple[int, ...]


@frozen
class Assignment:
    topic_partitions: tuple[Partitions | NamedPartitions, ...]


@frozen
class Beat(Unthrottled):
    error_code: Error = Error.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval: timedelta = NO_TIME
    assignment: Assignment | None = None


@frozen
class ConsumerMemberRow:
    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    assignment: Assignment
    target_assignment: Assignment
    member_type: int


@frozen
class DescribedConsumerGroup:
    group_id: str
    error_code: Error = Error.NONE
    error_message: str | None = None
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[ConsumerMemberRow, ...] = ()
    authorized_operations: int = UNASKED


@frozen
class ConsumerGroups(Unthrottled):
    groups: tuple[DescribedConsumerGroup, ...]
