"""JoinGroup: how a member comes in, and comes back.

A new member is first told its id (MEMBER_ID_REQUIRED) and asks again with it, so that a
lost answer leaves nobody behind whom the others would wait for (KIP-394). The answer to
the second request is held back until the rebalance it causes is complete.

A *static* member has a name of its own (`group.instance.id`) and keeps its place over a
restart: it gets a new id, and a process that still uses the old one is fenced (KIP-345).

Source: GroupMetadataManager#classicGroupJoin (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, CancelTimer, Disk, Effects, Reply, SetTimer, replace
from ..errors import Error
from ..log import Batch
from .members import Group, Member
from .messages import JoinGroup, JoinGroupResponse, SyncGroupResponse
from .rebalance import (
    NEW_MEMBER_MS,
    build_join_answer,
    prepare_rebalance,
    rebalance,
    restart_session,
    session_timer,
)
from .states import GroupState

if TYPE_CHECKING:
    from . import GroupCoordinator

Result = tuple["GroupCoordinator", Effects]
_S = GroupState
SESSION_MS = (6_000, 1_800_000)  # group.min.session.timeout.ms, group.max.session.timeout.ms


def handle(gc: GroupCoordinator, ask: JoinGroup, caller: Caller, disk: Disk) -> Result:
    group: Group | None = gc.groups.get(ask.group)
    written: Effects = ()
    error = _check_request(ask, group)
    if error:
        return gc, (_refuse(caller, error, ask.member),)
    if group is None:
        # A group is there from the first question on, be its answer a refusal.
        group = Group(ask.group)
        gc, written = gc.write_records(Batch((group.to_record({}),)), disk, None)
    if not group.supports(ask.protocol_type, [name for name, _ in ask.protocols]):
        refused = _refuse(caller, Error.INCONSISTENT_GROUP_PROTOCOL, ask.member)
        return gc, (*written, refused)
    if not ask.member:
        gc, effects = _admit_newcomer(gc, group, ask, caller, disk)
    elif ask.member in group.expected:
        gc, effects = _add_member(gc, group, ask.member, ask, caller, disk)
    else:
        gc, effects = _rejoin(gc, group, ask, caller, disk)
    return gc, (*written, *effects)


def _check_request(ask: JoinGroup, group: Group | None) -> Error:
    if not ask.group:
        return Error.INVALID_GROUP_ID
    if not SESSION_MS[0] <= ask.session_ms <= SESSION_MS[1]:
        return Error.INVALID_SESSION_TIMEOUT
    return Error.UNKNOWN_MEMBER_ID if group is None and ask.member else Error.NONE


def _refuse(caller: Caller, error: Error, member: str = "") -> Reply:
    return Reply(caller, JoinGroupResponse(error, member))


def _admit_newcomer(
    gc: GroupCoordinator, group: Group, ask: JoinGroup, caller: Caller, disk: Disk
) -> Result:
    """It has no id yet."""
    gc, member = gc.give_member_id(ask.instance or ask.client)
    if ask.instance is not None:
        old = group.find_static(ask.instance)
        if old is not None:
            return _replace_static(gc, group, group.members[old], member, ask, caller, disk)
    elif ask.version >= 4:
        group = replace(group, expected=(*group.expected, member))
        wait = SetTimer(session_timer(group.name, member), ask.session_ms)
        return gc.with_group(group), (_refuse(caller, Error.MEMBER_ID_REQUIRED, member), wait)
    return _add_member(gc, group, member, ask, caller, disk)


def _add_member(
    gc: GroupCoordinator, group: Group, member: str, ask: JoinGroup, caller: Caller, disk: Disk
) -> Result:
    new = replace(_describe_member(ask, member), joining=caller, new=True)
    if not group.members:
        group = replace(group, protocol_type=ask.protocol_type)
    # It cannot send heartbeats while it waits, so it is given more time.
    patience = SetTimer(session_timer(group.name, member), NEW_MEMBER_MS)
    gc, effects = rebalance(gc, group.with_member(new), disk)
    return gc, (patience, *effects)


def _describe_member(ask: JoinGroup, member: str) -> Member:
    return Member(
        member, ask.client, ask.host, ask.instance, ask.session_ms, ask.rebalance_ms, ask.protocols
    )


def _rejoin(
    gc: GroupCoordinator, group: Group, ask: JoinGroup, caller: Caller, disk: Disk
) -> Result:
    """A member joins again: because it was told to, because what it reads has changed, or
    because it never got its answer."""
    error = group.check_member(ask.member, ask.instance)
    if not error and group.state is _S.EMPTY:
        error = Error.UNKNOWN_MEMBER_ID
    if error:
        return gc, (_refuse(caller, error, ask.member),)
    member = group.members[ask.member]
    unchanged = member.protocols == ask.protocols
    leads = group.leader == member.id
    if (group.state is _S.COMPLETING_REBALANCE and unchanged) or (
        group.state is _S.STABLE and unchanged and not leads
    ):
        return gc, (Reply(caller, build_join_answer(group, member)),)
    member = replace(
        member,
        protocols=ask.protocols,
        session_ms=ask.session_ms,
        rebalance_ms=ask.rebalance_ms,
        joining=caller,
    )
    return rebalance(gc, group.with_member(member), disk)


def _replace_static(
    gc: GroupCoordinator,
    group: Group,
    old: Member,
    member: str,
    ask: JoinGroup,
    caller: Caller,
    disk: Disk,
) -> Result:
    """A static member is back under a new id; the old one is fenced."""
    effects: Effects = (CancelTimer(session_timer(group.name, old.id)),)
    if old.joining is not None:
        effects += (_refuse(old.joining, Error.FENCED_INSTANCE_ID, old.id),)
    if old.syncing is not None:
        effects += (Reply(old.syncing, SyncGroupResponse(Error.FENCED_INSTANCE_ID)),)
    before = group.with_member(replace(old, joining=None, syncing=None))
    new = replace(_describe_member(ask, member), assignment=old.assignment, joining=caller)
    group, led_by = _swap_member(group, old, new), group.leader
    if group.state is _S.STABLE and group.choose_protocol() == group.protocol:
        group = group.with_member(replace(new, joining=None))
        answer = build_join_answer(group, new)
        if ask.version >= 9:  # from here on a leader can be told not to assign (KIP-814)
            answer = replace(answer, skip_assignment=group.leader == member)
        else:
            answer = replace(answer, leader=led_by, members=())
        given = {m.id: m.assignment for m in group.members.values()}
        if not gc.has_room_for(group.to_record(given)):  # the old member stays
            refused = _refuse(caller, Error.UNKNOWN_SERVER_ERROR)
            return gc.with_group(before), (*effects, restart_session(before, old), refused)
        gc, more = gc.write_generation(group, given, disk, (caller, answer))
    elif group.state in (_S.STABLE, _S.COMPLETING_REBALANCE):
        gc, more = prepare_rebalance(gc, group, disk)
    else:
        gc, more = rebalance(gc, group, disk)
    return gc, (*effects, restart_session(group, new), *more)


def _swap_member(group: Group, old: Member, new: Member) -> Group:
    return replace(
        group,
        members=group.members.remove(old.id).set(new.id, new),
        leader=new.id if group.leader == old.id else group.leader,
        unsynced=tuple(new.id if m == old.id else m for m in group.unsynced),
    )
