"""Exercises whose answer is a story: the lines of a scenario, after a system line that is given.

    story = "run app: send-in-transaction orders-0 580538 …"

The story is executed in each of the exercise's systems, and what happens is judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..kernel import Run, Text, tr
from ..registry import run_scenario
from ..scenario.language import ScenarioError
from .check import Hinted
from .verdict import Verdict

#: what a story may not say: which system it is about
FIXED = ("system", "off")
LINE = re.compile(r"(line |第 )(\d+)(: | 行：)")

NO_LINES = tr("nothing is written yet: write the lines of a scenario, as text, into `story`")
FIXED_LINES = tr(
    "the system is given: write only what happens in it (`run`, `kill`, `restart`, `fire` …)"
)


@dataclass(frozen=True)
class StoryExercise(Hinted):
    """`systems`: the lines after which the story is put, each beginning with its `system`;
    `judge`: what is said of the executions."""

    systems: tuple[str, ...]
    judge: Callable[..., Verdict]
    hints: tuple[Text, ...]

    def check(self, story: object, graded: bool = False) -> Verdict:
        """Judge a story by what happens in it."""
        if not isinstance(story, str) or not story.strip():
            return Verdict(False, NO_LINES)
        if any(line.split()[:1] == [word] for line in story.splitlines() for word in FIXED):
            return Verdict(False, FIXED_LINES)
        runs: list[Run] = []
        for given in self.systems:
            try:
                runs.append(run_scenario(f"{given}\n{story.strip()}"))
            except ScenarioError as error:
                return Verdict(False, Text(_renumber(str(error), given)))
        return self.judge(*runs)


def _renumber(error: str, given: str) -> str:
    """An error, with its lines as they are in the story: the given lines are before it."""
    before = len(given.splitlines())
    return LINE.sub(lambda match: f"{match[1]}{int(match[2]) - before}{match[3]}", error)
