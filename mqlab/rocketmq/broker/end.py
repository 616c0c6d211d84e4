"""EndTransaction: the half is looked up, checked, and its end written down.

A commit is two records: the message itself, complete, in its real topic; then the op record. They
are not written as one. A stop in between leaves a delivered message whose half still counts as
open. The other order would leave a half that counts as ended and was never delivered: that one
loses a message, so the real broker does it this way round.

A rollback writes the op record only. Nothing is deleted: the half stays where it is, and a
COMMIT that comes later still finds it.

Sources: EndTransactionProcessor#processRequest, #checkPrepareMessage, #endMessageTransaction,
#rejectCommitOrRollback (4.9.8, 5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Reply, replace
from ..check.halves import build_committed
from ..check.ops import record_end
from ..errors import (
    COMMIT_LOG_OFFSET_WRONG,
    END_TOO_LARGE,
    FLAG_WRONG,
    GROUP_WRONG,
    HALF_NOT_FOUND,
    QUEUE_OFFSET_WRONG,
    ResponseCode,
)
from ..log import Stored, Writer, find_misfit, read_stored
from ..messages import (
    CHECK_IMMUNITY,
    NAMES,
    PGROUP,
    REAL_TOPIC,
    EndTransaction,
    EndTransactionResponse,
)
from ..states import TransactionType

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]


def end_transaction(
    broker: Broker, ask: EndTransaction, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """What an UNKNOW asks for is nothing at all, and nobody answers it."""
    if ask.end not in NAMES:
        return broker, _answer(ask, caller, ResponseCode.SYSTEM_ERROR, FLAG_WRONG)
    if ask.end == TransactionType.NOT_TYPE:
        return broker, ()
    half = read_stored(disk, ask.commit_log_offset)
    if half is None:
        return broker, _answer(ask, caller, ResponseCode.SYSTEM_ERROR, HALF_NOT_FOUND)
    if _comes_too_late(broker, ask, half, at_ms):
        return broker, _answer(ask, caller, ResponseCode.ILLEGAL_OPERATION)
    wrong = _find_mismatch(ask, half) if "end_validation" in broker.config.on else ""
    if wrong:
        return broker, _answer(ask, caller, ResponseCode.SYSTEM_ERROR, wrong)
    if ask.end == TransactionType.COMMIT_TYPE:
        if find_misfit(build_committed(half, broker.config), broker.config.release):
            return broker, _answer(ask, caller, ResponseCode.MESSAGE_ILLEGAL, END_TOO_LARGE)
    new, effects = _write_end(broker, ask, half, disk, at_ms)
    return new, (*effects, *_answer(ask, caller, ResponseCode.SUCCESS))


def _answer(ask: EndTransaction, caller: Caller, code: ResponseCode, remark: str = "") -> Effects:
    """Clients send it one-way; an error is then known to the broker's log only."""
    return () if ask.oneway else (Reply(caller, EndTransactionResponse(code, remark)),)


def _comes_too_late(broker: Broker, ask: EndTransaction, half: Stored, at_ms: int) -> bool:
    """Since 5.1.1: an end of the client's own accord, of a half with an immunity of its own that
    has passed. The check may be under way, and its answer is to decide."""
    config = broker.config
    if config.release == "4.9" or ask.from_check or half.message.get(CHECK_IMMUNITY) is None:
        return False
    own = (half.message.immunity_s or 0) * 1_000
    return at_ms - half.message.born_ms > max(own, config.timeout_ms)


def _find_mismatch(ask: EndTransaction, half: Stored) -> str:
    """Three comparisons, in this order (checkPrepareMessage)."""
    if half.message.get(PGROUP) != ask.group:
        return GROUP_WRONG
    if half.queue_offset != ask.queue_offset:
        return QUEUE_OFFSET_WRONG
    if half.base != ask.commit_log_offset:
        return COMMIT_LOG_OFFSET_WRONG
    return ""


def _write_end(broker: Broker, ask: EndTransaction, half: Stored, disk: Disk, at_ms: int) -> Result:
    """The message, then the op record. A half that was stored in its real topic (no half topic)
    is there already, whatever is said of it now."""
    if half.message.get(REAL_TOPIC) is None:
        return broker, ()
    config, ops, since = broker.config, broker.ops, broker.ops_since or at_ms
    writer = Writer(disk, at_ms, notify=config.flush == "sync")
    usual = ("message", "op") if "message_before_op" in config.on else ("op", "message")
    for part in config.order_of("end_transaction", *usual):
        if part == "op":
            ops = record_end(config, ops, half.queue_offset, writer, at_ms, since)
            since = since if ops else at_ms
        elif ask.end == TransactionType.COMMIT_TYPE:
            writer.put(build_committed(half, config))
    return replace(broker, ops=ops, ops_since=since), writer.effects
