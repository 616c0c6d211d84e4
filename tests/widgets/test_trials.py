"""An experiment with choices: each trial is a row, and what it does is said while it does it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("ipywidgets")

from mqlab_widgets import Trials


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
