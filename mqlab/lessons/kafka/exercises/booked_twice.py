"""Lab 00's kill: two orders, a transaction for each, and in the end both are booked twice.

A transaction is all or nothing. It does not say that an order is booked only once: a service
that is
killed before it gets the answer to its commit does the same work again when it is started again.
"""

from __future__ import annotations

from ....kafka.coordinator.entry import StateRecord
from ....kafka.log import Batch
from ....kafka.states import TxnState
from ....kernel import Run, tr
from ...steps import is_recovery
from .kills import KillExercise

STORY = """
system shop
{kill}
run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
run order-service: begin, send accounts-0 C-310.73, send accounts-1 S+310.73, commit
restart order-service
"""

NEVER = "a process may be killed at a message that it never sends"
HALF = "a record in the log is booked, with or without its partner"
STORED = "an order is booked when its last record is stored"
FIRST = "a message's name is enough, and its number does not matter"
KILLS = {
    NEVER: tr(
        "the order service is alive at the end: `when` names a message that it never sends. Look "
        "at the arrows that start in its lane in the pictures above"
    ),
    HALF: tr(
        "too early: the current order did not have both of its records in the logs. When the "
        "service comes back, its open transaction is aborted, and the second attempt books this "
        "order once"
    ),
    STORED: tr(
        "too early: both records of the current order are stored, but no commit request was sent. "
        "Stored is not decided, so this transaction is aborted and its order is booked once"
    ),
    FIRST: tr(
        "the first order is booked twice, and the second only once: it had not begun when the "
        "service died. The messages of one kind are counted from the beginning"
    ),
    "right": tr(
        "both orders were committed, and the service never got the second answer. It did "
        "everything again: £1,255.02 were taken and given instead of £627.51. The invariant stays "
        "green, since each transaction is whole. All or nothing does not mean once"
    ),
}


def _booked(run: Run) -> str:
    """Which of `KILLS` an execution shows: how far the orders had come when the service came
    back."""
    trace = run.trace
    back = next(fact.index for fact in trace if fact.glyph == "↻")
    before = trace.facts[:back]
    states = [fact.body.entry.state for fact in before if isinstance(fact.body, StateRecord)]
    committed = states.count(TxnState.COMPLETE_COMMIT)
    if committed == 2:
        return "right"
    batches = [fact.body for fact in before if isinstance(fact.body, Batch)]
    stored = sum(not batch.control for batch in batches if batch.words)
    at_hand = stored - 2 * committed
    if committed == 1 and at_hand == 0:
        return FIRST
    return STORED if at_hand == 2 else HALF


BOOKED_TWICE = KillExercise(
    STORY,
    _booked,
    KILLS,
    tells=is_recovery,
    victim="order-service",
    alive=NEVER,
    sample="InitProducerId#1",
    timers=("order-service", "accounts-0"),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"booked_twice": (BOOKED_TWICE, "value")}
