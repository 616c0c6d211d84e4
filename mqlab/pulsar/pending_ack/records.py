"""The log of pending acks: what a record does, when it is written and when it is replayed.

Sources: MLPendingAckStore#appendIndividualAck, #appendCommitMark, MLPendingAckReplyCallBack#
handleMetadataEntry, PendingAckHandleImpl#internalCommitTxn, #internalAbortTxn (4.2).
"""

from __future__ import annotations

from ...kernel import frozen, replace
from ...kernel.role import LogView
from ..config import PulsarConfig
from ..ledger import Cursor
from ..messages import PendingAckEntry, TxnID
from ..states import AckType, PendingAckState, TxnAction
from .handle import PendingAck, acknowledge_up_to

ACK, COMMIT, ABORT = "ACK", "COMMIT", "ABORT"


@frozen
class Applied:
    """What a record has done. `conflict`: why an ACK was refused. `freed`: entries that an abort
    makes deliverable again."""

    pending: PendingAck
    cursor: Cursor
    conflict: str = ""
    freed: tuple[int, ...] = ()


def build_end(
    pending: PendingAck, txn: TxnID, action: TxnAction, base: int
) -> PendingAckEntry | None:
    """The record that ends a transaction here; None: there is nothing to do, and that is a
    success. The cumulative slot is looked at first, no matter who holds it: a commit of another
    transaction then does nothing, and its abort takes the cumulative path as well."""
    kind = AckType.INDIVIDUAL if pending.slot is None else AckType.CUMULATIVE
    if action is TxnAction.COMMIT:
        foreign = pending.slot is not None and pending.slot[0] != txn
        return None if foreign else PendingAckEntry(base, COMMIT, txn, kind)
    idle = pending.slot is None and not pending.used
    return None if idle else PendingAckEntry(base, ABORT, txn, kind)


def apply_record(
    config: PulsarConfig, pending: PendingAck, cursor: Cursor, record: PendingAckEntry, lac: int
) -> Applied:
    """What the record does to the handle and to the cursor; `lac`: the topic's last confirmed
    entry."""
    by_index = bool(config.batch_index_ack)
    match record.op, record.ack_type:
        case "ACK", _:
            return _apply_ack(config, pending, cursor, record)
        case "COMMIT", AckType.CUMULATIVE:
            if pending.slot is None:
                return Applied(pending, cursor)
            cursor = acknowledge_up_to(cursor, pending.slot[1], by_index, lac)
            return Applied(pending.free_slot().clear_up_to(cursor.mark_delete), cursor)
        case "COMMIT", _:
            new, cursor = pending.commit(record.txn, cursor, by_index, lac)
            return Applied(new, cursor)
        case _, AckType.CUMULATIVE:
            mine = pending.slot is not None and pending.slot[0] == record.txn
            return Applied(pending.free_slot() if mine else pending, cursor)
    new, freed = pending.abort(record.txn)
    return Applied(new, cursor, freed=freed)


def _apply_ack(
    config: PulsarConfig, pending: PendingAck, cursor: Cursor, record: PendingAckEntry
) -> Applied:
    """All positions of one request, or none of them."""
    txn, positions = record.txn, record.positions
    cumulative = record.ack_type is AckType.CUMULATIVE
    if conflict := _find_conflict(config, pending, cursor, record):
        return Applied(pending, cursor, conflict)
    new = (
        pending.hold_slot(txn, positions[0]) if cumulative else pending.acknowledge(txn, positions)
    )
    return Applied(new, cursor)


def _find_conflict(
    config: PulsarConfig, pending: PendingAck, cursor: Cursor, record: PendingAckEntry
) -> str:
    """Why the positions of an ACK cannot be acknowledged; "" where they can."""
    txn, positions = record.txn, record.positions
    if "pending_ack_conflict" not in config.on:
        return ""
    if record.ack_type is AckType.CUMULATIVE:
        return pending.find_cumulative_conflict(cursor, txn, positions[0])
    return pending.find_conflict(cursor, txn, positions)


def replay_log(
    config: PulsarConfig, pending: PendingAck, cursor: Cursor, log: LogView, lac: int
) -> tuple[PendingAck, Cursor]:
    """The handle, which is empty, as its log says, and the cursor with what a stop kept a commit
    from doing. What a plain acknowledgement has taken since then is refused as it would be now.
    A commit of what was not there then and is there now takes effect."""
    if log.end == 0:
        return pending, cursor
    pending = replace(pending, state=PendingAckState.READY)
    for record in log.read(0):
        done = apply_record(config, pending, cursor, record, lac)
        pending, cursor = done.pending, done.cursor
    return pending, cursor
