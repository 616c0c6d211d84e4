"""Rules that are judged by stories: which promise breaks in which story tells what is believed.

Each trial is a short story with the learner's rule in its place; every schedule of it is searched.
So a wrong rule that was not foreseen meets a sentence of its own as well, and its shortest
execution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..explore import Budget
from ..kernel import System, Text
from .check import Exercise, Hinted, Rule
from .verdict import Verdict


class Trial(Protocol):
    """A story with a place for a rule. `says`: by the name of the promise that breaks in it, the
    misconception (a number of the list, or a name) with its message."""

    @property
    def says(self) -> Mapping[str, tuple[str, Text]]: ...

    def build_case(self, rule: Rule) -> tuple[System, Budget]: ...


@dataclass(frozen=True)
class Stories(Hinted):
    """An exercise: its trials in the order in which they are tried; `unseen`, which only grading
    tries; `samples`, with which a rule is called before any search; `right`: the message for a
    right rule."""

    name: str
    trials: tuple[Trial, ...]
    unseen: tuple[Trial, ...]
    samples: tuple[tuple[Any, ...], ...]
    expects: Callable[[Any], Text | None]
    hints: tuple[Text, ...]
    right: Text

    def check(self, rule: Rule, graded: bool = False) -> Verdict:
        """Judge a rule by every schedule of every trial; `graded`: of the unseen ones too."""
        for trial in (*self.trials, *(self.unseen if graded else ())):
            verdict = self._build(trial).check(rule)
            if not verdict.ok:
                broken = verdict.misconception
                name, message = trial.says.get(broken, (broken, verdict.message))
                return replace(verdict, misconception=name, message=message)
        return Verdict(True, self.right)

    def _build(self, trial: Trial) -> Exercise:
        return Exercise(
            name=self.name,
            systems=lambda rule: (trial.build_case(rule),),
            samples=self.samples,
            beliefs=(),
            hints=self.hints,
            expects=self.expects,
        )
