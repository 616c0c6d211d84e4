"""The lights of a lesson's picture, watched on a server that goes on.

Who holds a pending message is read off the topics that are drawn. What is about one moment (a
message that is sent, a transaction that is COMMITTED) is noted by the model as it goes by. A light
that went red stays red: the claim was broken in this run, whatever comes after.

*Left out:* transactions that have left the notes are judged no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....kernel import Light
from ....kernel.trace import plain_of as plain
from ....pulsar.claims.invariants import LIT, ONE_HOLDER, has_one_holder
from ....pulsar.topic import Topic
from .model import Model


class Lights:
    """`draw(topics)`: every light, after a look at these."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._red: frozenset[str] = frozenset()

    def draw(self, topics: Iterable[Topic]) -> Any:
        self._red |= self.model.broken
        if not all(has_one_holder(sub) for topic in topics for sub in topic.subs.values()):
            self._red |= {ONE_HOLDER.name}
        return plain(tuple(Light(c.name, c.words(), c.name not in self._red) for c in LIT))
