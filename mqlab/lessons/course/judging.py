"""The judge's side of grading: a process of its own (see `mqlab.lessons.course.points`).

python -I -m mqlab.lessons.course.judging lso

It imports the exercise from the installed package, hears the answer from its standard input,
asks there what a function answers, and says its verdict.
"""

from __future__ import annotations

import json
import sys
from ast import literal_eval
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from ...kernel import Text
from ...rocketmq.application.listener import DatabaseError, Db
from ...rocketmq.messages import Statement
from ..foreign import Elsewhere
from ..kafka.systems.loop import Abortable, App, Endless, Order, PriceUnknown, Refused
from ..limits import TooLong
from ..rocketmq.exercises.careful import perform

#: name of an exercise → where in `mqlab.lessons` it is, and what its answer is
EXERCISES = {
    "consume": ("patterns.exercises.counting", "CONSUME", "value"),
    "count": ("patterns.exercises.counting", "COUNTING", "rule"),
    "effects": ("patterns.exercises.effects", "EFFECTS", "value"),
    "fence": ("patterns.exercises.fence", "FENCE", "rule"),
    "answering": ("rocketmq.exercises.answering", "LISTENER", "listener"),
    "story": ("rocketmq.exercises.story", "STORY", "value"),
    "produce": ("kafka.lab05", "PRODUCE", "value"),
    "accept": ("kafka.exercises.accept", "ACCEPT", "rule"),
    "ending": ("rocketmq.exercises.ending", "ENDING", "value"),
    "listener": ("rocketmq.exercises.placing", "LISTENER", "listener"),
    "telling": ("rocketmq.exercises.telling", "TELLING", "rule"),
    "unanswered": ("kafka.exercises.commit", "UNANSWERED", "value"),
    "commit": ("kafka.exercises.commit", "COMMIT", "value"),
    "admit": ("kafka.exercises.admit", "ADMIT", "rule"),
    "half": ("kafka.lab07", "HALF", "value"),
    "marker": ("kafka.lab07", "MARKER", "value"),
    "lso": ("kafka.lab07", "LSO", "rule"),
    "loop_order": ("kafka.lab08", "ORDER", "value"),
    "loop": ("kafka.exercises.copying", "LOOP", "work"),
    "finding": ("pulsar.exercises.finding", "FINDING", "rule"),
    "reading": ("pulsar.exercises.reading", "READING", "rule"),
    "recovery": ("pulsar.exercises.recovering", "RECOVERY", "rule"),
    "hiding": ("pulsar.exercises.hiding", "HIDING", "value"),
    "passing": ("pulsar.exercises.passing", "PASSING", "value"),
    "returning": ("pulsar.exercises.returning", "RETURNING", "value"),
    "acking": ("pulsar.exercises.acking", "ACKING", "rule"),
    "steps": ("spark.decide", "STEPS", "value"),
    "decide": ("spark.decide", "DECIDE", "rule"),
    "resume": ("spark.two_phase", "RESUME", "rule"),
}
CALLS = (
    *("poll", "seek", "commit_offsets", "begin", "send", "flush"),
    *("send_offsets", "commit", "abort", "income"),
)
#: what a listener may ask of `memory`
RECALLS: dict[str, Callable[..., Any]] = {
    "recall": lambda memory, key: memory[key],
    "note": lambda memory, key, value: memory.__setitem__(key, value),
    "forget": lambda memory, key: memory.__delitem__(key),
    "keys": lambda memory: tuple(memory),
}
LISTENER = ("execute", "check")
Said = tuple[Any, ...]


#: what may fly out of a loop, as it may in the lab itself: the process ends
LEAVING = {kind.__name__: kind for kind in (Abortable, PriceUnknown, Refused)}


#: in place of what a function does next: it is not what it did before
DIFFERS: Said = (
    "raised",
    ("NotRepeatable", "run twice with the same answers, it did not do the same"),
)


class AnswerError(Exception):
    """What a student's function raised; the name of its class is that of the original."""


@dataclass(frozen=True)
class Odd:
    """A value that is none of those an answer can be; equal to nothing but itself."""

    text: str

    def __repr__(self) -> str:
        return self.text


def main(name: str) -> None:
    module, attribute, kind = EXERCISES[name]
    exercise = getattr(import_module(f"mqlab.lessons.{module}"), attribute)
    (_, value) = _hear()
    work = Work()
    answers = {
        "value": value,
        "rule": rule,
        "work": partial(run_loop, work),
        "listener": tuple(build_listener(work, method) for method in LISTENER),
    }
    verdict = exercise.check(answers[kind], graded=True)
    work.leave()
    _send(("verdict", json.dumps({"ok": verdict.ok, "says": str(verdict)})))


