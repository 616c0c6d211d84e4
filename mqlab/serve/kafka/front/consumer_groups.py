"""ConsumerGroupHeartbeat and ConsumerGroupDescribe: the newer protocol (KIP-848).

On the wire topics go by their ids; a group coordinator knows partitions by name. A member
that joins by version 0 may leave its id to the broker.

Source: KafkaApis#handleConsumerGroupHeartbeat, #handleConsumerGroupDescribe (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, uuid5

from ....kafka.config import offsets_log
from ....kafka.errors import Error
from ....kafka.group.consumer.messages import (
    JOIN,
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from ....kafka.group.consumer.values import ConsumerGroup, ConsumerMember
from ....kernel import Caller, Effects
from ..wire.api import Ask
from ..wire.encoding import by_topic
from ..wire.membership import (
    Assignment,
    Beat,
    ConsumerGroups,
    ConsumerMemberRow,
    DescribedConsumerGroup,
    NamedPartitions,
    Partitions,
)

if TYPE_CHECKING:
    from . import Broker, Gathering

Result = tuple["Broker", Effects]
CONSUMER_MEMBER = 1


def begin_heartbeat(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    member = body.member_id
    if not member and ask.version == 0 and body.member_epoch == JOIN:
        # A number that was never given before, in the shape of the ids that clients choose.
        member = str(uuid5(NAMESPACE_OID, f"{caller.name}/{broker.last}"))
    owned = None
    if body.topic_partitions is not None:
        owned = tuple(
            f"{topic.name}-{i}"
            for row in body.topic_partitions
            if (topic := broker.topic(None, row.topic_id)) is not None
            for i in row.partitions
        )
    topics = body.subscribed_topic_names
    request = ConsumerGroupHeartbeat(
        group=body.group_id,
        member=member,
        epoch=body.member_epoch,
        instance=body.instance_id,
        rack=body.rack_id,
        rebalance_ms=round(body.rebalance_timeout.total_seconds() * 1000),
        topics=tuple(topics) if topics is not None else None,
        regex=getattr(body, "subscribed_topic_regex", None),
        assignor=body.server_assignor,
        owned=owned,
        client=ask.client,
        host=ask.host,
        version=ask.version,
    )
    return broker.gather(caller, ask, [(offsets_log(body.group_id, broker.config.kafka), request)])


def finish_heartbeat(broker: Broker, done: Gathering) -> Beat:
    answer: ConsumerGroupHeartbeatResponse = done.got[0]
    if answer.error:
        return Beat(answer.error, answer.message or None)
    assignment = None
    if answer.assignment is not None:
        known = ((broker.topic(name), i) for name, i in by_topic(answer.assignment).items())
        assignment = Assignment(
            tuple(Partitions(t.uuid, tuple(sorted(i))) for t, i in known if t is not None)
        )
    interval = timedelta(milliseconds=answer.heartbeat_ms)
    return Beat(Error.NONE, None, answer.member, answer.epoch, interval, assignment)


def begin_describe(broker: Broker, caller: Caller, ask: Ask) -> Result:
    groups = tuple(ask.body.group_ids)
    kafka = broker.config.kafka
    parts = [(offsets_log(group, kafka), ConsumerGroupDescribe(group)) for group in groups]
    return broker.gather(caller, ask, parts, groups)


def finish_describe(broker: Broker, done: Gathering) -> ConsumerGroups:
    answers = ((name, done.got[i]) for i, name in enumerate(done.plan))
    return ConsumerGroups(tuple(_described(broker, name, group) for name, group in answers))


def _described(broker: Broker, name: str, group: ConsumerGroup | None) -> DescribedConsumerGroup:
    if group is None:
        words = f"Group {name} not found."
        return DescribedConsumerGroup(name, Error.GROUP_ID_NOT_FOUND, words)
    members = tuple(_member(broker, group, m) for m in group.members.values())
    return DescribedConsumerGroup(
        name,
        Error.NONE,
        None,
        group.state,
        group.epoch,
        group.target_epoch,
        group.assignor,
        members,
    )


def _member(broker: Broker, group: ConsumerGroup, member: ConsumerMember) -> ConsumerMemberRow:
    return ConsumerMemberRow(
        member.id,
        member.instance,
        member.rack,
        member.epoch,
        member.client,
        member.host,
        member.topics,
        member.regex,
        _assignment(broker, [name for name, _ in member.holds]),
        _assignment(broker, group.target.get(member.id, ())),
        CONSUMER_MEMBER,
    )


def _assignment(broker: Broker, partitions: Iterable[str]) -> Assignment:
    known = ((broker.topic(name), name, i) for name, i in by_topic(partitions).items())
    return Assignment(
        tuple(NamedPartitions(t.uuid, n, tuple(sorted(i))) for t, n, i in known if t is not None)
    )
