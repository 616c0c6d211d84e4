"""Answers about topics and what holds them, one class for all versions (see `answers.py`)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ....kafka.errors import Error
from ....kernel import frozen
from .answers import Unthrottled


@frozen
class PartitionsOfTopic:
    name: str
    error_code: Error = Error.NONE
    error_message: str | None = None


@frozen
class PartitionsCreated(Unthrottled):
    results: tuple[PartitionsOfTopic, ...]


@frozen
class Synonym:
    name: str
    value: str | None
    source: int


@frozen
class Altered:
    error_code: Error
    error_message: str | None
    resource_type: int
    resource_name: str


@frozen
class ConfigsAltered(Unthrottled):
    responses: tuple[Altered, ...]


@frozen
class ConfigResource:
    resource_name: str
    resource_type: int = 16


@frozen
class ConfigResources(Unthrottled):
    config_resources: tuple[ConfigResource, ...]
    error_code: Error = Error.NONE


@frozen
class DeletedTo:
    """`low_watermark`: where the log begins now; -1 with an error."""

    partition_index: int
    error_code: Error = Error.NONE
    low_watermark: int = -1


@frozen
class DeletedInTopic:
    name: str
    partitions: tuple[DeletedTo, ...]


@frozen
class RecordsDeleted(Unthrottled):
    topics: tuple[DeletedInTopic, ...]


@frozen
class EpochEnd:
    """Where the records of a leader's epoch end in a partition."""

    partition: int
    error_code: Error = Error.NONE
    leader_epoch: int = -1
    end_offset: int = -1


@frozen
class EpochEnds:
    topic: str
    partitions: tuple[EpochEnd, ...]


@frozen
class EpochsEnded(Unthrottled):
    topics: tuple[EpochEnds, ...]


@frozen
class PartitionSize:
    partition_index: int
    partition_size: int
    offset_lag: int = 0
    is_future_key: bool = False


@frozen
class TopicSizes:
    name: str
    partitions: tuple[PartitionSize, ...]


@frozen
class LogDir:
    log_dir: str
    topics: tuple[TopicSizes, ...]
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False
    error_code: Error = Error.NONE


@frozen
class LogDirs(Unthrottled):
    results: tuple[LogDir, ...]
    error_code: Error = Error.NONE


@frozen
class QuorumReplica:
    replica_id: int
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int
    replica_directory_id: UUID | None = None


@frozen
class QuorumPartition:
    partition_index: int
    error_code: Error = Error.NONE
    error_message: str | None = ""
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: tuple[QuorumReplica, ...] = ()
    observers: tuple[QuorumReplica, ...] = ()


@frozen
class QuorumTopic:
    topic_name: str
    partitions: tuple[QuorumPartition, ...]


@frozen
class QuorumListener:
    name: str
    host: str
    port: int


@frozen
class QuorumNode:
    node_id: int
    listeners: tuple[QuorumListener, ...]


@frozen
class Quorum:
    topics: tuple[QuorumTopic, ...]
    nodes: tuple[QuorumNode, ...] = ()
    error_code: Error = Error.NONE
    error_message: str | None = ""


@frozen
class Elected:
    partition_id: int
    error_code: Error
    error_message: str | None


@frozen
class ElectedInTopic:
    topic: str
    partition_result: tuple[Elected, ...]


@frozen
class LeadersElected(Unthrottled):
    replica_election_results: tuple[ElectedInTopic, ...]
    error_code: Error = Error.NONE


@frozen
class Reassignments(Unthrottled):
    """There never are any: one broker has every replica."""

    topics: tuple[Any, ...] = ()
    error_code: Error = Error.NONE
    error_message: str | None = None


@frozen
class RecordError:
    """One record of a batch that was refused for it."""

    batch_index: int
    batch_index_error_message: str | None
