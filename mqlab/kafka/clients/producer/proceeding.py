"""What can be done next: batches that may leave, then one question to a coordinator.

A call, an answer, a batch given up: each of them may let the producer go on, and then ends
with `proceed`, where the order in which things are done stands in one place: batches first,
then partitions that must be added, then the group's offsets, then the end. Questions are asked
one at a time. What stands in `requests.py`, `sending.py` and `failing.py` uses this file; it
knows none of them.

Sources: Sender#runOnce, TransactionManager#nextRequest, #beginCompletingTransaction,
#completeTransaction (clients, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import FAILED, UNKNOWN, Effects, Send
from ...config import offsets_log
from ...messages import AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId, TxnOffsetCommit
from ...states import ProducerState
from ..calls import Flush, SendOffsets
from .calling import return_call
from .draining import drain
from .flight import CoordinatorQuestion, TxnRequest

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]
_S = ProducerState
ENDING = {_S.COMMITTING: True, _S.ABORTING: False}


def proceed(p: Producer) -> Result:
    """Do whatever can be done next: batches, partitions, offsets, the end."""
    p.check_invariants()
    p, effects = drain(p)
    if isinstance(p.call, Flush) and not p.flights:
        p, more = _finish_flush(p)
    elif p.request is None:
        p, more = _next_request(p)
    else:
        return p, effects
    return p, (*effects, *more)


def proceed_after(p: Producer, effects: Effects) -> Result:
    """The same, behind what this step has done already."""
    p, more = proceed(p)
    return p, (*effects, *more)


# ---- asking ------------------------------------------------------------------------------


def ask_coordinator(
    p: Producer, to: str, body: CoordinatorQuestion, then: SendOffsets | None = None
) -> Result:
    return replace(p, request=TxnRequest(to, body, then=then)), (Send(to, body),)


def introduce(p: Producer) -> Result:
    """InitProducerId: for the first time with nothing, for a bump with what one has."""
    body = InitProducerId(p.config.txn_id, p.config.timeout_ms, p.pid, p.epoch)
    return ask_coordinator(p, p.config.cluster.coordinator, body)


def _next_request(p: Producer) -> Result:
    tc, me = p.config.cluster.coordinator, (p.config.txn_id or "", p.pid, p.epoch)
    if not p.config.transactional and p.config.idempotent and p.state is _S.UNINITIALIZED:
        return introduce(p.enter(_S.INITIALIZING)) if p.flights else (p, ())
    missing = _find_missing(p)
    if missing:
        return ask_coordinator(p, tc, AddPartitionsToTxn(*me, missing))
    if isinstance(p.call, SendOffsets):
        if p.config.v2:
            return commit_offsets(p, p.call)
        return ask_coordinator(p, tc, AddOffsetsToTxn(*me, p.call.group), then=p.call)
    if p.state not in ENDING or p.flights:
        return p, ()
    if p.added:
        return ask_coordinator(p, tc, EndTxn(*me, ENDING[p.state], p.config.v2))
    # Nothing was sent, so the server knows of no transaction: no request.
    return complete_transaction(p)


def _find_missing(p: Producer) -> tuple[str, ...]:
    """legacy: partitions that must join the transaction before anything is written there."""
    if not p.config.transactional or p.config.v2:
        return ()
    wanted = {f.partition for f in p.flights if f.number < 0 and not f.stray}
    return tuple(sorted(wanted - set(p.added)))


def commit_offsets(p: Producer, call: SendOffsets) -> Result:
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
    return ask_coordinator(replace(p, added=tuple(sorted({*p.added, where}))), where, body)


def complete_transaction(p: Producer) -> Result:
    """The transaction is over for its producer; the markers are the coordinator's work."""
    p = replace(p, added=(), error=None)
    if p.bump:
        return introduce(replace(p.enter(_S.INITIALIZING), bump=False))
    return return_call(p.enter(_S.READY))


def _finish_flush(p: Producer) -> Result:
    """Without transactions, what became of the records' futures since the last flush. With
    them the trouble stays for the next call that looks at the state: `flush` does not."""
    if p.config.transactional:
        return return_call(p)
    trouble, p = p.error, replace(p, error=None)
    if trouble is None:
        return return_call(p)
    return return_call(p, UNKNOWN if trouble.unknown else FAILED, trouble.exception)
