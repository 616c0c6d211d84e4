"""Pending acks: what open transactions have acknowledged in one subscription.

A transaction may acknowledge messages. Until it ends they are neither acknowledged nor free: they
are not delivered, and no other transaction may acknowledge them. A commit hands them to the
cursor; an abort frees them, and they are delivered again.

The record is written **before** the check, so what is refused is in the log too. A replay makes
the same checks in the same order, against the cursor as it is then.

**Durable**: the log, which holds positions and no messages. *Memory*: the handle. *What can go
wrong:* a stop between the record of a commit and the cursor's row: the replay acknowledges again.
An open transaction keeps its messages back for as long as it lives. *Invariants:* a message is
pending for at most one transaction (of a batch: each of its messages).

Three things that one would expect and that Pulsar does not do:

- A *plain* acknowledgement is not stopped by a pending one. It is applied at once, and the abort
  of the transaction does not bring the message back.
- A cumulative acknowledgement is one for the whole subscription, and it is not compared
  with individual ones.
- While there is one, a commit of another transaction with individual acknowledgements
  succeeds and leaves them pending. So the two kinds must not be mixed in one subscription.

*Left out:* the index by which the log is shortened (`transactionPendingAckLogIndexMinLag`), several
records in one entry, the states Error and Close.
Read on in PendingAckHandleImpl, MLPendingAckStore, MLPendingAckReplyCallBack (Pulsar 4.2).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import takewhile

from ..kernel import Map, frozen, replace
from ..kernel.role import LogView
from .config import PulsarConfig
from .ledger import Cursor, Marks, join
from .messages import AckPosition, Deleted, PendingAckEntry, TxnID
from .states import AckType, PendingAckState, TxnAction

# ---- The handle: who has acknowledged what, and the rules of conflict, commit and abort
#
# Sources: PendingAckHandleImpl#internalIndividualAcknowledgeMessage,
# #internalCumulativeAcknowledgeMessage, #individualAckCommitCommon, #individualAckAbortCommon,
# #clearIndividualPosition, #handleLowWaterMark (4.2).

#: pending indexes of an entry that was acknowledged whole
WHOLE = (-1,)

ALREADY_ACKED = "{txn} tries to ack {position}, which is already acked"
IN_PENDING_ACK = "{txn} tries to ack {position}, which is in pending ack status"
WITHIN_MARK = "{txn} tries to ack up to {position}, and markDeletePosition is {mark}"
CUMULATIVE_HELD = "{txn} tries to ack up to {position}, and {holder} has acked up to {held}"


@frozen
class PendingAck:
    """`state`: None until the first transaction acknowledges or ends here. `positions` (in the
    source `individualAckPositions`): entry → its pending indexes, or WHOLE. `of_txn`
    (`individualAckOfTransaction`): what each open transaction has acknowledged one by one, in the
    order in which they began to; `used`: one has, since this was loaded. `cumulative`
    (`cumulativeAckOfTransaction`): the one cumulative acknowledgement of the subscription.
    `marks`: up to where each coordinator's transactions have ended."""

    state: PendingAckState = PendingAckState.NONE
    positions: Map[int, tuple[int, ...]] = Map()
    of_txn: tuple[tuple[TxnID, tuple[AckPosition, ...]], ...] = ()
    used: bool = False
    cumulative: tuple[TxnID, AckPosition] | None = None
    marks: Marks = Marks()

    def acked_by(self, txn: TxnID) -> tuple[AckPosition, ...]:
        """What this transaction has acknowledged one by one."""
        return next((positions for other, positions in self.of_txn if other == txn), ())

    def is_pending(self, position: AckPosition) -> bool:
        """Whether an open transaction has acknowledged this message one by one."""
        pending = self.positions.get(position.position, ())
        whole = position.batch_index < 0
        return bool(pending) and (whole or pending == WHOLE or has(pending, position.batch_index))

    def has_some_left(self, position: AckPosition) -> bool:
        """Whether the batch of this message has others that are neither pending nor acknowledged
        (checkIsCanDeleteConsumerPendingAck, which says the opposite)."""
        pending = self.positions.get(position.position, WHOLE)
        return position.batch_index >= 0 and pending != WHOLE and len(pending) < position.batch_size

    # -- conflicts ---------------------------------------------------------------------------

    def find_conflict(self, cursor: Cursor, txn: TxnID, positions: Iterable[AckPosition]) -> str:
        """Why these positions cannot be acknowledged one by one, "" where they can. It does not
        matter whether this very transaction or another one holds a position. A plain
        acknowledgement is never asked."""
        for position in positions:
            at, index = position.position, position.batch_index
            if cursor.is_deleted(at) or cursor.has_acked(at, index):
                return ALREADY_ACKED.format(txn=txn, position=position)
            if self.is_pending(position):
                return IN_PENDING_ACK.format(txn=txn, position=position)
        return ""

    def find_cumulative_conflict(self, cursor: Cursor, txn: TxnID, position: AckPosition) -> str:
        """Why no other transaction can acknowledge up to here; the transaction that holds the
        pending cumulative acknowledgement may go on from where it is."""
        if position.position <= cursor.mark_delete:
            return WITHIN_MARK.format(txn=txn, position=position, mark=cursor.mark_delete)
        if self.cumulative is None:
            return ""
        holder, held = self.cumulative
        if holder != txn or _ack_order(position) <= _ack_order(held):
            return CUMULATIVE_HELD.format(txn=txn, position=position, holder=holder, held=held)
        return ""

    # -- acknowledge, commit, abort ----------------------------------------------------------

    def acknowledge(self, txn: TxnID, acked: tuple[AckPosition, ...]) -> PendingAck:
        """These positions are pending for `txn`."""
        positions = _join(self.positions, acked)
        mine = (*self.acked_by(txn), *acked)
        known = any(other == txn for other, _ in self.of_txn)
        of_txn = self.of_txn if known else (*self.of_txn, (txn, ()))
        of_txn = tuple((other, mine if other == txn else had) for other, had in of_txn)
        return replace(self, positions=positions, of_txn=of_txn, used=True)

    def hold_up_to(self, txn: TxnID, position: AckPosition) -> PendingAck:
        """`txn` holds the pending cumulative acknowledgement."""
        return replace(self, cumulative=(txn, position))

    def release(self) -> PendingAck:
        return replace(self, cumulative=None)

    def commit(
        self, txn: TxnID, cursor: Cursor, batch_index_ack: bool, lac: int
    ) -> tuple[PendingAck, Cursor]:
        """The cursor takes over what the transaction has acknowledged one by one. A message of a
        batch stays pending as well until the whole batch is acknowledged; and so does for good, for
        no transaction, what there is not yet: it will not be delivered."""
        acked = self.acked_by(txn)
        cursor = acknowledge(cursor, sorted(acked, key=_place), batch_index_ack, lac)
        return self._forget(txn).clear_deleted(cursor, acked), cursor

    def abort(self, txn: TxnID) -> tuple[PendingAck, tuple[int, ...]]:
        """What the transaction has acknowledged is free; gives the entries to deliver again."""
        freed = group(self.acked_by(txn))
        positions = self.positions
        for at, indexes in freed.items():
            gone = frozenset(indexes)
            kept = tuple(i for i in positions.get(at, ()) if i not in gone)
            whole = indexes == WHOLE or not kept
            positions = positions.remove(at) if whole else positions.set(at, kept)
        return replace(self._forget(txn), positions=positions), tuple(freed)

    def _forget(self, txn: TxnID) -> PendingAck:
        return replace(self, of_txn=tuple(pair for pair in self.of_txn if pair[0] != txn))

    # -- plain acknowledgements, and what has ended ------------------------------------------

    def join_indexes(self, acked: Iterable[AckPosition]) -> PendingAck:
        """Messages of a batch that were acknowledged without a transaction are kept beside the
        pending ones until the batch is done (syncBatchPositionAckSetForTransaction)."""
        of_batches = (position for position in acked if position.batch_index >= 0)
        return replace(self, positions=_join(self.positions, of_batches))

    def clear_deleted(self, cursor: Cursor, acked: Iterable[AckPosition]) -> PendingAck:
        """What the cursor has now is pending no more, no matter who acknowledged it. The
        transaction that had it still counts as open here."""
        positions = self.positions
        for position in acked:
            if cursor.is_deleted(position.position):
                positions = positions.remove(position.position)
        return replace(self, positions=positions)

    def clear_up_to(self, mark_delete: int) -> PendingAck:
        """The same after a cumulative acknowledgement."""
        kept = Map((at, had) for at, had in self.positions.items() if at > mark_delete)
        return replace(self, positions=kept)

    def hear_mark(self, txn: TxnID, low_watermark: int) -> PendingAck:
        return replace(self, marks=self.marks.hear(txn.most, low_watermark))

    def find_ended(self) -> TxnID | None:
        """The transaction at the head, if its coordinator has ended it long ago: it acknowledged
        here too late to be informed."""
        if not self.of_txn:
            return None
        head = self.of_txn[0][0]
        return head if self.marks.covers(head) else None


