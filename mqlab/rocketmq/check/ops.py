"""Op records: "the half at this queue offset has ended".

An op record is an ordinary message of the op topic with the tag `d`. Its body holds *queue
offsets of the half topic*, not positions in the commit log. Up to 5.0 each end wrote one, at
once. Since 5.1 the offsets wait in memory and leave together, after 3 s or 4,096 characters:
**what a kill takes from there is forgotten**, the half is asked about again, and a second COMMIT
delivers its message a second time.

Sources: TransactionalMessageBridge#writeOp, TransactionalMessageServiceImpl#deletePrepareMessage,
#batchSendOpMessage, #getOpMessage, TransactionalMessageUtil (4.9.8, 5.5.0).
"""

from __future__ import annotations

from ...kernel import CancelTimer, SetTimer
from ..config import OP_TOPIC, RocketMQConfig
from ..log.store import HALF_QUEUE, Stored, Writer
from ..messages import TAGS, Message, Properties

REMOVE_TAG = "d"
OP_BATCH = "op batch"

Pending = tuple[int, ...]


def build_op(body: str, config: RocketMQConfig, at_ms: int) -> Message:
    properties = Properties([(TAGS, REMOVE_TAG)])
    return Message(OP_TOPIC, 0, body, properties, born_ms=at_ms, born_host=config.broker)


def parse_op(op: Stored) -> tuple[int, ...]:
    """The half offsets that an op record names; one with a foreign tag names none."""
    if op.message.get(TAGS) != REMOVE_TAG:
        return ()
    body = op.message.body
    text = body if isinstance(body, str) else body.decode()
    return tuple(int(part) for part in text.split(",") if part.strip().isdigit())


def record_end(
    config: RocketMQConfig,
    pending: Pending,
    offset: int,
    writer: Writer,
    at_ms: int,
    since_ms: int,
) -> Pending:
    """Note that the half at this offset has ended: written now (4.9), or with others soon.
    `since_ms`: when the first end of all came, or when a full record was last written."""
    if "op_topic" not in config.on:
        return pending
    if not config.batches_ops:
        writer.put(build_op(str(offset), config, at_ms))
        return pending
    new = (*pending, offset)
    if _fill_a_record(config, new, max(offset, writer.end_of(HALF_QUEUE))):
        writer.add(CancelTimer(OP_BATCH))
        return write_batch(config, new, writer, at_ms)
    if not pending:
        writer.add(schedule_batch(config, at_ms - since_ms))
    return new


def schedule_batch(config: RocketMQConfig, passed_ms: int) -> SetTimer:
    """The next pass of the batch service: it comes round at a fixed interval, of which so much
    has passed (TransactionalOpBatchService; lastWriteTimestamp of MessageQueueOpContext)."""
    return SetTimer(OP_BATCH, config.op_batch_ms - passed_ms % config.op_batch_ms)


def write_batch(config: RocketMQConfig, pending: Pending, writer: Writer, at_ms: int) -> Pending:
    """Write what waits, in records of a limited size; nothing waits afterwards."""
    body = ""
    for offset in pending:
        body += f"{offset},"
        if len(body) >= config.op_batch_chars:
            writer.put(build_op(body, config, at_ms))
            body = ""
    if body:
        writer.put(build_op(body, config, at_ms))
    return ()


def _fill_a_record(config: RocketMQConfig, offsets: Pending, largest: int) -> bool:
    """Whether a record cannot take more. Most often a number that none exceeds is enough to say
    no."""
    most = len(offsets) * (len(str(largest)) + 1)
    if most < config.op_batch_chars:
        return False
    return sum(len(str(offset)) + 1 for offset in offsets) >= config.op_batch_chars
