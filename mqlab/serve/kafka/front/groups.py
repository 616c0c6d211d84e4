"""The requests of a group's members, told on to its coordinator.

What members tell each other through the coordinator are bytes here; nobody on this side
looks into them.

Source: KafkaApis#handleJoinGroupRequest, #handleSyncGroupRequest, #handleHeartbeatRequest,
#handleLeaveGroupRequest, #handleDescribeGroupsRequest, #handleListGroupsRequest (4.3).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from ....kafka.config import offsets_log
from ....kafka.errors import Error
from ....kafka.group.messages import (
    DescribeGroup,
    DescribeGroupResponse,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    SyncGroup,
)
from ....kernel import Caller, Effects, Reply
from ..wire.api import Ask
from ..wire.membership import (
    DescribedGroup,
    DescribedGroups,
    DescribedMember,
    HeartbeatResponse,
    Joined,
    JoinedMember,
    Left,
    LeftMember,
    ListedGroup,
    ListedGroups,
    Synced,
)
from ..wire.shape import LONGEST_TEXT

if TYPE_CHECKING:
    from . import Broker, Gathering

Result = tuple["Broker", Effects]
CLASSIC = "classic"  # the one kind of group there is (GroupType)
SUFFIX = len("-") + len(str(UUID(int=0)))


def _ms(time: timedelta) -> int:
    return round(time.total_seconds() * 1000)


def begin_join(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    session_ms = _ms(body.session_timeout)
    instance = getattr(body, "group_instance_id", None)
    if not body.member_id and len((instance or ask.client).encode()) + SUFFIX > LONGEST_TEXT:
        # The id that a real broker makes of it, with a UUID, is longer than a text may be.
        protocol = None if ask.version >= 7 else ""
        refused = Joined(Error.UNKNOWN_SERVER_ERROR, protocol_name=protocol)
        return broker, (Reply(caller, refused),)
    request = JoinGroup(
        group=body.group_id,
        member=body.member_id,
        client=ask.client,
        protocols=tuple((p.name, p.metadata) for p in body.protocols),
        instance=instance,
        session_ms=session_ms,
        rebalance_ms=_ms(body.rebalance_timeout) if ask.version >= 1 else session_ms,
        protocol_type=body.protocol_type,
        version=ask.version,
        host=ask.host,
    )
    return broker.gather(caller, ask, [(_coordinator(broker, body.group_id), request)])


def finish_join(broker: Broker, done: Gathering) -> Joined:
    answer = done.got[0]
    members = tuple(JoinedMember(m.member, m.instance, m.metadata) for m in answer.members)
    return Joined(
        answer.error,
        answer.generation,
        answer.protocol_type or None,
        answer.protocol or (None if done.ask.version >= 7 else ""),
        answer.leader,
        answer.skip_assignment,
        answer.member,
        members,
    )


def begin_sync(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    if ask.version >= 5 and (body.protocol_type is None or body.protocol_name is None):
        # From here on a member must say by which strategy (KIP-559).
        return broker, (Reply(caller, Synced(Error.INCONSISTENT_GROUP_PROTOCOL)),)
    request = SyncGroup(
        group=body.group_id,
        member=body.member_id,
        generation=body.generation_id,
        assignments=tuple((a.member_id, a.assignment) for a in body.assignments),
        instance=getattr(body, "group_instance_id", None),
        protocol_type=getattr(body, "protocol_type", None),
        protocol=getattr(body, "protocol_name", None),
    )
    return broker.gather(caller, ask, [(_coordinator(broker, body.group_id), request)])


def finish_sync(broker: Broker, done: Gathering) -> Synced:
    answer = done.got[0]
    if answer.error:
        return Synced(answer.error)
    return Synced(Error.NONE, answer.protocol_type, answer.protocol, answer.assignment)


def begin_heartbeat(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    instance = getattr(body, "group_instance_id", None)
    request = Heartbeat(body.group_id, body.member_id, body.generation_id, instance)
    return broker.gather(caller, ask, [(_coordinator(broker, body.group_id), request)])


def finish_heartbeat(broker: Broker, done: Gathering) -> HeartbeatResponse:
    return HeartbeatResponse(done.got[0].error)


def begin_leave(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    if ask.version <= 2:
        members: tuple[tuple[str, str | None], ...] = ((body.member_id, None),)
    else:
        members = tuple((m.member_id, m.group_instance_id) for m in body.members)
    request = LeaveGroup(body.group_id, members)
    return broker.gather(caller, ask, [(_coordinator(broker, body.group_id), request)], members)


def finish_leave(broker: Broker, done: Gathering) -> Left:
    answer = done.got[0]
    if done.ask.version <= 2:
        return Left(answer.error or (answer.errors[0] if answer.errors else Error.NONE))
    rows = zip(done.plan, answer.errors, strict=False)
    return Left(answer.error, tuple(LeftMember(m, i, error) for (m, i), error in rows))


def begin_describe(broker: Broker, caller: Caller, ask: Ask) -> Result:
    groups = tuple(ask.body.groups)
    parts = [(_coordinator(broker, group), DescribeGroup(group)) for group in groups]
    return broker.gather(caller, ask, parts, groups)


def finish_describe(broker: Broker, done: Gathering) -> DescribedGroups:
    version = done.ask.version
    rows = (_described(name, done.got[i], version) for i, name in enumerate(done.plan))
    return DescribedGroups(tuple(rows))


def _described(name: str, answer: DescribeGroupResponse, version: int) -> DescribedGroup:
    if answer.error and version >= 6:
        return DescribedGroup(name, answer.error, answer.message, answer.state)
    members = tuple(
        DescribedMember(m.member, m.instance, m.client, m.host, m.metadata, m.assignment)
        for m in answer.members
    )
    return DescribedGroup(
        name, Error.NONE, None, answer.state, answer.protocol_type, answer.protocol, members
    )


def begin_list(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Every coordinator is asked; this broker is all of them."""
    count = broker.config.kafka.offsets_partitions
    parts = [(f"__consumer_offsets-{i}", ListGroups()) for i in range(count)]
    return broker.gather(caller, ask, parts)


def finish_list(broker: Broker, done: Gathering) -> ListedGroups:
    body = done.ask.body
    states = {s.lower() for s in getattr(body, "states_filter", ())}
    types = {t.lower() for t in getattr(body, "types_filter", ())}
    rows = [row for _, answer in done.got.items() for row in answer.groups]
    kept = (
        row
        for row in rows
        if (not states or row.state.lower() in states) and (not types or CLASSIC in types)
    )
    return ListedGroups(tuple(ListedGroup(g.name, g.protocol_type, g.state) for g in kept))


def _coordinator(broker: Broker, group: str) -> str:
    return offsets_log(group, broker.config.kafka)
