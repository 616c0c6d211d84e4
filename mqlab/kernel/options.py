"""The system line: how a system is written in one line, and read back.

    system kafka transaction_version=2 partitions=2 producers=app 'app=init; begin; commit'

A system is a frozen dataclass, and its fields are its options: what may be said, how it is
written and what is refused follow from the annotations. To add a broker is to write fields.

    annotation          written as                what it is
    int                 partitions=2              a whole number of at most 15 digits
    int | None          retries=3                 None is the default and is not written
    str                 client=v2                 the text as it stands
    tuple[str, ...]     readers=one,two           names, in this order
    Pairs               producers=old:id,app      (node, what it goes by); node alone: the same
    Programs            'app=init; commit'        an option for each client: its calls
    Order               order.end_txn=a,b         an option for each step: its effect groups
    Rules               (only in Python)          a learner's functions, by slot

An annotation may say more: `Annotated[int, Most(100, "a picture has room for 100")]` bounds a
number, `Annotated[tuple[str, ...], SORTED]` says that order and repetition mean nothing, and
`Annotated[…, UNWRITTEN]` keeps a field out of the line: it is given in Python only.

`write_line` leaves out what has its default, except an order, which is always written. What it
has written `read_line` reads back to an equal system, unless a program is a Python function.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_origin, get_type_hints

from .application import Program
from .text import shorten
from .values import frozen

if TYPE_CHECKING:
    from .system import System

S = TypeVar("S", bound="System")

Pairs = tuple[tuple[str, str], ...]
Programs = tuple[tuple[str, Program], ...]
Order = tuple[tuple[str, tuple[str, ...]], ...]

SORTED = "sorted"
UNWRITTEN = "unwritten"
Rules = Annotated[tuple[tuple[str, Callable[..., Any]], ...], UNWRITTEN]
DIGITS = 15
STEP = "order."
#: a call in a system line is written without the braces and commas of its narration
BARE = str.maketrans("", "", "{},")


@frozen
class Most:
    """The largest number that a field may hold, and the reason in words."""

    number: int
    why: str


@frozen
class Spelling:
    """How a value is written behind `name=`, and how it is read; `read` is given the name for
    what it has to say in a ValueError."""

    write: Callable[[Any], str]
    read: Callable[[str, str], Any]


def _read_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS):
        raise ValueError(f"{name}={shorten(text, 20)!r}: expected a whole number")
    return int(text)


def _read_names(name: str, text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _write_pairs(pairs: Pairs) -> str:
    return ",".join(node if node == other else f"{node}:{other}" for node, other in pairs)


def _read_pairs(name: str, text: str) -> Pairs:
    split = (pair.partition(":") for pair in _read_names(name, text))
    return tuple((node, other or node) for node, _, other in split)


NUMBER = Spelling(str, _read_number)
NAMES = Spelling(",".join, _read_names)
SPELLINGS: dict[Any, Spelling] = {
    int: NUMBER,
    int | None: NUMBER,
    str: Spelling(str, lambda name, text: text),
    tuple[str, ...]: NAMES,
    Pairs: Spelling(_write_pairs, _read_pairs),
}


@frozen
class Field:
    """A field of a system: its name, its annotation and what the annotation says besides."""

    name: str
    kind: Any
    more: tuple[Any, ...] = ()


_fields: dict[type, tuple[Field, ...]] = {}


def written_fields(system: type[System]) -> tuple[Field, ...]:
    """The fields of a system that its line may hold; TypeError for an annotation that has no
    spelling."""
    if system not in _fields:
        _fields[system] = tuple(_fields_of(system))
    return _fields[system]


def _fields_of(system: type[System]) -> Iterator[Field]:
    hints = get_type_hints(system, include_extras=True)
    for field in (_field(f.name, hints[f.name]) for f in fields(system)):
        if UNWRITTEN in field.more:
            continue
        if field.kind not in (*SPELLINGS, Programs, Order):
            raise TypeError(
                f"{system.__name__}.{field.name}: a system line has no spelling for this "
                "annotation; take one of mqlab.kernel.options, or Annotated[…, UNWRITTEN]"
            )
        yield field


def _field(name: str, hint: Any) -> Field:
    if get_origin(hint) is Annotated:
        return Field(name, hint.__origin__, hint.__metadata__)
    return Field(name, hint)


def _of_kind(system: type[System], kind: Any) -> list[str]:
    return [field.name for field in written_fields(system) if field.kind == kind]


def _plain(system: type[System]) -> dict[str, Field]:
    """The fields that are written `name=value`."""
    return {field.name: field for field in written_fields(system) if field.kind in SPELLINGS}


def check_bounds(system: System) -> None:
    """ValueError for a number that is negative, or larger than its annotation allows."""
    for field in written_fields(type(system)):
        for most in field.more:
            if isinstance(most, Most):
                value = getattr(system, field.name)
                if not 0 <= value <= most.number:
                    raise ValueError(f"{field.name}={value}: {most.why}")


def check_off(system: System) -> None:
    """ValueError for a word in the field `off`, where there is one, that is no safeguard."""
    known = system.safeguards()
    for name in getattr(system, "off", ()):
        if name not in known:
            raise ValueError(f"no safeguard {name!r}; there are: {', '.join(known)}")


# ---- writing ---------------------------------------------------------------------------


def write_line(system: System) -> str:
    """The system's name and its options, as `read_line` reads them."""
    return " ".join((system.name, *map(shlex.quote, _written(system))))


