"""Checking what a learner wrote: put it into its slot, then look at every schedule.

A rule is a plain function of plain values. Each distinct input is given to it twice, so
that a rule with a memory is found out, and one that does not end is interrupted. What a
search finds comes back with the belief behind it and the shortest run that shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

from ..explore import Budget, explore
from ..kernel import System, Text, Words, tr
from .limits import TooLong, limit_time
from .verdict import NOT_WRITTEN, Verdict

LIMIT_S = 1.0
Rule = Callable[..., Any]
Systems = tuple[tuple[System, Budget], ...]

RIGHT = tr("no schedule breaks it, and something gets read")


BROKEN = Words("“{promise}” does not hold with this rule")
UNSURE = Words(
    "for {given} it said {first!r} and then {second!r}: a rule may depend on nothing but what it "
    "is given"
)
NO_RETURN = tr("one way through the function has no `return`")
UNFIT = Words("for {given} it said {answer!r}: {problem}")
ANSWERS = Words("the answers are {answers}")
ENDLESS = Words("for {given} it was stopped after {over}: is there a loop without an end?")
RAISED = Words("for {given} it raised {kind}: {error}")


class RuleError(Exception):
    """A learner's rule raised, took too long or contradicted itself; its text says which."""

    def __init__(self, text: Text) -> None:
        super().__init__(str(text))
        self.text = text


class Checked(Protocol):
    """An exercise: what an answer can be held against. `graded`: as for points, with what
    nobody was shown beforehand."""

    def check(self, answer: Any, graded: bool = False) -> Verdict: ...


@dataclass(frozen=True)
class Belief:
    """A wrong belief and a function that acts on it, so that it can be recognised."""

    name: str
    message: Text
    rule: Rule


class Hinted:
    """What has hints."""

    hints: tuple[Text, ...]

    def hint(self, level: int = 1) -> Text:
        """Level 1 points the way, the last one nearly says it; ValueError outside."""
        if not 1 <= level <= len(self.hints):
            raise ValueError(f"there are hints 1 to {len(self.hints)}")
        return self.hints[level - 1]


def no_more(rule: Rule) -> Systems:
    return ()


@dataclass(frozen=True)
class Exercise(Hinted):
    """A slot, the systems it is tried in, what inputs tell beliefs apart, and hints. `unseen`:
    more systems, with other numbers, that only grading tries. `right`: what a right rule is
    told."""

    name: str
    systems: Callable[[Rule], Systems]
    samples: tuple[tuple[Any, ...], ...]
    beliefs: tuple[Belief, ...]
    hints: tuple[Text, ...]
    expects: Callable[[Any], Text | None]
    unseen: Callable[[Rule], Systems] = no_more
    right: Text = RIGHT

    def check(self, rule: Rule, graded: bool = False) -> Verdict:
        """Judge a learner's rule by every schedule of the exercise's systems; `graded`: of the
        unseen ones too."""
        guarded = _guard(self, rule)
        try:
            if all(call_rule(rule, sample) is None for sample in self.samples):
                return Verdict(False, NOT_WRITTEN)
            for sample in self.samples:
                guarded(*sample)
            for system, budget in self._tried(guarded, graded):
                verdict = explore(system, budget)
                for example in sorted(
                    verdict.counterexamples.values(), key=lambda c: len(c.schedule)
                ):
                    return _wrong(self, guarded, example.property, example.schedule, system)
                if verdict.missing:
                    return _wrong(self, guarded, verdict.missing[0], (), None)
        except RuleError as error:
            return Verdict(False, error.text)
        return Verdict(True, self.right)

    def _tried(self, rule: Rule, graded: bool) -> Systems:
        return (*self.systems(rule), *(self.unseen(rule) if graded else ()))


def check(exercise: Checked, answer: Any) -> Verdict:
    """Judge what a learner wrote; the same as `exercise.check(answer)`."""
    return exercise.check(answer)


def _wrong(
    exercise: Exercise,
    rule: Rule,
    broken: str,
    schedule: tuple[str, ...],
    system: System | None,
) -> Verdict:
    belief = _belief(exercise, rule)
    message = belief.message if belief else BROKEN(promise=broken)
    name = belief.name if belief else broken
    return Verdict(False, message, name, schedule, system, light=broken)


def _belief(exercise: Exercise, rule: Rule) -> Belief | None:
    """The listed belief that answers every sample as the learner does."""
    for belief in exercise.beliefs:
        if all(_same(rule, belief.rule, sample) for sample in exercise.samples):
            return belief
    return None


def _same(a: Rule, b: Rule, sample: tuple[Any, ...]) -> bool:
    return bool(a(*sample) == b(*sample))


def _guard(exercise: Exercise, rule: Rule) -> Rule:
    """The rule with its answers remembered and its manners watched."""
    answers: dict[tuple[Any, ...], Any] = {}

    def guarded(*given: Any) -> Any:
        if given not in answers:
            answers[given] = ask_rule(rule, given, exercise.expects)
        return answers[given]

    return guarded


def ask_rule(rule: Rule, given: tuple[Any, ...], expects: Callable[[Any], Text | None]) -> Any:
    """What a rule answers, asked twice; RuleError with the reason why it cannot be taken."""
    first, second = (call_rule(rule, deepcopy(given)) for _ in range(2))
    if first != second:
        raise RuleError(UNSURE(given=given, first=first, second=second))
    problem = NO_RETURN if first is None else expects(first)
    if problem is not None:
        raise RuleError(UNFIT(given=given, answer=first, problem=problem))
    return first


def expect_word(*words: str) -> Callable[[Any], Text | None]:
    """What an exercise expects whose answer is one of these words: the problem, None for a word."""
    problem = ANSWERS(answers=", ".join(f'"{word}"' for word in words))
    return lambda answer: None if isinstance(answer, str) and answer in words else problem


def call_rule(rule: Rule, given: tuple[Any, ...]) -> Any:
    """What a rule answers, None if it is a stub; RuleError if it raises or does not end."""
    try:
        with limit_time(LIMIT_S):
            return rule(*given)
    except NotImplementedError:
        return None
    except TooLong as over:
        raise RuleError(ENDLESS(given=given, over=over)) from None
    except Exception as error:
        kind = type(error).__name__
        raise RuleError(RAISED(given=given, kind=kind, error=error)) from error
