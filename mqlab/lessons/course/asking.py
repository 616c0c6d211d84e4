"""What the judge asks of an answer that lives in another process.

Each kind of answer becomes something that an exercise can check: a value, a rule of plain values,
a loop that calls its `app`, a listener that calls `db` and `memory`. What the student's function
calls is done here, on the engine; what it says is a value and no more.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...kernel import Text, Words
from ...rocketmq.application.listener import DatabaseError, Db
from ...rocketmq.messages import Statement
from ..foreign import Elsewhere
from ..kafka.systems.loop import Abortable, App, Endless, Order, PriceUnknown, Refused
from ..limits import TooLong
from ..rocketmq.exercises.careful import perform
from .wire import Message, WireError

#: says something to the process with the answer, and returns what it says to that
Ask = Callable[..., Message]
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


#: what may fly out of a loop, as it may in the lab itself: the process ends
LEAVING = {kind.__name__: kind for kind in (Abortable, PriceUnknown, Refused)}


#: in place of what a function does next: it is not what it did before
DIFFERS: Message = (
    "raised",
    ("NotRepeatable", "run twice with the same answers, it did not do the same"),
)


class AnswerError(Exception):
    """What a student's function raised; the name of its class is that of the original."""


def build_answer(kind: str, value: Any, ask: Ask) -> Any:
    """An answer as its exercise checks it; `value`: what it is if it is no function."""
    work = Work(ask)
    answers = {
        "value": value,
        "rule": partial(call_rule, ask),
        "work": partial(run_loop, work),
        "listener": tuple(build_listener(work, method) for method in ("execute", "check")),
        "execute": build_listener(work, "execute"),
    }
    return answers[kind]


STOPPED = Words("it was stopped after {over}: is there a loop without an end?")


def call_rule(ask: Ask, *given: Any) -> Any:
    """A student's function of plain values, called where it lives."""
    return _value(ask("call", *given))


def _value(reply: Message) -> Any:
    """What a function returned, or what it raised, raised again."""
    match reply:
        case ("returned", value):
            return value
        case ("stub", _):
            raise NotImplementedError
        case ("endless", after):
            raise Endless(STOPPED(over=after))
        case ("raised", (str(name), words)):
            raise (LEAVING.get(name) or type(name, (AnswerError,), {}))(words)
    raise WireError("it said what is no answer")


@dataclass
class Work:
    """A student's function, run where it lives. What it does next after which results is
    remembered, so that a schedule asks only for what no other has asked before; a run that has
    come to its end is run once more, and must come to the same."""

    ask: Ask
    next: dict[tuple[Message, ...], Message] = field(default_factory=dict)
    at: tuple[Message, ...] | None = None  # how far the run that is open there has come

    def run(self, begins: Message, perform: Callable[[str, Message], Message]) -> Any:
        """Begin a run there, and perform each call that it makes; what it returns."""
        heard: tuple[Message, ...] = (begins,)
        while True:
            if heard not in self.next:
                self.next[heard] = self._advanced(heard)
            step = self.next[heard]
            if step[0] != "ask":
                return _value(step)
            heard = (*heard, perform(*step[1:]))

    def _advanced(self, heard: tuple[Message, ...]) -> Message:
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

    def _replay(self, heard: tuple[Message, ...]) -> Message:
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

    def _swap(self, message: Message) -> Message:
        return self.ask(*message)


def run_loop(work: Work, app: App) -> None:
    """Lab 08's loop; what it returns is of no interest."""
    work.run(("work",), partial(_called_app, app))


def _called_app(app: App, call: str, given: Message) -> Message:
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
        foreign = _value(work.ask("examine", method))
        return Text(str(foreign)) if foreign else None

    return Elsewhere(run, find_foreign)


def _called_db(db: Db, memory: MutableMapping[str, Any], call: str, given: Message) -> Message:
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
