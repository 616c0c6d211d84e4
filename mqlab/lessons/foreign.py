"""What a learner's function may use: its arguments, constants, and what always answers alike.

A search runs such a function thousands of times, in an order that has nothing to do with time. What
it takes from a clock or from chance would be another value each time; what it keeps in a global
variable would be seen by processes that share nothing. Both are looked for in the compiled function
before it is run for the first time, and named. What this does not see (an attribute of a class,
say) shows when the function is run twice and its two executions differ.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..kernel import Text, Words

#: where time and chance come from
CLOCKS = frozenset({"time", "datetime", "_datetime", "zoneinfo", "calendar", "sched"})
CHANCE = frozenset({"random", "_random", "secrets", "uuid"})
#: modules whose functions give the same answer to the same arguments
REPEATABLE = frozenset(
    {"builtins", "collections", "contextlib", "dataclasses", "decimal", "enum", "fractions"}
    | {"functools", "itertools", "json", "math", "operator", "re", "string", "typing"}
)
#: what is built in and yet reaches out of the function
REACHES_OUT = frozenset(
    {"open", "input", "print", "exec", "eval", "compile", "globals", "locals", "vars"}
    | {"id", "hash", "__import__", "breakpoint", "setattr", "delattr"}
)
CONSTANTS = (str, int, float, bool, bytes, type(None), Enum)

CLOCK = Words(
    "`{function}` asks a clock (`{name}`): run again it would do something else. What it needs of "
    "time must be in its arguments or in `db`"
)
DICE = Words(
    "`{function}` depends on chance (`{name}`): run again it would do something else, and an "
    "order's own number is as good a name for a row"
)
GLOBAL = Words(
    "`{function}` keeps something in `{name}`, outside of its arguments. Another process of the "
    "group has another `{name}`, and this one loses it when it dies: a row in `db` survives, "
    "`memory` is for what may be lost"
)
OUTSIDE = Words(
    "`{function}` uses `{name}`, which reaches out of the function: everything that it does must "
    "go through its arguments, so that it can be stopped between any two steps"
)
NO_FUNCTION = Words("`{name}` is no function")


@dataclass(frozen=True)
class Elsewhere:
    """A function that lives in another process, where alone one can look at it."""

    run: Callable[..., Any]
    find_foreign: Callable[[], Text | None]

    def __call__(self, *given: Any) -> Any:
        return self.run(*given)


def find_foreign(function: Any) -> Text | None:
    """What a function uses that it may not, in a sentence; None if there is nothing."""
    if isinstance(function, Elsewhere):
        return function.find_foreign()
    if not isinstance(function, FunctionType):
        return NO_FUNCTION(name=repr(function)[:40])
    return next(_foreign(function, set()), None)


def _foreign(function: FunctionType, seen: set[CodeType]) -> Iterator[Text]:
    if function.__code__ in seen:
        return
    seen.add(function.__code__)
    name = function.__name__
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        if not _is_constant(default):
            yield GLOBAL(function=name, name=_argument_of(function, default))
    around = _closure(function)
    for code in _codes(function.__code__):
        for used in dis.get_instructions(code):
            yield from _used(function, used, around, seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _closure(function: FunctionType) -> dict[str, Any]:
    """The variables of the function around this one, as far as they have a value."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _argument_of(function: FunctionType, default: Any) -> str:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = function.__defaults__ or ()
    named = dict(zip(names[len(names) - len(values) :], values, strict=True))
    named |= function.__kwdefaults__ or {}
    return next(name for name, value in named.items() if value is default)


def _used(
    function: FunctionType, instruction: dis.Instruction, outer: dict[str, Any], seen: set[CodeType]
) -> Iterator[Text]:
    """Yield what is wrong with one instruction of a learner's function: that it changes or reads
    something outside of the function that a rule must not depend on. `outer`: the values of the
    variables of the function around it; `seen`: the code of functions that were looked at
    already."""
    name, function_name = str(instruction.argval), function.__name__
    match instruction.opname:
        case "STORE_GLOBAL" | "DELETE_GLOBAL":
            yield GLOBAL(function=function_name, name=name)
        # a variable of the function around this one
        case "STORE_DEREF" | "DELETE_DEREF" if name in function.__code__.co_freevars:
            yield GLOBAL(function=function_name, name=name)
        case "IMPORT_NAME":
            yield from _judge_module(function_name, name, name)
        case "LOAD_DEREF" | "LOAD_CLASSDEREF" if name in outer:
            yield from _judge(function, name, outer[name], seen)
        case "LOAD_GLOBAL" | "LOAD_NAME":
            known = function.__globals__
            if name in known:
                yield from _judge(function, name, known[name], seen)
            elif name in REACHES_OUT and hasattr(builtins, name):
                yield OUTSIDE(function=function_name, name=name)


def _judge(function: FunctionType, name: str, value: Any, seen: set[CodeType]) -> Iterator[Text]:
    """What is wrong with a value that the function finds outside of itself."""
    if isinstance(value, ModuleType):
        yield from _judge_module(function.__name__, name, value.__name__)
    elif isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
        yield from _foreign(value, seen)
    elif isinstance(value, type) or callable(value):
        yield from _judge_module(function.__name__, name, _module_of(value), mine=function)
    elif not _is_constant(value):
        yield GLOBAL(function=function.__name__, name=name)


def _judge_module(
    function: str, name: str, module: str, mine: FunctionType | None = None
) -> Iterator[Text]:
    root = module.partition(".")[0]
    if root in CLOCKS:
        yield CLOCK(function=function, name=name)
    elif root in CHANCE:
        yield DICE(function=function, name=name)
    elif root not in REPEATABLE | {"mqlab"} and (mine is None or module != mine.__module__):
        yield OUTSIDE(function=function, name=name)


def _module_of(value: Any) -> str:
    """Where a class or a callable is from; `random.random` is a method of an object there."""
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        return type(owner).__module__
    return str(getattr(value, "__module__", None) or type(value).__module__)


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_constant, value))
    return isinstance(value, CONSTANTS)
