"""An answer on its own side: what it does with what the judge asks of it.

This runs in the process in which the student's cells have run (`mqlab.lessons.course.apart`), so
it may have been changed by them in any way. All that leaves it are values, which the judge compares
with the engine (`mqlab.lessons.course.judging`); a verdict never comes from here.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...kernel import Text, Words
from ...rocketmq.application import DatabaseError, Db
from ...rocketmq.messages import Statement
from ..check import TooLong, limit_time, pause_limit
from ..foreign import Elsewhere, find_foreign
from ..kafka.systems.loop import Abortable, App, Endless, Order, PriceUnknown, Refused
from ..rocketmq.exercises.careful import perform
from .wire import PLAIN, Message, Odd, Wire, WireError

if TYPE_CHECKING:
    from .notebooks import Lab

LIMIT_S = 1.0


class Answering:
    """This end of the wire: what the judge wants to know of an answer."""

    def __init__(self, answer: Any, wire: Wire) -> None:
        self._answer, self._wire = answer, wire

    def serve(self) -> None:
        """Say the value, then answer what is asked until the judge says that it has done."""
        self._wire.say("value", plain(getattr(self._answer, "order", self._answer)))
        while (request := self._wire.hear())[0] != "done":
            self._wire.say(*self._reply(str(request[0]), request[1:]))

    def _reply(self, kind: str, arguments: Message) -> Message:
        """What the answer does with what the judge wants of it."""
        match kind:
            case "call":
                return _outcome(lambda: self._answer(*arguments))
            case "examine":
                return _outcome(lambda: self._examined(*arguments))
            case "listen":
                return _outcome(lambda: self._listened(*arguments))
            case "work":
                return _outcome(lambda: self._answer(RemoteApp(self._ask)))
        return ("left", "")

    def _examined(self, method: str) -> str:
        """What one of a listener's functions uses that it may not."""
        return str(find_foreign(self._function(method)) or "")

    def _listened(self, method: str, order: str) -> Any:
        """One of them is run: each call of its `db` and `memory` is the judge's to answer."""
        remote = RemoteApp(self._ask)
        db = Db(lambda statement: remote.run(statement.verb, statement.key, statement.value))
        return self._function(method)(order, db, RemoteMemory(remote))

    def _function(self, method: str) -> Any:
        if callable(self._answer):  # of a listener, `execute` alone is asked for
            return self._answer
        execute, check = self._answer
        return execute if method == "execute" else check

    def _ask(self, call: str, given: tuple[Any, ...]) -> Message:
        with pause_limit():
            self._wire.say("ask", call, tuple(plain(one) for one in given))
            return self._wire.hear()


def _outcome(run: Callable[[], Any]) -> Message:
    try:
        with limit_time(LIMIT_S):
            return "returned", plain(run())
    except NotImplementedError:
        return "stub", ""
    except TooLong as over:
        return "endless", str(over)
    except BaseException as error:  # whatever a student's code lets fly
        return "raised", (type(error).__name__, shown(error, str))


def plain(value: Any) -> Any:
    """A value as it may travel: numbers, words, tuples and dictionaries of them; of anything else
    its text."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, StrEnum):
        return str.__str__(value)
    if type(value) in (tuple, list):
        return tuple(plain(one) for one in value)
    if type(value) is dict:
        return {plain(key): plain(one) for key, one in value.items()}
    if hasattr(value, "offset") and hasattr(value, "value"):
        return ("an order", plain(value.offset), plain(value.value))
    return Odd(shown(value))


def shown(value: Any, form: Callable[[Any], str] = repr) -> str:
    """The first 200 characters of its text; its type where it has none."""
    try:
        return str(form(value))[:200]
    except Exception:
        return f"a {type(value).__name__}"


#: where the exceptions of the labs are that a call may raise
RAISING = ("mqlab.lessons.kafka.systems.loop", "mqlab.rocketmq.application", "builtins")


class RemoteApp:
    """The `app` of lab 08 on this side, and what lab 03 asks of `db` and `memory`: every call goes
    to the judge."""

    def __init__(self, ask: Callable[[str, tuple[Any, ...]], Message]) -> None:
        self._ask = ask
        self._left = False

    def __getattr__(self, call: str) -> Callable[..., Any]:
        """A method of the application, which runs in the judge's process: calling it sends the call
        there, and returns or raises what the call returns or raises there. Raises _Left where the
        judge has ended this execution of the learner's function."""
        modules = [importlib.import_module(name) for name in RAISING]

        def remote(*arguments: Any) -> Any:
            if self._left:
                raise _Left
            # an answer of one word has no value: "" in its place
            kind, value = (*self._ask(call, arguments), "")[:2]
            if kind == "raise":
                name, message = value
                raise next(getattr(one, name) for one in modules if hasattr(one, name))(message)
            if kind != "result":
                self._left = True  # whatever a `finally` still calls, leaves it the same way
                raise _Left
            # orders travel as tuples of their fields
            return [modules[0].Order(*one) for one in value] if call == "poll" else value

        return remote


