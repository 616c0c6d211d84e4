"""END_TXN: decide, tell everybody, write that it is done, answer.

    OPEN        log COMMITTING, and go on when it is safe
    COMMITTING  asked to commit again: go on at once, beside the one that is at it already
    otherwise   InvalidTxnStatus; TransactionNotFound for what is forgotten

Every participant is told in parallel: the subscriptions on which the transaction acknowledged and
the partitions it was going to write to. If one does not answer, or cannot, **all** of them are told
again a second later; those that had finished append another marker, which changes nothing.
Markers are idempotent, not unique.

Source: TransactionMetadataStoreService#endTransaction, #endTxnInTransactionBuffer (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, CancelTimer, Disk, Effects, Map, Reply, Send, SetTimer, replace
from ..errors import ServerError
from ..messages import (
    EndTxnOnPartition,
    EndTxnOnSubscription,
    EndTxnResponse,
    TransactionMetadataEntry,
    TxnID,
)
from ..states import STATES_OF, TxnAction, TxnStatus
from .meta import RETRY, TIMEOUT, End, Participant, TxnMeta, Write

if TYPE_CHECKING:
    from . import Coordinator

Result = tuple["Coordinator", Effects]

#: a request's number: its end's slot, and its place among the participants
PLACES = 1 << 16


def begin_end(
    tc: Coordinator, txn: TxnID, action: TxnAction, caller: Caller | None, disk: Disk
) -> Result:
    """Begin to end a transaction, or begin again after some participant did not answer."""
    meta = tc.txns.get(txn)
    if meta is None:
        return tc, _answer(caller, ServerError.TransactionNotFound)
    decided, _ = STATES_OF[action]
    if meta.status is decided:
        return tell_participants(tc, meta, caller, disk)
    if meta.status is not TxnStatus.OPEN:
        return tc, _answer(caller, ServerError.InvalidTxnStatus)
    if "decision_before_markers" not in tc.config.on:
        meta = replace(meta, status=decided)
        return tell_participants(replace(tc, txns=tc.txns.set(txn, meta)), meta, caller, disk)
    return tc.write(disk, Write(_build_update(meta, decided), caller))


def _build_update(meta: TxnMeta, status: TxnStatus) -> TransactionMetadataEntry:
    return TransactionMetadataEntry(-1, "UPDATE", meta.txn, status, expected=meta.status)


def _answer(caller: Caller | None, error: ServerError) -> Effects:
    """Nobody waits for the end of a transaction that has timed out."""
    return () if caller is None else (Reply(caller, EndTxnResponse(error)),)


# ---- everybody is told -----------------------------------------------------------------


def tell_participants(tc: Coordinator, meta: TxnMeta, caller: Caller | None, disk: Disk) -> Result:
    """Send the end to everybody whom it concerns, with this coordinator's low watermark. The
    transaction itself is live until it has ended, so the mark is below it."""
    commits = meta.status is TxnStatus.COMMITTING
    action = TxnAction.COMMIT if commits else TxnAction.ABORT
    slot = _find_slot(tc)
    owed = tuple((slot * PLACES + i, who) for i, who in enumerate(meta.participants))
    begun = End(slot, meta.txn, action, caller, Map(owed))
    sent = tuple(_send(tc, begun, number, who) for number, who in owed)
    new, effects = _go_on(replace(tc, ends=(*tc.ends, begun)), begun, disk)
    return new, (CancelTimer(f"{TIMEOUT}{meta.txn}"), *sent, *effects)


def _find_slot(tc: Coordinator) -> int:
    taken = {end.slot for end in tc.ends}
    return next(n for n in range(len(taken) + 1) if n not in taken)


def _send(tc: Coordinator, end: End, number: int, who: Participant) -> Send:
    partition, subscription = who
    mark = tc.low_watermark
    if subscription:
        ask = EndTxnOnSubscription(end.txn, end.action, partition, subscription, mark)
        return Send(partition, ask, number)
    return Send(partition, EndTxnOnPartition(end.txn, end.action, partition, mark), number)


def handle_answer(tc: Coordinator, number: int, ok: bool, disk: Disk) -> Result:
    """A participant has answered, well or ill; what is done next waits for all of them."""
    end = next((e for e in tc.ends if number in e.owed), None)
    if end is None:
        return tc, ()
    owed = end.owed.remove(number)
    return _go_on(tc, replace(end, owed=owed, failed=end.failed or not ok), disk)


def lose_participant(tc: Coordinator, peer: str, disk: Disk) -> Result:
    """The connection to a partition broke, which stands for a request's timeout of 3 s, too:
    whether it was done nobody knows."""
    effects: Effects = ()
    for end in tc.ends:
        owed = Map(pair for pair in end.owed.items() if pair[1][0] != peer)
        if len(owed) < len(end.owed):
            tc, more = _go_on(tc, replace(end, owed=owed, failed=True), disk)
            effects = (*effects, *more)
    return tc, effects


def _go_on(tc: Coordinator, end: End, disk: Disk) -> Result:
    """When nobody is owed any more: log that it is done, or try all of it again."""
    new = replace(tc, ends=tuple(end if e.slot == end.slot else e for e in tc.ends))
    if end.owed:
        return new, ()
    if end.failed and "retry_until_answered" in tc.config.on:
        return new, (SetTimer(f"{RETRY}{end.txn}", tc.config.retry_ms),)
    meta = tc.txns.get(end.txn)
    if meta is None:  # another one ended it first
        return _leave(new, end, ServerError.TransactionNotFound)
    return new.write(disk, Write(_build_update(meta, STATES_OF[end.action][1]), slot=end.slot))


def try_again(tc: Coordinator, txn: TxnID, disk: Disk) -> Result:
    """A second after some participant did not answer: from the beginning, for every caller."""
    effects: Effects = ()
    for end in tc.ends:
        if end.txn == txn and end.failed and not end.owed:
            tc = replace(tc, ends=tuple(e for e in tc.ends if e.slot != end.slot))
            tc, more = begin_end(tc, end.txn, end.action, end.caller, disk)
            effects = (*effects, *more)
    return tc, effects


# ---- it is done ------------------------------------------------------------------------


def finish(tc: Coordinator, write: Write) -> Result:
    """COMMITTED or ABORTED is safe: now the caller is answered."""
    return _leave(tc, _find(tc, write), ServerError.NoError)


def refuse(tc: Coordinator, write: Write, error: ServerError) -> Result:
    """A record came too late: somebody else ended the transaction meanwhile."""
    if write.slot < 0:
        return tc, _answer(write.caller, error)
    return _leave(tc, _find(tc, write), error)


def _find(tc: Coordinator, write: Write) -> End:
    return next(end for end in tc.ends if end.slot == write.slot)


def _leave(tc: Coordinator, end: End, error: ServerError) -> Result:
    rest = tuple(e for e in tc.ends if e.slot != end.slot)
    return replace(tc, ends=rest), _answer(end.caller, error)
