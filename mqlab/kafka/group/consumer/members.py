"""Who sends this heartbeat, and may it? In the words of the real broker.

Source: GroupMetadataManager#throwIfConsumerGroupHeartbeatRequestIsInvalid,
#throwIfConsumerGroupMemberEpochIsInvalid, #getOrMaybeSubscribeStaticConsumerMember (4.3);
every sentence was seen on a 4.3.1 broker.
"""

from __future__ import annotations

from collections.abc import Collection

from ....kernel import replace
from ...errors import Error
from .messages import JOIN, LEAVE_FOR_A_WHILE, ConsumerGroupHeartbeat
from .values import ConsumerGroup, ConsumerMember


class Refused(Exception):
    """A heartbeat that is answered with an error."""

    def __init__(self, error: Error, words: str) -> None:
        super().__init__(words)
        self.error = error


def check_heartbeat(ask: ConsumerGroupHeartbeat, assignors: Collection[str]) -> None:
    """Raises Refused for a heartbeat that nobody could send."""
    for words in _find_objections(ask):
        raise Refused(Error.INVALID_REQUEST, words)
    if ask.regex:
        raise Refused(
            Error.INVALID_REGULAR_EXPRESSION,
            "mqlab serve evaluates no patterns: subscribe by names, or let the client match them.",
        )
    if ask.assignor is not None and ask.assignor not in assignors:
        offered = ", ".join(assignors)
        raise Refused(
            Error.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {ask.assignor} is not supported. Supported assignors: {offered}.",
        )


def _find_objections(ask: ConsumerGroupHeartbeat) -> list[str]:
    objections = []
    if not ask.group.strip():
        objections.append("GroupId can't be empty.")
    if not ask.member.strip() and (ask.version >= 1 or ask.epoch != JOIN):
        objections.append("MemberId can't be empty.")
    if ask.instance is not None and not ask.instance.strip():
        objections.append("InstanceId can't be empty.")
    if ask.rack is not None and not ask.rack.strip():
        objections.append("RackId can't be empty.")
    if ask.epoch == JOIN:
        if ask.rebalance_ms < 0:
            objections.append("RebalanceTimeoutMs must be provided in first request.")
        if ask.owned is None or ask.owned:
            objections.append("TopicPartitions must be empty when (re-)joining.")
        if ask.topics is None and not ask.regex:
            objections.append(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
                "(re-)joining."
            )
    if ask.epoch == LEAVE_FOR_A_WHILE and ask.instance is None:
        objections.append("InstanceId can't be null.")
    if ask.epoch < LEAVE_FOR_A_WHILE:
        objections.append("MemberEpoch is invalid.")
    return objections


def find_member(
    group: ConsumerGroup, ask: ConsumerGroupHeartbeat
) -> tuple[ConsumerMember, str | None]:
    """(the member, whose place it takes). Raises Refused for one that is not in the group,
    or that is fenced."""
    if ask.instance is not None:
        return _find_static(group, ask)
    member: ConsumerMember | None = group.members.get(ask.member)
    if member is None:
        return _add_member(group, ask), None
    _check_epoch(member, ask)
    return member, None


def _add_member(group: ConsumerGroup, ask: ConsumerGroupHeartbeat) -> ConsumerMember:
    if ask.epoch != JOIN:
        words = f"Member {ask.member} is not a member of group {group.name}."
        raise Refused(Error.UNKNOWN_MEMBER_ID, words)
    return ConsumerMember(ask.member)


def _find_static(
    group: ConsumerGroup, ask: ConsumerGroupHeartbeat
) -> tuple[ConsumerMember, str | None]:
    holder = group.find_static(ask.instance)
    if holder is None:
        return _add_member(group, ask), None
    if holder.id == ask.member:
        _check_epoch(holder, ask)
        return holder, None
    name = f"Static member {ask.member} with instance id {ask.instance}"
    if ask.epoch != JOIN:
        raise Refused(Error.FENCED_INSTANCE_ID, f"{name} was fenced by member {holder.id}.")
    if holder.epoch != LEAVE_FOR_A_WHILE:
        raise Refused(
            Error.UNRELEASED_INSTANCE_ID,
            f"{name} cannot join the group because the instance id is owned by {holder.id} member.",
        )
    return replace(holder, id=ask.member, epoch=0, previous=0), holder.id


def _check_epoch(member: ConsumerMember, ask: ConsumerGroupHeartbeat) -> None:
    """A member that joins again with its old id is welcome; an epoch from the future is not, nor
    one from the past, except the last one where the answer that ended it may be lost."""
    if ask.epoch in (JOIN, member.epoch):
        return
    lost = (
        ask.epoch == member.previous
        and ask.owned is not None
        and set(ask.owned) <= set(member.partitions)
    )
    if ask.epoch < member.epoch and lost:
        return
    size = "greater" if ask.epoch > member.epoch else "smaller"
    raise Refused(
        Error.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {size} member epoch ({ask.epoch}) than the one known "
        f"by the group coordinator ({member.epoch}). The member must abandon all its partitions "
        "and rejoin.",
    )
