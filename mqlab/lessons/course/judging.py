"""The judge's side of grading: a process of its own (see `mqlab.lessons.course.points`).

python -I -m mqlab.lessons.course.judging lso

It imports the exercise from the installed package, hears the answer from its standard input,
asks there what a function answers, and says its verdict.
"""

from __future__ import annotations

import json
import sys
from ast import literal_eval
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ..kafka.systems.loop import Abortable, App, Endless, Order, PriceUnknown, Refused

#: name of an exercise → where in `mqlab.lessons` it is, and what its answer is
EXERCISES = {
    "consume": ("patterns.exercises.counting", "CONSUME", "value"),
    "count": ("patterns.exercises.counting", "COUNTING", "rule"),
    "effects": ("patterns.exercises.effects", "EFFECTS", "value"),
    "fence": ("patterns.exercises.fence", "FENCE", "rule"),
    "story": ("rocketmq.exercises.story", "STORY", "value"),
    "produce": ("kafka.lab05", "PRODUCE", "value"),
    "accept": ("kafka.exercises.accept", "ACCEPT", "rule"),
    "unanswered": ("kafka.exercises.commit", "UNANSWERED", "value"),
    "commit": ("kafka.exercises.commit", "COMMIT", "value"),
    "admit": ("kafka.exercises.admit", "ADMIT", "rule"),
    "half": ("kafka.lab07", "HALF", "value"),
    "marker": ("kafka.lab07", "MARKER", "value"),
    "lso": ("kafka.lab07", "LSO", "rule"),
    "loop_order": ("kafka.lab08", "ORDER", "value"),
    "loop": ("kafka.exercises.copying", "LOOP", "work"),
    "steps": ("spark.decide", "STEPS", "value"),
    "decide": ("spark.decide", "DECIDE", "rule"),
    "resume": ("spark.two_phase", "RESUME", "rule"),
}
CALLS = (
    *("poll", "seek", "commit_offsets", "begin", "send", "flush"),
    *("send_offsets", "commit", "abort", "income"),
)
Said = tuple[Any, ...]


#: what may fly out of a loop, as it may in the lab itself: the process ends
LEAVING = {kind.__name__: kind for kind in (Abortable, PriceUnknown, Refused)}


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
    loop = Work()
    verdict = exercise.check({"value": value, "rule": rule, "work": loop.work}[kind], graded=True)
    loop.leave()
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
    """A student's loop, run where it lives. Which call follows which results is remembered, so
    that a schedule asks only for what no other has asked before."""

    next: dict[tuple[Said, ...], Said] = field(default_factory=dict)
    at: tuple[Said, ...] | None = None  # how far the run that is open there has come

    def work(self, app: App) -> None:
        heard: tuple[Said, ...] = ()
        while True:
            if heard not in self.next:
                self.next[heard] = self._advanced(heard)
            step = self.next[heard]
            if step[0] != "ask":
                _value(step)
                return
            heard = (*heard, _performed(app, *step[1:]))

    def _advanced(self, heard: tuple[Said, ...]) -> Said:
        """What the function does after these results."""
        if self.at is None or self.at != heard[:-1]:
            self.leave()
            step = self._swap(("work",))
            for result in heard:
                step = self._swap(result)
        else:
            step = self._swap(heard[-1])
        self.at = heard if step[0] == "ask" else None
        return step

    def leave(self) -> None:
        """End the run that is open there, if one is."""
        if self.at is not None:
            self._swap(("leave",))
            self.at = None

    def _swap(self, said: Said) -> Said:
        _send(said)
        return _hear()


def _performed(app: App, call: str, given: Said) -> Said:
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


def _argument(given: Any) -> Any:
    match given:
        case ("an order", int(offset), str(value)):
            return Order(offset, value)
        case int() | str():
            return given
    raise TypeError(f"an argument of a call is a number or a text, not {given!r}")


if __name__ == "__main__":
    main(sys.argv[1])
