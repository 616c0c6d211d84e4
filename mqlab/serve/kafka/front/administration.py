"""An administrator's requests: which transactions there are, who writes where, and the
marker that ends a hanging transaction (KIP-664).

Source: KafkaApis#handleDescribeTransactionsRequest, #handleListTransactionsRequest,
#handleDescribeProducersRequest, #handleWriteTxnMarkersRequest, #handleDescribeCluster (4.3).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ....kafka.coordinator.entry import (
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
)
from ....kafka.errors import Error
from ....kafka.log.role import DescribeProducers, DescribeProducersResponse
from ....kafka.messages import WriteTxnMarkers
from ....kafka.states import TxnState
from ....kernel import Caller, Effects, Reply
from ..wire.answers import (
    ActiveProducer,
    ClusterBroker,
    DescribedCluster,
    DescribedTransaction,
    DescribedTransactions,
    ListedTransaction,
    ListedTransactions,
    Marked,
    MarkersWritten,
    OfTopic,
    PartitionError,
    ProducersOfPartition,
    TopicPartitions,
    Topics,
    moment,
)
from ..wire.api import Ask
from ..wire.encoding import by_topic
from .internal import STATE

if TYPE_CHECKING:
    from . import Broker, Gathering

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


def begin_describe(broker: Broker, caller: Caller, ask: Ask) -> Result:
    ids = tuple(ask.body.transactional_ids)
    parts = [(broker.config.kafka.coordinator, DescribeTransactions(i)) for i in ids]
    return broker.gather(caller, ask, parts, ids)


def finish_describe(broker: Broker, done: Gathering) -> DescribedTransactions:
    rows = (_transaction(txn_id, done.got[i]) for i, txn_id in enumerate(done.plan))
    return DescribedTransactions(tuple(rows))


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
        tuple(
            TopicPartitions(t, tuple(indexes)) for t, indexes in by_topic(answer.partitions).items()
        ),
    )


def begin_list(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Filters: by state, by producer id, by age (version 1), by a pattern of the id (2)."""
    body = ask.body
    request = ListTransactions(
        tuple(s for s in body.state_filters if s in STATES),
        tuple(body.producer_id_filters),
        getattr(body, "duration_filter", -1),
        getattr(body, "transactional_id_pattern", None) or "",
    )
    return broker.gather(caller, ask, [(broker.config.kafka.coordinator, request)])


def finish_list(broker: Broker, done: Gathering) -> ListedTransactions:
    answer = done.got[0]
    wanted = done.ask.body.state_filters
    unknown = tuple(s for s in wanted if s not in STATES)
    if answer.error:
        return ListedTransactions((), unknown, answer.error)
    none_known = wanted and len(unknown) == len(wanted)
    rows = () if none_known else answer.transactions
    return ListedTransactions(
        tuple(ListedTransaction(t.txn_id, t.pid, t.state) for t in rows), unknown
    )


# ---- producers of a partition ------------------------------------------------------------


def begin_producers(broker: Broker, caller: Caller, ask: Ask) -> Result:
    parts: list[tuple[str, Any]] = []
    plan = []
    for topic in ask.body.topics:
        row: list[tuple[int, int | None]] = []
        for index in topic.partition_indexes:
            role = broker.find_role(topic.name, index)
            row.append((index, None if role is None else len(parts)))
            if role is not None:
                parts.append((role, DescribeProducers()))
        why = None if broker.topic(topic.name) else NOT_HERE
        plan.append((topic.name, why, tuple(row)))
    return broker.gather(caller, ask, parts, tuple(plan))


def finish_producers(broker: Broker, done: Gathering) -> Topics:
    return Topics(
        tuple(
            OfTopic(
                name, tuple(_producers(i, None if k is None else done.got[k], why) for i, k in row)
            )
            for name, why, row in done.plan
        )
    )


def _producers(
    index: int, answer: DescribeProducersResponse | None, why: str | None
) -> ProducersOfPartition:
    if answer is None or answer.error:
        return ProducersOfPartition(index, answer.error if answer else UNKNOWN, why)
    active = tuple(
        ActiveProducer(p.pid, p.epoch, p.last_seq, p.last_ms, p.coordinator_epoch, p.txn_first)
        for p in answer.producers
    )
    return ProducersOfPartition(index, active_producers=active)


# ---- markers -----------------------------------------------------------------------------


def begin_markers(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle WriteTxnMarkers, which a coordinator of another broker or an administrator sends: pass
    each marker to the roles of its partitions (leaders, and group coordinators for those of
    __consumer_offsets). When all have answered, `finish_markers` makes the
    response from the plan, which holds the partitions that are refused here with their error."""
    requests: list[tuple[str, Any]] = []
    plan = []
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
            # by partition: why it is refused, or the index of its message in `requests`
            outcomes: list[tuple[int, Error | int]] = []
            for index in topic.partition_indexes:
                role = broker.find_role(topic.name, index)
                if error := _marker_error(marker, topic.name, role):
                    outcomes.append((index, error))
                    continue
                assert role is not None  # else there was an error
                outcomes.append((index, len(requests)))
                requests.append((role, request))
            topics.append((topic.name, tuple(outcomes)))
        plan.append((marker.producer_id, tuple(topics)))
    return broker.gather(caller, ask, requests, tuple(plan))


def _marker_error(marker: Any, topic: str, role: str | None) -> Error:
    """Why this marker cannot be written there. A real broker fails on a negative id while it writes
    the batch. It would write a marker into __transaction_state (STATE), which is refused here."""
    if role is None:
        return UNKNOWN
    if marker.producer_id < 0 or marker.producer_epoch < 0:
        return Error.UNKNOWN_SERVER_ERROR
    return Error.INVALID_TOPIC_EXCEPTION if topic == STATE else Error.NONE


def finish_markers(broker: Broker, done: Gathering) -> MarkersWritten:
    """Make the response to WriteTxnMarkers from the leaders' answers. The plan holds, for each
    partition, the error with which it was refused, or the index of its answer in `done.got`."""

    def error_of(outcome: Error | int) -> Error:
        error: Error = outcome if isinstance(outcome, Error) else done.got[outcome].error
        return error

    return MarkersWritten(
        tuple(
            Marked(
                producer_id,
                tuple(
                    OfTopic(name, tuple(PartitionError(i, error_of(each)) for i, each in outcomes))
                    for name, outcomes in topics
                ),
            )
            for producer_id, topics in done.plan
        )
    )
