"""A small streaming query on nodes of its own.

system micro_batches sources=s1,s2 rows=2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

from ...kernel import NodeSpec, Snapshot, World
from ...kernel.options import Most
from ..model import Model
from . import words
from .claims import KEPT, UNKEPT
from .config import DRIVER, SAFEGUARDS, SINK, QueryConfig
from .driver import Driver
from .partition import Partition
from .picture import draw
from .store import Store


@dataclass(frozen=True)
class MicroBatches(Model):
    """`sources`: the partitions of topic Order; in each so many `rows` will arrive."""

    sources: tuple[str, ...] = ("s1", "s2")
    rows: Annotated[int, Most(20, "a picture has room for 20")] = 2

    name = "micro_batches"
    retrying = ("retry",)
    title = words.TITLE
    guards = SAFEGUARDS
    kept = KEPT
    unkept = UNKEPT
    whys = words.WHYS

    @cached_property
    def config(self) -> QueryConfig:
        return QueryConfig(on=frozenset(self.guards) - {*self.off}, sources=self.sources)

    def list_rows(self, source: str) -> tuple[str, ...]:
        """The orders of a partition: a1, a2 … of the first, b1, b2 … of the second."""
        letter = chr(ord("a") + self.sources.index(source))
        return tuple(f"{letter}{n}" for n in range(1, self.rows + 1))

    def nodes(self) -> tuple[NodeSpec, ...]:
        roles: dict[str, Any] = {
            DRIVER: partial(Driver.recover, self.config),
            **{n: partial(Partition.recover, n, self.list_rows(n)) for n in self.sources},
            SINK: partial(Store.recover, self.config),
        }
        return tuple(NodeSpec(name, ((name, recover),)) for name, recover in roles.items())

    def call(self, words: tuple[str, ...]) -> Any:
        raise ValueError(
            f"{' '.join(words)!r} is no call; expected none: this query runs by itself"
        )

    def draw(self, world: World) -> Snapshot:
        return draw(self, world)