def group(positions: Iterable[AckPosition]) -> dict[int, tuple[int, ...]]:
    """Entry → its indexes that are named, sorted, or WHOLE: a request may name every message of a
    large batch, so each entry is looked at once."""
    indexes: dict[int, set[int]] = {}
    for position in positions:
        indexes.setdefault(position.position, set()).add(position.batch_index)
    return {at: WHOLE if -1 in named else tuple(sorted(named)) for at, named in indexes.items()}


def has(indexes: tuple[int, ...], index: int) -> bool:
    """Whether it is one of these, which are sorted."""
    at = bisect_left(indexes, index)
    return at < len(indexes) and indexes[at] == index


def acknowledge(
    cursor: Cursor, positions: Sequence[AckPosition], batch_index_ack: bool, lac: int
) -> Cursor:
    """The cursor after these positions were acknowledged one by one. Without
    acknowledgmentAtBatchIndexLevelEnabled a message inside a batch leaves no trace in it.

    `lac`: the last confirmed entry. The first position above it fails, and those after it in the
    list are not looked at; mark-delete then moves only with the next acknowledgement
    (ManagedCursorImpl#asyncDelete, "Invalid mark deleted position")."""
    existing = tuple(takewhile(lambda position: position.position <= lac, positions))
    sizes = {position.position: position.batch_size for position in existing}
    by_entry, new = group(existing), cursor
    for entry, indexes in by_entry.items():
        if indexes != WHOLE and batch_index_ack:
            new = new.ack_indexes(entry, join(indexes), sizes[entry])
    new = new.delete(tuple(entry for entry, indexes in by_entry.items() if indexes == WHOLE))
    return new if len(existing) == len(positions) else new.hold_mark(cursor.mark_delete)


