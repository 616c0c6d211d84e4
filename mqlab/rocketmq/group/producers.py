"""Whom can the broker ask? The connections of each producer group.

A check goes to *some* connection of the group, in turn: not to the process that sent the half,
which may be dead, and not to all. Each process that registered is asked, also a process that has
never sent anything. A connection that closes is forgotten at once.

Sources: ProducerManager#registerProducer, #getAvailableChannel, #doChannelCloseEvent (5.5.0).
"""

from __future__ import annotations

from ...kernel import Map, frozen, replace
from .members import Members, join_group, leave_groups


@frozen
class Producers:
    """`counter`: one counter for all groups, by which their connections take turns."""

    groups: Members = Map()
    counter: int = 0

    def register(self, group: str, client: str) -> Producers:
        return replace(self, groups=join_group(self.groups, group, client))

    def forget(self, client: str, groups: tuple[str, ...]) -> Producers:
        return replace(self, groups=leave_groups(self.groups, client, groups))

    def choose(self, group: str, only: str | None = None) -> tuple[Producers, str | None]:
        """The next connection of the group, None where there is none. `only`: no other will do."""
        there: tuple[str, ...] = self.groups.get(group, ())
        if only is not None:
            return self, only if only in there else None
        if not there:
            return self, None
        return replace(self, counter=self.counter + 1), there[self.counter % len(there)]
