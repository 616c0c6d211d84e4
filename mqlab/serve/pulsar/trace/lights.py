"""The lights of a lesson's picture, watched on a server that goes on.

Who holds a pending message is read off the topics that are drawn. What is about one moment (a
message that is sent, a transaction that is COMMITTED) is noted by the model as it goes by. A light
that went red stays red: the claim was broken in this run, whatever comes after.

*Left out:* transactions that have left the notes are judged no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....kernel import Light
from ....kernel.trace import plain_of as plain
from ....pulsar.claims.invariants import LIT, ONE_HOLDER, has_one_holder
from ....pulsar.subscription import Subscription
from .model import Model


class Lights:
    """`draw(subs)`: every light, after a look at these subscriptions, by topic, where they have
    changed."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._red: frozenset[str] = frozenset()
        self._seen: dict[str, list[Subscription]] = {}

    def draw(self, topics: dict[str, list[Subscription]]) -> Any:
        self._red |= self.model.broken
        for name, subs in topics.items():
            before = self._seen.get(name, [])
            if subs is not before and not all(map(has_one_holder, _list_new(before, subs))):
                self._red |= {ONE_HOLDER.name}
        self._seen = topics
        return plain(tuple(Light(c.name, c.words(), c.name not in self._red) for c in LIT))


def _list_new(before: list[Subscription], now: list[Subscription]) -> Iterator[Subscription]:
    """Those that hold something else than before."""
    held = {id(sub.pending) for sub in before}
    return (sub for sub in now if id(sub.pending) not in held)
