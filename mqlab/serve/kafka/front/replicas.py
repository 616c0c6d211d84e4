"""What a cluster of one can say about its replicas: where logs lie and how large they are,
who the controller is, that there is nobody else to lead.

Source: KafkaApis#handleDescribeLogDirsRequest, KafkaRaftClient#handleDescribeQuorumRequest,
ReplicationControlManager#electLeaders, #listPartitionReassignments (Kafka 4.3).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....kafka.errors import Error
from ....kernel import Caller, Disk, Effects, Reply
from ..wire.api import Ask
from ..wire.topics import (
    Elected,
    ElectedInTopic,
    LeadersElected,
    LogDir,
    LogDirs,
    PartitionSize,
    Quorum,
    QuorumListener,
    QuorumNode,
    QuorumPartition,
    QuorumReplica,
    QuorumTopic,
    Reassignments,
    TopicSizes,
)

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]
METADATA = "__cluster_metadata"
NOT_HERE = "This server does not host this topic-partition."
NOT_NEEDED = "Leader election not needed for topic partition."


# ---- DescribeLogDirs ---------------------------------------------------------------------


def describe_log_dirs(broker: Broker, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """One folder. The sizes are those of the batches: this server's one journal holds them
    all, with what is around them."""
    wanted = ask.body.topics
    if wanted is None:
        every = (*broker.internal.values(), *broker.topics.values())
        named = [(topic.name, range(topic.count)) for topic in every]
    else:
        named = [(row.topic, row.partitions) for row in wanted]
    topics = []
    for name, indexes in named:
        roles = [(i, broker.partition(name, i)) for i in dict.fromkeys(indexes)]
        sizes = tuple(PartitionSize(i, _size(disk, role)) for i, role in roles if role is not None)
        if sizes:
            topics.append(TopicSizes(name, sizes))
    folder = broker.config.log_dir
    total, free = _space(folder)
    row = LogDir(folder, tuple(topics), total, free)
    return broker, (Reply(caller, LogDirs((row,))),)


def _size(disk: Disk, partition: str) -> int:
    return int(getattr(disk.log(partition), "bytes", 0))


def _space(folder: str) -> tuple[int, int]:
    """(bytes, free bytes) of the folder's file system, -1 where there is no folder."""
    try:
        usage = shutil.disk_usage(Path(folder)) if folder else None
    except OSError:
        usage = None
    return (usage.total, usage.free) if usage is not None else (-1, -1)


# ---- DescribeQuorum ----------------------------------------------------------------------


def describe_quorum(broker: Broker, caller: Caller, ask: Ask, at_ms: int) -> Result:
    """The controllers: this node, which has seen every change of the metadata there was."""
    topics = tuple(
        QuorumTopic(
            topic.topic_name,
            tuple(
                _voters(broker, topic.topic_name, p.partition_index, at_ms)
                for p in topic.partitions
            ),
        )
        for topic in ask.body.topics
    )
    host, port = ask.here
    known = any(not p.error_code for topic in topics for p in topic.partitions)
    me = QuorumNode(broker.config.node_id, (QuorumListener("PLAINTEXT", host, port),))
    return broker, (Reply(caller, Quorum(topics, (me,) if known else ())),)


def _voters(broker: Broker, topic: str, index: int, at_ms: int) -> QuorumPartition:
    if (topic, index) != (METADATA, 0):
        return QuorumPartition(index, Error.UNKNOWN_TOPIC_OR_PARTITION, NOT_HERE)
    node, end = broker.config.node_id, broker.made
    return QuorumPartition(
        index,
        leader_id=node,
        leader_epoch=1,
        high_watermark=end,
        current_voters=(QuorumReplica(node, end, at_ms, at_ms),),
    )


# ---- ElectLeaders, ListPartitionReassignments ------------------------------------------------


def elect_leaders(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Every leader is the preferred one: there is no other."""
    wanted = ask.body.topic_partitions
    if wanted is None:
        rows = [ElectedInTopic(name, ()) for name in broker.topics]
    else:
        rows = [ElectedInTopic(t.topic, tuple(_elected(broker, t))) for t in wanted]
    return broker, (Reply(caller, LeadersElected(tuple(rows))),)


def _elected(broker: Broker, topic: Any) -> Iterable[Elected]:
    for index in topic.partitions:
        if topic.topic not in broker.topics:
            words = f"No such topic as {topic.topic}"
            yield Elected(index, Error.UNKNOWN_TOPIC_OR_PARTITION, words)
        elif broker.partition(topic.topic, index) is None:
            words = f"No such partition as {topic.topic}-{index}"
            yield Elected(index, Error.UNKNOWN_TOPIC_OR_PARTITION, words)
        else:
            yield Elected(index, Error.ELECTION_NOT_NEEDED, NOT_NEEDED)


def list_reassignments(broker: Broker, caller: Caller, ask: Ask) -> Result:
    return broker, (Reply(caller, Reassignments()),)
