"""JoinGroup: how a member comes in, and comes back.

A new member is first sent its id (MEMBER_ID_REQUIRED) and asks again with it, so that a
lost answer leaves no member behind for whom the others would wait (KIP-394). The answer to
the second request is held back until the rebalance it causes is complete.

A *static* member has a name of its own (`group.instance.id`) and keeps its place over a
restart: it gets a new id, and a process that still uses the old one is fenced (KIP-345).

Source: GroupMetadataManager#classicGroupJoin (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...kernel import Caller, CancelTimer, Disk, Effects, Map, Reply, SetTimer, frozen, replace
from ..errors import Error
from ..log import Batch
from .members import (
    Group,
    GroupState,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    Member,
    SyncGroup,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from . import GroupCoordinator


# ---- A rebalance: all join again, one of them assigns, a new generation begins
#
#     prepare_rebalance   PreparingRebalance    members hear of it by their heartbeats and join
#                                               again; who has not when time is up is no member
#                                               any more
#     complete_join       CompletingRebalance   the generation's number goes up, the leader is
#                                               sent the list of members
#     (SyncGroup)         Stable                what the leader gave is safe in the log, and
#                                               handed out
#
# The number is the point: what a member of an older generation still wants to do can be
# distinguished from what a current one does, and refused.
#
# *Left out:* group.initial.rebalance.delay.ms (3 s, in which a new group waits for more
# members; 0 in the settings of the recorded broker), group.max.size.
# Source: GroupMetadataManager#prepareRebalance, #completeClassicGroupJoin (Kafka 4.3).

Result = tuple["GroupCoordinator", Effects]
_S = GroupState
NEW_MEMBER_MS = 300_000  # how long a member may wait for its first generation
SESSION, JOIN, SYNC = "session/", "join/", "sync/"  # how the names of its timers begin


def session_timer(group: str, member: str) -> str:
    return f"{SESSION}{group}/{member}"


def join_timer(group: str) -> str:
    return f"{JOIN}{group}"


def sync_timer(group: str) -> str:
    return f"{SYNC}{group}"


def split_names(names: str) -> Iterator[tuple[str, str]]:
    """The pairs (group, member) that a timer's "group/member" may mean: either may have a "/"."""
    at = names.find("/")
    while at >= 0:
        yield names[:at], names[at + 1 :]
        at = names.find("/", at + 1)


def restart_session(group: Group, member: Member) -> SetTimer:
    """It was heard of: its session begins again."""
    return SetTimer(session_timer(group.name, member.id), member.session_ms)


def build_join_answer(group: Group, member: Member) -> JoinGroupResponse:
    """What is sent to a member when its generation has begun."""
    return JoinGroupResponse(
        member=member.id,
        generation=group.generation,
        leader=group.leader,
        protocol=group.protocol,
        protocol_type=group.protocol_type,
        members=group.roster() if member.id == group.leader else (),
    )


def rebalance(gc: GroupCoordinator, group: Group, disk: Disk) -> Result:
    """A member came, left or changed: a rebalance begins, or the one in progress may be
    complete now."""
    if group.state is not _S.PREPARING_REBALANCE:
        return prepare_rebalance(gc, group, disk)
    return complete_join(gc, group, disk) if group.all_joined else (gc.with_group(group), ())


def prepare_rebalance(gc: GroupCoordinator, group: Group, disk: Disk) -> Result:
    """Begin a rebalance: members that wait for an assignment are refused, and all have
    `rebalance_ms` to join. Of a group that was empty, or where all have joined already, the join
    phase is complete at once."""
    effects: Effects = ()
    if group.state is _S.COMPLETING_REBALANCE:
        group, effects = _refuse_sync(group)
    first = group.state is _S.EMPTY
    if group.unsynced:
        effects += (CancelTimer(sync_timer(group.name)),)
    group = replace(group, unsynced=()).enter(_S.PREPARING_REBALANCE)
    if first or group.all_joined:
        gc, more = complete_join(gc, group, disk)
        return gc, (*effects, *more)
    wait = SetTimer(join_timer(group.name), group.rebalance_ms)
    return gc.with_group(group), (*effects, wait)


def _refuse_sync(group: Group) -> tuple[Group, Effects]:
    """Who waits for an assignment of this generation gets none any more."""
    refused = SyncGroupResponse(Error.REBALANCE_IN_PROGRESS)
    effects: list[Reply | SetTimer] = []
    for member in group.members.values():
        if member.syncing is not None:
            effects += (Reply(member.syncing, refused), restart_session(group, member))
    members = Map((m.id, replace(m, syncing=None)) for m in group.members.values())
    return replace(group, members=members).assign({}), tuple(effects)


