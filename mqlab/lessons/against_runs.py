"""Rules that are compared with executions: what does a rule say of a moment, and what happened
then?

The rule replaces no part of a system. It is given what a node of the execution knows, and what it
says must be what comes of it in that execution. A wrong one meets the belief that explains all its
answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..kernel import Run, Text
from ..registry import run_scenario
from .check import Belief, Hinted, Rule, RuleError, ask_rule, call_rule
from .steps import At
from .verdict import NOT_WRITTEN, Verdict


@dataclass(frozen=True)
class Moment:
    """`given`: what the rule is given; `happened`: what it must say; `step`: the step of the trace
    that shows it."""

    given: tuple[Any, ...]
    happened: Any
    step: int


@dataclass(frozen=True)
class AgainstRuns(Hinted):
    """An exercise: its stories in the order in which they are tried, `unseen`, which only grading
    tries, and `look`, which finds in an execution what a rule is asked. `other`: the message for a
    wrong rule that acts on none of the beliefs. `hints`: in order; `expects`: what is wrong with a
    value that a rule returns, or None; `right`: the message for a right rule."""

    stories: tuple[str, ...]
    unseen: tuple[str, ...]
    look: Callable[[Run], list[Moment]]
    beliefs: tuple[Belief, ...]
    hints: tuple[Text, ...]
    expects: Callable[[Any], Text | None]
    right: Text
    other: Text

    def check(self, rule: Rule, graded: bool = False) -> Verdict:
        """Judge a learner's rule: at every moment of every scenario it must answer what happened
        there; `graded`: in the unseen scenarios too."""
        runs = [run_scenario(story) for story in self.stories]
        moments = [(run, moment) for run in runs for moment in self.look(run)]
        try:
            if all(call_rule(rule, moment.given) is None for _, moment in moments):
                return Verdict(False, NOT_WRITTEN)
            # `given`: the rule's arguments; `happened`: the answer that the execution itself gives
            answers = [ask_rule(rule, moment.given, self.expects) for _, moment in moments]
            for (run, moment), answer in zip(moments, answers, strict=True):
                if answer != moment.happened:
                    return self._refute(run, moment, [one for _, one in moments], answers)
            for run in map(run_scenario, self.unseen if graded else ()):
                for moment in self.look(run):
                    if ask_rule(rule, moment.given, self.expects) != moment.happened:
                        return _show(run, moment, self.other)
        except RuleError as error:
            return Verdict(False, error.args[0])
        return Verdict(True, self.right)

    def _refute(self, run: Run, at: Moment, moments: list[Moment], answers: list[Any]) -> Verdict:
        for belief in self.beliefs:
            if [belief.rule(*one.given) for one in moments] == answers:
                return _show(run, at, belief.message, belief.name)
        return _show(run, at, self.other)


def _show(run: Run, moment: Moment, message: Text, belief: str = "") -> Verdict:
    schedule = tuple(map(str, run.choices))
    return Verdict(False, message, belief, schedule, run.system, tells=At(moment.step))
