"""Whom can the broker ask? The connections of each producer group.

A check goes to *some* connection of the group, in turn: not to the process that sent the half,
which may be dead, and not to all. Whoever registered is asked, also a process that has never
sent anything. A connection that closes is forgotten at once.

Sources: ProducerManager#registerProducer, #getAvailableChannel, #doChannelCloseEvent (5.5.0).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...kernel import Map, replace


@dataclass(frozen=True, slots=True)
class Producers:
    """`groups`: the connections of each group in the order of their registration. `asked`: one
    counter for all groups, by which they take turns."""

    groups: Map[str, tuple[str, ...]] = Map()
    asked: int = 0

    def register(self, group: str, client: str) -> Producers:
        there = self.groups.get(group, ())
        if client in there:
            return self
        return replace(self, groups=self.groups.set(group, (*there, client)))

    def forget(self, client: str) -> Producers:
        """The connection closed: no group has it any more."""
        groups = self.groups
        for group, there in groups.items():
            left = tuple(c for c in there if c != client)
            groups = groups.set(group, left) if left else groups.remove(group)
        return replace(self, groups=groups)

    def choose(self, group: str, only: str | None = None) -> tuple[Producers, str | None]:
        """The next connection of the group, None where there is none. `only`: no other will do."""
        there = self.groups.get(group, ())
        if only is not None:
            return self, only if only in there else None
        if not there:
            return self, None
        # The real counter is never turned back; modulo a group's size that makes no difference.
        chosen = there[self.asked % len(there)]
        return replace(self, asked=self.asked + 1), chosen
