"""The process that runs a learner's file, and nothing else.

    python -I -m mqlab.lessons.builder.closed

It receives the text of the file, then what to do with it. Of a coordinator it keeps each state that
this was ever in, under a number, and says only that number and the effects: so the engine's process
never holds an object of the learner's. Of a file of functions it calls one, and says its value.
Each step and each call is taken twice, so that one which depends on more than what it is given is
found out. See `mqlab.lessons.builder.host`, which asks.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...kernel import Text, Words, tr
from ..check import NO_RETURN, TooLong, limit_resources, limit_time, say_error
from ..course.wire import Message, Wire, WireError
from .speech import SpeechError, pack, unpack

STEP_S = 1.0
MOST_MEMORY = 1_000_000_000  # bytes
TOO_LONG = Words("it was stopped after {}: is there a loop without an end?")
AT_LINE = Words(" (line {})")
RAISED = Words("it raised {}{}: {}")
RAISED_SO = Words("it raised {}{}")
UNHASHABLE = Words(
    "{}: a state is made of values that cannot change, a Map in place of a dictionary"
)


class Kept:
    """The learner's file: its functions, or its class and each state that this was in, by number;
    the newest alone while it is served."""

    def __init__(self) -> None:
        self.file = ""
        self.loaded: Any = None
        self.kind: Any = None
        self.takes = 3  # how many values `recover` takes: four where it asks for the epoch
        self.count = 0
        self.states: dict[int, Any] = {}
        self.numbers: dict[Any, int] = {}

    def answer(self, request: Message) -> Message:
        """Do what the engine's process requests with the learner's file, and return the answer:
        ("loaded",); ("value", packed value) of a function; ("role", number of the new state, packed
        effects) of a step; or ("failed", English for the learner, Chinese)."""
        try:
            with limit_time(STEP_S):
                match request:
                    case ("load", str(source), str(file), str(kind), tuple(needs)):
                        return self._load(source, file, kind, needs)
                    case ("call", str(name), given):
                        given = unpack(given)
                        return self._call(lambda: getattr(self.loaded, name)(*given))
                    case ("recover", config, disk, int(at_ms), int(epoch)):
                        given = unpack(config), unpack(disk), at_ms, epoch
                        # `takes`: a learner's `recover` may leave the epoch out
                        return self._check_step(lambda: self.kind.recover(*given[: self.takes]))
                    case ("step", int(number), event, disk):
                        event, disk = unpack(event), unpack(disk)
                        return self._check_step(lambda: self.states[number].step(event, disk))
                    case ("serve", int(number), event, disk):
                        event, disk = unpack(event), unpack(disk)
                        self._keep(number)  # a server goes back to no earlier state
                        return self._check_step(lambda: self.states[number].step(event, disk))
            why = tr("it was asked for nothing that it knows")
        except TooLong as over:
            why = TOO_LONG(over)
        except SpeechError as error:
            why = error.args[0]
        except MemoryError:
            why = tr("it has taken all the memory that it may have")
        except BaseException as error:  # a learner's code may raise anything, SystemExit too
            why = explain(error, self.file)
        return "failed", why.en, why.zh

    def _load(self, source: str, file: str, kind: str, needs: tuple[str, ...]) -> Message:
        """Execute the learner's file as a module, and answer "loaded", or what is wrong with it.
        `needs`: the functions that the module must have, or its class `kind` if that is not ""."""
        name = file.removesuffix(".py")
        module = ModuleType(name)
        sys.modules[name] = module  # its dataclasses look themselves up
        self.file = file
        exec(compile(source, file, "exec"), module.__dict__)
        self.loaded = module
        if kind:
            self.kind = self.loaded = getattr(module, kind, None)
        missing = [one for one in needs if not callable(getattr(self.loaded, one, None))]
        if missing and kind:
            raise SpeechError("{} has no class `{}` with `{}` and `{}`", file, kind, *needs)
        if missing:
            raise SpeechError("{} has no function `{}`", file, missing[0])
        if kind:  # `recover` takes 3 arguments, or 4: with the epoch
            self.takes = max(3, len(inspect.signature(self.kind.recover).parameters))
        return ("loaded",)

    def _call(self, run: Callable[[], Any]) -> Message:
        first, second = run(), run()
        if first is None:
            raise SpeechError(NO_RETURN)
        if first != second:
            raise SpeechError("called twice with the same values, it did two different things")
        return "value", pack(first)

    def _check_step(self, run: Callable[[], Any]) -> Message:
        """Run a method of the learner's class twice (`run` calls it, with the same arguments each
        time), check what it returns, and answer with the number of the new state and the packed
        effects. SpeechError where something is wrong."""
        result, repeated = run(), run()
        if result is None:
            raise SpeechError(NO_RETURN)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise SpeechError("it must return two values, the coordinator and a tuple of effects")
        role, effects = result
        if not isinstance(role, self.kind):
            raise SpeechError("it returned {!r:.80} in place of a Coordinator", role)
        if not isinstance(effects, tuple | list):
            raise SpeechError("its effects are {!r:.80}, and must be a tuple", effects)
        if result != repeated:
            raise SpeechError(
                "taken twice with the same event, it did two different things; or its states are "
                "not equal where they hold the same, as `@frozen` has it"
            )
        # equal states have one number
        number = self.numbers.setdefault(role, self.count)
        if number == self.count:
            self.states[number] = role
            self.count += 1
        return "role", number, pack(tuple(effects))

    def _keep(self, number: int) -> None:
        """Forget all states but this one."""
        role = self.states[number]
        self.states, self.numbers = {number: role}, {role: number}


def explain(error: BaseException, file: str) -> Text:
    """An exception in words, with the line of the file where it flew."""
    lines = [
        one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == file
    ]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    where = AT_LINE(lines[-1]) if lines else ""
    what = say_error(error)[:300].removesuffix(f" ({file}, line {lines[-1]})" if lines else "")
    raised = (RAISED if what else RAISED_SO)(type(error).__name__, where, what)
    unhashable = isinstance(error, TypeError) and "unhashable" in what
    return UNHASHABLE(raised) if unhashable else raised


def main(close: Callable[[], None]) -> int:
    """Answer until the connection is closed. `close`: what is done before a file is received."""
    wire = Wire(os.dup(0), os.dup(1))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the file prints goes to the log
    limit_resources(MOST_MEMORY)
    close()
    kept = Kept()
    wire.say("ready")
    while True:
        try:
            request = wire.hear()
        except WireError:
            return 0
        wire.say(*kept.answer(request))
