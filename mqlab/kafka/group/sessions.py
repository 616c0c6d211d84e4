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
    JOIN,
    SESSION,
    SYNC,
    complete_join,
    prepare_rebalance,
    rebalance,
    restart_session,
    session_timer,
    split_names,
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
    effects: list[CancelTimer | Reply] = []
    errors: list[Error] = []
    gone: dict[str, bool] = {}
    static = {m.instance: m.id for m in group.members.values() if m.instance is not None}
    expected = frozenset(group.expected)
    for name, instance in ask.members:
        # An administrator removes a static member by its instance alone.
        member = name or static.get(instance or "", "")
        error = _check_leave(group, member, instance, static, expected)
        errors.append(error if member not in gone else Error.UNKNOWN_MEMBER_ID)
        if not errors[-1]:
            gone[member] = True
            effects += _part_with(group, member)
    group = group.without(gone)
    answer = Reply(caller, LeaveGroupResponse(errors=tuple(errors)))
    if all(errors) or group.state is _S.EMPTY:
        return gc.with_group(group), (*effects, answer)
    gc, more = rebalance(gc, group, disk)
    return gc, (*effects, answer, *more)


def _check_leave(
    group: Group,
    member: str,
    instance: str | None,
    static: dict[str, str],
    expected: frozenset[str],
) -> Error:
    """As `Group.check_member`, with the names of all static members looked up before."""
    if member in expected:
        return Error.NONE
    if instance is not None and static.get(instance) != member:
        return Error.FENCED_INSTANCE_ID if instance in static else Error.UNKNOWN_MEMBER_ID
    return Error.NONE if member in group.members else Error.UNKNOWN_MEMBER_ID


def _part_with(group: Group, name: str) -> list[CancelTimer | Reply]:
    """A member that is waiting for an answer to JoinGroup must join again as a new one."""
    effects: list[CancelTimer | Reply] = [CancelTimer(session_timer(group.name, name))]
    member: Member | None = group.members.get(name)
    if member is not None and member.joining is not None:
        effects.append(Reply(member.joining, JoinGroupResponse(Error.UNKNOWN_MEMBER_ID)))
    return effects


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
    what, slash, names = timer.partition("/")
    what += slash
    group: Group | None = gc.groups.get(names)
    if group is not None and what == JOIN and group.state is _S.PREPARING_REBALANCE:
        return complete_join(gc, group, disk)
    if group is not None and what == SYNC and group.state in WAITING:
        return _expire_unsynced(gc, group, disk)
    for name, member in split_names(names) if what == SESSION else ():
        group = gc.groups.get(name)
        if group is not None and (member in group.members or member in group.expected):
            return _expire_session(gc, group, member, disk)
    # Its group or its member has changed in this very moment.
    return gc, ()


def _expire_session(gc: GroupCoordinator, group: Group, name: str, disk: Disk) -> Result:
    """A session is over. Who waits for an answer of ours is not silent, except a member
    that nobody has seen in any generation yet."""
    member: Member | None = group.members.get(name)
    waits = member is not None and (member.joining is not None or member.syncing is not None)
    if member is not None and not member.new and waits:
        return gc, ()
    effects = tuple(_part_with(group, name)) if member is not None else ()
    group = group.without((name,))
    if group.state is _S.PREPARING_REBALANCE or (member is not None and group.state in WAITING):
        gc, more = rebalance(gc, group, disk)
        return gc, (*effects, *more)
    return gc.with_group(group), effects


def _expire_unsynced(gc: GroupCoordinator, group: Group, disk: Disk) -> Result:
    """Who joined and never asked for its part is dropped, and all begins again."""
    if not group.unsynced:
        return gc, ()
    effects = [CancelTimer(session_timer(group.name, name)) for name in group.unsynced]
    gc, more = prepare_rebalance(gc, group.without(frozenset(group.unsynced)), disk)
    return gc, (*effects, *more)
