"""Checking what a learner wrote: put it into its place, then look at every schedule.

A rule is a plain function of plain values. Each distinct input is given to it twice, so
that a rule with a memory is found out, and one that does not end is interrupted. What a
search finds comes back with the belief behind it and the shortest execution that shows it.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from ..explore import Budget, explore
from ..kernel import Run, System, Text, Words, World, tr
from ..kernel.choice import Choice, parse
from ..kernel.moves import apply, initial, list_choices
from .exercises import read_beliefs
from .verdict import NOT_WRITTEN, Verdict

# ---- Stopping what a learner wrote when it takes too long ----------------------------
#
# What counts is the processor's time that the thread has used, so that a right answer passes on a
# busy machine too; what waits and uses none is stopped after a while on the clock, `PATIENCE`
# times as long.
#
# A function with an endless loop is interrupted by the machine's own timer (`setitimer`), where
# there is one and the call is made in the main thread, as a notebook's cells are. Elsewhere only
# what comes to an end can be found to have taken too long.

AGAIN_S = 0.05
PATIENCE = 10
MOST_FILE = 50_000_000  # bytes
#: a browser's Python cannot say what a thread has used
read_used = getattr(time, "thread_time", time.perf_counter)


class TooLong(BaseException):
    """The time is over; its text says how long it was. No `Exception`, so that an
    `except Exception` does not catch it."""


class Limit:
    """What a thread may use from now on; as the handler of a signal it raises `TooLong` in the
    main thread once that is used up."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.count_anew()

    def count_anew(self) -> None:
        self._used, self._began = read_used(), time.perf_counter()

    def start(self) -> None:
        """Count again, and let the timer ring from when it could first be used up."""
        self.count_anew()
        signal.setitimer(signal.ITIMER_REAL, self.seconds, AGAIN_S)

    def check(self) -> None:
        """Raises TooLong."""
        if read_used() - self._used >= self.seconds:
            raise TooLong(f"{self.seconds:.0f} s")
        if time.perf_counter() - self._began >= PATIENCE * self.seconds:
            raise TooLong(f"{PATIENCE * self.seconds:.0f} s")

    def __call__(self, _number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code in AROUND:
                return
            frame = frame.f_back
        self.check()


class limit_time:
    """Let the code inside run for so many seconds, then raise `TooLong` in it, again and again
    should it catch that. Where it cannot be interrupted, `TooLong` comes when it has ended."""

    def __init__(self, seconds: float) -> None:
        self._limit, self._interrupts = Limit(seconds), can_interrupt()

    def __enter__(self) -> None:
        if self._interrupts:
            self._old_handler = signal.signal(signal.SIGALRM, self._limit)
            self._limit.start()

    def __exit__(self, raised: type[BaseException] | None, *_more: object) -> None:
        if self._interrupts:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._old_handler)
        elif raised is None:
            self._limit.check()


#: where a timer that rings raises nothing: it could leave itself set for what comes after
AROUND = (limit_time.__enter__.__code__, limit_time.__exit__.__code__)


@contextmanager
def pause_limit() -> Iterator[None]:
    """Within `limit_time`: what happens here is not the learner's, whose time begins again at
    its end."""
    limit = signal.getsignal(signal.SIGALRM) if can_interrupt() else None
    if not isinstance(limit, Limit):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    limit.start()


def can_interrupt() -> bool:
    """Whether a call made here can be interrupted, not only measured."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def limit_resources(memory: int) -> None:
    """What this process may use from now on, in bytes, where this system can say so."""
    with suppress(ImportError):
        import resource

        for kind, most in (("RLIMIT_FSIZE", MOST_FILE), ("RLIMIT_AS", memory)):
            if hasattr(resource, kind):
                with suppress(ValueError, OSError):
                    resource.setrlimit(getattr(resource, kind), (most, most))


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


class Checked(Protocol):
    """An exercise: what an answer can be compared with. `graded`: as for points, with the unseen
    cases."""

    def check(self, answer: Any, graded: bool = False) -> Verdict: ...


@dataclass(frozen=True)
class Belief:
    """A wrong belief and a function that acts on it, so that it can be recognised. `rule`: that
    function; of a listener, one that says whether the listener's ways come of the belief."""

    name: str
    message: Text
    rule: Rule


