"""An administrator's requests: which transactions there are, who writes where, and the
marker that ends a hanging transaction (KIP-664).

Source: KafkaApis#handleDescribeTransactionsRequest, #handleListTransactionsRequest,
#handleDescribeProducersRequest, #handleWriteTxnMarkersRequest, #handleDescribeCluster (4.3).
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from ....kafka.coordinator.entry import (
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
)
from ....kafka.errors import Error
from ....kafka.log.role import DescribeProducers, DescribeProducersResponse
from ....kafka.messages import WriteTxnMarkers, WriteTxnMarkersResponse
from ....kafka.states import TxnState
from ....kernel import Caller, Effects, Reply
from ..wire.answers import (
    ActiveProducer,
    ClusterBroker,
    DescribedCluster,
    DescribedTransaction,
    ListedTransaction,
    ListedTransactions,
    OfProducer,
    OfTopic,
    PartitionError,
    ProducersOfPartition,
    Table,
    moment,
)
from ..wire.api import Ask
from ..wire.encoding import by_topic
from .gathering import Later, Rows
from .internal import STATE

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]
UNKNOWN = Error.UNKNOWN_TOPIC_OR_PARTITION
NOT_HERE = "This server does not host this topic-partition."
STATES = frozenset(str(state) for state in TxnState)


def describe_cluster(broker: Broker, caller: Caller, ask: Ask) -> Result:
    host, port = ask.here
    node = broker.config.node_id
    answer = DescribedCluster(broker.config.cluster_id, node, (ClusterBroker(node, host, port),))
    return broker, (Reply(caller, answer),)


# ---- transactions ------------------------------------------------------------------------


def describe_transactions(broker: Broker, caller: Caller, ask: Ask) -> Result:
    coordinator = broker.config.kafka.coordinator
    rows = (
        Later(coordinator, DescribeTransactions(i), partial(_transaction, i))
        for i in ask.body.transactional_ids
    )
    return broker.gather(caller, ask, Rows(Table, tuple(rows)))


def _transaction(txn_id: str, answer: DescribeTransactionsResponse) -> DescribedTransaction:
    if answer.error:
        return DescribedTransaction(txn_id, answer.error)
    return DescribedTransaction(
        txn_id,
        Error.NONE,
        answer.state,
        timedelta(milliseconds=answer.timeout_ms),
        moment(answer.start_ms),
        answer.pid,
        answer.epoch,
        tuple(OfTopic(t, tuple(indexes)) for t, indexes in by_topic(answer.partitions).items()),
    )


def list_transactions(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Filters: by state, by producer id, by age (version 1), by a pattern of the id (2)."""
    body = ask.body
    request = ListTransactions(
        tuple(s for s in body.state_filters if s in STATES),
        tuple(body.producer_id_filters),
        getattr(body, "duration_filter", -1),
        getattr(body, "transactional_id_pattern", None) or "",
    )
    unknown = tuple(s for s in body.state_filters if s not in STATES)
    none_known = body.state_filters and len(unknown) == len(body.state_filters)

    def make(answer: ListTransactionsResponse) -> ListedTransactions:
        if answer.error:
            return ListedTransactions((), unknown, answer.error)
        rows = () if none_known else answer.transactions
        listed = tuple(ListedTransaction(t.txn_id, t.pid, t.state) for t in rows)
        return ListedTransactions(listed, unknown)

    return broker.gather(caller, ask, Later(broker.config.kafka.coordinator, request, make))


# ---- producers of a partition ------------------------------------------------------------


def describe_producers(broker: Broker, caller: Caller, ask: Ask) -> Result:
    topics = []
    for topic in ask.body.topics:
        rows: list[ProducersOfPartition | Later] = []
        why = None if broker.topic(topic.name) else NOT_HERE
        for index in topic.partition_indexes:
            role = broker.find_role(topic.name, index)
            if role is None:
                rows.append(ProducersOfPartition(index, UNKNOWN, why))
            else:
                rows.append(Later(role, DescribeProducers(), partial(_producers, index, why)))
        topics.append(Rows(partial(OfTopic, topic.name), tuple(rows)))
    return broker.gather(caller, ask, Rows(Table, tuple(topics)))


def _producers(
    index: int, why: str | None, answer: DescribeProducersResponse
) -> ProducersOfPartition:
    if answer.error:
        return ProducersOfPartition(index, answer.error, why)
    active = tuple(
        ActiveProducer(p.pid, p.epoch, p.last_seq, p.last_ms, p.coordinator_epoch, p.txn_first)
        for p in answer.producers
    )
    return ProducersOfPartition(index, active_producers=active)


# ---- markers -----------------------------------------------------------------------------


def write_markers(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle WriteTxnMarkers, which a coordinator of another broker or an administrator sends: pass
    each marker to the roles of its partitions (leaders, and group coordinators for those of
    __consumer_offsets)."""
    markers = []
    for marker in ask.body.markers:
        request = WriteTxnMarkers(
            "",  # the transactional id, which the request does not hold
            marker.producer_id,
            marker.producer_epoch,
            marker.transaction_result,
            marker.coordinator_epoch,
            getattr(marker, "transaction_version", 0),  # requests before version 2 lack it
        )
        topics = []
        for topic in marker.topics:
            rows: list[PartitionError | Later] = []
            for index in topic.partition_indexes:
                role = broker.find_role(topic.name, index)
                error = _marker_error(marker, topic.name, role)
                if error or role is None:  # without a role there is an error
                    rows.append(PartitionError(index, error))
                else:
                    rows.append(Later(role, request, partial(_marked, index)))
            topics.append(Rows(partial(OfTopic, topic.name), tuple(rows)))
        markers.append(Rows(partial(OfProducer, marker.producer_id), tuple(topics)))
    return broker.gather(caller, ask, Rows(Table, tuple(markers)))


def _marked(index: int, answer: WriteTxnMarkersResponse) -> PartitionError:
    return PartitionError(index, answer.error)


def _marker_error(marker: Any, topic: str, role: str | None) -> Error:
    """Why this marker cannot be written there. A real broker fails on a negative id while it writes
    the batch. It would write a marker into __transaction_state (STATE), which is refused here."""
    if role is None:
        return UNKNOWN
    if marker.producer_id < 0 or marker.producer_epoch < 0:
        return Error.UNKNOWN_SERVER_ERROR
    return Error.INVALID_TOPIC_EXCEPTION if topic == STATE else Error.NONE
