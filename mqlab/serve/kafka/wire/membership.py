"""Answers about groups and their members, one class for all versions (see `answers.py`)."""

from __future__ import annotations

from ....kafka.errors import Error
from ....kernel import frozen
from .answers import UNASKED, Unthrottled


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
