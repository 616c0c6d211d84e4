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
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from ....kafka.errors import Error
from ....kafka.messages import Produce, ProduceResponse
from ....kernel import Caller, Effects, tr
from ...adapter import Hangup
from ..wire.answers import OfTopic, ProducedPartition, RecordError, Table
from ..wire.api import Ask
from ..wire.validation import Flaw, inspect_batch, says_transactional
from . import configs
from .gathering import Later, Rows
from .transactions import too_new

if TYPE_CHECKING:
    from . import Broker

NOT_ADDED = "Partition was not added to the transaction"
TWO_IDS = Flaw(
    Error.INVALID_PRODUCER_ID_MAPPING, "Transactional records contained more than one producer ID"
)


def produce(broker: Broker, caller: Caller, ask: Ask, at_ms: int) -> tuple[Broker, Effects]:
    """Handle Produce: check each batch and send the good ones to the leaders of their partitions. A
    batch with a flaw is refused here, except where it would begin a transaction all the same: then
    the leader gets it with its error. A partition named twice counts once, with what came last."""
    body = ask.body
    topics: list[tuple[str, UUID | None, dict[int, ProducedPartition | Later]]] = []
    request_flaw = _request_flaw(ask)
    # is_too_new: whether this version needs transaction.version 2, which the server has off;
    # verify: whether leaders ask the coordinator before they open a transaction
    is_too_new = too_new(broker, ask)
    verify = broker.verification.strip().lower() != "false"
    producer_ids = set()
    for topic in body.topic_data:
        name, topic_id = getattr(topic, "name", None), getattr(topic, "topic_id", None)
        known = broker.topic(name, topic_id)
        rows: dict[int, ProducedPartition | Later] = {}
        for part in {p.index: p for p in topic.partition_data}.values():
            leader = broker.partition(known.name, part.index) if known is not None else None
            if request_flaw is not None:
                rows[part.index] = _refuse(part.index, request_flaw)
                continue
            if leader is None or known is None:
                error = Error.UNKNOWN_TOPIC_OR_PARTITION if name else Error.UNKNOWN_TOPIC_ID
                rows[part.index] = _refuse(part.index, Flaw(error))
                continue
            if known.name in broker.internal:
                rows[part.index] = _refuse(part.index, Flaw(Error.INVALID_TOPIC_EXCEPTION))
                continue
            rules = configs.rules(known.configs)
            batch, flaw = inspect_batch(part.records, rules, at_ms, leader)
            if batch is not None and batch.transactional:
                producer_ids.add(batch.pid)
                flaw = Flaw(Error.UNSUPPORTED_VERSION) if is_too_new else flaw
            # with a flaw the answer is known, unless a transaction would begin all the same
            if flaw is not None and (batch is None or not batch.transactional or is_too_new):
                rows[part.index] = _refuse(part.index, flaw)
                continue
            assert batch is not None, "one without a flaw was parsed"
            error = flaw.error if flaw is not None else Error.NONE
            # the time that the broker gives to the records; -1: their own
            stamp_ms = at_ms if rules.append_time else -1
            message = Produce(batch, body.transactional_id, ask.version, error, verify)
            made = partial(_word_answer, ask, part.index, flaw, stamp_ms)
            rows[part.index] = Later(leader, message, made)
        topics.append((known.name if known else name or "", topic_id, rows))
    if len(producer_ids) > 1:
        # Batches of two producers: nothing is written at all (ReplicaManager#handleProduceAppend).
        topics = [(n, i, {at: _refuse(at, TWO_IDS) for at in rows}) for n, i, rows in topics]
    parts = (Rows(partial(OfTopic, n, topic_id=i), tuple(rows.values())) for n, i, rows in topics)
    return broker.gather(caller, ask, Rows(partial(_answer, body.acks), tuple(parts)))


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


def _answer(acks: int, topics: tuple[OfTopic, ...]) -> Table | Hangup | None:
    if acks != 0:
        return Table(topics)
    refused = any(p.error_code for t in topics for p in t.rows)
    # A closed connection is the only answer that a producer with acks=0 can get.
    return Hangup(tr("a batch sent with acks=0 was refused")) if refused else None


def _word_answer(
    ask: Ask, index: int, flaw: Flaw | None, at_ms: int, answer: ProduceResponse
) -> ProducedPartition:
    """Make one partition's part of the response to Produce: where the leader appended the batch, or
    why it refused it, with the errors of single records. `flaw`: that with which the batch was sent
    on; `at_ms`: the broker's clock, if that stamps it, else -1."""
    if not answer.error:
        # a duplicate: when it was first written; else the broker's time, if it sets the time
        ms = answer.at_ms if answer.at_ms >= 0 else at_ms
        time = datetime.fromtimestamp(ms / 1000, UTC) if ms >= 0 else None
        return ProducedPartition(index, Error.NONE, answer.base_offset, time, answer.start)
    if flaw is not None and answer.error is flaw.error:
        return _refuse(index, flaw)
    # An error of the leader's own. Before version 11 INVALID_TXN_STATE stands for the later
    # TRANSACTION_ABORTABLE, and these words say which of its causes it was.
    not_added = answer.error is Error.INVALID_TXN_STATE and ask.version < 11
    words = NOT_ADDED if not_added and ask.body.transactional_id is not None else None
    return _refuse(index, Flaw(answer.error, words))


def _refuse(index: int, flaw: Flaw) -> ProducedPartition:
    records = tuple(RecordError(i, words) for i, words in flaw.records)
    return ProducedPartition(
        index, flaw.error, log_start_offset=-1, record_errors=records, error_message=flaw.words
    )
