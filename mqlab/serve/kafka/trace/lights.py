"""The invariants of a lesson's picture, watched on a server that goes on.

What can be read off what is drawn is read off it; what is about one moment (a marker that is
written) is noted by the model as it goes by. A light that went red stays red: the invariant
was broken in this run, whatever comes after.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....kafka.picture import words
from ....kernel import Light, Words
from ....kernel.trace import plain_of as plain
from .model import DECIDED_FIRST, SAME_OUTCOME, Model

CLEAN_READ, REPLICATED_READ = "clean read", "replicated read"
SENTENCES: dict[str, Words] = {
    SAME_OUTCOME: words.SAME_OUTCOME,
    CLEAN_READ: words.CLEAN_READ,
    REPLICATED_READ: words.REPLICATED_READ,
    DECIDED_FIRST: words.DECIDED_FIRST,
}


class Lights:
    """`drawn(names)`: every light, after a look at these partitions."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._red: set[str] = set()

    def drawn(self, names: Iterable[str]) -> list[Any]:
        self._red |= self.model.broken
        for name in names:
            self._look(name)
        return [plain(Light(n, text(), n not in self._red)) for n, text in SENTENCES.items()]

    def _look(self, name: str) -> None:
        part, strip = self.model.part(name), self.model.strips.get(name)
        if part is None or strip is None:
            return
        if part.lso > part.hw:
            self._red.add(REPLICATED_READ)
        if any(not row.outcome and row.batch.last < part.lso for row in strip.rows):
            self._red.add(CLEAN_READ)
