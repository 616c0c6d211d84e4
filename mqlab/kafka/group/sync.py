"""SyncGroup: who reads what.

The leader of a generation, a consumer like the others, assigns partitions and brings the
result; the coordinator writes it down and hands everybody his part once it is safe. Who
asks before that waits.

Source: GroupMetadataManager#classicGroupSync (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import Caller, CancelTimer, Disk, Effects, Map, Reply, SetTimer, frozen, replace
from ..errors import Error
from .members import Group
from .messages import SyncGroup, SyncGroupResponse
from .rebalance import prepare_rebalance, restart_session, sync_timer
from .states import GroupState

if TYPE_CHECKING:
    from . import GroupCoordinator

Result = tuple["GroupCoordinator", Effects]
_S = GroupState


@frozen
class Assigning:
    """The leader's assignments, written and not yet safe: for which generation."""

    end: int
    group: str
    generation: int
    given: Map[str, Any]


def handle(gc: GroupCoordinator, ask: SyncGroup, caller: Caller, disk: Disk) -> Result:
    group: Group | None = gc.groups.get(ask.group)
    error = _check_request(ask, group)
    if group is None or error:
        return gc, (Reply(caller, SyncGroupResponse(error)),)
    group = replace(group, unsynced=tuple(m for m in group.unsynced if m != ask.member))
    effects: Effects = () if group.unsynced else (CancelTimer(sync_timer(group.name)),)
    member = group.members[ask.member]
    if group.state is _S.STABLE:
        answer = SyncGroupResponse(
            assignment=member.assignment, protocol=group.protocol, protocol_type=group.protocol_type
        )
        return gc.with_group(group), (*effects, Reply(caller, answer))
    group = group.with_member(replace(member, syncing=caller))
    if ask.member != group.leader:
        return gc.with_group(group), effects
    given = Map((m, a) for m, a in ask.assignments if m in group.members)
    if not gc.has_room_for(group.to_record(dict(given.items()))):
        waiting = Assigning(disk.log(gc.name).end, group.name, group.generation, given)
        error = Error.UNKNOWN_SERVER_ERROR  # appendGroupMetadataErrorToResponseError
        gc, refused = fail_assignment(gc.with_group(group), waiting, error, disk)
        return gc, (*effects, *refused)
    gc, written = gc.write_generation(group, dict(given.items()), disk)
    end = disk.log(gc.name).end + 1
    waiting = Assigning(end, group.name, group.generation, given)
    return replace(gc, assigning=(*gc.assigning, waiting)), (*effects, *written)


def _check_request(ask: SyncGroup, group: Group | None) -> Error:
    if not ask.group:
        return Error.INVALID_GROUP_ID
    if group is None:
        return Error.UNKNOWN_MEMBER_ID
    error = group.check_member(ask.member, ask.instance)
    if error:
        return error
    if ask.generation != group.generation:
        return Error.ILLEGAL_GENERATION
    if ask.protocol_type not in (None, group.protocol_type) or (
        ask.protocol not in (None, group.protocol)
    ):
        return Error.INCONSISTENT_GROUP_PROTOCOL
    if group.state is _S.PREPARING_REBALANCE:
        return Error.REBALANCE_IN_PROGRESS
    return Error.NONE


def _current_group(gc: GroupCoordinator, waiting: Assigning) -> Group | None:
    """The group, if the generation that waits for this assignment is still its own."""
    group: Group | None = gc.groups.get(waiting.group)
    if group is None or group.state is not _S.COMPLETING_REBALANCE:
        return None
    return group if group.generation == waiting.generation else None


def fail_assignment(gc: GroupCoordinator, waiting: Assigning, error: Error, disk: Disk) -> Result:
    """The assignment could not be made safe: nobody gets it, and all begins again."""
    group = _current_group(gc, waiting)
    if group is None:
        return gc, ()
    effects: list[Reply] = []
    for member in group.members.values():
        if member.syncing is not None:
            effects.append(Reply(member.syncing, SyncGroupResponse(error)))
    members = Map((m.id, replace(m, syncing=None)) for m in group.members.values())
    group = replace(group, members=members)
    gc, more = prepare_rebalance(gc, group, disk)
    return gc, (*effects, *more)


def finish_assignment(gc: GroupCoordinator, waiting: Assigning) -> Result:
    """The assignment is in the log: everybody who waits gets his part. If somebody joined
    meanwhile, it is about a generation that is over."""
    group = _current_group(gc, waiting)
    if group is None:
        return gc, ()
    group = group.assign(dict(waiting.given.items())).enter(_S.STABLE)
    effects: list[Reply | SetTimer] = []
    for member in group.members.values():
        if member.syncing is not None:
            answer = SyncGroupResponse(
                assignment=member.assignment,
                protocol=group.protocol,
                protocol_type=group.protocol_type,
            )
            effects += (Reply(member.syncing, answer), restart_session(group, member))
    members = Map((m.id, replace(m, syncing=None)) for m in group.members.values())
    return gc.with_group(replace(group, members=members)), tuple(effects)
