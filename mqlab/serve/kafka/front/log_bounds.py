"""DeleteRecords and OffsetForLeaderEpoch: where a log begins, and where an epoch of it ends.

A topic that is only compacted keeps its records: nobody may delete from it by offset. There
is one leader epoch, 0: this broker has led every partition ever since.

Source: KafkaApis#handleDeleteRecordsRequest, ReplicaManager#deleteRecords,
Partition#lastOffsetForLeaderEpoch, ReplicaManager#lastOffsetForLeaderEpoch (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kafka.errors import Error
from ....kafka.messages import LATEST, READ_UNCOMMITTED, DeleteRecords, ListOffsets
from ....kernel import Caller, Effects
from ..wire.answers import (
    DeletedTo,
    EpochEnd,
    EpochEnds,
    OfTopic,
    Topics,
)
from ..wire.api import Ask
from .configs import policy
from .epochs import EPOCH, epoch_error
from .topic import INTERNAL

if TYPE_CHECKING:
    from . import Broker, Gathering

Result = tuple["Broker", Effects]
UNKNOWN = Error.UNKNOWN_TOPIC_OR_PARTITION


def begin_delete(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """DeleteRecords: ask the leader of each partition; those that are refused are answered here."""
    parts: list[tuple[str, Any]] = []
    plan = []
    for topic in ask.body.topics:
        row: list[tuple[int, Error | int]] = []
        for part in {p.partition_index: p for p in topic.partitions}.values():
            role = broker.partition(topic.name, part.partition_index)
            error = _kept(broker, topic.name) if role is not None else UNKNOWN
            if topic.name in INTERNAL and broker.has_internal(topic.name, part.partition_index):
                error = Error.INVALID_TOPIC_EXCEPTION
            if error or role is None:
                row.append((part.partition_index, error))
                continue
            row.append((part.partition_index, len(parts)))
            parts.append((role, DeleteRecords(part.offset)))
        plan.append((topic.name, tuple(row)))
    return broker.gather(caller, ask, parts, tuple(plan))


def _kept(broker: Broker, name: str) -> Error:
    """POLICY_VIOLATION for a topic whose records only compaction removes."""
    topic = broker.topics.get(name)
    policies = policy(topic.configs, broker.given) if topic is not None else []
    compacted = "compact" in policies and "delete" not in policies
    return Error.POLICY_VIOLATION if compacted else Error.NONE


def finish_delete(broker: Broker, done: Gathering) -> Topics:
    def deleted(index: int, known: Error | int) -> DeletedTo:
        if isinstance(known, Error):
            return DeletedTo(index, known)
        return DeletedTo(index, done.got[known].error, done.got[known].low_watermark)

    return Topics(
        tuple(
            OfTopic(name, tuple(deleted(i, known) for i, known in row)) for name, row in done.plan
        )
    )


# ---- OffsetForLeaderEpoch ----------------------------------------------------------------


def begin_epochs(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """OffsetForLeaderEpoch: there was one leader epoch only, so its end is the log's end."""
    parts: list[tuple[str, Any]] = []
    plan = []
    for topic in ask.body.topics:
        row: list[tuple[int, Error | int, int]] = []
        for part in topic.partitions:
            role = broker.partition(topic.topic, part.partition)
            error = epoch_error(part.current_leader_epoch, older=True)
            if role is None or error:
                row.append((part.partition, error if role is not None else UNKNOWN, -1))
            elif part.leader_epoch == -1 or part.leader_epoch > EPOCH:
                row.append((part.partition, Error.NONE, -1))
            else:
                row.append((part.partition, len(parts), part.leader_epoch))
                parts.append((role, ListOffsets(LATEST, READ_UNCOMMITTED)))
        plan.append((topic.topic, tuple(row)))
    return broker.gather(caller, ask, parts, tuple(plan))


def finish_epochs(broker: Broker, done: Gathering) -> Topics:
    def ended(index: int, known: Error | int, epoch: int) -> EpochEnd:
        if isinstance(known, Error):
            return EpochEnd(index, known)
        return EpochEnd(index, done.got[known].error, min(epoch, EPOCH), done.got[known].offset)

    return Topics(
        tuple(EpochEnds(name, tuple(ended(*part) for part in row)) for name, row in done.plan)
    )
