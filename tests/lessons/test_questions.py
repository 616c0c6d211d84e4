"""The labs' questions: found by name, in a form that says what is wrong with it, kept in a call."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mqlab.lab import Predict, scenario
from mqlab.lessons import questions
from mqlab.lessons.questions import CALL, find_question, read_questions

TORN = """
[torn]
until = "poll"
shows = ["readers: read_committed"]
asks = '''
What does
a reader get?

- a
    It is committed.
+ nothing
    There is no
    marker yet.
'''
"""
RUN = """
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a, flush
run reader: poll orders-0
"""


def test_a_question_is_read_from_its_file() -> None:
    (question,) = read_questions("07", TORN).values()
    assert (question.name, question.answer, question.until) == ("07-torn", 1, "poll")
    assert question.text == "What does a reader get?"
    assert question.options == ("a", "nothing") and question.shows == ("readers: read_committed",)
    assert question.explanations[1] == "There is no marker yet."


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("+ nothing", "- nothing", "one of them is right"),
        ("- a", "+ a", "one of them is right"),
        ("    It is committed.\n", "", "says something and why"),
        ("    There is no\n    marker yet.\n", "", "says something and why"),
        ("until =", "unitl =", "nothing is called 'unitl'"),
        ("What does\na reader get?", "", "has a text"),
        ("- a\n    It is committed.\n", "", "at least two options"),
    ],
)
def test_a_file_that_is_not_in_the_form_says_which_question(old: str, new: str, says: str) -> None:
    assert old in TORN
    with pytest.raises(ValueError, match=f"07-torn: .*{says}"):
        read_questions("07", TORN.replace(old, new, 1))


def test_a_name_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean '07-fetch'"):
        find_question("07-fetsh")
    for name in ("99-fetch", "../07-fetch", "fetch"):
        with pytest.raises(ValueError, match="asks anything"):
            find_question(name)


def test_a_lab_asks_by_name_and_an_old_copy_in_full() -> None:
    run = scenario(RUN)
    ask = Predict("07-isolation", trace=run, step=len(run))
    assert ask.question == find_question("07-isolation").text
    assert ask.ui["name"] == "07-isolation"
    assert not ask.ui["verdict"] and "librdkafka" in ask.still_html()
    ask.chosen, ask.locked, ask.revealed = 3, True, True
    assert ask.right and [line["panel"] for line in ask.ui["shows"]] == ["readers"]
    old = Predict(
        "Why?", options=["a", "b"], answer=1, explanations=["no", "yes"], trace=run, step=2
    )
    assert old.question == "Why?" and old.ui["name"] == ""


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ('Predict("07-fetch")', ("07-fetch", None, None)),
        ('x = Predict(\n    "07-fetch", chosen=2,\n    trace=run)', ("07-fetch", "2", None)),
        ("Predict('07-fetch', chosen=12, revealed=True)", ("07-fetch", "12", "yes")),
        ('Predict("07-fetch", chosen=123)', ("07-fetch", None, None)),
        ('Predict("What now?", ["a", "b"], 1)', None),
        ('Predict("' + "x" * 100_000 + '")', None),
    ],
)
def test_a_call_says_what_was_kept_in_it(code: str, kept: tuple[str, str, str] | None) -> None:
    found = CALL.search(code)
    assert (found and (found["name"], found["chosen"], found["revealed"] and "yes")) == kept


def test_an_answer_that_the_browser_could_not_write_is_written_by_the_next_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in an editor whose notebook the widget does not reach."""
    written: list[str] = []
    code = 'Predict("07-who-writes")  # mine'
    shell: Any = SimpleNamespace(
        get_parent=lambda: {"content": {"code": code}},
        set_next_input=lambda text, replace: written.append(text),
    )
    ask = Predict("07-who-writes")
    ask.chosen, ask.locked, ask.kept = 2, True, False
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    again = Predict("07-who-writes")
    assert written == ['Predict("07-who-writes", chosen=2)  # mine']
    assert (again.chosen, again.locked, again.revealed) == (2, True, False)
    assert Predict("07-who-writes").chosen == -1, "written once; who deletes it begins again"


@pytest.mark.parametrize(
    "path", sorted(Path(questions.__file__).parent.glob("*.toml")), ids=lambda path: path.stem
)
def test_no_question_has_markup(path: Path) -> None:
    """Its words are drawn as they stand, stars and backticks too."""
    words = path.read_text("utf-8").split("\n[", 1)[1]
    assert not set("*`") & set(words)