class RemoteMemory(MutableMapping[str, Any]):
    """A process's memory, which is the judge's."""

    def __init__(self, remote: RemoteApp) -> None:
        self._remote = remote

    def __getitem__(self, key: str) -> Any:
        return self._remote.recall(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._remote.note(key, value)

    def __delitem__(self, key: str) -> None:
        self._remote.forget(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._remote.keys())

    def __len__(self) -> int:
        return len(self._remote.keys())


class _Left(BaseException):
    """The judge has enough of this execution."""


# ---- What the judge asks of an answer that lives in another process ------------------
#
# Each kind of answer becomes something that an exercise can check: a value, a rule of plain values,
# a loop that calls its `app`, a listener that calls `db` and `memory`. What the student's function
# calls is done here, on the engine; what it says is a value and no more.

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
    remembered, so that a schedule asks only for what no other has asked before; an execution that
    has come to its end is run once more, and must come to the same. `ask`: a question to that
    process."""

    ask: Ask
    next: dict[tuple[Message, ...], Message] = field(default_factory=dict)
    at: tuple[Message, ...] | None = None  # how far the execution that is open there has come

    def run(self, begins: Message, perform: Callable[[str, Message], Message]) -> Any:
        """Begin an execution there, and perform each call that it makes; what it returns."""
        results: tuple[Message, ...] = (begins,)
        while True:
            if results not in self.next:
                self.next[results] = self._advanced(results)
            step = self.next[results]
            if step[0] != "ask":
                return _value(step)
            results = (*results, perform(*step[1:]))

    def _advanced(self, results: tuple[Message, ...]) -> Message:
        """What the function does after these results."""
        if self.at is None or self.at != results[:-1]:
            step = self._replay(results)
        else:
            step = self._swap(results[-1])
        if step[0] != "ask":
            self.at = None
            return step if step == self._replay(results) else DIFFERS
        self.at = results
        return step

    def _replay(self, results: tuple[Message, ...]) -> Message:
        """What it does after these results when it is run from its first line."""
        self.leave()
        for count, result in enumerate(results, 1):
            step = self._swap(result)
            self.at = results[:count] if step[0] == "ask" else None
            if step != self.next.get(results[:count], step):
                return DIFFERS
        return step

    def leave(self) -> None:
        """End the execution that is open there, if one is."""
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


# ---- The instructor's page of a lab, read as data ------------------------------------
#
# `labs/instructor/NN.md` is written for people; its tables and its wrong answers are also what
# `mqlab class` grades a sample class with. The form is in `labs/instructor/README.md`.

PARTS = ("Timing", "Questions", "Graded cells", "Trouble")
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """What a student with a certain belief writes into the cell `grade_id`. `code`: the answer."""

    grade_id: str
    belief: str
    code: str


@dataclass(frozen=True, slots=True)
class Page:
    """`timing`, `questions`, `cells`, `trouble`: the rows of the tables, without heads. `minutes`,
    `points`: of the lab; `wrong`: wrong answers that a class may give."""

    minutes: int
    points: float
    timing: tuple[Row, ...]
    questions: tuple[Row, ...]
    cells: tuple[Row, ...]
    trouble: tuple[Row, ...]
    wrong: tuple[WrongAnswer, ...]


def page_of(lab: Lab) -> Path:
    return lab.source.parents[1] / "instructor" / f"{lab.name[:2]}.md"


def read_page(lab: Lab) -> Page:
    """Read the instructor's page of a lab. LabError where there is none, or a section is
    missing."""
    from .notebooks import LabError  # slow, since it imports Jupyter; the judge does without

    path = page_of(lab)
    if not path.exists():
        raise LabError(f"no instructor's page for {lab.name}: write {path.name} as README.md says")
    text = path.read_text(encoding="utf-8")
    head = re.search(r"(?m)^\*(\d+) minutes, ([\d.]+) points\.\*", text)
    if head is None:
        raise LabError(f"{path.name}: below the title goes “*60 minutes, 10 points.*”")
    sections = dict(_parts(text))
    missing = [section for section in PARTS if section not in sections]
    if missing:
        raise LabError(f"{path.name}: no part “## {missing[0]}”")
    return Page(
        minutes=int(head[1]),
        points=float(head[2]),
        timing=tuple(_rows(sections["Timing"])),
        questions=tuple(_rows(sections["Questions"])),
        cells=tuple(_rows(sections["Graded cells"])),
        trouble=tuple(_rows(sections["Trouble"])),
        wrong=tuple(_wrong(sections["Graded cells"])),
    )


def _parts(text: str) -> Iterator[tuple[str, str]]:
    pieces = re.split(r"(?m)^## (.+)$", text)
    yield from zip(map(str.strip, pieces[1::2]), pieces[2::2], strict=True)


def _rows(part: str) -> Iterator[Row]:
    """The cells of a table's rows; "\\|" is a bar inside a cell."""
    lines = [line for line in part.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
        yield tuple(cell.strip().replace("\\|", "|") for cell in cells)


def _wrong(part: str) -> Iterator[WrongAnswer]:
    for code in re.findall(r"(?ms)^```python\n(.*?)^```", part):
        first, _, body = code.partition("\n")
        named = re.fullmatch(r"# ([\w-]+) · (.+)", first)
        if named is None:
            from .notebooks import LabError

            raise LabError(f"a wrong answer begins with “# cell · belief”, not with {first!r}")
        yield WrongAnswer(named[1], named[2], body)