def acknowledge_up_to(
    cursor: Cursor, position: AckPosition, batch_index_ack: bool, lac: int
) -> Cursor:
    """The cursor after everything up to this position was acknowledged (a cumulative
    acknowledgement). Above `lac`, the last confirmed entry, it has no effect. For a position inside
    a batch only the entries before the batch must exist, and its indexes are noted even if the
    batch does not exist yet (ManagedCursorImpl#asyncMarkDelete)."""
    # -1: the position is a whole entry; the last index of a batch completes it
    whole = position.batch_index < 0 or position.batch_index == position.batch_size - 1
    last = position.position if whole else position.position - 1
    if last > lac:
        return cursor
    cursor = cursor.delete_up_to(last)
    if whole or not batch_index_ack:
        return cursor
    return cursor.ack_indexes(position.position, ((0, position.batch_index),), position.batch_size)


def _place(position: AckPosition) -> int:
    return position.position


def _ack_order(position: AckPosition) -> tuple[int, int]:
    """The order of cumulative acknowledgements: a whole entry further than part of its batch."""
    whole = position.batch_index < 0 or position.batch_index == position.batch_size - 1
    return position.position, 1 << 30 if whole else position.batch_index


def _join(
    positions: Map[int, tuple[int, ...]], more: Iterable[AckPosition]
) -> Map[int, tuple[int, ...]]:
    for at, indexes in group(more).items():
        if indexes != WHOLE:
            indexes = tuple(sorted({*positions.get(at, ()), *indexes}))
        positions = positions.set(at, indexes)
    return positions


