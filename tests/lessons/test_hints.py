"""A hint says what to think of, not what to type."""

from __future__ import annotations

import re
from functools import cache

import pytest

from mqlab.lessons.check import Hinted
from mqlab.lessons.course.graded import find_exercise, list_exercises
from mqlab.lessons.course.notebooks import labs_in, read_source
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


@pytest.mark.parametrize("name", list_exercises())
def test_no_hint_prints_a_piece_of_a_solution(name: str) -> None:
    exercise, _ = find_exercise(name)
    for hint in exercise.hints if isinstance(exercise, Hinted) else ():
        for text in (hint.en, hint.zh):
            assert [code for code in list_fragments(text) if code in read_solutions()] == []