def complete_join(gc: GroupCoordinator, group: Group, disk: Disk) -> Result:
    """Complete the join phase of a rebalance: remove members that have not rejoined, choose the
    protocol, begin a new generation and answer every JoinGroup. Static members stay even if they
    are silent; where no other member has joined, the phase is prolonged until their sessions
    expire. A group without members becomes empty."""
    effects: list[Reply | SetTimer | CancelTimer] = [CancelTimer(join_timer(group.name))]
    silent: dict[str, bool] = {}  # a set that keeps its order
    for member in group.members.values():
        if member.joining is None and member.instance is None:
            effects.append(CancelTimer(session_timer(group.name, member.id)))
            silent[member.id] = True
    group = group.without(silent)
    joined = [m for m in group.members.values() if m.joining is not None]
    if group.members and not joined:
        # static members only, and none has rejoined; effects[0] would cancel the timer set here
        wait = SetTimer(join_timer(group.name), group.rebalance_ms)
        return gc.with_group(group), (*effects[1:], wait)
    if joined and group.members[group.leader].joining is None:
        group = replace(group, leader=joined[0].id)
    group = replace(group, generation=group.generation + 1)
    if not group.members:
        group = replace(group.enter(_S.EMPTY), protocol="")
        gc, written = gc.write_generation(group, {}, disk)
        return gc, (*effects, *written)
    group = replace(group, protocol=group.choose_protocol(), unsynced=tuple(group.members))
    return _begin_generation(gc, group.enter(_S.COMPLETING_REBALANCE), tuple(effects))


def _begin_generation(gc: GroupCoordinator, group: Group, effects: Effects) -> Result:
    """The new generation: everyone who waits is answered."""
    answers: list[Reply | SetTimer] = []
    for member in group.members.values():
        if member.joining is not None:
            answers.append(Reply(member.joining, build_join_answer(group, member)))
        answers.append(restart_session(group, member))
    members = Map((m.id, replace(m, joining=None, new=False)) for m in group.members.values())
    group = replace(group, members=members)
    wait = SetTimer(sync_timer(group.name), group.rebalance_ms)
    return gc.with_group(group), (*effects, *answers, wait)


SESSION_MS = (6_000, 1_800_000)  # group.min.session.timeout.ms, group.max.session.timeout.ms


def handle_join(gc: GroupCoordinator, ask: JoinGroup, caller: Caller, disk: Disk) -> Result:
    """Handle JoinGroup: check it, create the group if there is none, and add the member: a newcomer
    without an id, one that comes with the id it was given (`expected`), or a known member that
    joins again."""
    group: Group | None = gc.groups.get(ask.group)
    written: Effects = ()
    error = _check_request(ask, group)
    if error:
        return gc, (_refuse(caller, error, ask.member),)
    if group is None:
        # the group exists from its first request on, even where that is refused
        group = Group(ask.group)
        gc, written = gc.write_records(Batch((group.to_record({}),)), disk, then=None)
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
    """Handle JoinGroup of a known member. It joins again because the group rebalances, because its
    subscription has changed, or because its answer was lost. Where nothing has changed the answer
    is sent again, without a rebalance; in a stable group the leader's JoinGroup always causes
    one."""
    error = group.check_member(ask.member, ask.instance)
    # (an empty group has no members: refused here as in the real one)
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
        joining=caller,  # who waits for the answer to JoinGroup
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
    """Let a static member that has come back (`old`) go on under its new id (`member`), with its
    old assignment, and fence the old id. If the group is stable and the protocol stays, there is no
    rebalance; the old member stays where the record of the change is too large for the log."""
    effects: Effects = (CancelTimer(session_timer(group.name, old.id)),)
    if old.joining is not None:
        effects += (_refuse(old.joining, Error.FENCED_INSTANCE_ID, old.id),)
    if old.syncing is not None:
        effects += (Reply(old.syncing, SyncGroupResponse(Error.FENCED_INSTANCE_ID)),)
    before = group.with_member(replace(old, joining=None, syncing=None))
    new = replace(_describe_member(ask, member), assignment=old.assignment, joining=caller)
    group, old_leader = _swap_member(group, old, new), group.leader
    if group.state is _S.STABLE and group.choose_protocol() == group.protocol:
        group = group.with_member(replace(new, joining=None))
        answer = build_join_answer(group, new)
        if ask.version >= 9:  # from here on a leader can be instructed not to assign (KIP-814)
            answer = replace(answer, skip_assignment=group.leader == member)
        else:
            # an older client gets the old leader's id, so that it does not assign partitions
            answer = replace(answer, leader=old_leader, members=())
        given = {m.id: m.assignment for m in group.members.values()}
        if not gc.has_room_for(group.to_record(given)):  # the old member stays
            refused = _refuse(caller, Error.UNKNOWN_SERVER_ERROR)
            return gc.with_group(before), (*effects, restart_session(before, old), refused)
        gc, more = gc.write_generation(group, given, disk, (caller, answer))
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


# ---- SyncGroup: who reads what -------------------------------------------------------
#
# The leader of a generation, a consumer like the others, assigns partitions and brings the
# result; the coordinator writes it down and hands each member its part once it is safe. Who
# asks before that waits.
#
# Source: GroupMetadataManager#classicGroupSync (Kafka 4.3).


@frozen
class Assigning:
    """The leader's assignments, written and not yet safe: for which generation."""

    end: int
    group: str
    generation: int
    given: Map[str, Any]