# The log of pending acks: what a record does, when it is written and when it is replayed
#
# Sources: MLPendingAckStore#appendIndividualAck, #appendCommitMark, MLPendingAckReplyCallBack#
# handleMetadataEntry, PendingAckHandleImpl#internalCommitTxn, #internalAbortTxn (4.2).

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
    success. The cumulative one is looked at first, no matter who holds it: a commit of another
    transaction then does nothing, and its abort takes the cumulative path as well."""
    kind = AckType.INDIVIDUAL if pending.cumulative is None else AckType.CUMULATIVE
    if action is TxnAction.COMMIT:
        foreign = pending.cumulative is not None and pending.cumulative[0] != txn
        return None if foreign else PendingAckEntry(base, COMMIT, txn, kind)
    idle = pending.cumulative is None and not pending.used
    return None if idle else PendingAckEntry(base, ABORT, txn, kind)


def apply_record(
    config: PulsarConfig, pending: PendingAck, cursor: Cursor, record: PendingAckEntry, lac: int
) -> Applied:
    """Apply one record of the pending-ack log (ACK, COMMIT or ABORT, individual or cumulative) to
    the pending acknowledgements and the cursor. Returns both, with the conflict of a refused ACK or
    the entries that an abort makes deliverable again. `lac`: the topic's last confirmed entry."""
    by_index = bool(config.batch_index_ack)
    match record.op, record.ack_type:
        case "ACK", _:
            return _apply_ack(config, pending, cursor, record)
        case "COMMIT", AckType.CUMULATIVE:
            # build_end writes the record only for the transaction that holds the cumulative one.
            # None in a replay where that one's ACK is refused, since the cursor has passed it.
            if pending.cumulative is None:
                return Applied(pending, cursor)
            cursor = acknowledge_up_to(cursor, pending.cumulative[1], by_index, lac)
            return Applied(pending.release().clear_up_to(cursor.mark_delete), cursor)
        case "COMMIT", _:
            new, cursor = pending.commit(record.txn, cursor, by_index, lac)
            return Applied(new, cursor)
        case _, AckType.CUMULATIVE:
            holds_it = pending.cumulative is not None and pending.cumulative[0] == record.txn
            return Applied(pending.release() if holds_it else pending, cursor)
    new, freed = pending.abort(record.txn)
    return Applied(new, cursor, freed=freed)


def _apply_ack(
    config: PulsarConfig, pending: PendingAck, cursor: Cursor, record: PendingAckEntry
) -> Applied:
    """All positions of one request, or none of them."""
    txn, positions = record.txn, record.positions
    if conflict := _find_conflict(config, pending, cursor, record):
        return Applied(pending, cursor, conflict)
    if record.ack_type is AckType.CUMULATIVE:
        return Applied(pending.hold_up_to(txn, positions[0]), cursor)
    return Applied(pending.acknowledge(txn, positions), cursor)


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
    config: PulsarConfig,
    pending: PendingAck,
    cursor: Cursor,
    log: LogView,
    lac: int,
    gone: Deleted | None = None,
) -> tuple[PendingAck, Cursor]:
    """Replay the pending-ack log after a start. Returns the pending acknowledgements, which are
    empty before, and the cursor with all commits of the log. Each record is checked against the
    cursor as it is now: an acknowledgement of what was acknowledged without a transaction since
    then is refused, and a commit of an entry that exists only now takes effect. `lac`: the topic's
    last confirmed entry.

    `gone`: the deleted ledger of the log, None if there is none. The last one is left out, and with
    it the whole replay (ManagedLedgerImpl#initialize). At an earlier one the replay never ends
    (INITIALIZING), unless `auto_skip` leaves its records out (MLPendingAckStore#readEntriesFailed).
    """
    if log.end == 0:
        return pending, cursor
    if gone is not None and gone.end is not None and not config.auto_skip:
        return replace(pending, state=PendingAckState.INITIALIZING), cursor
    # gone.end: the records before it are gone; None: the last ledger is gone, with all records
    first = 0 if gone is None else log.end if gone.end is None else gone.end
    pending = replace(pending, state=PendingAckState.READY)
    for record in log.read(first):
        done = apply_record(config, pending, cursor, record, lac)
        pending, cursor = done.pending, done.cursor
    return pending, cursor
