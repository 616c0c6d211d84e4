"""What is searched of two-phase commit: any node stops, a connection breaks, a vote is late."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
from ...searches import Case, Searched, without

LINE = "two_phase 'app=commit T1'"
PARTIES = ("tm", "orders", "stock")
REFUSED = "two_phase refuses=stock 'app=commit T1'"

LESSON = Searched("two_phase", LINE, Budget(kills=1, killable=PARTIES, retries=1))
SYSTEMS = (
    LESSON,
    Searched("two_phase, break", LINE, Budget(breaks=1, timers=1, retries=1)),
    Searched("two_phase, power", LINE, Budget(power_cuts=1, killable=PARTIES, timers=1)),
    Searched("two_phase, two stops", LINE, Budget(kills=2, killable=("tm", "orders"))),
    Searched("two_phase, refused", REFUSED, Budget(kills=1, killable=PARTIES, timers=1, retries=1)),
    Searched(
        "two_phase, stop and break", LINE, Budget(kills=1, killable=("tm",), breaks=1, retries=1)
    ),
)

FRACTURED = tr("fractured outcome (atomicity violated)")

SAFEGUARDS = (
    without("prepared_on_disk",
            tr("a participant votes yes, is killed, and has forgotten what it promised to commit"),
            tr("lost write"), LINE, "complete", Budget(kills=1, killable=("orders",))),
    without("unanimous",
            tr("the coordinator tires of waiting and commits what a participant has refused"),
            FRACTURED, REFUSED, "complete", Budget(timers=1)),
    without("decision_first",
            tr("one participant has heard of a commit that the coordinator has forgotten"),
            FRACTURED, LINE, "same outcome", Budget(kills=1, killable=("tm",), retries=1)),
    without("waits_in_doubt",
            tr("a participant in doubt decides alone, and does the opposite of the others"),
            tr("fractured outcome (heuristic decision)"), LINE, "same outcome", Budget(retries=1)),
    without("asks_again",
        tr("a vote arrives too late, and nobody tells the participant that it is over"),
        tr("hanging transaction (locks stay)"), f"{LINE} claims=ends", "ends", Budget(breaks=1)),
    without("presumed_abort",
            tr("a coordinator that has forgotten the transaction has no answer for who asks"),
            tr("hanging transaction (locks stay)"), f"{LINE} claims=ends", "ends",
            Budget(kills=1, killable=("tm",))),
)  # fmt: skip

CLAIMS = (
    Case(
        "blocking-window",
        tr("the coordinator stops: who has voted yes can do nothing but wait"),
        tr("hanging transaction (a blocked participant)"),
        f"{LINE} claims=never_blocked",
        "never blocked",
        Budget(kills=1, killable=("tm",)),
    ),
)
