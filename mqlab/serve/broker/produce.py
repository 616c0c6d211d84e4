"""Produce: one batch for each of several partitions.

What can be seen from the bytes alone is checked here, before a leader hears of it: the
checksum, one batch of the current format, no forged marker. All else is the leader's.

Source: KafkaApis#handleProduceRequest, ProduceRequest#validateRecords (Kafka 4.3).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...kafka.errors import Error
from ...kafka.messages import Produce, ProduceResponse
from ...kernel import Caller, Effects
from ..wire.answers import Produced, ProducedPartition, ProducedTopic
from ..wire.api import Ask
from ..wire.records import parsed
from .transactions import too_new

if TYPE_CHECKING:
    from . import Broker, Gathering

#: of each topic its name, its id, and of each partition its index and what is known of it:
#: the place of its part among those sent, or the answer right away.
Plan = tuple[tuple[str, UUID | None, tuple[tuple[int, int | ProduceResponse], ...]], ...]


class Hangup:
    """No answer but a closed connection: all that a producer with acks=0 can be told."""


def begin(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    body = ask.body
    parts: list[tuple[str, Any]] = []
    plan = []
    new = too_new(broker, ask)
    bad_acks = body.acks not in (-1, 0, 1)
    for topic in body.topic_data:
        name, topic_id = getattr(topic, "name", None), getattr(topic, "topic_id", None)
        known = broker.topic(name, topic_id)
        row: list[tuple[int, int | ProduceResponse]] = []
        for part in topic.partition_data:
            role = broker.partition(known.name, part.index) if known is not None else None
            batch = parsed(part.records)
            if bad_acks:
                row.append((part.index, ProduceResponse(Error.INVALID_REQUIRED_ACKS)))
            elif role is None or known is None:
                error = Error.UNKNOWN_TOPIC_OR_PARTITION if name else Error.UNKNOWN_TOPIC_ID
                row.append((part.index, ProduceResponse(error)))
            elif known.name in broker.internal:
                row.append((part.index, ProduceResponse(Error.INVALID_TOPIC_EXCEPTION)))
            elif isinstance(batch, Error):
                row.append((part.index, ProduceResponse(batch)))
            elif batch.transactional and new:
                row.append((part.index, ProduceResponse(Error.UNSUPPORTED_VERSION)))
            elif batch.size > known.max_message_bytes:
                row.append((part.index, ProduceResponse(Error.MESSAGE_TOO_LARGE)))
            else:
                row.append((part.index, len(parts)))
                parts.append((role, Produce(batch, body.transactional_id, ask.version)))
        plan.append((known.name if known else name or "", topic_id, tuple(row)))
    return broker.gather(caller, ask, parts, tuple(plan))


def finish(broker: Broker, done: Gathering) -> Produced | Hangup | None:
    plan: Plan = done.plan
    answer = Produced(
        tuple(
            ProducedTopic(name, topic_id, tuple(_said(done, i, known) for i, known in row))
            for name, topic_id, row in plan
        )
    )
    if done.ask.body.acks != 0:
        return answer
    refused = any(p.error_code for t in answer.responses for p in t.partition_responses)
    return Hangup() if refused else None


def _said(done: Gathering, index: int, known: int | ProduceResponse) -> ProducedPartition:
    told: ProduceResponse = done.got[known] if isinstance(known, int) else known
    at = datetime.fromtimestamp(told.at_ms / 1000, UTC) if told.at_ms >= 0 else None
    return ProducedPartition(index, told.error, told.base_offset, at)
