"""What the application hears: a call that blocks has begun, and returns in the end.

A call may return before anybody knows what became of it (`max.block.ms`, or no tries are
left). The request behind it stays open, and what it brings later is kept for the same call,
made again.

Sources: KafkaProducer#commitTransaction, TransactionalRequestResult (clients, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import OK, UNKNOWN, CancelTimer, Effects, Outcome, Return, SetTimer
from ..calls import Abort, Begin, Commit, Flush, Init, SendOffsets, SendRecord

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]
#: what an application may call; Flush looks at no state
ProducerCall = Init | Begin | SendRecord | SendOffsets | Flush | Commit | Abort
MAX_BLOCK = "max.block"


def block_call(p: Producer, call: ProducerCall) -> Result:
    """A call has begun that returns later."""
    p = replace(p, call=call)
    if not p.config.max_block_ms or isinstance(call, Flush):
        return p, ()
    return p, (SetTimer(MAX_BLOCK, p.config.max_block_ms),)


def return_call(p: Producer, status: str = OK, detail: str = "", meaning: object = None) -> Result:
    """The blocking call, or one that nobody waits for any more, has come to its end."""
    if p.call is None:
        over = p.overdue and Outcome(p.overdue.call, status, detail, meaning)
        return replace(p, overdue=over), ()
    timed = p.config.max_block_ms and not isinstance(p.call, Flush)
    quiet = (CancelTimer(MAX_BLOCK),) if timed else ()
    outcome = Outcome(p.call, status, detail, meaning)
    return replace(p, call=None), (*quiet, Return(outcome))


def give_up_call(p: Producer) -> Result:
    """No answer, and no more waiting for one: it may have been done, or not. The request
    stays open; only the same call again can tell (or a new producer, which fences)."""
    call = p.call
    if call is None:
        return p, ()
    p, effects = return_call(p, UNKNOWN, "TimeoutException")
    if isinstance(call, Init | Commit | Abort):
        p = replace(p, overdue=Outcome(call, UNKNOWN))
    return p, effects
