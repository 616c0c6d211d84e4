"""Administration: a group, or some of its committed offsets, deleted.

Nothing is erased at once. A *tombstone*, a record with the key and no value, is appended
like any other record; it takes effect when it is read, now and after every restart, and
compaction drops both later. Only a group that nobody is in may be deleted, and only the
positions of topics that nobody in the group reads: else a member would find its place gone.

A tombstone also takes back what an open transaction has written for that position: its
commit marker, when it comes, finds nothing that would count.

Source: GroupCoordinatorShard#deleteGroups, #deleteOffsets, ClassicGroup#validateDeleteGroup,
OffsetMetadataManager#deleteAllOffsets, #deleteOffsets, #replay (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import Caller, Disk, Effects, Map, Reply, frozen, replace, worded
from ..errors import Error
from ..log import Batch
from ..messages import braces
from . import commits
from .messages import (
    CONSUMER,
    DeleteGroup,
    DeleteGroupResponse,
    DeleteOffsets,
    DeleteOffsetsResponse,
    subscribed_topics,
)
from .states import GroupState

if TYPE_CHECKING:
    from . import GroupCoordinator
    from .members import Group

Result = tuple["GroupCoordinator", Effects]


@frozen
class OffsetTombstones:
    """One tombstone for each of these partitions' positions."""

    group: str
    partitions: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.group}: tombstones of {braces(self.partitions)}"

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
    """Each partition has an answer of its own; those of a topic somebody reads stay."""
    group: Group | None = gc.groups.get(ask.group)
    error = _check_known(group)
    if error:
        return gc, (Reply(caller, DeleteOffsetsResponse(error)),)
    read = _subscribed_topics(group)
    errors = tuple(
        Error.GROUP_SUBSCRIBED_TO_TOPIC if _topic(p) in read else Error.NONE for p in ask.partitions
    )
    known = frozenset(_positions(gc, ask.group))
    free = [p for p, e in zip(ask.partitions, errors, strict=True) if not e]
    gone = tuple(p for p in dict.fromkeys(free) if p in known)
    answer = DeleteOffsetsResponse(errors=errors)
    if not gone:
        return gc, (Reply(caller, answer),)
    batch = Batch(_tombstones(ask.group, gone), count=len(gone))
    return gc.write_records(batch, disk, (caller, answer))


def _check_known(group: Group | None) -> Error:
    if group is None or group.state is GroupState.DEAD:
        return Error.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER:
        return Error.NON_EMPTY_GROUP  # what such members read, nobody here can know
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


# ---- what a tombstone does -------------------------------------------------------------


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
