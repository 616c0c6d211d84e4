"""The system line: how a system is written in one line, and read back.

    system kafka transaction_version=2 partitions=2 producers=app 'app=init; begin; commit'

A system is a frozen dataclass, and its fields are its options: what may be said, how it is
written and what is refused follow from the annotations. To add a broker is to write fields.

    annotation          written as                what it is
    int                 partitions=2              a whole number of at most 15 digits
    int | None          retries=3                 None is the default and is not written
    str                 client=v2                 the text as it is
    tuple[str, ...]     readers=one,two           names, in this order
    Pairs               producers=old:id,app      (node, what it goes by); node alone: the same
    Programs            'app=init; commit'        an option for each client: its calls
    Order               order.end_txn=a,b         an option for each step: its effect groups
    Rules               (only in Python)          a learner's functions, by decision

A name is made of letters, digits and `. _ -`; a list holds none twice, and at most MOST_NAMES.

An annotation may say more: `Annotated[int, Most(100, tr("a picture has room for 100"))]` bounds a
number, `Annotated[tuple[str, ...], SORTED]` says that order and repetition mean nothing,
`Annotated[tuple[str, ...], FREE]` that these are any words, `Annotated[str, LISTED]` that a text is
a list of one name or more, and `Annotated[…, UNWRITTEN]` keeps a field out of the line: it is given
in Python only.

`write_line` leaves out what has its default, except an order, which is always written. What it
has written `read_line` reads back to an equal system, unless a program is a Python function.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast, get_origin, get_type_hints

from .maps import frozen
from .role import Program
from .text import BadValue, Text, Words, say_unknown, shorten, tr
from .usages import DIGITS, QUOTED, Usages, number, split, split_words
from .world import NodeSpec

Pairs = tuple[tuple[str, str], ...]
Programs = tuple[tuple[str, Program], ...]
Order = tuple[tuple[str, tuple[str, ...]], ...]

SORTED = "sorted"
FREE = "free"
LISTED = "listed"
UNWRITTEN = "unwritten"
Rules = Annotated[tuple[tuple[str, Callable[..., Any]], ...], UNWRITTEN]
STEP = "order."
IN_STEP = Words(" in {}")
#: what a call has in its narration and not in a system line, and what is kept as it is
BRACES = re.compile(rf"({QUOTED})|[{{}},]")
NAME = re.compile(r"[\w.-]+")
MOST_NAMES = 100  # a picture has room for so many
MOST_CALLS = 2_000  # of one application: an execution has no more facts than these (`Run`)


@dataclass(frozen=True)
class Written:
    """What a system line can say of a system: its name, and its fields.

    `orderable`: the pieces of each step that `order.STEP=` puts in order. `guards`: every safeguard
    with its sentence. `verbs`: what an application may call.
    """

    name = ""
    guards: ClassVar[Mapping[str, Text]] = {}
    verbs: ClassVar[Usages] = Usages({})
    orderable: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __post_init__(self) -> None:
        """Raises ValueError for a number out of bounds, and for a name or a safeguard that cannot
        be; subclasses add what else they refuse."""
        check_bounds(self)
        check_names(self)
        check_off(self)
        check_order(self)

    def line(self) -> str:
        """The system line: name and the options that differ from the defaults."""
        return write_line(self)

    @classmethod
    def from_options(cls, given: Mapping[str, str]) -> Self:
        """The system of a `system NAME key=value …` line; raises ValueError with advice."""
        return read_line(cls, given)

    @property
    def needs(self) -> tuple[str, ...]:
        """The nodes without which it cannot be drawn."""
        return ()

    def nodes(self) -> tuple[NodeSpec, ...]:
        raise NotImplementedError

    def usages(self) -> Usages:
        """What an application may call."""
        return self.verbs

    def call(self, words: tuple[str, ...]) -> Any:
        """A verb of a `run app: …` line as a call; raises ValueError with advice."""
        raise NotImplementedError

    def safeguards(self) -> Mapping[str, Text]:
        """Every safeguard with its sentence."""
        return self.guards


S = TypeVar("S", bound=Written)
T = TypeVar("T")


def fill(kind: type[T], options: Any, **more: Any) -> T:
    """Make a `kind`, a dataclass: its fields are what `more` says, or the fields of `options` that
    have the same names."""
    given = {one.name for one in fields(options)}
    names = (one.name for one in fields(cast(Any, kind)))
    same = {name: getattr(options, name) for name in names if name in given}
    return kind(**{**same, **more})


@frozen
class Most:
    """The largest number that a field may hold, and the reason in words. `why`: that reason."""

    number: int
    why: Text

    def check(self, name: str, value: int) -> None:
        """ValueError for a number that is negative or larger."""
        if not 0 <= value <= self.number:
            raise BadValue("{}={}: {}", name, value, self.why)


@frozen
class Spelling:
    """How a value is written after `name=`, and how it is read; `read` is given the name for what
    it has to say in a ValueError. `write`, `read`: these functions."""

    write: Callable[[Any], str]
    read: Callable[[str, str], Any]


def _read_number(name: str, text: str) -> int:
    value = number(text)
    if value is None:
        raise BadValue(
            "{}={!r}: expected a whole number of at most {} digits", name, shorten(text, 20), DIGITS
        )
    return value


def _read_names(name: str, text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _write_pairs(pairs: Pairs) -> str:
    return ",".join(node if node == other else f"{node}:{other}" for node, other in pairs)


def _read_pairs(name: str, text: str) -> Pairs:
    split = (pair.partition(":") for pair in _read_names(name, text))
    return tuple((node, other if colon else node) for node, colon, other in split)


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
    """A field of a system: its name, its annotation and what the annotation says besides. `more`:
    what else the annotation says."""

    name: str
    kind: Any
    more: tuple[Any, ...] = ()


_fields: dict[type, tuple[Field, ...]] = {}


def written_fields(system: type[Written]) -> tuple[Field, ...]:
    """The fields of a system that its line may hold; TypeError for an annotation that has no
    spelling."""
    if system not in _fields:
        _fields[system] = tuple(_fields_of(system))
    return _fields[system]


def _fields_of(system: type[Written]) -> Iterator[Field]:
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


def _of_kind(system: type[Written], kind: Any) -> list[str]:
    return [field.name for field in written_fields(system) if field.kind == kind]


def _plain(system: type[Written]) -> dict[str, Field]:
    """The fields that are written `name=value`."""
    return {field.name: field for field in written_fields(system) if field.kind in SPELLINGS}


def check_bounds(system: Written) -> None:
    """ValueError for a number that is negative, or larger than its annotation allows."""
    for field in written_fields(type(system)):
        for most in field.more:
            if isinstance(most, Most):
                most.check(field.name, getattr(system, field.name))


def check_off(system: Written) -> None:
    """ValueError for a word in the field `off`, where there is one, that is no safeguard."""
    known = system.safeguards()
    for name in getattr(system, "off", ()):
        if name not in known:
            raise ValueError(say_unknown("safeguard", name, known))


def check_order(system: Written) -> None:
    """ValueError for a step that is not in pieces, and for a piece that it does not have."""
    for field in _of_kind(type(system), Order):
        for step, chosen in getattr(system, field):
            if step not in system.orderable:
                raise ValueError(say_unknown("step", step, system.orderable, tr(" in pieces")))
            for piece in chosen:
                if piece not in system.orderable[step]:
                    where = IN_STEP(f"{STEP}{step}")
                    raise ValueError(say_unknown("piece", piece, system.orderable[step], where))


def check_names(system: Written) -> None:
    """ValueError for what is no name, for a name that a list holds twice, and for a list that is
    too long."""
    for field, names, others in _list_names(system):
        if len(names) > MOST_NAMES:
            raise BadValue(
                "{}: {:,} names, and a picture has room for {}", field, len(names), MOST_NAMES
            )
        for name in (*names, *others):
            if not NAME.fullmatch(name):
                raise BadValue("{}: {!r} is not a name; {}", field, shorten(name, 40), NAMED)
        for name, times in Counter(names).items():
            if times > 1:
                raise BadValue("{}: {!r} appears {} times; write it once", field, name, times)


NAMED = tr(
    "a name has letters, digits and . _ - only. Options are separated by blanks, names by one "
    "comma; quotes go around a client's calls alone, as in 'app=init; commit'"
)


def check_nodes(system: Written, specs: Sequence[NodeSpec]) -> None:
    """Raise ValueError where the nodes that a system's options make cannot work: two have one name,
    a client is named like an option (a line could not distinguish them), or a node is missing that
    the system `needs`."""
    names = [spec.name for spec in specs]
    for name, times in Counter(names).items():
        if times > 1:
            topic = name.rpartition("-")[0]  # a partition's node is named after its topic
            # the options that give one of these two names
            lists = [field for field, named, _ in _list_names(system) if {name, topic} & {*named}]
            raise BadValue(
                "{}: {!r} would name {} nodes; give each its own name",
                " and ".join(lists),
                name,
                times,
            )
    for spec in specs:
        if spec.program is not None and spec.name in _plain(type(system)):
            raise BadValue("{!r} is the name of an option; give the client another name", spec.name)
    for name in system.needs:
        if name not in names:
            raise BadValue("{} needs a node {}, which these options leave out", system.name, name)


def _list_names(system: Written) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Each option that lists names, these, and what else must be a name."""
    for field in written_fields(type(system)):
        value = getattr(system, field.name)
        if field.kind == Pairs:
            yield field.name, tuple(n for n, _ in value), tuple(other for _, other in value)
        elif LISTED in field.more:
            yield field.name, tuple(value.split(",")), ()
        elif field.kind == tuple[str, ...] and not {FREE, SORTED} & {*field.more}:
            yield field.name, value, ()


