"""What coordinators answer, and when the same is asked again.

Every request may be sent twice, because its answer may be lost; the coordinator recognises
what it has done already. While an older transaction of the same id is still being ended it
says CONCURRENT_TRANSACTIONS, and the client asks again after a pause.

After an abortable error that leaves numbers in doubt a *legacy* client ends its abort with
InitProducerId(producer id, epoch): the epoch rises by one and all numbers begin again (KIP-360).
A v2 client need not: there every end raises the epoch.

Sources: TransactionManager's …Handler#handleResponse,
AddPartitionsToTxnHandler#maybeOverrideRetryBackoffMs (clients, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import Effects, Map, Send, SetTimer
from ...errors import Error
from ...messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    Answer,
    EndTxnResponse,
    InitProducerIdResponse,
)
from ...states import ProducerState
from .calling import give_up_call, return_call
from .error_states import enter_abortable_error, enter_fatal_error
from .errors import RETRIABLE, Kind, judge_coordinator_error
from .flight import RETRY, Line, TxnRequest
from .proceeding import commit_offsets, complete_transaction, proceed, proceed_after

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]
_S = ProducerState
ADD_RETRY_MS = 20  # TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS


def handle_answer(p: Producer, request: TxnRequest, answer: Answer) -> Result:
    error = answer.error
    if error in RETRIABLE:
        return _ask_later(p, request, error)
    p = replace(p, request=None)
    if error:
        trouble = judge_coordinator_error(request.body, error)
        if trouble.bump and not p.config.v2:
            p = replace(p, bump=True)
        end = enter_fatal_error if trouble.kind is Kind.FATAL else enter_abortable_error
        return proceed_after(*end(p, trouble))
    match request.body:
        case AddPartitionsToTxn(partitions=partitions):
            return proceed(replace(p, added=tuple(sorted({*p.added, *partitions}))))
        case AddOffsetsToTxn() if request.then is not None:
            return commit_offsets(p, request.then)
    match answer:
        case InitProducerIdResponse(pid=pid, epoch=epoch):
            return _take_producer_id(p, pid, epoch)
        case EndTxnResponse(pid=pid, epoch=epoch):
            if p.config.v2 and epoch >= 0 and (pid, epoch) != (p.pid, p.epoch):
                # Numbers begin again with the new epoch, and only with a new one.
                p = replace(p, pid=pid, epoch=epoch, lines=Map())
            return complete_transaction(p)
    return proceed_after(*return_call(p))


def _take_producer_id(p: Producer, pid: int, epoch: int) -> Result:
    p = replace(p.enter(_S.READY), pid=pid, epoch=epoch, error=None)
    if p.config.transactional:
        return return_call(replace(p, lines=Map()))
    fresh = Map((name, Line(pid, epoch) if w.pid < 0 else w) for name, w in p.lines.items())
    return proceed(replace(p, lines=fresh))


# ---- asking again ------------------------------------------------------------------------


def _ask_later(p: Producer, request: TxnRequest, error: Error) -> Result:
    """Ask the same again after a pause, which is short for a transaction's first partition:
    the one before it is about to be over."""
    if p.state is _S.ABORTABLE_ERROR:
        return replace(p, request=None), ()  # Only an abort is wanted now.
    first = isinstance(request.body, AddPartitionsToTxn) and not p.added
    short = first and error is Error.CONCURRENT_TRANSACTIONS
    p, again = _put_back(p, request)
    if not again:
        return give_up_call(p)
    pause = min(ADD_RETRY_MS, p.config.retry_ms) if short else p.config.retry_ms
    return p, (SetTimer(RETRY, pause),)


def _put_back(p: Producer, request: TxnRequest) -> tuple[Producer, bool]:
    """The request unsent; whether it may be sent once more."""
    bounded = p.config.retries is not None
    left = p.config.retries is None or request.tries < p.config.retries
    back = replace(request, sent=False, parked=not left, tries=request.tries + (bounded and left))
    return replace(p, request=back), left


def handle_lost_connection(p: Producer, peer: str) -> Result:
    """What this coordinator was asked is asked again, or given up; after an error nobody
    needs it any more."""
    if p.request is None or not p.request.sent or p.request.to != peer:
        return p, ()
    if p.state is _S.ABORTABLE_ERROR:
        return replace(p, request=None), ()
    p, again = _put_back(p, p.request)
    return resend_request(p) if again else give_up_call(p)


def resend_request(p: Producer) -> Result:
    """Send what waited for the retry timer."""
    if p.request is None or p.request.sent or p.request.parked:
        return p, ()
    return replace(p, request=replace(p.request, sent=True)), (Send(p.request.to, p.request.body),)


def unpark_request(p: Producer) -> Producer:
    """The application has called again: the request has all its tries again."""
    if p.request is None or not p.request.parked:
        return p
    return replace(p, request=replace(p.request, parked=False, tries=0))
