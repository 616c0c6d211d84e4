"""The test of lab 10: what a worker does when a cumulative acknowledgement was aborted.

    story = "run worker: redeliver billing …"

The lines follow an abort that has left three orders lying. The story is right if the orders are
received once more, each of them once, and are acknowledged for good when it is over.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....kernel import Outcome, Run, tr
from ....pulsar.client.calls import Abort, Receive
from ....pulsar.config import CURSORS
from ....pulsar.ledger import Cursor
from ...stories import StoryExercise
from ...verdict import Verdict

ORDERS = ("580538", "580539", "580540")
GIVEN = f"""\
system pulsar clients=shop,worker,twin
run worker: subscribe orders-0 billing
run shop: {", ".join(f"send orders-0 {order}" for order in ORDERS)}
run worker: receive billing, new-transaction t1
run worker: ack-cumulative billing orders-0@2 txn=t1
run worker: abort t1"""

COMES_BACK = "29 an abort gives the messages back"
UNREAD = "an acknowledged order is billed"
TWICE = "redelivery leaves out what was received"
UNFINISHED = "received again means acknowledged"
BELIEFS = {
    COMES_BACK: tr(
        "somebody has asked for the orders, and got nothing. The abort has taken the "
        "acknowledgement back, but after a cumulative one the broker sends nothing again by "
        "itself: the consumer must ask for redelivery, or connect again"
    ),
    UNREAD: tr(
        "not every order was received once more. To acknowledge an order is to say that it is "
        "done, and nobody has billed these: they must be received first"
    ),
    TWICE: tr(
        "an order was received twice after the abort, and is billed twice. A consumer that asks "
        "for redelivery, or connects again, is sent everything that is not acknowledged, whether "
        "it received it before or not"
    ),
    UNFINISHED: tr(
        "the orders have come, but they are not acknowledged for good: the next consumer is sent "
        "them again. Acknowledge all three, and commit the transaction if you do it in one"
    ),
}
RIGHT = tr(
    "all three orders have come once more, and are acknowledged for good: £1032.34 are billed"
)


def judge_run(run: Run) -> Verdict:
    """What has become of the three orders."""
    schedule = tuple(map(str, run.choices))
    belief = find_belief(run)
    if not belief:
        return Verdict(True, RIGHT, "", schedule, run.system)
    return Verdict(False, BELIEFS[belief], belief, schedule, run.system)


def find_belief(run: Run) -> str:
    """Why the orders are not billed, "" if they are."""
    given = list(list_given(run))
    came = [words.split()[0] for one in given if one != "nothing" for words in one.split(", ")]
    if given and not came:
        return COMES_BACK
    if set(came) != set(ORDERS):
        return UNREAD
    if len(came) > len(ORDERS):
        return TWICE
    cursor: Cursor = run.world.disk("orders-0").table(CURSORS).get("billing", Cursor())
    return "" if all(map(cursor.is_deleted, range(len(ORDERS)))) else UNFINISHED


def list_given(run: Run) -> Iterator[str]:
    """What each `receive` of a consumer gave after the abort."""
    outcomes = [fact.body for fact in run.trace if isinstance(fact.body, Outcome)]
    aborted = next(at for at, one in enumerate(outcomes) if isinstance(one.call, Abort))
    for outcome in outcomes[aborted:]:
        if isinstance(outcome.call, Receive):
            yield outcome.detail


HINTS = (
    tr(
        "Which consumers are sent messages that are not acknowledged, although they were "
        "delivered before? One that asks for them, and one that connects for the first time."
    ),
    tr(
        "One of the calls in the table asks the broker for everything that is not acknowledged. "
        "What comes then must be received, in a line of its own, and acknowledged for good."
    ),
)
RETURNING = StoryExercise((GIVEN,), judge_run, HINTS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"returning": (RETURNING, "value")}
