"""DeleteRecords and OffsetForLeaderEpoch: where a log begins, and where an epoch of it ends.

A topic that is only compacted keeps its records: no client may delete from it by offset. There
is one leader epoch, 0: this broker has led every partition ever since.

Source: KafkaApis#handleDeleteRecordsRequest, ReplicaManager#deleteRecords,
Partition#lastOffsetForLeaderEpoch, ReplicaManager#lastOffsetForLeaderEpoch (Kafka 4.3).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ....kafka.errors import Error
from ....kafka.messages import (
    LATEST,
    READ_UNCOMMITTED,
    DeleteRecords,
    DeleteRecordsResponse,
    ListOffsets,
    ListOffsetsResponse,
)
from ....kernel import Caller, Effects
from ..wire.answers import (
    DeletedTo,
    EpochEnd,
    OfTopic,
    Table,
)
from ..wire.api import Ask
from .configs import policy
from .epochs import EPOCH, epoch_error
from .gathering import Later, Rows
from .topic import INTERNAL

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]
UNKNOWN = Error.UNKNOWN_TOPIC_OR_PARTITION


def delete_records(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle DeleteRecords: ask the leader of each partition to delete the records before an
    offset. Refused here: partitions that do not exist, internal topics, and topics whose records
    only compaction removes."""
    topics = []
    for topic in ask.body.topics:
        rows: list[DeletedTo | Later] = []
        # named twice: the last one counts
        for index, partition in {p.partition_index: p for p in topic.partitions}.items():
            leader = broker.partition(topic.name, index)
            error = _policy_error(broker, topic.name) if leader is not None else UNKNOWN
            if topic.name in INTERNAL and broker.has_internal(topic.name, index):
                error = Error.INVALID_TOPIC_EXCEPTION
            if error or leader is None:
                rows.append(DeletedTo(index, error))
            else:
                made = partial(_deleted, index)
                rows.append(Later(leader, DeleteRecords(partition.offset), made))
        topics.append(Rows(partial(OfTopic, topic.name), tuple(rows)))
    return broker.gather(caller, ask, Rows(Table, tuple(topics)))


def _deleted(index: int, answer: DeleteRecordsResponse) -> DeletedTo:
    return DeletedTo(index, answer.error, answer.low_watermark)


def _policy_error(broker: Broker, name: str) -> Error:
    """POLICY_VIOLATION for a topic whose records only compaction removes."""
    topic = broker.topics.get(name)
    policies = policy(topic.configs) if topic is not None else []
    compacted = "compact" in policies and "delete" not in policies
    return Error.POLICY_VIOLATION if compacted else Error.NONE


# ---- OffsetForLeaderEpoch ----------------------------------------------------------------


def find_epoch_ends(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle OffsetForLeaderEpoch: for each partition, where a leader epoch ended. Each partition
    here has had a single leader epoch, which ends where the log does: its leader is asked for
    that."""
    topics = []
    for topic in ask.body.topics:
        rows: list[EpochEnd | Later] = []
        for partition in topic.partitions:
            leader = broker.partition(topic.topic, partition.partition)
            # older: here a number below -1 (any epoch will do) is taken for one and fenced
            error = epoch_error(partition.current_leader_epoch, older=True)
            if leader is None or error:
                error = error if leader is not None else UNKNOWN
                rows.append(EpochEnd(partition.partition, error))
            # no epoch, or one that has not begun: it has no end
            elif partition.leader_epoch == -1 or partition.leader_epoch > EPOCH:
                rows.append(EpochEnd(partition.partition))
            else:
                made = partial(_ended, partition.partition, min(partition.leader_epoch, EPOCH))
                rows.append(Later(leader, ListOffsets(LATEST, READ_UNCOMMITTED), made))
        topics.append(Rows(partial(OfTopic, topic.topic), tuple(rows)))
    return broker.gather(caller, ask, Rows(Table, tuple(topics)))


def _ended(index: int, epoch: int, answer: ListOffsetsResponse) -> EpochEnd:
    return EpochEnd(index, answer.error, epoch, answer.offset)
