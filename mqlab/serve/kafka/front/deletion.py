"""DeleteGroups and OffsetDelete: handed on to the coordinators of the groups named.

Source: KafkaApis#handleDeleteGroupsRequest, #handleOffsetDeleteRequest (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....kafka.config import offsets_log
from ....kafka.errors import Error
from ....kafka.group.members import DeleteGroup, DeleteOffsets, DeleteOffsetsResponse
from ....kernel import Caller, Effects, Reply
from ..wire.answers import (
    DeletedGroup,
    DeletedOffsets,
    OfTopic,
    PartitionError,
    Table,
)
from ..wire.api import Ask
from .gathering import Later, Rows

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]


def delete_groups(broker: Broker, caller: Caller, ask: Ask) -> Result:
    def delete(group: str) -> Later:
        log = offsets_log(group, broker.config.kafka)
        return Later(log, DeleteGroup(group), lambda answer: DeletedGroup(group, answer.error))

    groups = dict.fromkeys(ask.body.groups_names)
    return broker.gather(caller, ask, Rows(Table, tuple(map(delete, groups))))


def delete_offsets(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle OffsetDelete: ask the group's coordinator to forget the committed offsets of these
    partitions. Those that do not exist are refused here."""
    body = ask.body
    pairs = [(t.name, p.partition_index) for t in body.topics for p in t.partitions]
    known = [name for pair in pairs if (name := broker.partition(*pair)) is not None]

    def make(answer: DeleteOffsetsResponse) -> DeletedOffsets:
        if answer.error:
            return DeletedOffsets(answer.error)
        errors = iter(answer.errors)  # of each that is known

        def judge(topic: str, index: int) -> PartitionError:
            missing = broker.partition(topic, index) is None
            error = Error.UNKNOWN_TOPIC_OR_PARTITION if missing else next(errors)
            return PartitionError(index, error)

        rows = (
            OfTopic(t.name, tuple(judge(t.name, p.partition_index) for p in t.partitions))
            for t in body.topics
        )
        return DeletedOffsets(Error.NONE, tuple(rows))

    if not known:
        return broker, (Reply(caller, make(DeleteOffsetsResponse())),)
    log = offsets_log(body.group_id, broker.config.kafka)
    request = DeleteOffsets(body.group_id, tuple(known))
    return broker.gather(caller, ask, Later(log, request, make))
