"""A persistent map: every change gives a new map and leaves the old one as it was.

Role states are frozen, so a map inside one must be too. A lesson holds three producers,
a server a hundred thousand, and a step must cost the same in both. Up to `SMALL` keys a
map copies a dictionary; beyond that it is a trie of 16-way nodes over the keys' hashes
(Bagwell, "Ideal Hash Trees", 2001), of which a change copies one path.

Iteration is in the order of the keys, never of their hashes, so that a trace is the same
under any PYTHONHASHSEED.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar, dataclass_transform

K = TypeVar("K")
V = TypeVar("V")

SMALL = 24
BITS = 4
WIDTH = 1 << BITS
HASH_BITS = 60


class Map(Generic[K, V]):
    """An immutable mapping. Equal and hashed by content; keys must be sortable."""

    __slots__ = ("_flat", "_hash", "_len", "_root")

    def __init__(self, items: Iterable[tuple[K, V]] = ()) -> None:
        self._flat: dict[K, V] | None = dict(items)
        self._root: Any = None
        self._len = len(self._flat)
        self._hash: int | None = None
        if self._len > SMALL:
            self._grow()

    def _grow(self) -> None:
        assert self._flat is not None
        root: Any = None
        for key, value in self._flat.items():
            root, _ = _set(root, 0, hash(key), key, value)
        self._flat, self._root = None, root

    @staticmethod
    def _made(flat: dict[Any, Any] | None, root: Any, size: int) -> Map[Any, Any]:
        out: Map[Any, Any] = Map.__new__(Map)
        out._flat, out._root, out._len, out._hash = flat, root, size, None
        if flat is not None and size > SMALL:
            out._grow()
        return out

    def get(self, key: K, default: Any = None) -> Any:
        if self._flat is not None:
            return self._flat.get(key, default)
        for k, v in _bucket(self._root, hash(key)):
            if k == key:
                return v
        return default

    def __getitem__(self, key: K) -> V:
        value = self.get(key, _MISSING)
        if value is _MISSING:
            raise KeyError(key)
        return value  # type: ignore[no-any-return]

    def __contains__(self, key: object) -> bool:
        return self.get(key, _MISSING) is not _MISSING  # type: ignore[arg-type]

    def set(self, key: K, value: V) -> Map[K, V]:
        """This map with `key` bound to `value`."""
        if self._flat is not None:
            flat = {**self._flat, key: value}
            return Map._made(flat, None, len(flat))
        root, added = _set(self._root, 0, hash(key), key, value)
        return Map._made(None, root, self._len + added)

    def update(self, pairs: Iterable[tuple[K, V]]) -> Map[K, V]:
        """This map with all these pairs, in the time of one change where it is small."""
        if self._flat is not None:
            flat = {**self._flat, **dict(pairs)}
            return Map._made(flat, None, len(flat))
        new: Map[K, V] = self
        for key, value in pairs:
            new = new.set(key, value)
        return new

    def remove(self, key: K) -> Map[K, V]:
        """This map without `key` (itself where it has none)."""
        if key not in self:
            return self
        if self._flat is not None:
            flat = {k: v for k, v in self._flat.items() if k != key}
            return Map._made(flat, None, len(flat))
        return Map._made(None, _drop(self._root, 0, hash(key), key), self._len - 1)

    def items(self) -> list[tuple[K, V]]:
        """All pairs, sorted by key."""
        pairs = self._flat.items() if self._flat is not None else _walk(self._root)
        return sorted(pairs, key=lambda pair: pair[0])

    def values(self) -> list[V]:
        return [v for _, v in self.items()]

    def __iter__(self) -> Iterator[K]:
        return iter([k for k, _ in self.items()])

    def __len__(self) -> int:
        return self._len

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Map):
            return True if self is other else NotImplemented
        if self._flat is not None and other._flat is not None:
            return self._flat == other._flat
        pairs = self._flat.items() if self._flat is not None else _walk(self._root)
        return self._len == other._len and all(other.get(k, _MISSING) == v for k, v in pairs)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.items()))
        return self._hash

    def __repr__(self) -> str:
        return "Map({" + ", ".join(f"{k!r}: {v!r}" for k, v in self.items()) + "})"


_MISSING = object()

# A node is None, a leaf ("", hash, pairs) or a tuple of WIDTH nodes; a leaf is distinguished from a
# branch by its length, so no class is needed and copying a path is copying small tuples.


def _slot(h: int, depth: int) -> int:
    return (h >> depth) & (WIDTH - 1)


def _set(node: Any, depth: int, h: int, key: Any, value: Any) -> tuple[Any, int]:
    """The trie under `node` with this key set, and how many keys that adds (0 or 1). `node` is
    None, a branch of WIDTH nodes, or a leaf ("", hash, (key, value) pairs); `depth`: the bits of
    the key's hash `h` that led here."""
    if node is None:
        return ("", h, ((key, value),)), 1
    if len(node) == 3:
        _, other, pairs = node
        if other == h or depth >= HASH_BITS:
            rest = tuple(p for p in pairs if p[0] != key)
            return ("", h, (*rest, (key, value))), 1 if len(rest) == len(pairs) else 0
        branch: list[Any] = [None] * WIDTH
        branch[_slot(other, depth)] = node
        node = tuple(branch)
    i = _slot(h, depth)
    child, added = _set(node[i], depth + BITS, h, key, value)
    return (*node[:i], child, *node[i + 1 :]), added


