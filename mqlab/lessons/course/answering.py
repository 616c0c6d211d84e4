"""An answer on its own side: what it does with what the judge asks of it.

This runs in the process in which the student's cells have run (`mqlab.lessons.course.apart`), so
it may have been changed by them in any way. All that leaves it are values, which the judge holds
against the engine (`mqlab.lessons.course.judging`); a verdict never comes from here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, MutableMapping
from enum import StrEnum
from typing import Any

from ...rocketmq.application.listener import Db
from ..foreign import find_foreign
from ..limits import TooLong, limit_time, pause_limit
from .wire import PLAIN, Message, Odd, Wire

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
RAISING = ("mqlab.lessons.kafka.systems.loop", "mqlab.rocketmq.application.listener", "builtins")


class RemoteApp:
    """The `app` of lab 08 on this side, and what lab 03 asks of `db` and `memory`: every call goes
    to the judge."""

    def __init__(self, ask: Callable[[str, tuple[Any, ...]], Message]) -> None:
        self._ask = ask
        self._left = False

    def __getattr__(self, call: str) -> Callable[..., Any]:
        modules = [importlib.import_module(name) for name in RAISING]

        def remote(*given: Any) -> Any:
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
    """The judge has heard enough of this run."""
