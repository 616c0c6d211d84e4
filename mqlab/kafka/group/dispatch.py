"""What a group coordinator is asked, and the file that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Reply
from ..log.messages import DescribeProducers
from ..log.role import ReaderRequest, answer_reader
from ..messages import (
    Fetch,
    ListOffsets,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    TxnOffsetCommit,
    Unwatch,
    Watch,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from . import commits, deletion, describe, join, sessions, sync
from .messages import (
    DeleteGroup,
    DeleteGroupResponse,
    DeleteOffsets,
    DeleteOffsetsResponse,
    DescribeGroup,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    ListGroups,
    SyncGroup,
)

if TYPE_CHECKING:
    from . import GroupCoordinator

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
    | ReaderRequest
)

#: what a caller may wait for until a record is safe
GroupAnswer = (
    JoinGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | DeleteGroupResponse
    | DeleteOffsetsResponse
    | WriteTxnMarkersResponse
)


def handle_request(
    gc: GroupCoordinator, body: GroupRequest, caller: Caller, disk: Disk, at_ms: int
) -> tuple[GroupCoordinator, Effects]:
    match body:
        case JoinGroup():
            return join.handle(gc, body, caller, disk)
        case SyncGroup():
            return sync.handle(gc, body, caller, disk)
        case Heartbeat():
            return sessions.handle_heartbeat(gc, body, caller)
        case LeaveGroup():
            return sessions.handle_leave(gc, body, caller, disk)
        case TxnOffsetCommit():
            return commits.commit_in_transaction(gc, body, caller, disk)
        case OffsetCommit():
            return commits.commit_offsets(gc, body, caller, disk)
        case OffsetFetch():
            return commits.fetch_offsets(gc, body, caller, disk)
        case WriteTxnMarkers():
            return commits.write_marker(gc, body, caller, disk, at_ms)
        case DeleteGroup():
            return deletion.delete_group(gc, body, caller, disk)
        case DeleteOffsets():
            return deletion.delete_offsets(gc, body, caller, disk)
        case Fetch() | ListOffsets() | DescribeProducers() | Watch() | Unwatch():
            return answer_reader(gc, body, caller, disk)
        case DescribeGroup(group=name):
            return gc, (Reply(caller, describe.describe_group(gc, name)),)
        case ListGroups():
            return gc, (Reply(caller, describe.list_groups(gc)),)
    raise TypeError(f"a group coordinator is never sent {type(body).__name__}")