def _drop(node: Any, depth: int, h: int, key: Any) -> Any:
    if len(node) == 3:
        rest = tuple(p for p in node[2] if p[0] != key)
        return ("", node[1], rest) if rest else None
    i = _slot(h, depth)
    out = (*node[:i], _drop(node[i], depth + BITS, h, key), *node[i + 1 :])
    return None if all(child is None for child in out) else out


def _bucket(node: Any, h: int) -> tuple[tuple[Any, Any], ...]:
    depth = 0
    while node is not None and len(node) != 3:
        node = node[_slot(h, depth)]
        depth += BITS
    return node[2] if node is not None else ()


def _walk(node: Any) -> Iterator[tuple[Any, Any]]:
    if node is None:
        return
    if len(node) == 3:
        yield from node[2]
        return
    for child in node:
        yield from _walk(child)


# `frozen` declares a value: a dataclass that cannot be changed and has slots. `replace` gives a
# frozen value with some fields changed, as `dataclasses.replace` does.
#
# Each step of a role makes a few dozen values, and nothing is done more often. What the standard
# library writes for a frozen class sets each field through a check that the value is frozen; here
# the fields go straight to their slots, in less than half of the time. Types are checked as for the
# standard functions.

Put = Callable[[Any, Any], None]
T = TypeVar("T")

_made: dict[type, tuple[Callable[[Any], Any], dict[str, Put]]] = {}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[T]) -> type[T]:
    """The class as `dataclass(frozen=True, slots=True)` makes it, with an `__init__` that is quick.
    Where a class checks itself when it is made, that stays so."""
    made = dataclass(frozen=True, slots=True)(kind)
    if not hasattr(made, "__post_init__"):
        made.__init__ = _make_init(made)  # type: ignore[method-assign]
    return made


def _make_init(cls: type) -> Callable[..., None]:
    """Build `__init__` for a frozen dataclass with slots, as a compiled function that sets each
    slot directly. Its source is text run by `exec`, as in `dataclass` itself; the default of a
    field with a `default_factory` is made in each call where its argument is missing."""
    # what the text may name: for each field the setter of its slot, and its default
    names: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = ["self"], [" pass"]  # `pass`: a class without fields needs a body too
    for slot in fields(cls):
        names[f"put_{slot.name}"] = getattr(cls, slot.name).__set__
        names[f"default_{slot.name}"] = slot.default
        if slot.default_factory is not MISSING:
            names[f"make_{slot.name}"] = slot.default_factory
            lines.append(f" if {slot.name} is MISSING: {slot.name} = make_{slot.name}()")
        required = slot.default is MISSING and slot.default_factory is MISSING
        parameters.append(slot.name if required else f"{slot.name}=default_{slot.name}")
        lines.append(f" put_{slot.name}(self, {slot.name})")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines), names)
    init: Callable[..., None] = names["__init__"]
    return init


if TYPE_CHECKING:
    from dataclasses import replace as replace
else:

    def replace(value, /, **changes):
        """Raises TypeError for a change of what is no field."""
        kind = value.__class__
        made = _made.get(kind)
        if made is None:
            made = _made[kind] = _make(kind)
        copy, puts = made
        new = copy(value)
        try:
            for name, change in changes.items():
                puts[name](new, change)
        except KeyError as error:
            raise TypeError(f"{kind.__name__} has no field {error}") from error
        return new


def _make(kind: type) -> tuple[Callable[[Any], Any], dict[str, Put]]:
    """A function that copies a value field by field, and for each field what sets it. The function
    is written as text, as `dataclass` itself writes `__init__`: a loop over the fields takes twice
    as long. A class that checks itself when it is made must go through its own `__init__`."""
    plain = not hasattr(kind, "__post_init__") and hasattr(kind, "__slots__")
    assert plain, f"{kind.__name__} is no plain @frozen class: use dataclasses.replace"
    puts = {field.name: getattr(kind, field.name).__set__ for field in fields(kind)}
    lines = [f" put_{name}(new, value.{name})" for name in puts]
    text = "\n".join(("def copy(value):", " new = make(kind)", *lines, " return new"))
    names = {"make": object.__new__, "kind": kind, **{f"put_{n}": put for n, put in puts.items()}}
    exec(text, names)
    return names["copy"], puts