# ---- writing ---------------------------------------------------------------------------


def write_line(system: Written) -> str:
    """The system's name and its options, as `read_line` reads them."""
    return " ".join((system.name, *map(shlex.quote, _written(system))))


def _written(system: Written) -> Iterator[str]:
    """Yield the words `key=value`: options that differ from their defaults, the calls of clients
    that have a list of them, and the steps whose pieces are in another sequence."""
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
    return BRACES.sub(lambda m: m[1] or "", "; ".join(map(str, program)))


# ---- reading ---------------------------------------------------------------------------


def read_line(system: type[S], given: Mapping[str, str]) -> S:
    """Make a system from the words `key=value` of its line (`given`). A key is an option of the
    class; or STEP and the name of a step, whose pieces the value puts in another sequence; or else
    the name of a client, with its calls. ValueError, with what is possible, for a word that
    cannot be read."""
    # `ordered`: the name of the field for such sequences, in a list; empty where there is none
    options, ordered = _plain(system), _of_kind(system, Order)
    values: dict[str, Any] = {}
    order: dict[str, tuple[str, ...]] = {}
    programs: dict[str, str] = {}
    for key, text in given.items():
        if key in options:
            values[key] = _read(options[key], text)
        elif ordered and key.startswith(STEP):
            order[key.removeprefix(STEP)] = _read_names(key, text)
        else:
            programs[key] = text
    if order:
        values[ordered[0]] = tuple(order.items())
    # the clients' calls are read last: which are allowed depends on the nodes
    plain = system(**values)
    specs = plain.nodes()
    check_nodes(plain, specs)
    return _with_programs(plain, specs, programs) if programs else plain


