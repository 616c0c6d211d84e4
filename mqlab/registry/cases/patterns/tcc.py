"""What is searched of TCC: a connection breaks, any node stops, a Try comes too late."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
from ...searches import Case, Searched, without

LINE = "tcc 'app=order T1'"
LACKING = "tcc lacking=money 'app=order T1'"
NAMED = "tcc claims=nothing_stays_reserved 'app=order T1'"
PARTIES = ("tm", "stock", "money")
BREAK = Budget(breaks=1, retries=1)
STOP = Budget(kills=1, killable=("tm",), retries=1)

LESSON = Searched("tcc", LINE, Budget(breaks=2, timers=1, retries=2))
SYSTEMS = (
    LESSON,
    Searched("tcc, stop", LINE, Budget(kills=2, killable=PARTIES, retries=2)),
    Searched("tcc, stop and break", LINE, Budget(kills=1, killable=PARTIES, breaks=1, retries=2)),
    Searched("tcc, power", LINE, Budget(power_cuts=1, killable=PARTIES, timers=1, retries=1)),
    Searched("tcc, lacking", LACKING, Budget(breaks=1, kills=1, killable=PARTIES, retries=2)),
)

STUCK = tr("hanging transaction (reserved for ever)")

SAFEGUARDS = (
    without("begun_on_disk",
        tr("the coordinator has forgotten that something is reserved, and nobody gives it back"),
        STUCK, NAMED, "nothing stays reserved", STOP),
    without("decision_on_disk",
        tr("one service has confirmed; the coordinator has forgotten that and cancels the other"),
        tr("fractured outcome (atomicity violated)"), LINE, "same end", STOP),
    without("until_acknowledged", tr("a Confirm is lost and not repeated"), STUCK, NAMED,
            "nothing stays reserved", BREAK),
    without("idempotent_confirm",
            tr("an answer is lost, Confirm is sent again, and one order uses two pieces"),
            tr("duplicate (used twice)"), LINE, "balanced", BREAK),
    without("idempotent_cancel",
            tr("an answer is lost, Cancel is sent again, and one piece comes back twice"),
            tr("duplicate (given back twice)"), LACKING, "balanced", BREAK),
    without("empty_cancel",
            tr("a Cancel overtakes its Try, and gives back what nobody has reserved"),
            tr("fractured outcome (empty cancel)"), LINE, "balanced", BREAK),
    without("suspended_try",
            tr("a Try arrives after its Cancel and reserves for an order that is over"),
            tr("hanging transaction (suspended try)"), NAMED, "nothing stays reserved", BREAK),
)  # fmt: skip

CLAIMS = (
    Case("half-order", tr("confirmations arrive one by one: a reader sees half of an order"),
         tr("torn read (fractured read)"), f"{LINE} claims=whole_order", "whole order"),
)  # fmt: skip
