"""Sentences why: which of a broker's fits, and what is said while a safeguard is off."""

from __future__ import annotations

import pytest

from mqlab.kernel import NOTHING, Fact, FactKind, Outcome, Text, Words, build_failure
from mqlab.kernel.reasons import (
    POWER_CUT,
    UNKNOWN_OUTCOME,
    Reasons,
    say_unguarded,
)
from mqlab.kernel.role import FAILED, UNKNOWN

STOPPED = Words("It stops.", "它停止。")
AGAIN = Words("It asks again.", "再问一次。")
BAD = Words("It failed.", "失败了。")
GOOD = Words("It was done.", "完成了。")
MOVED = Words("up to {lso}", "至 {lso}")
ENTERED = Words("{name} is {state}", "{name} 是 {state}")
UP_TO = Words("Read up to {lso}; the end is {hw}.", "读到 {lso}；末尾是 {hw}。")

REASONS = Reasons(
    stopped={"store": STOPPED},
    recovered={},
    timers={"retry a": GOOD, "retry ": AGAIN},
    changes={MOVED: GOOD, (ENTERED, "open"): AGAIN, (ENTERED, "closed"): BAD},
    alone={FactKind.POWER_CUT: POWER_CUT},
    explain_success=lambda outcome: GOOD() if outcome.ok else NOTHING,
    explain_failure=lambda outcome: AGAIN() if outcome.meaning == "fenced" else BAD(),
)


def why(kind: FactKind, body: object = None, text: str = "") -> Text:
    return REASONS.explain(Fact(1, 1, "a", "·", Text(text), kind=kind, body=body), "store")


def test_a_sentence_is_found_by_the_kind_of_the_fact() -> None:
    assert why(FactKind.KILL) == STOPPED()
    assert why(FactKind.POWER_CUT) == POWER_CUT()
    assert why(FactKind.TIMER, "retry b") == AGAIN()
    assert why(FactKind.TIMER, "retry a b") == GOOD(), "the first that fits"
    assert why(FactKind.TIMER, "no retry a") == why(FactKind.FLUSH) == NOTHING
    assert why(FactKind.RETURN, Outcome("call")) == GOOD()
    assert why(FactKind.RETURN, Outcome("call", FAILED)) == BAD()
    assert why(FactKind.RETURN, build_failure("call", "fenced")) == BAD(), "these are words"
    assert why(FactKind.RETURN, build_failure("call", "no", "fenced")) == AGAIN()
    assert why(FactKind.RETURN, Outcome("call", UNKNOWN)) == UNKNOWN_OUTCOME()
    assert why(FactKind.RETURN, "a value of another kind") == NOTHING


@pytest.mark.parametrize("text", ["", "up to 5", "a is closed"])
def test_a_change_is_known_by_its_template_and_its_state_whatever_its_line_says(text: str) -> None:
    def change(made: Text) -> Text:
        return why(FactKind.CHANGE, made.made, text)

    assert change(MOVED(lso=5)) == GOOD()
    assert change(ENTERED(name="closed", state="open")) == AGAIN()
    assert change(ENTERED(name="open", state="closed")) == BAD()
    assert change(ENTERED(name="closed", state="new")) == change(Text("up to 5")) == NOTHING


def test_an_error_says_itself_what_it_means() -> None:
    failed = build_failure("call", FactKind.KILL)
    assert (failed.detail, failed.meaning) == ("kill", FactKind.KILL)


def test_while_a_safeguard_is_off_its_sentences_are_replaced() -> None:
    table = {"lso": {UP_TO: Words("all is read.", "全部读到。")}}
    filled = UP_TO(lso=3, hw=5)
    assert say_unguarded(filled, ("lso",), table) == Text(
        "lso is off: all is read.", "lso 已关闭：全部读到。"
    )
    assert say_unguarded(filled, (), table) == filled
    assert say_unguarded(filled, ("another",), table) == filled
    assert say_unguarded(AGAIN(), ("lso",), table) == AGAIN()


def test_a_step_to_which_several_safeguards_matter_names_them_all() -> None:
    table = {name: {AGAIN: Words(f"no {name}.", f"没有 {name}。")} for name in ("a", "b", "c")}
    assert say_unguarded(AGAIN(), ("a", "c"), table) == Text(
        "a is off: no a. c is off: no c.", "a 已关闭：没有 a。c 已关闭：没有 c。"
    )


def test_a_text_is_known_by_its_template() -> None:
    assert UP_TO.has_made(UP_TO(lso="1 (of 2)", hw=""))
    assert not UP_TO.has_made(Text("Read up to 3"))
    assert AGAIN.has_made(AGAIN()) and not AGAIN.has_made(GOOD())
