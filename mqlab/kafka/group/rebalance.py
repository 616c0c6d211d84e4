"""A rebalance: everybody joins again, one of them assigns, a new generation begins.

    prepare_rebalance   PreparingRebalance    members hear of it by their heartbeats and join
                                              again; who has not when time is up is no member
                                              any more
    complete_join       CompletingRebalance   the generation's number goes up, the leader is
                                              told who is in it
    (sync.py)           Stable                what the leader gave is safe in the log, and
                                              handed out

The number is the point: what a member of an older generation still wants to do can be
told apart from what a current one does, and refused.

*Left out:* group.initial.rebalance.delay.ms (3 s, in which a new group waits for more
members; 0 in the settings of the recorded broker), group.max.size.
Source: GroupMetadataManager#prepareRebalance, #completeClassicGroupJoin (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...kernel import CancelTimer, Disk, Effects, Map, Reply, SetTimer, replace
from ..errors import Error
from .members import Group, Member
from .messages import JoinGroupResponse, SyncGroupResponse
from .states import GroupState

if TYPE_CHECKING:
    from . import GroupCoordinator

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
    """What a member is told when its generation has begun."""
    return JoinGroupResponse(
        member=member.id,
        generation=group.generation,
        leader=group.leader,
        protocol=group.protocol,
        protocol_type=group.protocol_type,
        members=group.roster() if member.id == group.leader else (),
    )


def rebalance(gc: GroupCoordinator, group: Group, disk: Disk) -> Result:
    """Somebody came, left or changed: a rebalance begins, or the one under way may be
    complete now."""
    if group.state is not _S.PREPARING_REBALANCE:
        return prepare_rebalance(gc, group, disk)
    return complete_join(gc, group, disk) if group.all_joined else (gc.with_group(group), ())


def prepare_rebalance(gc: GroupCoordinator, group: Group, disk: Disk) -> Result:
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
    """All have joined, or time is up."""
    effects: list[Reply | SetTimer | CancelTimer] = [CancelTimer(join_timer(group.name))]
    silent: dict[str, bool] = {}
    for member in group.members.values():
        if member.joining is None and member.instance is None:
            effects.append(CancelTimer(session_timer(group.name, member.id)))
            silent[member.id] = True
    group = group.without(silent)
    joined = [m for m in group.members.values() if m.joining is not None]
    if group.members and not joined:
        # Static members only, all silent: their sessions decide.
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
    """The new generation: everybody who waits is told."""
    answers: list[Reply | SetTimer] = []
    for member in group.members.values():
        if member.joining is not None:
            answers.append(Reply(member.joining, build_join_answer(group, member)))
        answers.append(restart_session(group, member))
    members = Map((m.id, replace(m, joining=None, new=False)) for m in group.members.values())
    group = replace(group, members=members)
    wait = SetTimer(sync_timer(group.name), group.rebalance_ms)
    return gc.with_group(group), (*effects, *answers, wait)
