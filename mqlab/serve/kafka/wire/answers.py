"""Answers as the broker writes them: one class for all versions.

The fields have the schema's names (`kio`), and a class has every field that any offered
version has. The writer of a version takes the fields it knows from whatever object it is
given, so no answer is ever built twice. `ABSENT` is where a tagged field is left out.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

from ....kafka.errors import Error
from ....kafka.log import Batch
from ....kernel import frozen
from .validation import pack_batches

NO_TIME = timedelta(0)
UNASKED = -(2**31)  # "authorized operations" that were not asked for


class Absent:
    """A tagged field that is not sent: the writer leaves out what equals the default, and
    this equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


ABSENT = Absent()


class Unthrottled:
    """An answer that says how long its client has to wait before it asks again. None has to, since
    there are no quotas here."""

    __slots__ = ()
    throttle_time = NO_TIME


# ---- what several requests are answered with ------------------------------------------


@frozen
class ErrorOnly(Unthrottled):
    """To AddOffsetsToTxn and to Heartbeat."""

    error_code: Error = Error.NONE


@frozen
class PartitionError:
    """To who added, committed, deleted or marked something in a partition."""

    partition_index: int
    error_code: Error

    @property
    def partition_error_code(self) -> Error:
        return self.error_code


# The same list, or name, is called otherwise in each request's schema.
ROWS, NAME = property(attrgetter("rows")), property(attrgetter("name"))


@frozen
class OfTopic:
    """What is answered about the partitions of a topic."""

    name: str
    rows: tuple[Any, ...]
    topic_id: UUID | None = None

    topic = NAME
    partitions = partition_responses = results_by_partition = ROWS


@frozen
class OfProducer:
    """What is answered about the topics of a producer."""

    producer_id: int
    topics: tuple[OfTopic, ...]


@frozen
class Table(Unthrottled):
    """An answer that is a list, with an answer for each topic, group, transaction or config."""

    rows: tuple[Any, ...]

    topics = results = responses = groups = markers = transaction_states = ROWS
    results_by_topic_v3_and_below = ROWS
    node_endpoints = ABSENT


# ---- produce, fetch, list offsets ------------------------------------------------------


@frozen
class ProducedPartition:
    index: int
    error_code: Error = Error.NONE
    base_offset: int = -1
    log_append_time: datetime | None = None
    log_start_offset: int = 0
    record_errors: tuple[Any, ...] = ()
    error_message: str | None = None
    current_leader: Absent = ABSENT


@frozen
class AbortedTransaction:
    producer_id: int
    first_offset: int


@frozen
class FetchedPartition:
    """`records` is put together only when it is written: an answer that is kept for the
    trace costs no copy of the data."""

    partition_index: int
    error_code: Error = Error.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: tuple[AbortedTransaction, ...] | None = None
    batches: tuple[Batch, ...] = ()
    preferred_read_replica: int = -1
    diverging_epoch: Absent = ABSENT
    current_leader: Absent = ABSENT
    snapshot_id: Absent = ABSENT

    @property
    def records(self) -> bytes:
        return pack_batches(self.batches)


@frozen
class Fetched(Unthrottled):
    responses: tuple[OfTopic, ...] = ()
    error_code: Error = Error.NONE
    session_id: int = 0
    node_endpoints: Absent = ABSENT


@frozen
class ListedPartition:
    partition_index: int
    error_code: Error = Error.NONE
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = 0


# ---- the cluster -------------------------------------------------------------------------


@frozen
class Node:
    node_id: int
    host: str
    port: int
    rack: str | None = None


@frozen
class MetadataPartition:
    partition_index: int
    leader_id: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    leader_epoch: int = 0
    error_code: Error = Error.NONE
    offline_replicas: tuple[int, ...] = ()


@frozen
class MetadataTopic:
    name: str | None
    topic_id: UUID | None = None
    error_code: Error = Error.NONE
    partitions: tuple[MetadataPartition, ...] = ()
    is_internal: bool = False
    topic_authorized_operations: int = UNASKED


@frozen
class Metadata(Unthrottled):
    brokers: tuple[Node, ...]
    cluster_id: str
    controller_id: int
    topics: tuple[MetadataTopic, ...]
    error_code: Error = Error.NONE
    cluster_authorized_operations: int = UNASKED


@frozen
class ApiVersion:
    api_key: int
    min_version: int
    max_version: int


@frozen
class Feature:
    """A feature level, as supported and as finalized."""

    name: str
    min_version: int
    max_version: int
    min_version_level: int
    max_version_level: int


@frozen
class Versions(Unthrottled):
    api_keys: tuple[ApiVersion, ...]
    error_code: Error = Error.NONE
    supported_features: tuple[Feature, ...] = ()
    finalized_features_epoch: int = 0
    finalized_features: tuple[Feature, ...] = ()
    zk_migration_ready: Absent = ABSENT


@frozen
class CoordinatorNode:
    key: str
    node_id: int
    host: str
    port: int
    error_code: Error = Error.NONE
    error_message: str | None = None


@frozen
class FoundCoordinator(Unthrottled):
    """Up to version 3 one key, at the top; from 4 on a list."""

    coordinators: tuple[CoordinatorNode, ...]
    node_id: int = -1
    host: str = ""
    port: int = -1
    error_code: Error = Error.NONE
    error_message: str | None = None


