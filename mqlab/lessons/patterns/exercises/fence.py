"""The exercise of lab 02: what a service of TCC does with a Try, a Confirm and a Cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....explore import Budget
from ....kernel import System
from ....kernel.options import fill
from ....registry import system
from ....registry.cases.patterns.tcc import BREAK, LACKING, LINE, NAMED
from ...check import Exercise, Systems, expect_word, list_beliefs
from ...exercises import read_hints
from ..systems import ANSWERS, CANCEL, CONFIRM, REFUSE, TRY, FencedTcc

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


BELIEFS = list_beliefs(
    "02 fence",
    {
        "each call arrives once": lambda call, last: {
            TRY: "tried",
            CONFIRM: "confirmed",
            CANCEL: "cancelled",
        }[call],
        "only a Cancel is repeated": but(confirm={"tried": "confirmed", "confirmed": "confirmed"}),
        "only a Confirm is repeated": but(cancel={"cancelled": "cancelled"}),
        "there was a Try before every Cancel": but(cancel={"": "cancelled"}),
        "a Cancel without a Try is an error": but(cancel={"": REFUSE}),
        "what has done nothing need not be remembered": but(cancel={"": ""}),
        "a Try is always welcome": but(**{TRY: _always("tried")}),
        "refusing is safe": but(**{TRY: _always(REFUSE)}),
    },
)
HINTS = read_hints("02 fence")


def _build(line: str, rule: Rule) -> System:
    return fill(FencedTcc, system(line), rules=(("fence", rule),))


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
