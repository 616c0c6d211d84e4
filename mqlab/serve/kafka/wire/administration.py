"""Answers to an administrator, one class for all versions (see `answers.py`)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ....kafka.errors import Error
from ....kernel import frozen
from .answers import NO_TIME, UNASKED, Unthrottled

#: -1 on the wire: kio's writer knows moments only, and this one is a millisecond before 1970
NEVER = datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)


def moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC) if at_ms >= 0 else NEVER


@frozen
class TopicPartitions:
    topic: str
    partitions: tuple[int, ...]


@frozen
class DescribedTransaction:
    transactional_id: str
    error_code: Error = Error.NONE
    transaction_state: str = ""
    transaction_timeout: timedelta = NO_TIME
    transaction_start_time: datetime = datetime.fromtimestamp(0, UTC)
    producer_id: int = 0
    producer_epoch: int = 0
    topics: tuple[TopicPartitions, ...] = ()


@frozen
class DescribedTransactions(Unthrottled):
    transaction_states: tuple[DescribedTransaction, ...]


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
class ProducersOfTopic:
    name: str
    partitions: tuple[ProducersOfPartition, ...]


@frozen
class DescribedProducers(Unthrottled):
    topics: tuple[ProducersOfTopic, ...]


@frozen
class MarkedPartition:
    partition_index: int
    error_code: Error


@frozen
class MarkedTopic:
    name: str
    partitions: tuple[MarkedPartition, ...]


@frozen
class Marked:
    producer_id: int
    topics: tuple[MarkedTopic, ...]


@frozen
class MarkersWritten:
    markers: tuple[Marked, ...]


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
