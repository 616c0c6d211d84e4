"""What the properties say of a world, remembered by the parts of it that they read.

Most choices change nothing that a property looks at. So what is read of a node gets a number
of its own, which is in the world beside the node's (`packed.py`), and a world whose
parts were met before needs one look into a dictionary for all properties together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.system import Property
from ..kernel.world import NodeState, World

if TYPE_CHECKING:
    from .packed import Fields

Read = Callable[[str, NodeState], Hashable]
Parts = tuple[int, ...]  # a number for what each kind of reader reads of one node


class Kind(NamedTuple):
    """Properties that read the same, each with its bit, and what is news to them: by the numbers
    for what is read of every node."""

    reads: Read
    properties: list[tuple[int, Property]]
    news: dict[Parts, int]


class Judge(dict[int, int]):
    """For `world & fields.parts`: one bit for each property that is news there. A property
    that must always hold is news where it does not, any other where it does."""

    def __init__(self, properties: tuple[Property, ...]) -> None:
        super().__init__()
        self.fields: Fields | None = None
        kinds: dict[object, Kind] = {}
        for bit, prop in enumerate(properties):
            kind = kinds.setdefault(_kind(prop.reads), Kind(prop.reads, [], {}))
            kind.properties.append((1 << bit, prop))
        self._kinds = list(kinds.values())
        self._numbers: dict[Hashable, int] = {}

    def read(self, name: str, node: NodeState) -> Parts:
        """Numbers for all that any property reads of a node."""
        values = [(name, kind, each.reads(name, node)) for kind, each in enumerate(self._kinds)]
        return tuple([self._numbers.setdefault(value, len(self._numbers)) for value in values])

    def __missing__(self, key: int) -> int:
        """Judge a world for the first time, by the numbers of what the properties read of its nodes
        (`key`). Returns its news: an integer with one bit for each *always* property that it
        breaks and for each other one that holds in it. Properties of one kind read the same; their
        result is kept by what they read, so few worlds are really judged."""
        assert self.fields is not None
        parts: list[Parts] = [field.part.value(key) for field in self.fields.nodes]
        # built only if some kind has not seen these parts yet
        world: World | None = None
        bits = 0
        # `parts` are by node, with a number for each kind; zip(*parts) has them by kind
        for kind, read in zip(self._kinds, zip(*parts, strict=True), strict=True):
            news = kind.news.get(read)
            if news is None:
                world = self.fields.sample(key) if world is None else world
                news = sum(
                    [bit for bit, p in kind.properties if p.holds(world) != (p.kind == "always")]
                )
                kind.news[read] = news
            bits |= news
        self[key] = bits
        return bits


def _kind(read: Read) -> object:
    """Two partial functions of one function and equal arguments read the same."""
    return (read.func, read.args) if isinstance(read, partial) and not read.keywords else read
