"""Checking what a learner wrote: put it into its slot, then look at every schedule.

A rule is a plain function of plain values. Each distinct input is given to it twice, so
that a rule with a memory is found out, and its time is bounded. What a search finds comes
back with the belief behind it and the shortest run that shows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..explore import Budget, explore
from ..kernel import System, Text, Trace, replay

LIMIT_S = 1.0


class RuleError(Exception):
    """A learner's rule raised, took too long or contradicted itself."""


@dataclass(frozen=True)
class Belief:
    """A wrong belief and a function that acts on it, so that it can be recognised."""

    name: str
    message: Text
    rule: Callable[..., Any]


@dataclass(frozen=True)
class Exercise:
    """A slot, the systems it is tried in, what inputs tell beliefs apart, and hints."""

    name: str
    systems: Callable[[Callable[..., Any]], tuple[tuple[System, Budget], ...]]
    samples: tuple[tuple[Any, ...], ...]
    beliefs: tuple[Belief, ...]
    hints: tuple[Text, ...]
    expects: Callable[[Any], str]

    def hint(self, level: int = 1) -> Text:
        """Level 1 points the way, the last one nearly says it; ValueError outside."""
        if not 1 <= level <= len(self.hints):
            raise ValueError(f"there are hints 1 to {len(self.hints)}")
        return self.hints[level - 1]


@dataclass(frozen=True)
class Verdict:
    """What came of a check. `misconception` names the belief behind a wrong answer, where
    one fits; `schedule` is the shortest run that refutes it, `trace()` and `player()` show
    it (None where no run is needed to see the mistake)."""

    ok: bool
    message: Text
    misconception: str = ""
    schedule: tuple[str, ...] = ()
    system: System | None = None

    def trace(self) -> Trace | None:
        if self.system is None:
            return None
        return replay(self.system, self.schedule, Text("Counterexample", "反例"))

    def player(self) -> Any:
        """The player on the run that refutes the answer, at its last step."""
        from mqlab_widgets import Player

        trace = self.trace()
        return None if trace is None else Player(trace, step=len(trace))

    def __str__(self) -> str:
        head = "right" if self.ok else "not yet"
        lines = [f"{head}: {self.message}"]
        trace = self.trace()
        if trace is not None:
            shown = [f.line() for f in trace.facts if not f.fold][-6:]
            lines += ["the shortest run that shows it ends:", *("  " + line for line in shown)]
        return "\n".join(lines)


def check(exercise: Exercise, rule: Callable[..., Any]) -> Verdict:
    """Judge a learner's rule by every schedule of the exercise's systems."""
    guarded = _guard(exercise, rule)
    try:
        for sample in exercise.samples:
            guarded(*sample)
        for system, budget in exercise.systems(guarded):
            verdict = explore(system, budget)
            for found in sorted(verdict.counterexamples.values(), key=lambda c: len(c.schedule)):
                return _wrong(exercise, rule, found.property, found.schedule, system)
            if verdict.missing:
                return _wrong(exercise, rule, verdict.missing[0], (), None)
    except RuleError as error:
        return Verdict(False, Text(str(error)))
    text = Text(
        "no schedule breaks it, and something gets read",
        "没有任何执行顺序能推翻它，而且确实有记录被读到",
    )
    return Verdict(True, text)


def _wrong(
    exercise: Exercise,
    rule: Callable[..., Any],
    broken: str,
    schedule: tuple[str, ...],
    system: System | None,
) -> Verdict:
    belief = _belief(exercise, rule)
    message = belief.message if belief else Text(f"“{broken}” does not hold with this rule")
    return Verdict(False, message, belief.name if belief else broken, schedule, system)


def _belief(exercise: Exercise, rule: Callable[..., Any]) -> Belief | None:
    """The listed belief that answers every sample as the learner does."""
    for belief in exercise.beliefs:
        if all(_same(rule, belief.rule, sample) for sample in exercise.samples):
            return belief
    return None


def _same(a: Callable[..., Any], b: Callable[..., Any], sample: tuple[Any, ...]) -> bool:
    return bool(a(*sample) == b(*sample))


def _guard(exercise: Exercise, rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule with its answers remembered and its manners watched."""
    answers: dict[tuple[Any, ...], Any] = {}

    def guarded(*given: Any) -> Any:
        if given not in answers:
            first, second = _call(rule, given), _call(rule, given)
            if first != second:
                raise RuleError(
                    f"for {given} it said {first!r} and then {second!r}: a rule may depend on "
                    "nothing but what it is given"
                )
            problem = exercise.expects(first)
            if problem:
                raise RuleError(f"for {given} it said {first!r}: {problem}")
            answers[given] = first
        return answers[given]

    return guarded


def _call(rule: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    started = time.perf_counter()
    try:
        answer = rule(*given)
    except NotImplementedError as error:
        raise RuleError("nothing is written yet: replace the line that raises") from error
    except Exception as error:
        raise RuleError(f"for {given} it raised {type(error).__name__}: {error}") from error
    if time.perf_counter() - started > LIMIT_S:
        raise RuleError(f"for {given} it took more than {LIMIT_S:.0f} s")
    return answer
