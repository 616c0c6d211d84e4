"""What the properties say of a world, remembered by the parts of it that they read."""

from __future__ import annotations

from collections.abc import Hashable

from ..kernel.system import Property
from ..kernel.world import NodeState
from .packed import Fields


class Judge(dict[int, int]):
    """For `world & fields.parts`: one bit for each property that is news there. A property
    that must always hold is news where it does not, any other where it does."""

    def __init__(self, fields: Fields, properties: tuple[Property, ...]) -> None:
        super().__init__()
        self._fields, self._properties = fields, properties
        self._memo: dict[tuple[int, tuple[Hashable, ...]], bool] = {}

    def __missing__(self, key: int) -> int:
        unpacked = self._fields.sample(key)
        bits = 0
        for number, prop in enumerate(self._properties):
            nodes = unpacked.nodes.items()
            read = (number, tuple([prop.reads(name, node) for name, node in nodes]))
            holds = self._memo.get(read)
            if holds is None:
                holds = self._memo[read] = prop.holds(unpacked)
            bits |= (holds != (prop.kind == "always")) << number
        self[key] = bits
        return bits


def reads(properties: tuple[Property, ...], name: str, node: NodeState) -> Hashable:
    """Everything that any of the properties reads of a node."""
    different = dict.fromkeys(prop.reads for prop in properties)
    return tuple([read(name, node) for read in different])
