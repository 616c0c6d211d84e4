"""DeleteGroups and OffsetDelete: handed on to the coordinators of the groups named.

Source: KafkaApis#handleDeleteGroupsRequest, #handleOffsetDeleteRequest (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....kafka.config import offsets_log
from ....kafka.errors import Error
from ....kafka.group.members import DeleteGroup, DeleteOffsets, DeleteOffsetsResponse
from ....kernel import Caller, Effects
from ..wire.answers import (
    DeletedGroup,
    DeletedOffsets,
    OfTopic,
    PartitionError,
    Results,
)
from ..wire.api import Ask

if TYPE_CHECKING:
    from . import Broker, Gathering

Result = tuple["Broker", Effects]


def begin_groups(broker: Broker, caller: Caller, ask: Ask) -> Result:
    groups = tuple(dict.fromkeys(ask.body.groups_names))
    kafka = broker.config.kafka
    parts = [(offsets_log(group, kafka), DeleteGroup(group)) for group in groups]
    return broker.gather(caller, ask, parts, groups)


def finish_groups(broker: Broker, done: Gathering) -> Results:
    rows = (DeletedGroup(name, done.got[i].error) for i, name in enumerate(done.plan))
    return Results(tuple(rows))


def begin_offsets(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle OffsetDelete: ask the group's coordinator to forget the committed offsets of these
    partitions; `finish_offsets` makes the response. Partitions that do not exist are refused here:
    the plan has, for each, its error or its index among the names sent on."""
    body = ask.body
    names: list[str] = []
    plan = []
    for topic in body.topics:
        # by partition: why it is refused, or its index in `names`
        outcomes: list[tuple[int, Error | int]] = []
        for partition in topic.partitions:
            name = broker.partition(topic.name, partition.partition_index)
            if name is None:
                outcomes.append((partition.partition_index, Error.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                outcomes.append((partition.partition_index, len(names)))
                names.append(name)
        plan.append((topic.name, tuple(outcomes)))
    coordinator = offsets_log(body.group_id, broker.config.kafka)
    requests = [(coordinator, DeleteOffsets(body.group_id, tuple(names)))] if names else []
    return broker.gather(caller, ask, requests, tuple(plan))


def finish_offsets(broker: Broker, done: Gathering) -> DeletedOffsets:
    answer: DeleteOffsetsResponse = done.got[0] if done.got else DeleteOffsetsResponse()
    if answer.error:
        return DeletedOffsets(answer.error)
    rows = (
        OfTopic(
            topic,
            tuple(
                PartitionError(i, known if isinstance(known, Error) else answer.errors[known])
                for i, known in row
            ),
        )
        for topic, row in done.plan
    )
    return DeletedOffsets(Error.NONE, tuple(rows))
