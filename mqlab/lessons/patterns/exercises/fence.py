"""The exercise of lab 02: what a service of TCC does with a Try, a Confirm and a Cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....explore import Budget
from ....kernel import System, tr
from ....patterns.tcc import Tcc
from ....registry import system
from ....registry.cases.patterns.tcc import BREAK, LACKING, LINE, NAMED
from ...check import Belief, Exercise, Systems, expect_word
from ..systems import ANSWERS, CANCEL, CONFIRM, REFUSE, TRY, fence_with

Rule = Callable[..., Any]
LAST = ("", "tried", "confirmed", "cancelled", "empty")
SAMPLES = tuple((call, last) for call in (TRY, CONFIRM, CANCEL) for last in LAST)


def right(call: str, last: str) -> str:
    """Seata's fence: what is over stays over, and a Cancel leaves its mark in any case."""
    match call, last:
        case "try", "":
            return "tried"
        case "try", _:
            return REFUSE
        case "confirm", "tried":
            return "confirmed"
        case "cancel", "":
            return "empty"
        case "cancel", "tried":
            return "cancelled"
    return ""


def but(**other: dict[str, str]) -> Rule:
    """The right rule with other answers: but(cancel={"": "cancelled"})."""
    return lambda call, last: other.get(call, {}).get(last, right(call, last))


def _always(entry: str) -> dict[str, str]:
    return dict.fromkeys(LAST, entry)


BELIEFS = (
    Belief("each call arrives once",
           tr("a call whose answer is lost is retried: confirmed twice, one order uses two pieces. "
              "The last entry in the ledger records what has been done already"),
           lambda call, last: {TRY: "tried", CONFIRM: "confirmed", CANCEL: "cancelled"}[call]),
    Belief("only a Cancel is repeated",
           tr("the answer to a Confirm can be lost too, and the second one finds “confirmed”: the "
              "piece is used already"),
           but(confirm={"tried": "confirmed", "confirmed": "confirmed"})),
    Belief("only a Confirm is repeated",
           tr("the answer to a Cancel can be lost too, and the second one finds “cancelled”: the "
              "piece has been given back already"),
           but(cancel={"cancelled": "cancelled"})),
    Belief("there was a Try before every Cancel",
           tr("the connection broke with the Try in flight, and the Cancel overtook it: nothing "
              "was reserved, so nothing is given back (the *empty cancel*)"),
           but(cancel={"": "cancelled"})),
    Belief("a Cancel without a Try is an error",
           tr("a refused Cancel is retried for ever: the coordinator cannot know whether its Try "
              "has arrived. There is nothing to give back, so it succeeds"),
           but(cancel={"": REFUSE})),
    Belief("what has done nothing need not be remembered",
           tr("its Try is still in flight. It arrives after the Cancel, finds an empty ledger and "
              "reserves for an order that is over (the *suspended try*): leave a mark"),
           but(cancel={"": ""})),
    Belief("a Try is always welcome",
           tr("this one comes after its Cancel, and no call will ever end what it reserves (the "
              "*suspended try*): where the ledger has an entry, a Try is refused"),
           but(**{TRY: _always("tried")})),
    Belief("refusing is safe",
           tr("a service that refuses every Try gives nothing back wrongly, and places no order"),
           but(**{TRY: _always(REFUSE)})),
)  # fmt: skip
HINTS = (
    tr(
        "Eleven of the fifteen cases write nothing. Which calls may come twice, which may come in "
        "the wrong sequence, and what does the ledger contain in each case?"
    ),
    tr(
        "An order that has any entry cannot be tried any more. A Confirm or a Cancel moves "
        "something only if the last entry reserves something. Which of them must leave a mark "
        "although nothing is reserved?"
    ),
)


def _build(line: str, rule: Rule) -> System:
    made = system(line)
    assert isinstance(made, Tcc)
    return fence_with(made, rule)


def _systems(rule: Rule) -> Systems:
    return (
        (_build(LINE, rule), Budget()),
        (_build(LINE, rule), BREAK),
        (_build(LACKING, rule), BREAK),
        (_build(NAMED, rule), BREAK),
    )


def _unseen(rule: Rule) -> Systems:
    two = Budget(breaks=1, kills=1, killable=("tm",), retries=1)
    return ((_build(NAMED.replace("T1", "T9"), rule), two),)


FENCE = Exercise(
    name="fence",
    systems=_systems,
    samples=SAMPLES,
    beliefs=BELIEFS,
    hints=HINTS,
    expects=expect_word(*ANSWERS),
    unseen=_unseen,
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"fence": (FENCE, "rule")}
