"""The newer consumer protocol (KIP-848): one request, and the coordinator decides.

In the classic protocol a rebalance stops everybody: all join again, one of them assigns, all
wait for it. Here each member says with its heartbeat what it subscribes to and what it has;
the coordinator computes who shall read what, and answers with the next step for this member
alone. Nobody waits for anybody but for the partition that is still in another's hands.

    heartbeat   members.py   who is it, is its epoch the one it should have
                __init__.py  has what it reads changed: the group's epoch goes up
                assign.py    is the target older than the group: compute it again
                reconcile.py the member's next step towards it
    values.py   the group, its members, and the records that make both durable

**Durable** is a record for each of these facts, in `__consumer_offsets`. **In memory** are
sessions and, for a member that must let go of something, how long it may take.

*What can go wrong.* The answer that raises a member's epoch is lost: it asks once more with
the one before, and is answered if what it owns is part of what it was given. A member that
is fenced keeps nothing and joins again with epoch 0. *Invariants:* no partition is held by
two members; a member's epoch is never above the target's.

*Left out:* subscriptions by a pattern that the broker evaluates (a client can evaluate its
own), classic members in such a group, racks. *The numbers* of the real broker: heartbeats
every 5 s, sessions of 45 s, a target at most once a second.
Source: GroupMetadataManager#consumerGroupHeartbeat, #consumerGroupLeave,
#maybeUpdateTargetAssignment, #maybeReconcile (Kafka 4.3).
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from ....kernel import Caller, CancelTimer, Disk, Effects, Map, Reply, SetTimer, replace
from ...errors import Error
from ...log import Batch
from ..deletion import GroupTombstone
from ..rebalance import split_names
from ..states import GroupState
from .assign import ASSIGNORS
from .members import Refused, check_heartbeat, find_member
from .messages import (
    JOIN,
    LEAVE_FOR_A_WHILE,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from .reconcile import reconcile
from .values import (
    COUNTS,
    ConsumerGroup,
    ConsumerGroupTombstones,
    ConsumerMember,
    CurrentAssignment,
    GroupEpoch,
    MemberMetadata,
    MemberState,
    MemberTombstones,
    Record,
    TargetAssignment,
    TargetEpoch,
    apply_record,
)

if TYPE_CHECKING:
    from .. import GroupCoordinator
    from ..dispatch import GroupAnswer

__all__ = [
    "ConsumerGroup",
    "ConsumerGroupHeartbeat",
    "Record",
    "apply_record",
    "handle_timer",
    "handle",
]

Result = tuple["GroupCoordinator", Effects]
HEARTBEAT_MS, SESSION_MS, INTERVAL_MS = 5_000, 45_000, 1_000
SESSION, REVOKE = "consumer-session/", "consumer-revoke/"


def session_timer(group: str, member: str) -> str:
    return f"{SESSION}{group}/{member}"


def revoke_timer(group: str, member: str) -> str:
    return f"{REVOKE}{group}/{member}"


def handle(gc: GroupCoordinator, ask: ConsumerGroupHeartbeat, caller: Caller, disk: Disk) -> Result:
    try:
        check_heartbeat(ask, ASSIGNORS)
        if ask.epoch < JOIN:
            return _leave(gc, ask, caller, disk)
        return _heartbeat(gc, ask, caller, disk)
    except Refused as no:
        return gc, (Reply(caller, ConsumerGroupHeartbeatResponse(no.error, str(no))),)


def _heartbeat(
    gc: GroupCoordinator, ask: ConsumerGroupHeartbeat, caller: Caller, disk: Disk
) -> Result:
    records: list[Any] = []
    group: ConsumerGroup | None = gc.consumers.get(ask.group)
    if group is None:
        classic = gc.groups.get(ask.group)
        if ask.epoch != JOIN:
            raise Refused(Error.GROUP_ID_NOT_FOUND, f"Group {ask.group} not found.")
        if classic is not None and classic.state is not GroupState.EMPTY:
            raise Refused(Error.GROUP_ID_NOT_FOUND, f"Group {ask.group} is not a consumer group.")
        group = ConsumerGroup(ask.group)
        if classic is not None:  # nobody is in it: it becomes one of the newer kind
            records.append(GroupTombstone(ask.group))
    member, replaced = find_member(group, ask)
    now = _update_member(member, ask)
    changed = now.topics != member.topics
    if replaced is not None:
        records.append(MemberTombstones(group.name, replaced))
        given = TargetAssignment(group.name, now.id, group.target.get(replaced, ()))
        group = apply_record(apply_record(group, records[-1]), given)
        records.append(given)
    if now != member or now.id not in group.members:
        records.append(MemberMetadata(group.name, _strip_progress(now)))
    group = group.with_member(now)
    group, more = _with_epoch(group, ask.group not in gc.consumers, changed, disk)
    records += more
    group, more = _with_target(group, gc.now_ms, disk)
    records += more
    settled = reconcile(group, group.members[now.id], ask.owned)
    if _place(settled) != _place(member) or replaced is not None:
        records.append(_current(group.name, settled))
    group = group.with_member(settled)
    given_anew = ask.full or set(settled.partitions) != set(member.partitions)
    answer = ConsumerGroupHeartbeatResponse(
        member=settled.id,
        epoch=settled.epoch,
        heartbeat_ms=HEARTBEAT_MS,
        assignment=settled.partitions if given_anew else None,
    )
    timers = (
        SetTimer(session_timer(group.name, now.id), SESSION_MS),
        *_patience(group.name, member, settled),
    )
    return _write(gc, group, records, disk, caller, answer, timers)


def _update_member(member: ConsumerMember, ask: ConsumerGroupHeartbeat) -> ConsumerMember:
    """With what this heartbeat says of it."""
    return replace(
        member,
        instance=ask.instance if ask.instance is not None else member.instance,
        rack=ask.rack if ask.rack is not None else member.rack,
        client=ask.client,
        host=ask.host,
        rebalance_ms=ask.rebalance_ms if ask.rebalance_ms >= 0 else member.rebalance_ms,
        assignor=ask.assignor or member.assignor,
        topics=member.topics if ask.topics is None else tuple(sorted(set(ask.topics))),
    )


def _strip_progress(member: ConsumerMember) -> ConsumerMember:
    """What a member says of itself, without where it stands."""
    return replace(member, epoch=0, previous=0, state=MemberState.STABLE, assigned=(), revoking=())


def _place(member: ConsumerMember) -> tuple[object, ...]:
    return (member.epoch, member.previous, member.state, member.assigned, member.revoking)


def _current(group: str, member: ConsumerMember) -> CurrentAssignment:
    return CurrentAssignment(
        group,
        member.id,
        member.epoch,
        member.previous,
        str(member.state),
        member.assigned,
        member.revoking,
    )


# ---- the group's epoch and its target --------------------------------------------------


def _with_epoch(
    group: ConsumerGroup, new: bool, changed: bool, disk: Disk
) -> tuple[ConsumerGroup, list[Record]]:
    """One higher if a subscription has changed, or the topics that are subscribed to."""
    image = disk.table("topics")
    if group.image is image and not changed:
        return group, []
    subscribed = _fingerprint(group.topics, image)
    higher = changed or subscribed != group.subscribed
    if not higher and not new:
        return replace(group, image=image), []
    record = GroupEpoch(group.name, group.epoch + higher, subscribed)
    return replace(apply_record(group, record), image=image), [record]


def _fingerprint(topics: tuple[str, ...], image: Map[str, Any]) -> int:
    """A number that is another when a topic comes, goes or grows. Kafka's is another hash
    of the same facts."""
    known = [f"{t}:{image[t].id}:{image[t].count}" for t in topics if t in image]
    return zlib.crc32("\n".join(known).encode()) if known else 0


def _with_target(
    group: ConsumerGroup, now_ms: int, disk: Disk
) -> tuple[ConsumerGroup, list[Record]]:
    """The assignment again, if it is older than the group and not younger than a second."""
    if group.epoch <= group.target_epoch:
        return group, []
    if now_ms < group.target_ms + INTERVAL_MS:
        return group, []
    image = disk.table("topics")
    counts = {t: image[t].count for t in group.topics if t in image}
    wishes = {m.id: m.topics for m in group.members.values()}
    target = ASSIGNORS[group.assignor](wishes, counts, dict(group.target.items()))
    records: list[Record] = [
        TargetAssignment(group.name, member, partitions)
        for member, partitions in target.items()
        if group.target.get(member) != partitions
    ]
    records.append(TargetEpoch(group.name, group.epoch, now_ms))
    for record in records:
        group = apply_record(group, record)
    return group, records


# ---- leaving ---------------------------------------------------------------------------


def _leave(gc: GroupCoordinator, ask: ConsumerGroupHeartbeat, caller: Caller, disk: Disk) -> Result:
    group: ConsumerGroup | None = gc.consumers.get(ask.group)
    if group is None:
        raise Refused(Error.GROUP_ID_NOT_FOUND, f"Group {ask.group} not found.")
    member, _ = find_member(group, replace(ask, epoch=_held_epoch(group, ask)))
    answer = ConsumerGroupHeartbeatResponse(member=member.id, epoch=ask.epoch)
    if ask.epoch == LEAVE_FOR_A_WHILE:
        away = replace(
            member, epoch=LEAVE_FOR_A_WHILE, previous=member.epoch, assigned=member.assigned
        )
        records: list[Any] = [_current(group.name, away)]
        return _write(gc, group.with_member(away), records, disk, caller, answer, ())
    return _remove_member(gc, group, member, disk, caller, answer)


def _held_epoch(group: ConsumerGroup, ask: ConsumerGroupHeartbeat) -> int:
    """A member that leaves names no epoch: it is not fenced for an old one."""
    member = group.find_static(ask.instance) or group.members.get(ask.member)
    return member.epoch if member is not None else 1


def _remove_member(
    gc: GroupCoordinator,
    group: ConsumerGroup,
    member: ConsumerMember,
    disk: Disk,
    caller: Caller | None = None,
    answer: GroupAnswer | None = None,
) -> Result:
    """Its partitions are free; who gets them is computed with somebody's next heartbeat."""
    records: list[Any] = [
        MemberTombstones(group.name, member.id),
        GroupEpoch(group.name, group.epoch + 1, group.subscribed),
    ]
    for record in records:
        group = apply_record(group, record)
    timers = (
        CancelTimer(session_timer(group.name, member.id)),
        CancelTimer(revoke_timer(group.name, member.id)),
    )
    return _write(gc, group, records, disk, caller, answer, timers)


