"""Heartbeats, goodbyes and silence: who is still in the group.

A member that is not heard of for its session's length is no member any more: its part is
given to somebody else. It may well be alive, only slow, and come back with its old id and
generation. *That* is why commits are fenced by both.

Source: GroupMetadataManager#classicGroupHeartbeat, #classicGroupLeave,
#expireClassicGroupMemberHeartbeat, #expirePendingSync (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, CancelTimer, Disk, Effects, Reply
from ..errors import Error
from .members import Group, Member
from .messages import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    SyncGroupResponse,
)
from .rebalance import (
    complete_join,
    join_timer,
    prepare_rebalance,
    rebalance,
    restart_session,
    session_timer,
    sync_timer,
)
from .states import GroupState

if TYPE_CHECKING:
    from . import GroupCoordinator

Result = tuple["GroupCoordinator", Effects]
_S = GroupState
WAITING = (_S.STABLE, _S.COMPLETING_REBALANCE)


def handle_heartbeat(gc: GroupCoordinator, ask: Heartbeat, caller: Caller) -> Result:
    group: Group | None = gc.groups.get(ask.group)
    error = _check_heartbeat(ask, group)
    if group is None or error:
        return gc, (Reply(caller, HeartbeatResponse(error)),)
    rebalancing = group.state is _S.PREPARING_REBALANCE
    answer = HeartbeatResponse(Error.REBALANCE_IN_PROGRESS if rebalancing else Error.NONE)
    return gc, (Reply(caller, answer), restart_session(group, group.members[ask.member]))


def _check_heartbeat(ask: Heartbeat, group: Group | None) -> Error:
    if not ask.group:
        return Error.INVALID_GROUP_ID
    if group is None:
        return Error.UNKNOWN_MEMBER_ID
    error = group.check_member(ask.member, ask.instance)
    if not error and ask.generation != group.generation:
        return Error.ILLEGAL_GENERATION
    return error


def handle_leave(gc: GroupCoordinator, ask: LeaveGroup, caller: Caller, disk: Disk) -> Result:
    """Several may leave at once; each has its own answer."""
    group: Group | None = gc.groups.get(ask.group)
    if not ask.group:
        return gc, (Reply(caller, LeaveGroupResponse(Error.INVALID_GROUP_ID)),)
    if group is None:
        unknown = (Error.UNKNOWN_MEMBER_ID,) * len(ask.members)
        return gc, (Reply(caller, LeaveGroupResponse(errors=unknown)),)
    effects: Effects = ()
    errors: list[Error] = []
    for member, instance in ask.members:
        group, more, error = _remove_named(group, member, instance)
        errors.append(error)
        effects += more
    answer = Reply(caller, LeaveGroupResponse(errors=tuple(errors)))
    if all(errors) or group.state is _S.EMPTY:
        return gc.with_group(group), (*effects, answer)
    gc, more = rebalance(gc, group, disk)
    return gc, (*effects, answer, *more)


def _remove_named(group: Group, member: str, instance: str | None) -> tuple[Group, Effects, Error]:
    if not member:  # an administrator removes a static member by its name
        member = group.find_static(instance) or ""
    if member in group.expected:
        stop = CancelTimer(session_timer(group.name, member))
        return group.without_member(member), (stop,), Error.NONE
    error = group.check_member(member, instance)
    if error:
        return group, (), error
    group, effects = _remove_member(group, group.members[member])
    return group, effects, Error.NONE


def _remove_member(group: Group, member: Member) -> tuple[Group, Effects]:
    """If it waits for its answer to JoinGroup, it is told to come as a new one."""
    effects: Effects = (CancelTimer(session_timer(group.name, member.id)),)
    if member.joining is not None:
        effects += (Reply(member.joining, JoinGroupResponse(Error.UNKNOWN_MEMBER_ID)),)
    return group.without_member(member.id), effects


def dismiss_members(gc: GroupCoordinator, error: Error) -> Effects:
    """Everybody who waits for a generation or an assignment is told this error."""
    effects: Effects = ()
    for group in gc.groups.values():
        for member in group.members.values():
            if member.joining is not None:
                effects += (Reply(member.joining, JoinGroupResponse(error, member.id)),)
            if member.syncing is not None:
                effects += (Reply(member.syncing, SyncGroupResponse(error)),)
    return effects


# ---- timers ----------------------------------------------------------------------------


def handle_timer(gc: GroupCoordinator, timer: str, disk: Disk) -> Result:
    for group in gc.groups.values():
        if timer == join_timer(group.name) and group.state is _S.PREPARING_REBALANCE:
            return complete_join(gc, group, disk)
        if timer == sync_timer(group.name) and group.state in WAITING:
            return _expire_unsynced(gc, group, disk)
        for member in (*group.expected, *group.members):
            if timer == session_timer(group.name, member):
                return _expire_session(gc, group, member, disk)
    # Its group or its member has changed in this very moment.
    return gc, ()


def _expire_session(gc: GroupCoordinator, group: Group, name: str, disk: Disk) -> Result:
    """A session is over. Who waits for an answer of ours is not silent, except a member
    that nobody has seen in any generation yet."""
    member: Member | None = group.members.get(name)
    if member is None:
        group = group.without_member(name)
    elif not member.new and (member.joining is not None or member.syncing is not None):
        return gc, ()
    effects: Effects = ()
    if member is not None:
        group, effects = _remove_member(group, member)
    if group.state is _S.PREPARING_REBALANCE or (member is not None and group.state in WAITING):
        gc, more = rebalance(gc, group, disk)
        return gc, (*effects, *more)
    return gc.with_group(group), effects


def _expire_unsynced(gc: GroupCoordinator, group: Group, disk: Disk) -> Result:
    """Who joined and never asked for its part is dropped, and all begins again."""
    if not group.unsynced:
        return gc, ()
    effects: Effects = ()
    for name in group.unsynced:
        effects += (CancelTimer(session_timer(group.name, name)),)
        group = group.without_member(name)
    gc, more = prepare_rebalance(gc, group, disk)
    return gc, (*effects, *more)
