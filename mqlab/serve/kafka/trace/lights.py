"""The invariants of a lesson's picture, watched on a server that goes on.

What can be read off what is drawn is read off it; what is about one moment (a marker that is
written) is noted by the model as it goes by. A light that went red stays red: the invariant
was broken in this run, whatever comes after.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....kafka.claims.invariants import CLEAN_READ, LIT, REPLICATED_READ
from ....kernel import Light
from ....kernel.trace import plain_of as plain
from .model import Model


class Lights:
    """`draw(names)`: every light, after a look at these partitions."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._red: set[str] = set()

    def draw(self, names: Iterable[str]) -> list[Any]:
        self._red |= self.model.broken
        for name in names:
            self._look(name)
        return [plain(Light(c.name, c.words(), c.name not in self._red)) for c in LIT]

    def _look(self, name: str) -> None:
        part, strip = self.model.find_part(name), self.model.strips.get(name)
        if part is None or strip is None:
            return
        if part.lso > part.hw:
            self._red.add(REPLICATED_READ.name)
        if any(not row.outcome and row.batch.last < part.lso for row in strip.rows):
            self._red.add(CLEAN_READ.name)
