"""What all graded exercises have in common: hints, and for each belief a sentence of its own and a
run that refutes it. What only one of them has is tested with its lab."""

from __future__ import annotations

import re
from functools import cache

import pytest

from mqlab.lessons.check import Exercise, Hinted, list_beliefs
from mqlab.lessons.course.graded import find_exercise, list_exercises
from mqlab.lessons.course.notebooks import labs_in, read_source
from mqlab.lessons.exercises import read_beliefs, read_hints, read_texts
from mqlab.lessons.rocketmq.exercises.listener import ListenerExercise
from tests.project.sources import ROOT

SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
#: a name, with or without the call of it
NAME = re.compile(r"[\w.]+(\(\))?")


@cache
def read_solutions() -> str:
    return "".join(
        solution
        for lab in labs_in(ROOT / "labs")
        for cell in read_source(lab).cells
        for solution in SOLUTION.findall(cell.source)
    )


def list_fragments(text: str) -> list[str]:
    """The pieces of code in a hint that are more than a name."""
    return [code for code in re.findall(r"`([^`]+)`", text) if not NAME.fullmatch(code)]


#: such a rule lets nothing happen, so that no run is needed to see the mistake
USELESS = {
    "an open transaction is busy",
    "nobody is let in",
    "refusing is safe",
    "a half message that is not safe leaves the order open",
    "nothing is ever known",
    "nothing is certain before the broker has heard of it",
    "ROLLBACK_MESSAGE is about the message only",
}
HELD = {
    (name, belief.name): belief
    for name in list_exercises()
    if not isinstance(exercise := find_exercise(name)[0], ListenerExercise)
    for belief in getattr(exercise, "beliefs", ())
}


@pytest.mark.parametrize(("name", "belief"), HELD, ids=str)
def test_each_belief_meets_its_own_sentence_and_a_run(name: str, belief: str) -> None:
    exercise, held = find_exercise(name)[0], HELD[name, belief]
    verdict = exercise.check(held.rule)
    assert not verdict.ok and verdict.misconception == belief
    assert held.message.en in verdict.message.en and held.message.zh in verdict.message.zh
    trace = verdict.trace()
    assert (trace is None) == (belief in USELESS or name == "lost")
    if trace is not None:
        assert 0 <= verdict.step <= len(trace)
        lights = trace.snapshot(-1).lights
        assert any(not light.ok for light in lights) or type(exercise) is not Exercise


def test_each_belief_of_the_table_has_its_sentence_and_its_rule() -> None:
    for name in read_texts():
        said = (*read_hints(name), *read_beliefs(name).values())
        assert len(said) > 1 and all(str(text) for text in said), name
    with pytest.raises(ValueError, match=r"06 admit: a rule or a text is missing of: .*, sleep, "):
        list_beliefs("06 admit", {"sleep": lambda *given: "ok"})


@pytest.mark.parametrize("name", sorted({name for name, _ in HELD}))
def test_a_stub_is_told_that_nothing_is_written(name: str) -> None:
    def stub(*given: object) -> None:
        raise NotImplementedError

    assert "nothing is written yet" in str(find_exercise(name)[0].check(stub))


@pytest.mark.parametrize("name", list_exercises())
def test_hints_differ_and_are_numbered(name: str) -> None:
    exercise, _ = find_exercise(name)
    if isinstance(exercise, Hinted):
        many = len(exercise.hints)
        for language in ("en", "zh"):
            hints = {getattr(exercise.hint(level + 1), language) for level in range(many)}
            assert len(hints) == many > 1 and "" not in hints
        with pytest.raises(ValueError, match=f"hints 1 to {many}"):
            exercise.hint(many + 1)


@pytest.mark.parametrize("name", list_exercises())
def test_no_hint_prints_a_piece_of_a_solution(name: str) -> None:
    exercise, _ = find_exercise(name)
    for hint in exercise.hints if isinstance(exercise, Hinted) else ():
        for text in (hint.en, hint.zh):
            assert [code for code in list_fragments(text) if code in read_solutions()] == []
