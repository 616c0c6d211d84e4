"""Being a member of a group: join, learn what to read, stay.

The member that leads a generation assigns for all (RangeAssignor): topic by topic,
contiguous ranges in the order of the member ids. It knows how many partitions there are
from the metadata. Everybody drops what it read before (the eager protocol): positions are
looked up again, among what the group has committed.

Sources: AbstractCoordinator, ConsumerCoordinator, RangeAssignor (clients, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import (
    CancelTimer,
    Effects,
    Map,
    Send,
    SetTimer,
    build_failure,
    build_success,
    worded,
)
from ...config import offsets_log
from ...errors import Error
from ...group.messages import (
    Heartbeat,
    HeartbeatResponse,
    JoinedMember,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    SyncGroup,
    SyncGroupResponse,
)
from ..calls import Poll, Unsubscribe

if TYPE_CHECKING:
    from . import Consumer

Result = tuple["Consumer", Effects]
RANGE = "range"
HEARTBEAT = "heartbeat"
BEAT = 1  # a heartbeat's request has this number and its generation; a call's requests have 0
#: the member is nobody any more and comes back as a new one
UNKNOWN = frozenset({Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION})


@worded("member={member} generation={generation}")
class Membership:
    """`rejoin`: the next poll joins again before it reads. What `groupMetadata()` gives to
    a producer is group, member and generation."""

    group: str = ""
    topics: tuple[str, ...] = ()
    member: str = ""
    generation: int = -1
    assigned: tuple[str, ...] = ()
    rejoin: bool = False


def assign_ranges(
    members: tuple[JoinedMember, ...], partitions: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(member, partitions) by RangeAssignor."""
    given: dict[str, list[str]] = {m.member: [] for m in members}
    topics = sorted({p.rpartition("-")[0] for p in partitions})
    for topic in topics:
        readers = sorted(m.member for m in members if topic in m.metadata)
        mine = [p for p in partitions if p.rpartition("-")[0] == topic]
        start = 0
        for i, member in enumerate(readers):
            size = len(mine) // len(readers) + (i < len(mine) % len(readers))
            given[member] += mine[start : start + size]
            start += size
    return tuple((member, tuple(parts)) for member, parts in sorted(given.items()))


def join_group(consumer: Consumer) -> Result:
    """Ask to be in the next generation; until it has begun there is no answer."""
    config, mine = consumer.config, consumer.membership
    ask = JoinGroup(
        mine.group,
        mine.member,
        config.name,
        ((RANGE, mine.topics),),
        config.instance,
        config.session_ms,
        config.rebalance_ms,
    )
    away = replace(mine, assigned=(), rejoin=True)
    new = replace(consumer, membership=away, positions=Map(), ends=Map())
    return new.send_requests(Send(coordinator_of(new), ask))


def coordinator_of(consumer: Consumer) -> str:
    return offsets_log(consumer.membership.group, consumer.config.cluster)


def handle_join(consumer: Consumer, answer: JoinGroupResponse) -> Result:
    mine = consumer.membership
    if answer.error is Error.MEMBER_ID_REQUIRED:
        return join_group(replace(consumer, membership=replace(mine, member=answer.member)))
    if answer.error in UNKNOWN:
        return join_group(replace(consumer, membership=replace(mine, member="")))
    if answer.error:
        return consumer.return_outcome(build_failure(consumer.call, answer.error))
    given: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if answer.member == answer.leader and not answer.skip_assignment:
        given = assign_ranges(answer.members, consumer.config.partitions)
    mine = replace(mine, member=answer.member, generation=answer.generation)
    ask = SyncGroup(
        mine.group,
        mine.member,
        mine.generation,
        given,
        consumer.config.instance,
        answer.protocol_type,
        answer.protocol,
    )
    new = replace(consumer, membership=mine)
    return new.send_requests(Send(coordinator_of(new), ask))


def handle_sync(consumer: Consumer, answer: SyncGroupResponse) -> Result:
    mine = consumer.membership
    if answer.error is Error.REBALANCE_IN_PROGRESS:
        return join_group(consumer)
    if answer.error in UNKNOWN:
        return join_group(replace(consumer, membership=replace(mine, member="", generation=-1)))
    if answer.error:
        return consumer.return_outcome(build_failure(consumer.call, answer.error))
    mine = replace(mine, assigned=tuple(answer.assignment), rejoin=False)
    new = replace(consumer, membership=mine)
    beat = SetTimer(HEARTBEAT, consumer.config.heartbeat_ms)
    if isinstance(new.call, Poll):
        new, effects = new.poll_assigned(new.call)
    else:
        detail = f"{mine}: {', '.join(mine.assigned) or 'nothing to read'}"
        new, effects = new.return_outcome(build_success(new.call, detail))
    return new, (beat, *effects)


# ---- staying -----------------------------------------------------------------------------


def send_heartbeat(consumer: Consumer) -> Result:
    """The background thread's heartbeat: the next one is due whatever comes back."""
    mine = consumer.membership
    if mine.generation < 0:
        return consumer, ()
    ask = Heartbeat(mine.group, mine.member, mine.generation, consumer.config.instance)
    again = SetTimer(HEARTBEAT, consumer.config.heartbeat_ms)
    return consumer, (Send(coordinator_of(consumer), ask, BEAT + mine.generation), again)


def handle_heartbeat(consumer: Consumer, corr: int, answer: HeartbeatResponse) -> Result:
    """The answer is noted; joining again is the next poll's work, in the application's own
    thread. Until then the member reads on and may commit, and be refused. What is said of
    an older generation concerns nobody any more (AbstractCoordinator's sentGeneration)."""
    if corr != BEAT + consumer.membership.generation:
        return consumer, ()
    if answer.error is Error.REBALANCE_IN_PROGRESS:
        return replace(consumer, membership=replace(consumer.membership, rejoin=True)), ()
    if answer.error in UNKNOWN:
        return forget_membership(consumer), (CancelTimer(HEARTBEAT),)
    return consumer, ()


def forget_membership(consumer: Consumer) -> Consumer:
    """It knows now that it is no member any more."""
    mine = replace(consumer.membership, member="", generation=-1, rejoin=True)
    return replace(consumer, membership=mine)


def leave_group(consumer: Consumer, call: Unsubscribe) -> Result:
    mine = consumer.membership
    if not mine.member:
        return replace(consumer, membership=Membership()).return_outcome(build_success(call))
    ask = LeaveGroup(mine.group, ((mine.member, consumer.config.instance),))
    new, effects = consumer.send_requests(Send(coordinator_of(consumer), ask))
    return new, (CancelTimer(HEARTBEAT), *effects)
