"""What is searched of a saga: a connection breaks, any node stops, a step cannot be done."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
from ...searches import Case, Searched, without

LINE = "saga 'app=start T1'"
REFUSED = "saga refuses=stock 'app=start T1'"
SHORT = "saga services=orders,stock"
PARTIES = ("saga", "orders", "money", "stock")
BREAK = Budget(breaks=1, retries=1)

LESSON = Searched("saga", REFUSED, Budget(kills=1, killable=PARTIES, breaks=1, retries=2))
SYSTEMS = (
    LESSON,
    Searched("saga, done", LINE, Budget(kills=1, killable=PARTIES, breaks=1, retries=2)),
    Searched("saga, breaks", REFUSED, Budget(breaks=2, retries=2)),
    Searched("saga, stops", REFUSED, Budget(kills=2, killable=PARTIES, retries=2)),
    Searched("saga, power", REFUSED, Budget(power_cuts=1, killable=PARTIES, breaks=1, retries=2)),
)

HALF = tr("fractured outcome (half for ever)")

SAFEGUARDS = (
    without("saga_log", tr("the orchestrator has forgotten a saga of which one step is done"), HALF,
            f"{SHORT} claims=comes_to_an_end 'app=start T1'", "comes to an end",
            Budget(kills=1, killable=("saga",), retries=1)),
    without("compensation", tr("the last step cannot be done, and the first one stays"), HALF,
            f"{SHORT} refuses=stock 'app=start T1'", "all or nothing"),
    without("step_again", tr("an answer is lost, and the orchestrator waits for it"), HALF,
            f"{SHORT} claims=comes_to_an_end 'app=start T1'", "comes to an end", BREAK),
    without("idempotent_step", tr("an answer is lost, the step is asked for again and done twice"),
            tr("duplicate"), f"{SHORT} 'app=start T1'", "done once", BREAK),
    without("idempotent_undo", tr("an answer is lost, and the same step is taken back twice"),
            tr("duplicate (paid back twice)"), f"{SHORT} refuses=stock 'app=start T1'", "done once",
            BREAK),
    without("undone_stays_undone",
            tr("a step arrives once more after its compensation, and nobody takes it back"), HALF,
            f"{SHORT} refuses=stock 'app=start T1'", "all or nothing", BREAK),
)  # fmt: skip

CLAIMS = (
    Case(
        "half-saga",
        tr("a step is seen before the saga is whole, and perhaps is taken back"),
        tr("dirty read (P1)"),
        f"{LINE} claims=isolated",
        "isolated",
    ),
)