def _written(system: System) -> Iterator[str]:
    kind = type(system)
    defaults = {f.name: f.default for f in fields(system)}
    for field in _plain(kind).values():
        value = getattr(system, field.name)
        if value != defaults[field.name]:
            yield f"{field.name}={SPELLINGS[field.kind].write(value)}"
    for name in _of_kind(kind, Programs):
        for node, program in getattr(system, name):
            if isinstance(program, tuple):
                yield f"{node}={write_calls(program)}"
    for name in _of_kind(kind, Order):
        for step, groups in getattr(system, name):
            yield f"{STEP}{step}={','.join(groups)}"


def write_calls(program: Program) -> str:
    """A program of calls as one would type it: `init; begin; send orders-0 a`."""
    assert isinstance(program, tuple)
    return "; ".join(map(str, program)).translate(BARE)


# ---- reading ---------------------------------------------------------------------------


def read_line(system: type[S], given: Mapping[str, str]) -> S:
    """The system with these options, `off` among them; ValueError says what there is."""
    known, ordered = _plain(system), _of_kind(system, Order)
    values: dict[str, Any] = {}
    order: dict[str, tuple[str, ...]] = {}
    programs: dict[str, str] = {}
    for key, text in given.items():
        if key in known:
            values[key] = _read(known[key], text)
        elif ordered and key.startswith(STEP):
            order[key.removeprefix(STEP)] = _read_names(key, text)
        else:
            programs[key] = text
    if order:
        values[ordered[0]] = tuple(order.items())
    plain = system(**values)
    return _with_programs(plain, programs) if programs else plain


def _read(field: Field, text: str) -> Any:
    value = SPELLINGS[field.kind].read(field.name, text)
    return tuple(sorted(set(value))) if SORTED in field.more else value


def _with_programs(system: S, programs: Mapping[str, str]) -> S:
    """The system whose clients run these programs. Calls are parsed by the system itself, for
    it knows which names there are."""
    names = _of_kind(type(system), Programs)
    clients = [spec.name for spec in system.nodes() if spec.program is not None] if names else []
    for node in programs:
        if node not in clients:
            missing = "no option and no client" if names else "no option"
            known = f"options: {', '.join(_plain(type(system)))}"
            known += f"; clients: {', '.join(clients)}" if names else ""
            raise ValueError(f"{missing} {node!r}; {known}")
    read = tuple((node, read_calls(system, text)) for node, text in programs.items())
    return replace(system, **{names[0]: read})


def read_calls(system: System, text: str) -> tuple[Any, ...]:
    """The calls of `init; begin; send orders-0 a`; ValueError for what is no call."""
    return tuple(system.call(words) for part in text.split(";") if (words := tuple(part.split())))
