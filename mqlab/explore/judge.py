"""What the properties say of a world, remembered by the parts of it that they read.

Most choices change nothing that a property looks at. So what is read of a node gets a number
of its own, which stands in the world beside the node's (`packed.py`), and a world whose
parts were met before needs one look into a dictionary for all properties together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING

from ..kernel.system import Property
from ..kernel.world import NodeState

if TYPE_CHECKING:
    from .packed import Fields

Read = Callable[[str, NodeState], Hashable]
Parts = tuple[int, ...]  # a number for what each kind of reader reads of one node


class Judge(dict[int, int]):
    """For `world & fields.parts`: one bit for each property that is news there. A property
    that must always hold is news where it does not, any other where it does."""

    def __init__(self, properties: tuple[Property, ...]) -> None:
        super().__init__()
        self.fields: Fields | None = None
        self._properties = properties
        kinds: dict[object, Read] = {}
        for prop in properties:
            kinds.setdefault(_kind(prop.reads), prop.reads)
        self._reads = list(kinds.values())
        self._kinds = [list(kinds).index(_kind(prop.reads)) for prop in properties]
        self._numbers: dict[Hashable, int] = {}
        self._memo: dict[tuple[int, Parts], bool] = {}

    def read(self, name: str, node: NodeState) -> Parts:
        """Numbers for all that any property reads of a node."""
        values = [(name, kind, read(name, node)) for kind, read in enumerate(self._reads)]
        return tuple([self._numbers.setdefault(value, len(self._numbers)) for value in values])

    def __missing__(self, key: int) -> int:
        assert self.fields is not None
        nodes = self.fields.nodes
        parts: list[Parts] = [field.part.value(key) for field in nodes]
        world = self.fields.sample(key)
        bits = 0
        for number, (prop, kind) in enumerate(zip(self._properties, self._kinds, strict=True)):
            memo = (number, tuple([part[kind] for part in parts]))
            holds = self._memo.get(memo)
            if holds is None:
                holds = self._memo[memo] = prop.holds(world)
            bits |= (holds != (prop.kind == "always")) << number
        self[key] = bits
        return bits


def _kind(read: Read) -> object:
    """Two partial functions of one function and equal arguments read the same."""
    return (read.func, read.args) if isinstance(read, partial) and not read.keywords else read
