"""Produce: one batch for each of several partitions.

What can be seen from the bytes alone is looked at here: the checksum, one batch of the
current format, no forged marker, as many records as it says, and what the topic demands
(`wire/validation.py`). All else is the leader's, and the leader gets a flawed batch
too where it is part of a transaction: a real one adds the partition before it looks.

Source: KafkaApis#handleProduceRequest, ReplicaManager#handleProduceAppend,
ProduceRequest#validateRecords (Kafka 4.3).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ....kafka.errors import Error
from ....kafka.log import Batch
from ....kafka.messages import Produce, ProduceResponse
from ....kernel import Caller, Effects, frozen, tr
from ...adapter import Hangup
from ..wire.answers import ProducedPartition, ProducedTopic, RecordError, Responses
from ..wire.api import Ask
from ..wire.validation import Flaw, inspect_batch, says_transactional
from . import configs
from .transactions import too_new

if TYPE_CHECKING:
    from . import Broker, Gathering

NOT_ADDED = "Partition was not added to the transaction"
TWO_IDS = Flaw(
    Error.INVALID_PRODUCER_ID_MAPPING, "Transactional records contained more than one producer ID"
)


@frozen
class Row:
    """A partition of the answer. `part`: the place of its batch among those sent, -1 where
    the answer is known; `flaw`: what its bytes say; `at_ms`: the broker's clock, if that
    stamps it."""

    index: int
    part: int
    flaw: Flaw | None = None
    at_ms: int = -1


#: of each topic its name, its id, its partitions
Plan = tuple[tuple[str, UUID | None, tuple[Row, ...]], ...]


def begin(broker: Broker, caller: Caller, ask: Ask, at_ms: int) -> tuple[Broker, Effects]:
    """Handle Produce: check each batch and send the good ones to the leaders of their partitions;
    `finish` makes the response from the plan when they have answered. A batch with a flaw is
    refused here, except where it would begin a transaction all the same: then the leader gets it
    with its error. A partition named twice counts once, with what came last."""
    body = ask.body
    requests: list[tuple[str, Any]] = []
    plan = []
    request_flaw = _request_flaw(ask)
    # is_too_new: whether this version needs transaction.version 2, which the server has off;
    # verify: whether leaders ask the coordinator before they open a transaction
    is_too_new = too_new(broker, ask)
    verify = broker.verification.strip().lower() != "false"
    producer_ids = set()
    for topic in body.topic_data:
        name, topic_id = getattr(topic, "name", None), getattr(topic, "topic_id", None)
        known = broker.topic(name, topic_id)
        rows = []  # by partition, with -1 in place of an index where the batch is not sent on
        for part in {p.index: p for p in topic.partition_data}.values():
            leader = broker.partition(known.name, part.index) if known is not None else None
            if request_flaw is not None:
                rows.append(Row(part.index, -1, request_flaw))
                continue
            if leader is None or known is None:
                error = Error.UNKNOWN_TOPIC_OR_PARTITION if name else Error.UNKNOWN_TOPIC_ID
                rows.append(Row(part.index, -1, Flaw(error)))
                continue
            if known.name in broker.internal:
                rows.append(Row(part.index, -1, Flaw(Error.INVALID_TOPIC_EXCEPTION)))
                continue
            rules = configs.rules(known.configs)
            batch, flaw = inspect_batch(part.records, rules, at_ms, leader)
            if batch is not None and batch.transactional:
                producer_ids.add(batch.pid)
                flaw = Flaw(Error.UNSUPPORTED_VERSION) if is_too_new else flaw
            if batch is None or _is_refused_here(batch, flaw, is_too_new):
                rows.append(Row(part.index, -1, flaw))
                continue
            error = flaw.error if flaw is not None else Error.NONE
            # the last field: the time that the broker gives to the records, -1: their own
            rows.append(Row(part.index, len(requests), flaw, at_ms if rules.append_time else -1))
            message = Produce(batch, body.transactional_id, ask.version, error, verify)
            requests.append((leader, message))
        plan.append((known.name if known else name or "", topic_id, tuple(rows)))
    if len(producer_ids) > 1:
        # Batches of two producers: nothing is written at all (ReplicaManager#handleProduceAppend).
        requests.clear()
        plan = [(n, i, tuple(Row(r.index, -1, TWO_IDS) for r in t)) for n, i, t in plan]
    return broker.gather(caller, ask, requests, tuple(plan))


def _request_flaw(ask: Ask) -> Flaw | None:
    """What is wrong with the request as a whole."""
    body = ask.body
    if body.transactional_id is None and any(
        says_transactional(part.records)
        for topic in body.topic_data
        for part in topic.partition_data
    ):
        # Whether an id that is not named may be used cannot be looked up.
        return Flaw(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return None if body.acks in (-1, 0, 1) else Flaw(Error.INVALID_REQUIRED_ACKS)


def _is_refused_here(batch: Batch, flaw: Flaw | None, new: bool) -> bool:
    """Whether the answer is known: a flaw, and no transaction that would begin all the same."""
    return flaw is not None and (not batch.transactional or new)


def finish(broker: Broker, done: Gathering) -> Responses | Hangup | None:
    plan: Plan = done.plan
    answer = Responses(
        tuple(
            ProducedTopic(name, topic_id, tuple(_finish_partition(done, row) for row in rows))
            for name, topic_id, rows in plan
        )
    )
    if done.ask.body.acks != 0:
        return answer
    refused = any(p.error_code for t in answer.responses for p in t.partition_responses)
    # A closed connection is the only answer that a producer with acks=0 can get.
    return Hangup(tr("a batch sent with acks=0 was refused")) if refused else None


def _finish_partition(done: Gathering, row: Row) -> ProducedPartition:
    """Make one partition's part of the response to Produce: where the leader appended the batch, or
    why it or this front refused it, with the errors of single records. `row`: what the plan says of
    the partition; `done.got`: the leaders' answers."""
    flaw = row.flaw
    if row.part >= 0:  # its batch was sent to the leader
        answer: ProduceResponse = done.got[row.part]
        if not answer.error:
            # a duplicate: when it was first written; else the broker's time, if it sets the time
            ms = answer.at_ms if answer.at_ms >= 0 else row.at_ms
            time = datetime.fromtimestamp(ms / 1000, UTC) if ms >= 0 else None
            return ProducedPartition(row.index, Error.NONE, answer.base_offset, time, answer.start)
        # an error of the leader's own, not the one that the batch was sent with
        if flaw is None or answer.error is not flaw.error:
            # before version 11 INVALID_TXN_STATE stands for the later TRANSACTION_ABORTABLE, and
            # these words say which of its causes it was
            not_added = answer.error is Error.INVALID_TXN_STATE and done.ask.version < 11
            transactional = done.ask.body.transactional_id is not None
            words = NOT_ADDED if not_added and transactional else None
            return ProducedPartition(
                row.index, answer.error, log_start_offset=-1, error_message=words
            )
    assert flaw is not None
    records = tuple(RecordError(i, words) for i, words in flaw.records)
    return ProducedPartition(
        row.index, flaw.error, log_start_offset=-1, record_errors=records, error_message=flaw.words
    )
