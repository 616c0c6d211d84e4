"""Questions to the coordinators, one at a time: an id, partitions, offsets, the end.

Every request may be sent twice, because its answer may be lost; the coordinator recognises
what it has done already. While an older transaction of the same id is still being ended it
says CONCURRENT_TRANSACTIONS, and the client asks again after a pause.

After an abortable error that leaves numbers in doubt a *legacy* client ends its abort with
InitProducerId(producer id, epoch): the epoch rises by one and all numbers begin anew (KIP-360).
A v2 client need not: there every end raises the epoch.

Sources: TransactionManager#nextRequest, #beginCompletingTransaction, #completeTransaction,
…Handler#handleResponse, AddPartitionsToTxnHandler#maybeOverrideRetryBackoffMs (Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import (
    FAILED,
    OK,
    UNKNOWN,
    CancelTimer,
    Effects,
    Map,
    Outcome,
    Return,
    Send,
    SetTimer,
)
from ...config import offsets_log
from ...errors import Error
from ...messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    TxnOffsetCommit,
)
from ...states import ProducerState, producer_may_enter
from ..calls import Abort, Commit, Flush, Init, SendOffsets
from . import sending
from .errors import RETRIABLE, Kind, Trouble, refusal
from .flight import Asked, Line

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]
_S = ProducerState
MAX_BLOCK = "max.block"
ADD_RETRY_MS = 20  # TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS
ENDING = {_S.COMMITTING: True, _S.ABORTING: False}


# ---- asking ------------------------------------------------------------------------------


def ask(p: Producer, to: str, body: object, then: SendOffsets | None = None) -> Result:
    return replace(p, asked=Asked(to, body, then=then)), (Send(to, body),)


def introduce(p: Producer) -> Result:
    """InitProducerId: for the first time with nothing, for a bump with what one has."""
    body = InitProducerId(p.config.txn_id, p.config.timeout_ms, p.pid, p.epoch)
    return ask(p, p.config.cluster.coordinator, body)


def proceed(p: Producer) -> Result:
    """Do whatever can be done next: batches, partitions, offsets, the end."""
    p, effects = sending.drain(p)
    if isinstance(p.call, Flush) and not p.flights:
        p, more = _flushed(p)
    elif p.asked is None:
        p, more = _next_request(p)
    else:
        return p, effects
    return p, (*effects, *more)


def _next_request(p: Producer) -> Result:
    tc, me = p.config.cluster.coordinator, (p.config.txn_id or "", p.pid, p.epoch)
    if not p.config.transactional and p.config.idempotent and p.state is _S.UNINITIALIZED:
        return introduce(p.entered(_S.INITIALIZING)) if p.flights else (p, ())
    missing = _missing(p)
    if missing:
        return ask(p, tc, AddPartitionsToTxn(*me, missing))
    if isinstance(p.call, SendOffsets):
        if p.config.v2:
            return _commit_offsets(p, p.call)
        return ask(p, tc, AddOffsetsToTxn(*me, p.call.group), then=p.call)
    if p.state not in ENDING or p.flights:
        return p, ()
    if p.added:
        return ask(p, tc, EndTxn(*me, ENDING[p.state], p.config.v2))
    # Nothing was sent, so the server knows of no transaction: no request.
    return _completed(p)


def _missing(p: Producer) -> tuple[str, ...]:
    """legacy: partitions that must join the transaction before anything is written there."""
    if not p.config.transactional or p.config.v2:
        return ()
    wanted = {f.partition for f in p.flights if f.number < 0 and not f.stray}
    return tuple(sorted(wanted - set(p.added)))


def _commit_offsets(p: Producer, call: SendOffsets) -> Result:
    where = offsets_log(call.group, p.config.cluster)
    body = TxnOffsetCommit(
        p.config.txn_id or "",
        call.group,
        p.pid,
        p.epoch,
        call.positions,
        call.member,
        call.generation,
        version=5 if p.config.v2 else 3,
    )
    return ask(replace(p, added=tuple(sorted({*p.added, where}))), where, body)


# ---- answers -----------------------------------------------------------------------------


def told(p: Producer, asked: Asked, said: object) -> Result:
    error: Error = getattr(said, "error", Error.NONE)
    if error in RETRIABLE:
        return _wait(p, asked, error)
    p = replace(p, asked=None)
    if error:
        trouble = refusal(asked.body, error)
        if trouble.bump and not p.config.v2:
            p = replace(p, bump=True)
        end = fatal if trouble.kind is Kind.FATAL else abortable
        return _after(*end(p, trouble))
    match asked.body:
        case AddPartitionsToTxn(partitions=partitions):
            return proceed(replace(p, added=tuple(sorted({*p.added, *partitions}))))
        case AddOffsetsToTxn() if asked.then is not None:
            return _commit_offsets(p, asked.then)
    match said:
        case InitProducerIdResponse(pid=pid, epoch=epoch):
            return _introduced(p, pid, epoch)
        case EndTxnResponse(pid=pid, epoch=epoch):
            if p.config.v2 and epoch >= 0 and (pid, epoch) != (p.pid, p.epoch):
                # Numbers begin again with the new epoch, and only with a new one.
                p = replace(p, pid=pid, epoch=epoch, lines=Map())
            return _completed(p)
    return _after(*returned(p))


def _introduced(p: Producer, pid: int, epoch: int) -> Result:
    p = replace(p.entered(_S.READY), pid=pid, epoch=epoch, error=None)
    if p.config.transactional:
        return returned(replace(p, lines=Map()))
    fresh = Map((name, Line(pid, epoch) if w.pid < 0 else w) for name, w in p.lines.items())
    return proceed(replace(p, lines=fresh))


def _completed(p: Producer) -> Result:
    """The transaction is over for its producer; the markers are the coordinator's work."""
    p = replace(p, added=(), error=None)
    if p.bump:
        return introduce(replace(p.entered(_S.INITIALIZING), bump=False))
    return returned(p.entered(_S.READY))


