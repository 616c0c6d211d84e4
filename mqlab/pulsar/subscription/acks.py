"""Acknowledgements: plain ones at once, those of a transaction into the pending-ack log first.

A plain acknowledgement goes to the cursor even where an open transaction has the message pending.
One of a transaction is written to the log; when it is safe there, the check follows, and then the
answer. The consumer lets go of its messages *before* that: if one of them is refused, the others
of the same request are neither acknowledged nor held by anybody, and on Shared they are sent again
only when every consumer has gone. The end of a transaction goes through the log as well. What is
safe is looked at in the order of the log, so what was asked first is decided first.

Sources: Consumer#individualAckNormal, #individualAckWithTransaction, PersistentSubscription#
acknowledgeMessage, #transactionIndividualAcknowledge, #endTxn, PendingAckHandleImpl (4.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...kernel import Append, Caller, Disk, Effects, Reply, frozen, replace
from ..errors import ServerError
from ..messages import (
    Ack,
    AckPosition,
    AckResponse,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    PendingAckEntry,
)
from ..pending_ack import Applied, PendingAck, apply_record, build_end
from ..pending_ack.handle import acknowledge, acknowledge_up_to
from ..pending_ack.records import ACK, COMMIT
from ..states import AckType, PendingAckState, TxnAction
from .consumers import find_active, rewind, send_again

if TYPE_CHECKING:
    from . import Subscription

Result = tuple["Subscription", Effects]


@frozen
class Waiting:
    """A record that is not known to be safe yet, and who hears what came of it. `caller` None:
    nobody, the low watermark asked for it. `low_watermark`: what its coordinator said."""

    record: PendingAckEntry
    caller: Caller | None
    low_watermark: int | None = None


# ---- plain ---------------------------------------------------------------------------------


def acknowledge_plain(sub: Subscription, ask: Ack, lac: int) -> Result:
    """At once, pending or not; nobody answers. What lies beyond the last confirmed entry is not
    acknowledged, and nobody hears of that either."""
    batch_index_ack = bool(sub.config.batch_index_ack)
    if ask.ack_type is AckType.CUMULATIVE:
        if not sub.is_single:
            return sub, ()
        cursor = acknowledge_up_to(sub.cursor, ask.positions[0], batch_index_ack, lac)
        pending = sub.pending.clear_up_to(cursor.mark_delete)
        return replace(sub, cursor=cursor, pending=pending), ()
    cursor = acknowledge(sub.cursor, ask.positions, batch_index_ack, lac)
    pending = sub.pending if sub.is_single else sub.pending.join_indexes(ask.positions)
    pending = pending.clear_deleted(cursor, ask.positions)
    new = _reset_counts(replace(sub, cursor=cursor, pending=pending), ask.positions)
    return _let_go(new, ask.positions), ()


def _reset_counts(sub: Subscription, acked: Iterable[AckPosition]) -> Subscription:
    """Redelivery is counted again, also for what is left of a batch (InMemoryRedeliveryTracker#
    removeBatch)."""
    counts = sub.counts
    for position in acked:
        counts = counts.remove(position.position)
    return replace(sub, counts=counts)


def _let_go(sub: Subscription, acked: Iterable[AckPosition]) -> Subscription:
    """No consumer holds these entries any more, so the end of its connection does not bring them
    back. Of a batch: once nothing of it is left."""
    done = tuple(p.position for p in acked if not sub.pending.has_some_left(p))
    return replace(sub, consumers=tuple(c.drop(done) for c in sub.consumers))


# ---- of a transaction ----------------------------------------------------------------------


def acknowledge_in_txn(sub: Subscription, ask: Ack, caller: Caller, lac: int, disk: Disk) -> Result:
    """A cumulative one where messages are acknowledged one by one is ignored, and succeeds. Whether
    there is such a message is not looked at: one that is sent later is pending from the start."""
    if ask.ack_type is AckType.CUMULATIVE and not sub.is_single:
        return sub, (Reply(caller, AckResponse()),)
    assert ask.txn is not None
    base = disk.log(sub.log).end
    record = PendingAckEntry(base, ACK, ask.txn, ask.ack_type, ask.positions)
    sub = _let_go(sub, (p for p in ask.positions if p.batch_index < 0))
    return _write(sub, Waiting(record, caller), lac)


def end_txn(
    sub: Subscription, ask: EndTxnOnSubscription, caller: Caller, lac: int, disk: Disk
) -> Result:
    """The coordinator says how a transaction ended. Nothing pending here is a success."""
    sub = _open(sub)
    record = build_end(sub.pending, ask.txn, ask.action, disk.log(sub.log).end)
    if record is None:
        return sub, (
            Reply(caller, EndTxnOnSubscriptionResponse(txn=ask.txn, subscription=sub.name)),
        )
    return _write(sub, Waiting(record, caller, ask.low_watermark), lac)


def _open(sub: Subscription) -> Subscription:
    """The first transaction that comes here opens the log."""
    if sub.pending.state is not PendingAckState.NONE:
        return sub
    return replace(sub, pending=replace(sub.pending, state=PendingAckState.READY))


def _write(sub: Subscription, waiting: Waiting, lac: int) -> Result:
    """The record first; the rest follows when it is safe. Without the log it follows at once."""
    sub = _open(sub)
    if "pending_ack_log" not in sub.config.on:
        return _decide(sub, waiting, lac)
    return replace(sub, waiting=(*sub.waiting, waiting)), (Append(sub.log, waiting.record),)


def finish_append(sub: Subscription, end: int, lac: int, disk: Disk) -> Result:
    """Everything of the log below `end` is safe: decide it and answer."""
    ready = tuple(w for w in sub.waiting if w.record.base < end)
    sub = replace(sub, waiting=sub.waiting[len(ready) :])
    assert all(w.record.base >= end for w in sub.waiting), sub.waiting  # else some are dropped
    effects: Effects = ()
    ended = False
    for waiting in ready:
        new, more = _decide(sub, waiting, lac)
        ended = ended or _has_ended(sub, new.pending)
        sub, effects = new, (*effects, *more)
    if ended:
        sub, more = _abort_ended(sub, lac, disk)
        effects = (*effects, *more)
    return sub, effects


def _has_ended(sub: Subscription, pending: PendingAck) -> bool:
    """Whether a transaction has given up what it held one by one: only then the low watermark is
    noted and looked at."""
    return len(pending.of_txn) < len(sub.pending.of_txn)


def _decide(sub: Subscription, waiting: Waiting, lac: int) -> Result:
    record = waiting.record
    done = apply_record(sub.config, sub.pending, sub.cursor, record, lac)
    ended = _has_ended(sub, done.pending)
    if record.op == COMMIT and ended:
        sub = _reset_counts(sub, sub.pending.acked_by(record.txn))
    sub = replace(sub, pending=done.pending, cursor=done.cursor)
    if record.op == ACK:
        return _answer_ack(sub, waiting, done)
    if waiting.low_watermark is not None and ended:
        mark = waiting.low_watermark
        sub = replace(sub, pending=sub.pending.hear_mark(record.txn, mark))
    if done.freed and "redeliver_aborted" in sub.config.on:
        sub = _bring_back(sub, done.freed, lac, by_watermark=waiting.caller is None)
    if waiting.caller is None:
        return sub, ()
    answer = EndTxnOnSubscriptionResponse(txn=record.txn, subscription=sub.name)
    return sub, (Reply(waiting.caller, answer),)


def _answer_ack(sub: Subscription, waiting: Waiting, done: Applied) -> Result:
    assert waiting.caller is not None
    if waiting.record.ack_type is AckType.INDIVIDUAL:
        sub = _let_go(sub, waiting.record.positions)
    refused = ServerError.TransactionConflict if done.conflict else ServerError.NoError
    return sub, (Reply(waiting.caller, AckResponse(refused, done.conflict)),)


def _bring_back(
    sub: Subscription, freed: tuple[int, ...], lac: int, by_watermark: bool
) -> Subscription:
    """What an abort has freed is delivered again: by itself where consumers hold single entries;
    else by reading from mark-delete on, everything unacknowledged once more. Only the low
    watermark names no consumer, so there nothing moves before somebody asks for redelivery."""
    if not sub.is_single:
        new = send_again(sub, tuple(p for p in freed if not sub.cursor.is_deleted(p)))
        return replace(new, replay=tuple(p for p in new.replay if p <= lac))  # the rest is to come
    return sub if by_watermark or not find_active(sub) else rewind(sub)


def _abort_ended(sub: Subscription, lac: int, disk: Disk) -> Result:
    """If the oldest transaction here ended long ago, abort it. When that is done the next one is
    looked at."""
    ended = sub.pending.find_ended() if "low_watermark" in sub.config.on else None
    if ended is None or any(w.record.txn == ended and w.record.op != ACK for w in sub.waiting):
        return sub, ()
    record = build_end(sub.pending, ended, TxnAction.ABORT, disk.log(sub.log).end)
    return (sub, ()) if record is None else _write(sub, Waiting(record, None), lac)
