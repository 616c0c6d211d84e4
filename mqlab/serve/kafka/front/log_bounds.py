"""DeleteRecords and OffsetForLeaderEpoch: where a log begins, and where an epoch of it ends.

A topic that is only compacted keeps its records: no client may delete from it by offset. There
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
    """Handle DeleteRecords: ask the leader of each partition to delete the records before an
    offset; `finish_delete` makes the response. Refused here: partitions that do not exist, internal
    topics, and topics whose records only compaction removes."""
    requests: list[tuple[str, Any]] = []
    plan = []
    for topic in ask.body.topics:
        # by partition: why it is refused, or the index of its message in `requests`
        outcomes: list[tuple[int, Error | int]] = []
        # named twice: the last one counts
        for index, partition in {p.partition_index: p for p in topic.partitions}.items():
            leader = broker.partition(topic.name, index)
            error = _policy_error(broker, topic.name) if leader is not None else UNKNOWN
            if topic.name in INTERNAL and broker.has_internal(topic.name, index):
                error = Error.INVALID_TOPIC_EXCEPTION
            if error or leader is None:
                outcomes.append((index, error))
                continue
            outcomes.append((index, len(requests)))
            requests.append((leader, DeleteRecords(partition.offset)))
        plan.append((topic.name, tuple(outcomes)))
    return broker.gather(caller, ask, requests, tuple(plan))


def _policy_error(broker: Broker, name: str) -> Error:
    """POLICY_VIOLATION for a topic whose records only compaction removes."""
    topic = broker.topics.get(name)
    policies = policy(topic.configs) if topic is not None else []
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
    """Handle OffsetForLeaderEpoch: for each partition, where a leader epoch ended. Each partition
    here has had a single leader epoch, which ends where the log does: its leader is asked for that,
    and `finish_epochs` makes the response."""
    requests: list[tuple[str, Any]] = []
    plan = []
    for topic in ask.body.topics:
        # by partition: (its number, why it is refused or the index of its message in `requests`,
        # the epoch; -1 for none)
        outcomes: list[tuple[int, Error | int, int]] = []
        for partition in topic.partitions:
            leader = broker.partition(topic.topic, partition.partition)
            # older: here a number below -1 (any epoch will do) is taken for one and fenced
            error = epoch_error(partition.current_leader_epoch, older=True)
            if leader is None or error:
                outcomes.append((partition.partition, error if leader is not None else UNKNOWN, -1))
            # no epoch, or one that has not begun: it has no end
            elif partition.leader_epoch == -1 or partition.leader_epoch > EPOCH:
                outcomes.append((partition.partition, Error.NONE, -1))
            else:
                outcomes.append((partition.partition, len(requests), partition.leader_epoch))
                requests.append((leader, ListOffsets(LATEST, READ_UNCOMMITTED)))
        plan.append((topic.topic, tuple(outcomes)))
    return broker.gather(caller, ask, requests, tuple(plan))


def finish_epochs(broker: Broker, done: Gathering) -> Topics:
    def ended(index: int, known: Error | int, epoch: int) -> EpochEnd:
        if isinstance(known, Error):
            return EpochEnd(index, known)
        return EpochEnd(index, done.got[known].error, min(epoch, EPOCH), done.got[known].offset)

    return Topics(
        tuple(EpochEnds(name, tuple(ended(*part) for part in row)) for name, row in done.plan)
    )