def _flushed(p: Producer) -> Result:
    """Without transactions, what became of the records' futures since the last flush. With
    them the trouble stays for the next call that looks at the state: `flush` does not."""
    if p.config.transactional:
        return returned(p)
    trouble, p = p.error, replace(p, error=None)
    if trouble is None:
        return returned(p)
    return returned(p, UNKNOWN if trouble.unknown else FAILED, trouble.exception)


def _after(p: Producer, effects: Effects) -> Result:
    p, more = proceed(p)
    return p, (*effects, *more)


# ---- asking again ------------------------------------------------------------------------


def _wait(p: Producer, asked: Asked, error: Error) -> Result:
    """Ask the same again after a pause, which is short for a transaction's first partition:
    the one before it is about to be over."""
    if p.state is _S.ABORTABLE_ERROR:
        return replace(p, asked=None), ()  # Only an abort is wanted now.
    first = isinstance(asked.body, AddPartitionsToTxn) and not p.added
    short = first and error is Error.CONCURRENT_TRANSACTIONS
    p, again = _put_back(p, asked)
    if not again:
        return _given_up(p)
    pause = min(ADD_RETRY_MS, p.config.retry_ms) if short else p.config.retry_ms
    return p, (SetTimer(sending.RETRY, pause),)


def _put_back(p: Producer, asked: Asked) -> tuple[Producer, bool]:
    """The request unsent; whether it may be sent once more."""
    bounded = p.config.retries is not None
    left = p.config.retries is None or asked.tries < p.config.retries
    back = replace(asked, sent=False, parked=not left, tries=asked.tries + (bounded and left))
    return replace(p, asked=back), left


def connection_lost(p: Producer, peer: str) -> Result:
    if p.asked is None or not p.asked.sent or p.asked.to != peer:
        return p, ()
    if p.state is _S.ABORTABLE_ERROR:
        return replace(p, asked=None), ()
    p, again = _put_back(p, p.asked)
    return resumed(p) if again else _given_up(p)


def resumed(p: Producer) -> Result:
    """Send what waited for the retry timer."""
    if p.asked is None or p.asked.sent or p.asked.parked:
        return p, ()
    return replace(p, asked=replace(p.asked, sent=True)), (Send(p.asked.to, p.asked.body),)


def unparked(p: Producer) -> Producer:
    """The application has called again: the request has all its tries anew."""
    if p.asked is None or not p.asked.parked:
        return p
    return replace(p, asked=replace(p.asked, parked=False, tries=0))


# ---- what the application hears ----------------------------------------------------------


def blocked(p: Producer, call: object) -> Result:
    """A call has begun that returns later."""
    p = replace(p, call=call)
    if not p.config.max_block_ms or isinstance(call, Flush):
        return p, ()
    return p, (SetTimer(MAX_BLOCK, p.config.max_block_ms),)


def returned(p: Producer, status: str = OK, detail: str = "") -> Result:
    """The blocking call, or one that nobody waits for any more, has come to its end."""
    if p.call is None:
        over = p.overdue and replace(p.overdue, status=status, detail=detail)
        return replace(p, overdue=over), ()
    timed = p.config.max_block_ms and not isinstance(p.call, Flush)
    quiet = (CancelTimer(MAX_BLOCK),) if timed else ()
    outcome = Outcome(p.call, status, detail)
    return replace(p, call=None), (*quiet, Return(outcome))


def _given_up(p: Producer) -> Result:
    """No answer, and no more waiting for one: it may have been done, or not. The request
    stays open; only the same call again can tell (or a new producer, which fences)."""
    call = p.call
    if call is None:
        return p, ()
    p, effects = returned(p, UNKNOWN, "TimeoutException")
    if isinstance(call, Init | Commit | Abort):
        p = replace(p, overdue=Outcome(call, UNKNOWN))
    return p, effects


def blocked_too_long(p: Producer) -> Result:
    """max.block.ms is over."""
    return _given_up(p)


def abortable(p: Producer, trouble: Trouble) -> Result:
    """Only an abort is left. What was not sent yet never will be."""
    if p.state is _S.ABORTING:
        return p, ()
    if not producer_may_enter(_S.ABORTABLE_ERROR, p.state):
        # A stray record was given up between transactions: the client poisons itself.
        why = f"IllegalStateException: {p.state} → {_S.ABORTABLE_ERROR}"
        return fatal(p, Trouble(why, Kind.FATAL))
    p = replace(p.entered(_S.ABORTABLE_ERROR), error=trouble)
    p = without_unsent(p)
    if p.asked is not None and not p.asked.sent:
        p = replace(p, asked=None)
    return returned(p, FAILED, str(trouble))


def without_unsent(p: Producer) -> Producer:
    return replace(p, flights=tuple(f for f in p.flights if f.number >= 0))


def fatal(p: Producer, trouble: Trouble) -> Result:
    p = replace(p.entered(_S.FATAL_ERROR), error=trouble, flights=(), asked=None)
    return returned(p, FAILED, str(trouble))