def list_beliefs(exercise: str, rules: Mapping[str, Rule]) -> tuple[Belief, ...]:
    """The beliefs of an exercise, in the order of their rules. ValueError where its texts are of
    other beliefs."""
    said = read_beliefs(exercise)
    if other := said.keys() ^ rules.keys():
        raise ValueError(f"{exercise}: a rule or a text is missing of: {', '.join(sorted(other))}")
    return tuple(Belief(name, said[name], rule) for name, rule in rules.items())


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
    """A decision of a role, the systems it is tried in, what inputs tell beliefs apart, and hints.
    `unseen`: more systems, with other numbers, that only grading tries. `right`: the message for a
    right rule. `samples`: those inputs; `expects`: what is wrong with a value that a rule returns,
    or None."""

    name: str
    systems: Callable[[Rule], Systems]
    samples: tuple[tuple[Any, ...], ...]
    beliefs: tuple[Belief, ...]
    hints: tuple[Text, ...]
    expects: Callable[[Any], Text | None]
    unseen: Callable[[Rule], Systems] = no_more
    right: Text = RIGHT

    def check(self, rule: Rule, graded: bool = False) -> Verdict:
        """Judge a learner's rule: no schedule of the exercise's systems may break a claim, and what
        must happen in some schedule happens; `graded`: of the unseen systems too."""
        guarded = _guard(self, rule)  # remembers its answers, and checks their kind
        try:
            # a function that is still without its body returns None for everything
            if all(call_rule(rule, sample) is None for sample in self.samples):
                return Verdict(False, NOT_WRITTEN)
            for sample in self.samples:  # raises RuleError for an answer of the wrong kind
                guarded(*sample)
            for system, budget in self._tried(guarded, graded):
                verdict = explore(system, budget)
                # the shortest counterexample, if there is one
                for example in sorted(
                    verdict.counterexamples.values(), key=lambda c: len(c.schedule)
                ):
                    return _wrong(self, guarded, example.property, example.schedule, system)
                if verdict.missing:  # a claim that must come true, and never does
                    return _wrong(self, guarded, verdict.missing[0], (), None)
        except RuleError as error:
            return Verdict(False, error.args[0])
        return Verdict(True, self.right)

    def _tried(self, rule: Rule, graded: bool) -> Systems:
        return (*self.systems(rule), *(self.unseen(rule) if graded else ()))


def check(exercise: Checked, answer: Any) -> Verdict:
    """Judge what a learner wrote; the same as `exercise.check(answer)`."""
    return exercise.check(answer)


def _wrong(
    exercise: Exercise, rule: Rule, broken: str, schedule: tuple[str, ...], system: System | None
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


def expect_truth(problem: Text) -> Callable[[Any], Text | None]:
    """What an exercise expects whose answer is True or False: the problem for anything else."""
    return lambda answer: None if isinstance(answer, bool) else problem


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
        raise RuleError(RAISED(given=given, kind=kind, error=say_error(error))) from error


def say_error(error: BaseException) -> str:
    """The text of an exception; "" where its own `__str__` raises, as a learner's class may."""
    try:
        return str(error)
    except Exception:
        return ""


# ---- One execution of a system in a fixed order, with one fault at one place ---------
#
# Searching every schedule of a long program is dear; going once through it for every place
# where a process may be killed or fall silent is cheap, and finds most of what is wrong.

STEPS = 2_000
#: how often each timer may ask again: what waits for a transaction's timeout waits for ever here
RETRIES = 3
Wanted = Callable[[Choice], bool]


@dataclass
class Rehearsal:
    """An execution that is not shown: facts and pictures, most of what a `Run` costs, are left out.
    `world`, `choices`: as in `Run`."""

    system: System
    world: World = field(init=False)
    choices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = initial(self.system)

    def do(self, choice: str) -> None:
        """Make one choice; ValueError where it is not possible."""
        for moved in apply(self.system, self.world, parse(choice)):
            self.world = moved.world
        self.choices.append(choice)


def go(
    run: Rehearsal | Run,
    wanted: Wanted = lambda choice: True,
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Do what is possible, first things first, and let timers run out that only ask again,
    until `until` or until nothing wanted is left."""
    fired: dict[str, int] = {}
    for _ in range(STEPS):
        ready = [c for c in possible(run) if wanted(c) and fired.get(str(c), 0) < RETRIES]
        if until() or not ready:
            return
        run.do(str(ready[0]))
        if ready[0].kind == "fire":
            fired[str(ready[0])] = fired.get(str(ready[0]), 0) + 1


def possible(run: Rehearsal | Run) -> list[Choice]:
    """What is in flight arrives before any call, and requests are repeated only then."""
    steps = [c for c in list_choices(run.system, run.world) if c.kind != "fire"]
    steps.sort(key=lambda c: c.kind == "call")
    again = [(node, name) for node, name in timers(run) if run.system.only_repeats(name)]
    return [*steps, *(Choice("fire", node, name) for node, name in again)]


def timers(run: Rehearsal | Run) -> list[tuple[str, str]]:
    """(node, timer) of all that are set."""
    return [(name, timer) for name, n in run.world.nodes.items() for _, timer, _ in n.timers]


def count_calls(run: Rehearsal, node: str) -> int:
    """How many calls of an application have returned."""
    app = run.world.nodes[node].app
    return len(app.results) if app is not None else 0


def plain(system: System) -> Rehearsal:
    run = Rehearsal(system)
    go(run)
    return run


def run_with_kill(system: System, node: str, calls: int) -> Rehearsal:
    """The process is killed after so many calls, and started again."""
    run = Rehearsal(system)
    go(run, until=lambda: count_calls(run, node) >= calls)
    run.do(f"kill {node}")
    run.do(f"restart {node}")
    go(run)
    return run


def run_with_stall(system: System, old: str, new: str, calls: int, session: str) -> Rehearsal:
    """One member falls silent after so many calls. The group gives it up, if it knows it by
    then (`session` is the name of that timer), another does its work, and it wakes up."""
    run = Rehearsal(system)
    go(run, lambda c: new not in (c.a, c.b), until=lambda: count_calls(run, old) >= calls)
    for node, timer in timers(run):
        if timer == session:
            run.do(f"fire {node} {timer}")
    go(run, lambda c: old not in (c.a, c.b))
    go(run)
    return run
