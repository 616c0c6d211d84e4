"""Grading: an answer is judged again, in a fresh process, before it gets its points.

    ### BEGIN HIDDEN TESTS
    import sys
    sys.modules.pop("mqlab.lessons.course.points", None)
    from mqlab.lessons.course.points import grade
    grade("lso", lso)
    ### END HIDDEN TESTS

What a student's cells have put in the place of our functions (`check = lambda …`, a patched
module) has no part in it: the judge is another interpreter, which imports the exercise itself.
A function stays here; the judge asks it over a pipe, call by call, and hears plain values. It
also tries what the lab has not shown (`unseen`), so an answer that was learned by heart fails.

What this cannot do: the pipe ends in the student's kernel, and whoever writes code for that
kernel on purpose can forge what comes through. `labs/instructor/README.md` says what to do.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, MutableMapping
from enum import StrEnum
from typing import Any

from ...rocketmq.application.listener import Db
from ..foreign import find_foreign
from ..limits import TooLong, limit_time, pause_limit

LIMIT_S = 1.0
PLAIN = (int, str, bool, type(None))
#: what `judging` says and hears: one Python literal a line, so that a tuple stays a tuple
Said = tuple[Any, ...]


class NotYet(AssertionError):
    """An answer that gets no points. A notebook shows its message, and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def grade(exercise: str, answer: Any) -> None:
    """Hold an answer against an exercise of `course.judging`; NotYet if it is wrong."""
    importlib.reload(subprocess)  # a cell may have put something else into it
    judge = subprocess.Popen(
        [sys.executable, "-I", "-m", "mqlab.lessons.course.judging", exercise],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    with judge:
        assert judge.stdin is not None and judge.stdout is not None and judge.stderr is not None
        verdict = Answering(answer, judge.stdin, judge.stdout).verdict()
        judge.stdin.close()
        trouble = judge.stderr.read()
    if verdict is None:
        raise RuntimeError(f"the judge could not work:\n{trouble}")
    if verdict["ok"] is not True:
        raise NotYet(verdict["says"])


class Answering:
    """This end of the pipe: what the judge wants to know of an answer."""

    def __init__(self, answer: Any, to: Any, of: Any) -> None:
        self._answer, self._to, self._of = answer, to, of

    def verdict(self) -> dict[str, Any] | None:
        """Answer what is asked until there is a verdict; None if the judge ends without."""
        self._say(("answer", plain(getattr(self._answer, "order", self._answer))))
        while asked := self._of.readline():
            kind, *rest = literal_eval(asked)
            if kind == "verdict":
                return dict(json.loads(rest[0]))
            self._say(self._said(kind, rest))
        return None

    def _said(self, kind: str, asked: list[Any]) -> Said:
        """What the answer does with what the judge wants of it."""
        match kind:
            case "call":
                return self._called(asked)
            case "examine":
                return _outcome(lambda: self._examined(*asked))
            case "listen":
                return _outcome(lambda: self._listened(*asked))
        return self._worked()

    def _say(self, said: Said) -> None:
        self._to.write(f"{said!r}\n")
        self._to.flush()

    def _hear(self) -> Said:
        return tuple(literal_eval(self._of.readline() or "('leave',)"))

    def _called(self, given: list[Any]) -> Said:
        """A rule is called with plain values."""
        return _outcome(lambda: self._answer(*given))

    def _worked(self) -> Said:
        """A loop is run: each call of its `app` is the judge's to answer."""
        return _outcome(lambda: self._answer(RemoteApp(self._ask)))

    def _examined(self, method: str) -> str:
        """What one of a listener's functions uses that it may not."""
        return str(find_foreign(self._function(method)) or "")

    def _listened(self, method: str, order: str) -> Any:
        """One of them is run: each call of its `db` and `memory` is the judge's to answer."""
        remote = RemoteApp(self._ask)
        db = Db(lambda asked: remote.run(asked.verb, asked.key, asked.value))
        return self._function(method)(order, db, RemoteMemory(remote))

    def _function(self, method: str) -> Any:
        execute, check = self._answer
        return execute if method == "execute" else check

    def _ask(self, call: str, given: tuple[Any, ...]) -> Said:
        with pause_limit():
            self._say(("ask", call, tuple(plain(one) for one in given)))
            return self._hear()


def _outcome(run: Callable[[], Any]) -> Said:
    try:
        with limit_time(LIMIT_S):
            return "returned", plain(run())
    except NotImplementedError:
        return "stub", ""
    except TooLong as over:
        return "endless", str(over)
    except BaseException as error:  # whatever a student's code lets fly
        return "raised", (type(error).__name__, _shown(error, str))


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
    return ("odd", _shown(value))


def _shown(value: Any, form: Callable[[Any], str] = repr) -> str:
    try:
        return str(form(value))[:200]
    except Exception:
        return f"a {type(value).__name__}"


#: where the exceptions of the labs are that a call may raise
RAISING = ("mqlab.lessons.kafka.systems.loop", "mqlab.rocketmq.application.listener", "builtins")


class RemoteApp:
    """The `app` of lab 08 on this side, and what lab 03 asks of `db` and `memory`: every call goes
    to the judge."""

    def __init__(self, ask: Callable[[str, tuple[Any, ...]], Said]) -> None:
        self._ask = ask
        self._left = False

    def __getattr__(self, call: str) -> Callable[..., Any]:
        modules = [importlib.import_module(name) for name in RAISING]

        def asked(*given: Any) -> Any:
            if self._left:
                raise _Left
            kind, value = (*self._ask(call, given), "")[:2]
            if kind == "raise":
                name, words = value
                raise next(getattr(one, name) for one in modules if hasattr(one, name))(words)
            if kind != "result":
                self._left = True  # whatever a `finally` still calls, leaves it the same way
                raise _Left
            return [modules[0].Order(*one) for one in value] if call == "poll" else value

        return asked


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
    """The judge has heard enough of this run."""