def _send(said: Said) -> None:
    print(repr(said), flush=True)


def _hear() -> Said:
    line = sys.stdin.readline()
    if not line:
        raise SystemExit("nobody answers any more")
    return tuple(literal_eval(line))


def rule(*given: Any) -> Any:
    """A student's function of plain values, called where it lives."""
    _send(("call", *given))
    return _value(_hear())


def _value(said: Said) -> Any:
    match said:
        case ("returned", ("odd", text)):
            return Odd(text)
        case ("returned", value):
            return value
        case ("stub", _):
            raise NotImplementedError
        case ("endless", after):
            raise Endless(f"it was stopped after {after}: is there a loop without an end?")
    name, words = said[1]
    raise (LEAVING.get(name) or type(name, (AnswerError,), {}))(words)


@dataclass
class Work:
    """A student's function, run where it lives. What it does next after which results is
    remembered, so that a schedule asks only for what no other has asked before; a run that has
    come to its end is run once more, and must come to the same."""

    next: dict[tuple[Said, ...], Said] = field(default_factory=dict)
    at: tuple[Said, ...] | None = None  # how far the run that is open there has come

    def run(self, begins: Said, perform: Callable[[str, Said], Said]) -> Any:
        """Begin a run there, and perform each call that it makes; what it returns."""
        heard: tuple[Said, ...] = (begins,)
        while True:
            if heard not in self.next:
                self.next[heard] = self._advanced(heard)
            step = self.next[heard]
            if step[0] != "ask":
                return _value(step)
            heard = (*heard, perform(*step[1:]))

    def _advanced(self, heard: tuple[Said, ...]) -> Said:
        """What the function does after these results."""
        if self.at is None or self.at != heard[:-1]:
            step = self._replay(heard)
        else:
            step = self._swap(heard[-1])
        if step[0] != "ask":
            self.at = None
            return step if step == self._replay(heard) else DIFFERS
        self.at = heard
        return step

    def _replay(self, heard: tuple[Said, ...]) -> Said:
        """What it does after these results when it is run from its first line."""
        self.leave()
        for count, result in enumerate(heard, 1):
            step = self._swap(result)
            self.at = heard[:count] if step[0] == "ask" else None
            if step != self.next.get(heard[:count], step):
                return DIFFERS
        return step

    def leave(self) -> None:
        """End the run that is open there, if one is."""
        if self.at is not None:
            self._swap(("leave",))
            self.at = None

    def _swap(self, said: Said) -> Said:
        _send(said)
        return _hear()


def run_loop(work: Work, app: App) -> None:
    """Lab 08's loop; what it returns is of no interest."""
    work.run(("work",), partial(_called_app, app))


def _called_app(app: App, call: str, given: Said) -> Said:
    """A call of the student's `app`, made on the real one."""
    if call not in CALLS:
        raise AttributeError(f"`app` has no call `{call}`")
    try:
        value = getattr(app, call)(*map(_argument, given))
    except (Abortable, Refused) as error:
        name = type(error).__name__
        return "raise", (name, str(error))
    if call == "poll":
        return "result", tuple((order.offset, order.value) for order in value)
    return "result", value


def build_listener(work: Work, method: str) -> Elsewhere:
    """One of a listener's two functions."""

    def run(order: str, db: Db, memory: MutableMapping[str, Any]) -> Any:
        try:
            return work.run(("listen", method, order), partial(_called_db, db, memory))
        except Endless as endless:
            raise TooLong(str(endless)) from None

    def find_foreign() -> Text | None:
        _send(("examine", method))
        said = _hear()[1]
        return Text(str(said)) if said else None

    return Elsewhere(run, find_foreign)


def _called_db(db: Db, memory: MutableMapping[str, Any], call: str, given: Said) -> Said:
    """A call of the student's `db` or `memory`, made on the real one."""
    try:
        if call in RECALLS:
            return "result", RECALLS[call](memory, *given)
        return "result", perform(db, Statement(*given))
    except (DatabaseError, KeyError) as error:
        return "raise", (type(error).__name__, str(error.args[0]))


def _argument(given: Any) -> Any:
    match given:
        case ("an order", int(offset), str(value)):
            return Order(offset, value)
        case int() | str():
            return given
    raise TypeError(f"an argument of a call is a number or a text, not {given!r}")


if __name__ == "__main__":
    main(sys.argv[1])