def _read(field: Field, text: str) -> Any:
    value = SPELLINGS[field.kind].read(field.name, text)
    return tuple(sorted(set(value))) if SORTED in field.more else value


def _with_programs(system: S, specs: Sequence[NodeSpec], programs: Mapping[str, str]) -> S:
    """The system whose clients run these programs. Calls are parsed by the system itself, for
    it knows which names there are."""
    names = _of_kind(type(system), Programs)
    clients = [spec.name for spec in specs if spec.program is not None] if names else []
    for node in programs:
        if node not in clients:
            raise ValueError(say_unknown("option", node, (*_plain(type(system)), *clients)))
    read = tuple((node, read_calls(system, text)) for node, text in programs.items())
    return replace(system, **{names[0]: read})


def read_calls(system: Written, text: str) -> tuple[Any, ...]:
    """The calls of `init; begin; send orders-0 a`; ValueError for what is no call, and for too
    many."""
    parts = [words for part in split(text, ";") if (words := split_words(part))]
    check_calls(len(parts))
    return tuple(map(system.call, parts))


def check_calls(number: int) -> None:
    """ValueError for more calls of one application than an execution can record."""
    if number > MOST_CALLS:
        raise BadValue(
            "one client makes {:,} calls, and {:,} is the most shown here: give it "
            "fewer, or send so many to a server (`mqlab serve`)",
            number,
            MOST_CALLS,
        )
