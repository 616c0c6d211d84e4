"""An experiment with choices: each trial is a row, and what it does is said while it does it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mqlab_widgets import Trials

from mqlab.kernel import Money, Text


def run(sink: str, point: str, *, say: Callable[[str], None]) -> tuple[str, str]:
    say(f"killing {sink}")
    if point == "never":
        raise RuntimeError("<no such point>")
    return "£1.00", "+3 %"


@pytest.fixture
def trials() -> Trials:
    return Trials({"sink": ["a", "b"], "killed": ["now", "never"]}, run, ["sum", "error"])


def test_the_button_runs_what_was_chosen_and_the_table_grows(trials: Trials) -> None:
    trials.menus[0].value = "b"
    trials.button.click()
    trials.button.click()
    assert trials.rows == [("b", "now", "£1.00", "+3 %")] * 2
    assert trials.table.value.count("<tr>") == 3
    assert str(trials).splitlines()[1].split() == ["b", "now", "£1.00", "+3", "%"]


def test_progress_is_said_and_shown(trials: Trials) -> None:
    heard: list[str] = []
    trials.status.observe(lambda change: heard.append(change["new"]), "value")
    said: list[str] = []
    trials.try_out("a", "now", say=said.append)
    assert said == ["killing a"] and heard[0] == "killing a"


def test_what_fails_is_a_row_and_is_escaped(trials: Trials) -> None:
    row = trials.try_out("a", "never")
    assert row[2] == "RuntimeError: <no such point>"
    assert "&lt;no such point&gt;" in trials.table.value and "<no such" not in trials.table.value
    assert not trials.button.disabled


def test_nothing_to_choose_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one choice"):
        Trials({}, run, ["sum"])


def test_the_money_of_a_trial_is_drawn_while_it_runs_and_gone_at_the_next() -> None:
    words = Text("<ordered>"), Text("added up")
    drawn: list[str] = []

    def run(how: str, *, say: Callable[[str], None], show: Callable[[Money], None]) -> tuple[str]:
        drawn.append(trials.money.value)
        for seen, extra in ((40, 0), (130, 30), (100, 0)):
            show(Money(100, seen, *words, extra=extra))
            drawn.append(trials.money.value)
        return ("ok",)

    trials = Trials({"how": ["now"]}, run, ["error"], money=True)
    assert trials.try_out("now") == ("now", "ok")
    empty, under_way, twice, after = drawn
    assert empty == "" and "£0.60 not settled yet" in under_way and "bad" not in under_way
    assert "£0.30 too much" in twice and "right again, but it was wrong" in after
    assert "&lt;ordered&gt; £1.00" in after and "<ordered>" not in after
    assert trials.money in trials.children
    trials.try_out("now")
    assert drawn[4] == "" and drawn[5] == under_way
