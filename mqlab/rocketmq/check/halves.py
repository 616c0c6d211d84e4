"""What a half message is turned into: a half, a copy of it, a parked one, the message itself.

Sources: TransactionalMessageBridge#parseHalfMessageInner, #renewHalfMessageInner,
DefaultTransactionalMessageCheckListener#resolveDiscardMsg,
AbstractTransactionalMessageCheckListener#sendCheckMessage,
EndTransactionProcessor#endMessageTransaction,
AdminBrokerProcessor#resumeCheckHalfMessage (5.5.0).
"""

from __future__ import annotations

from ...kernel import replace
from ..config import DISCARD_TOPIC, HALF_TOPIC, RocketMQConfig
from ..log import Stored
from ..messages import (
    CHECK_TIMES,
    PREPARED_QUEUE_OFFSET,
    REAL_QID,
    REAL_TOPIC,
    TRANSACTION_ID,
    UNIQ_KEY,
    WAIT,
    CheckTransactionState,
    Message,
)
from ..states import TransactionType


def build_half(message: Message, config: RocketMQConfig) -> Message:
    """An ordinary message of another topic: topic and queue are noted in properties, and the
    PREPARED bit is *cleared*, or no queue entry would be written for it."""
    message = message.mark(TransactionType.NOT_TYPE)
    if "half_topic" not in config.on:
        return message
    half = message.put((REAL_TOPIC, message.topic), (REAL_QID, str(message.queue_id)))
    key = message.get(UNIQ_KEY)
    if config.batches_ops and key:  # since 5.1
        half = half.put((TRANSACTION_ID, key))
    return replace(half, topic=HALF_TOPIC, queue_id=0)


def restore_message(half: Stored) -> Message:
    """With its real topic and queue again."""
    message = half.message
    return replace(
        message,
        topic=message.get(REAL_TOPIC) or message.topic,
        queue_id=int(message.get(REAL_QID) or 0),
    )


def build_committed(half: Stored, config: RocketMQConfig) -> Message:
    """The message that consumers get: a complete new record. It keeps the half's properties, so
    consumers see TRAN_MSG and PGROUP; 5.5 takes REAL_TOPIC and REAL_QID off."""
    message = restore_message(half)
    if config.release != "4.9":
        message = message.clear((REAL_TOPIC, REAL_QID))
    return replace(message.mark(TransactionType.COMMIT_TYPE), prepared_offset=half.base)


def build_copy(half: Stored, times: int) -> Message:
    """The half once more, for the end of the half topic. When it was born stays; the flag that
    its application gave it is lost here, so that a message whose half was asked about comes
    without it."""
    return replace(half.message, flag=0).put((CHECK_TIMES, str(times)))


def mark_immune(half: Stored, message: Message) -> Message:
    """A copy made while the half is immune says where the first one lies: its end may name that."""
    if message.get(PREPARED_QUEUE_OFFSET) is not None:
        return message
    return message.put((PREPARED_QUEUE_OFFSET, str(half.queue_offset)))


def build_parked(half: Stored) -> Message:
    return replace(half.message, topic=DISCARD_TOPIC, queue_id=0)


def build_resumed(stored: Stored) -> Message:
    """Back into the half topic, with all its checks before it."""
    return replace(stored.message, topic=HALF_TOPIC, queue_id=0).put((CHECK_TIMES, "0"))


def build_question(half: Stored, copy: Stored) -> CheckTransactionState:
    """About the half as it was found, at the place of the copy: its flag is not lost yet, and it
    says what the store was told of the copy, not to keep the broker waiting."""
    times = str(copy.message.check_times)
    message = restore_message(half).put((CHECK_TIMES, times), (WAIT, "false"))
    return CheckTransactionState(message, copy.queue_offset, copy.base, half.store_ms)