@frozen
class TopicConfig:
    name: str
    value: str | None
    read_only: bool = False
    config_source: int = 1
    is_sensitive: bool = False
    synonyms: tuple[Any, ...] = ()
    config_type: int = 2
    documentation: str | None = None


@frozen
class CreatedTopic:
    name: str
    error_code: Error = Error.NONE
    error_message: str | None = None
    topic_id: UUID | None = None
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[TopicConfig, ...] | None = ()
    topic_config_error_code: Absent = ABSENT


@frozen
class DeletedTopic:
    name: str | None
    topic_id: UUID | None = None
    error_code: Error = Error.NONE
    error_message: str | None = None


@frozen
class DescribedConfigs:
    resource_type: int
    resource_name: str
    error_code: Error = Error.NONE
    error_message: str | None = None
    configs: tuple[TopicConfig, ...] = ()


# ---- transactions and groups -------------------------------------------------------------


@frozen
class OwnProducerId(Unthrottled):
    """To InitProducerId; to EndTxn, which from version 5 on names the producer's next epoch."""

    error_code: Error = Error.NONE
    producer_id: int = -1
    producer_epoch: int = -1


@frozen
class OffsetPartition:
    partition_index: int
    committed_offset: int = -1
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: Error = Error.NONE


@frozen
class OffsetGroup:
    group_id: str
    topics: tuple[OfTopic, ...] = ()
    error_code: Error = Error.NONE


@frozen
class Offsets(Unthrottled):
    """Up to version 7 one group, at the top; from 8 on a list."""

    groups: tuple[OffsetGroup, ...]
    topics: tuple[OfTopic, ...] = ()
    error_code: Error = Error.NONE


# Answers about topics and what holds them, one class for all versions (see `answers.py`).


@frozen
class PartitionsOfTopic:
    name: str
    error_code: Error = Error.NONE
    error_message: str | None = None


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
class DeletedTo:
    """`low_watermark`: where the log begins now; -1 with an error."""

    partition_index: int
    error_code: Error = Error.NONE
    low_watermark: int = -1


@frozen
class EpochEnd:
    """Where the records of a leader's epoch end in a partition."""

    partition: int
    error_code: Error = Error.NONE
    leader_epoch: int = -1
    end_offset: int = -1


@frozen
class RecordError:
    """One record of a batch that was refused for it."""

    batch_index: int
    batch_index_error_message: str | None


# Answers about groups and their members, one class for all versions (see `answers.py`).


@frozen
class JoinedMember:
    member_id: str
    group_instance_id: str | None
    metadata: bytes


@frozen
class Joined(Unthrottled):
    error_code: Error = Error.NONE
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: tuple[JoinedMember, ...] = ()


@frozen
class Synced(Unthrottled):
    error_code: Error = Error.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@frozen
class LeftMember:
    member_id: str
    group_instance_id: str | None
    error_code: Error


@frozen
class Left(Unthrottled):
    """Up to version 2 about one member, whose error is the one at the top."""

    error_code: Error = Error.NONE
    members: tuple[LeftMember, ...] = ()


@frozen
class DescribedMember:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@frozen
class DescribedGroup:
    group_id: str
    error_code: Error = Error.NONE
    error_message: str | None = None
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()
    authorized_operations: int = UNASKED


@frozen
class ListedGroup:
    group_id: str
    protocol_type: str
    group_state: str
    group_type: str = "classic"


@frozen
class ListedGroups(Unthrottled):
    groups: tuple[ListedGroup, ...]
    error_code: Error = Error.NONE


# ---- deletion ----------------------------------------------------------------------------


@frozen
class DeletedGroup:
    group_id: str
    error_code: Error


@frozen
class DeletedOffsets(Unthrottled):
    error_code: Error = Error.NONE
    topics: tuple[OfTopic, ...] = ()


# Answers to an administrator, one class for all versions (see `answers.py`).


#: -1 on the wire: kio's writer knows moments only, and this one is a millisecond before 1970
NEVER = datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)


def moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC) if at_ms >= 0 else NEVER


@frozen
class DescribedTransaction:
    transactional_id: str
    error_code: Error = Error.NONE
    transaction_state: str = ""
    transaction_timeout: timedelta = NO_TIME
    transaction_start_time: datetime = datetime.fromtimestamp(0, UTC)
    producer_id: int = 0
    producer_epoch: int = 0
    topics: tuple[OfTopic, ...] = ()


@frozen
class ListedTransaction:
    transactional_id: str
    producer_id: int
    transaction_state: str


@frozen
class ListedTransactions(Unthrottled):
    transaction_states: tuple[ListedTransaction, ...]
    unknown_state_filters: tuple[str, ...] = ()
    error_code: Error = Error.NONE


@frozen
class ActiveProducer:
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int


@frozen
class ProducersOfPartition:
    partition_index: int
    error_code: Error = Error.NONE
    error_message: str | None = None
    active_producers: tuple[ActiveProducer, ...] = ()


@frozen
class ClusterBroker:
    broker_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


@frozen
class DescribedCluster(Unthrottled):
    cluster_id: str
    controller_id: int
    brokers: tuple[ClusterBroker, ...]
    error_code: Error = Error.NONE
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_authorized_operations: int = UNASKED
