"""A small streaming job on nodes of its own.

system barriers sources=s1,s2 rows=2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

from ...kernel import NodeSpec, Snapshot, World
from ...kernel.claims import Claim
from ...kernel.options import Most
from ..model import Model
from . import words
from .claims import ARRIVES, COMMITS, KEPT, UNKEPT
from .config import JM, SAFEGUARDS, SINK, SUM, JobConfig
from .manager import JobManager
from .operator import Operator
from .picture import draw
from .sink import Sink
from .source import Source


@dataclass(frozen=True)
class Barriers(Model):
    """`sources`: what the operator reads; each has `rows` records. `expires`: 1 where the store
    gives up output that stays pending too long."""

    sources: tuple[str, ...] = ("s1", "s2")
    rows: Annotated[int, Most(20, "a picture has room for 20")] = 2
    expires: Annotated[int, Most(1, "expected 0 or 1")] = 0

    name = "barriers"
    title = words.TITLE
    guards = SAFEGUARDS
    kept = (*KEPT, ARRIVES, COMMITS)
    unkept = UNKEPT
    whys = words.WHYS

    @cached_property
    def config(self) -> JobConfig:
        on = frozenset(self.guards) - {*self.off}
        return JobConfig(on=on, sources=self.sources, expires=bool(self.expires))

    def list_rows(self, source: str) -> tuple[str, ...]:
        """The records of a source: a1, a2 … of the first, b1, b2 … of the second."""
        letter = chr(ord("a") + self.sources.index(source))
        return tuple(f"{letter}{n}" for n in range(1, self.rows + 1))

    def nodes(self) -> tuple[NodeSpec, ...]:
        roles: dict[str, Any] = {
            JM: partial(JobManager.recover, self.config),
            **{n: partial(Source.recover, self.config, n, self.list_rows(n)) for n in self.sources},
            SUM: partial(Operator.recover, self.config),
            SINK: partial(Sink.recover, self.config),
        }
        return tuple(NodeSpec(name, ((name, recover),)) for name, recover in roles.items())

    def call(self, words: tuple[str, ...]) -> Any:
        raise ValueError(f"{' '.join(words)!r} is no call; expected none: this job runs by itself")

    def draw(self, world: World) -> Snapshot:
        return draw(self, world)

    def chosen(self) -> tuple[Claim[Any], ...]:
        """A store that gives up may lose what is complete: ask for that claim by its name."""
        return (*KEPT, COMMITS) if self.expires else self.kept
