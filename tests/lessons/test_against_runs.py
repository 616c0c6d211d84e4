"""A rule that is held against runs: what it must say is what happened."""

from __future__ import annotations

from typing import Any

from mqlab.kernel import Outcome, Run, Text
from mqlab.lessons.against_runs import AgainstRuns, Moment
from mqlab.lessons.check import Belief

STORY = "system pulsar clients=app\nrun app: {calls}"


def look(run: Run) -> list[Moment]:
    """How many calls there were, and how many were answered."""
    told = [fact for fact in run.facts if isinstance(fact.body, Outcome)]
    return [Moment((n,), int(fact.body.ok), fact.index) for n, fact in enumerate(told)]


def _count(said: Any) -> Text | None:
    return None if isinstance(said, int) else Text("return a number")


COUNT = AgainstRuns(
    stories=(STORY.format(calls="new-transaction t1, new-transaction t2"),),
    unseen=(STORY.format(calls="commit t1"),),
    look=look,
    beliefs=(Belief("it counts the calls", Text("each call is counted"), lambda n: n),),
    hints=(Text("look"),),
    expects=_count,
    right=Text("so it was"),
    other=Text("it was not so"),
)


def test_what_happened_in_every_run_is_right() -> None:
    verdict = COUNT.check(lambda n: 1)
    assert verdict.ok and verdict.sentence == "right: so it was."


def test_unseen_runs_are_tried_for_points_only() -> None:
    verdict = COUNT.check(lambda n: 1, graded=True)
    assert not verdict.ok and verdict.message == COUNT.other
    trace = verdict.trace()
    assert trace is not None and "commit t1" in trace.facts[verdict.step - 1].text.en


def test_a_belief_is_known_by_all_its_answers_and_its_first_wrong_one_is_shown() -> None:
    verdict = COUNT.check(lambda n: n)
    assert (verdict.ok, verdict.misconception) == (False, "it counts the calls")
    trace = verdict.trace()
    assert trace is not None
    assert trace.facts[verdict.step - 1].text.en == "new-transaction t1: ok (0,0)"


def test_an_answer_of_no_known_belief_is_told_that_it_was_not_so() -> None:
    verdict = COUNT.check(lambda n: 7)
    assert (verdict.ok, verdict.misconception, verdict.message) == (False, "", COUNT.other)


def test_an_answer_that_cannot_be_taken_is_told_why() -> None:
    answers = iter(range(9))
    assert "return a number" in str(COUNT.check(lambda n: "one"))
    assert "raised ZeroDivisionError" in str(COUNT.check(lambda n: n // 0))
    assert "may depend on nothing but" in str(COUNT.check(lambda n: next(answers)))


def test_a_stub_is_told_that_nothing_is_written() -> None:
    def stub(n: int) -> int:
        raise NotImplementedError

    assert "nothing is written yet" in str(COUNT.check(stub))