def handle_sync(gc: GroupCoordinator, ask: SyncGroup, caller: Caller, disk: Disk) -> Result:
    """Handle SyncGroup: in a stable group the member is sent its assignment at once. Else it waits,
    until the group's leader brings the assignment of all members and this is durable in the log."""
    group: Group | None = gc.groups.get(ask.group)
    error = _check_request_sync(ask, group)
    if group is None or error:
        return gc, (Reply(caller, SyncGroupResponse(error)),)
    # `unsynced`: who has not sent SyncGroup in this generation; the sync timer would remove them
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
    assignments = Map((m, a) for m, a in ask.assignments if m in group.members)
    if not gc.has_room_for(group.to_record(dict(assignments.items()))):
        # too large for the log: as if it had been written and had failed
        assigning = Assigning(disk.log(gc.name).end, group.name, group.generation, assignments)
        error = Error.UNKNOWN_SERVER_ERROR  # appendGroupMetadataErrorToResponseError
        gc, refused = fail_assignment(gc.with_group(group), assigning, error, disk)
        return gc, (*effects, *refused)
    gc, written = gc.write_generation(group, dict(assignments.items()), disk)
    # the record takes one offset: the assignment is durable once the log is up to there
    end = disk.log(gc.name).end + 1
    assigning = Assigning(end, group.name, group.generation, assignments)
    return replace(gc, assigning=(*gc.assigning, assigning)), (*effects, *written)


def _check_request_sync(ask: SyncGroup, group: Group | None) -> Error:
    """Why a SyncGroup is refused, or NONE: no group, a member that is not in it, another generation
    or protocol, or a rebalance that has begun."""
    if not ask.group:
        return Error.INVALID_GROUP_ID
    if group is None:
        return Error.UNKNOWN_MEMBER_ID
    error = group.check_member(ask.member, ask.instance)
    if error:
        return error
    if ask.generation != group.generation:
        return Error.ILLEGAL_GENERATION
    # None: an older client, whose request does not name it
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
    """The assignment could not be made safe: no member gets it, and the rebalance begins again."""
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
    """The assignment is durable in the log: the group is stable, and each member that waits for its
    SyncGroup gets its partitions. Nothing happens if a member has joined meanwhile: the assignment
    then belongs to a generation that is over."""
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


# ---- Heartbeats, goodbyes and silence: who is still in the group ---------------------
#
# A member that is not heard of for its session's length is no member any more: its part is
# given to another member. It may well be alive, only slow, and come back with its old id and
# generation. *That* is why commits are fenced by both.
#
# Source: GroupMetadataManager#classicGroupHeartbeat, #classicGroupLeave,
# #expireClassicGroupMemberHeartbeat, #expirePendingSync (Kafka 4.3).

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
    """Handle LeaveGroup: remove the members it names and rebalance the group, unless none was
    removed or the group is empty. Each of them has an error of its own in the answer; one named
    twice is unknown the second time."""
    group: Group | None = gc.groups.get(ask.group)
    if not ask.group:
        return gc, (Reply(caller, LeaveGroupResponse(Error.INVALID_GROUP_ID)),)
    if group is None:
        unknown = (Error.UNKNOWN_MEMBER_ID,) * len(ask.members)
        return gc, (Reply(caller, LeaveGroupResponse(errors=unknown)),)
    effects: list[CancelTimer | Reply] = []
    errors: list[Error] = []
    leaving: dict[str, bool] = {}  # a set that keeps its order
    static = {m.instance: m.id for m in group.members.values() if m.instance is not None}
    # ids that were given out and with which no member has joined yet; they can be given back too
    expected = frozenset(group.expected)
    for name, instance in ask.members:
        # An administrator removes a static member by its instance alone.
        member = name or static.get(instance or "", "")
        error = _check_leave(group, member, instance, static, expected)
        errors.append(error if member not in leaving else Error.UNKNOWN_MEMBER_ID)
        if not errors[-1]:
            leaving[member] = True
            effects += _answer_leaving(group, member)
    group = group.without(leaving)
    answer = Reply(caller, LeaveGroupResponse(errors=tuple(errors)))
    if all(errors) or group.state is _S.EMPTY:
        return gc.with_group(group), (*effects, answer)
    gc, rebalance_effects = rebalance(gc, group, disk)
    return gc, (*effects, answer, *rebalance_effects)


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


def _answer_leaving(group: Group, name: str) -> list[CancelTimer | Reply]:
    """A member that is waiting for an answer to JoinGroup must join again as a new one."""
    effects: list[CancelTimer | Reply] = [CancelTimer(session_timer(group.name, name))]
    member: Member | None = group.members.get(name)
    if member is not None and member.joining is not None:
        effects.append(Reply(member.joining, JoinGroupResponse(Error.UNKNOWN_MEMBER_ID)))
    return effects


def dismiss_members(gc: GroupCoordinator, error: Error) -> Effects:
    """Answer this error to everyone who waits for a generation or an assignment."""
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
    that has not been in any generation yet."""
    member: Member | None = group.members.get(name)
    waits = member is not None and (member.joining is not None or member.syncing is not None)
    if member is not None and not member.new and waits:
        return gc, ()
    effects = tuple(_answer_leaving(group, name)) if member is not None else ()
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