def _patience(group: str, old: ConsumerMember, new: ConsumerMember) -> Effects:
    """A member that must let go of something has as long as it asked for."""
    timer = revoke_timer(group, new.id)
    waits, waited = (m.state is MemberState.UNREVOKED_PARTITIONS for m in (new, old))
    if waits and not waited:
        return (SetTimer(timer, new.rebalance_ms),)
    return (CancelTimer(timer),) if waited and not waits else ()


def handle_timer(gc: GroupCoordinator, timer: str, disk: Disk) -> Result | None:
    """A session is over, or a member did not let go in time: it is in the group no more.
    None: this timer is not of this protocol."""
    if not timer.startswith((SESSION, REVOKE)):
        return None
    for name, who in split_names(timer.partition("/")[2]):
        group = gc.consumers.get(name)
        member = group.members.get(who) if group is not None else None
        if group is not None and member is not None:
            return _remove_member(gc, group, member, disk)
    # It left in this very moment.
    return gc, ()


def replay_record(gc: GroupCoordinator, record: Any) -> GroupCoordinator:
    """After a record of this protocol."""
    if isinstance(record, ConsumerGroupTombstones):
        return replace(gc, consumers=gc.consumers.remove(record.group))
    group = gc.consumers.get(record.group) or ConsumerGroup(record.group)
    return replace(gc, consumers=gc.consumers.set(record.group, apply_record(group, record)))


def restart_sessions(gc: GroupCoordinator) -> Effects:
    """After a restart everybody has a whole session again."""
    effects: Effects = ()
    for group in gc.consumers.values():
        for member in group.members.values():
            effects += (SetTimer(session_timer(group.name, member.id), SESSION_MS),)
            effects += _patience(group.name, replace(member, state=MemberState.STABLE), member)
    return effects


def _write(
    gc: GroupCoordinator,
    group: ConsumerGroup,
    records: list[Any],
    disk: Disk,
    caller: Caller | None,
    answer: GroupAnswer | None,
    timers: Effects,
) -> Result:
    """Keep the group; what has changed is written first, and then answered."""
    effects: Effects = ()
    if records:
        count = sum(COUNTS.get(type(record), 1) for record in records)
        then = None if caller is None or answer is None else (caller, answer)
        gc, effects = gc.write_records(Batch(tuple(records), count=count), disk, then)
    elif caller is not None:
        effects = (Reply(caller, answer),)
    return replace(gc, consumers=gc.consumers.set(group.name, group)), (*timers, *effects)
