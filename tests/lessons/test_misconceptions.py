"""What people get wrong: each belief is asked about, refuted and graded, or it says why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqlab.kernel import speaking
from mqlab.lessons.experiments import Experiment, holds
from mqlab.lessons.misconceptions import (
    MISCONCEPTIONS,
    PAGE,
    WANTED,
    Misconception,
    draw_page,
    label_chosen,
    label_named,
    met,
)
from mqlab.lessons.questions import find_question
from mqlab.registry import scenario
from mqlab.registry.tables import wrap
from tests.lessons.course.test_points import list_told
from tests.project.sources import ROOT

ALL = list(MISCONCEPTIONS.values())
TESTED = [(one, cell) for one in ALL for cell in one.cells]


def test_each_of_the_37_has_a_question_an_experiment_and_points_or_says_why_not() -> None:
    assert [one.number for one in ALL] == list(range(1, 38))
    whole = [one for one in ALL if all(one.has(wanted) for wanted in WANTED)]
    assert len(whole) >= 27
    for one in ALL:
        for option in one.options:
            question = find_question(option.question)
            assert question.answer != option.place < len(question.options), (one.name, option)
        assert all(one.has(wanted) != (wanted in one.why_not) for wanted in WANTED), one.name
        for text in (one.belief, one.truth, *one.why_not.values()):
            assert text.en and re.search("[一-鿿]", text.zh), one.name


@pytest.mark.parametrize("one", [m for m in ALL if m.experiment], ids=lambda one: one.name)
def test_the_experiment_refutes_the_belief(one: Misconception) -> None:
    assert one.experiment is not None
    trace = one.experiment.play().trace
    assert not one.experiment.stands(trace)
    assert not trace.facts[one.experiment.step(trace) - 1].fold, "the telling step is folded away"


RUN = "system kafka partitions=1\nrun app: init, begin, send orders-0 a, flush"


@pytest.mark.parametrize(
    ("claim", "is_so"),
    [
        ("some: app → orders-0 Produce a", True),
        ("some: app → orders-1", False),
        ("none: app → orders-1", True),
        ("none: orders-0 ▮ disk a @0", False),
        ("order: app ☞ begin < orders-0 ▮ disk a @0", True),
        ("order: orders-0 ▮ disk a @0 < app ☞ begin", False),
        ("log orders-0: a", True),
        ("log orders-0:", False),
        ("green: clean read", True),
    ],
)
def test_a_claim_is_held_against_a_run(claim: str, is_so: bool) -> None:
    assert holds(claim, scenario(RUN)) is is_so


def test_a_claim_of_no_kind_or_without_its_step_is_refused() -> None:
    trace = scenario(RUN)
    with pytest.raises(ValueError, match="begins with none of"):
        holds("maybe: a", trace)
    with pytest.raises(ValueError, match="no step of this run has 'never'"):
        holds("order: begin < never", trace)
    with pytest.raises(ValueError, match="no step of this run has 'nowhere'"):
        Experiment(RUN, (), "nowhere").step(trace)


@pytest.mark.parametrize(
    ("one", "cell"), TESTED, ids=[f"{one.name}-{cell.replace('/', '-')}" for one, cell in TESTED]
)
def test_who_holds_it_gets_no_points_and_hears_of_it(one: Misconception, cell: str) -> None:
    """One of the wrong answers on the instructor's page is told a name of this misconception."""
    told = list_told(cell.removesuffix("-test").replace("/", " "))
    assert told & {*one.names, one.belief.en}


def test_the_page_is_fresh_and_whole() -> None:
    text = Path(ROOT / "labs" / PAGE).read_text("utf-8")
    assert text == draw_page(), "run `mqlab labs build`"
    for one in ALL:
        assert f"| {one.number} | **{one.name}**: {one.belief.en}"[:60] in text


def test_a_report_calls_it_by_number_and_name() -> None:
    assert label_named("30 the last one wins") == "30 last-ack-wins"
    assert label_named("read_committed is the default") == "1 committed-by-default"
    assert label_named("read_committed 是默认级别") == "1 committed-by-default"
    assert label_named("nothing is written yet") == ""
    assert label_chosen("07-isolation", 0) == "1 committed-by-default"
    assert label_chosen("07-isolation", 3) == ""
    names = [name for one in ALL for name in one.names]
    options = [option for one in ALL for option in one.options]
    assert len(names) == len(set(names)) and len(options) == len(set(options))


def test_a_lab_ends_with_those_that_it_met() -> None:
    shown = str(met("12"))
    assert "36  a transactional message means the same everywhere\n    → In RocketMQ" in shown
    assert "read_committed is the default" not in shown
    assert max(map(len, shown.splitlines())) <= 96
    with pytest.raises(ValueError, match="no misconception of the table is of lab 99"):
        met("99")


def test_a_lab_in_chinese_ends_in_chinese() -> None:
    with speaking("zh"):
        fold = met("12")
    assert fold.summary.startswith("这里推翻的常见误解：")
    for one in ALL:
        if "12" in one.labs:
            assert one.belief.zh in fold.text and one.belief.en not in fold.text


def test_chinese_breaks_behind_a_character_and_before_no_sign() -> None:
    text = "标记由 leader 写入，没有谁缓存（read_committed 也一样），最多允许 5 个。"
    for width in range(16, 60):
        lines = wrap(text, width, "→ ", "  ")
        assert all(line[2] not in "，。）" for line in lines)
        assert "".join("".join(lines).split()) == "→" + "".join(text.split())
    assert wrap(text, 16, "→ ", "  ")[:2] == ["→ 标记由 leader", "  写入，没有谁缓"]
    assert wrap("a well-known word", 10) == ["a well-", "known word"]
