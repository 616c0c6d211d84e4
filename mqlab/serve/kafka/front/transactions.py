"""The requests to the transaction coordinator: handed on, and answered in words the client's
version knows.

Source: KafkaApis#handleInitProducerIdRequest, #handleAddPartitionsToTxnRequest,
#handleAddOffsetsToTxnRequest, #handleEndTxnRequest (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kafka.errors import Error
from ....kafka.messages import AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId
from ....kernel import Caller, Effects, Reply
from ..wire.answers import (
    ErrorOnly,
    OfTopic,
    OwnProducerId,
    PartitionError,
    Table,
)
from ..wire.api import Api, Ask
from .gathering import Later
from .internal import STATE
from .topic import INTERNAL

if TYPE_CHECKING:
    from . import Broker


#: versions that only a cluster at transaction.version 2 understands
SINCE_V2 = {Api.PRODUCE: 12, Api.END_TXN: 5, Api.TXN_OFFSET_COMMIT: 5}


def older(error: Error, version: int, since: int) -> Error:
    """PRODUCER_FENCED has a name of its own only from version `since` on."""
    if error is Error.PRODUCER_FENCED and version < since:
        return Error.INVALID_PRODUCER_EPOCH
    return error


def too_new(broker: Broker, ask: Ask) -> bool:
    """Whether this version needs transaction.version 2, and the cluster is at 0. A real
    4.3.1 refuses it too, and then leaves the id's transition pending for ever (seen): that
    is not copied."""
    since = SINCE_V2.get(ask.api)
    return (
        since is not None and ask.version >= since and broker.config.kafka.transaction_version < 2
    )


# ---- InitProducerId --------------------------------------------------------------------


def init(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    body = ask.body
    request = InitProducerId(
        txn_id=body.transactional_id,
        timeout_ms=round(body.transaction_timeout.total_seconds() * 1000),
        pid=getattr(body, "producer_id", -1),
        epoch=getattr(body, "producer_epoch", -1),
    )
    if request.txn_id:  # a client that has not looked for the coordinator finds its log, too
        broker = broker.with_internal(STATE)

    def make(answer: Any) -> OwnProducerId:
        error = older(answer.error, ask.version, 4)
        return OwnProducerId(error, answer.pid, answer.epoch)

    return broker.gather(caller, ask, Later(broker.config.kafka.coordinator, request, make))


# ---- AddPartitionsToTxn ----------------------------------------------------------------


def add_partitions(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    """Handle AddPartitionsToTxn: ask the transaction coordinator to add these partitions to the
    transaction. All or nothing: if one of them cannot be added, none is. (From version 4 on another
    broker asks, of which there is none.)"""
    body = ask.body
    named = [(t.name, i) for t in body.v3_and_below_topics for i in t.partitions]
    errors = _partition_errors(broker, named)
    if errors:
        return broker, (Reply(caller, _refuse(ask, errors)),)
    request = AddPartitionsToTxn(
        txn_id=body.v3_and_below_transactional_id,
        pid=body.v3_and_below_producer_id,
        epoch=body.v3_and_below_producer_epoch,
        partitions=tuple(sorted({f"{name}-{index}" for name, index in named})),
    )

    def make(answer: Any) -> Table:
        return _refuse(ask, dict.fromkeys(named, older(answer.error, ask.version, 2)))

    return broker.gather(caller, ask, Later(broker.config.kafka.coordinator, request, make))


def _partition_errors(broker: Broker, named: list[tuple[str, int]]) -> dict[tuple[str, int], Error]:
    """Each partition with its error, if one of them cannot be added; else nothing. Internal
    topics are not for clients: offsets are added by AddOffsetsToTxn."""
    errors = {}
    for name, index in named:
        if name in INTERNAL:
            errors[name, index] = Error.TOPIC_AUTHORIZATION_FAILED
        elif broker.partition(name, index) is None:
            errors[name, index] = Error.UNKNOWN_TOPIC_OR_PARTITION
    if not errors:
        return {}
    return {part: errors.get(part, Error.OPERATION_NOT_ATTEMPTED) for part in named}


def _refuse(ask: Ask, errors: dict[tuple[str, int], Error]) -> Table:
    return Table(
        tuple(
            OfTopic(t.name, tuple(PartitionError(i, errors[t.name, i]) for i in t.partitions))
            for t in ask.body.v3_and_below_topics
        )
    )


# ---- AddOffsetsToTxn, EndTxn -----------------------------------------------------------


def add_offsets(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    body = ask.body
    request = AddOffsetsToTxn(
        body.transactional_id, body.producer_id, body.producer_epoch, body.group_id
    )

    def make(answer: Any) -> ErrorOnly:
        return ErrorOnly(older(answer.error, ask.version, 2))

    return broker.gather(caller, ask, Later(broker.config.kafka.coordinator, request, make))


def end(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    """From version 5 on the answer carries the next epoch: such a client speaks v2."""
    body = ask.body
    if too_new(broker, ask):
        return broker, (Reply(caller, OwnProducerId(Error.UNSUPPORTED_VERSION)),)
    request = EndTxn(
        txn_id=body.transactional_id,
        pid=body.producer_id,
        epoch=body.producer_epoch,
        commit=body.committed,
        v2=ask.version >= 5,
    )

    def make(answer: Any) -> OwnProducerId:
        return OwnProducerId(older(answer.error, ask.version, 2), answer.pid, answer.epoch)

    return broker.gather(caller, ask, Later(broker.config.kafka.coordinator, request, make))
