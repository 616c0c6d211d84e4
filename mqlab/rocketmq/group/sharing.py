"""Which queues each consumer of a group reads.

The broker does not share them out. It tells each consumer who else is in the group, and all of
them come to the same answer by the same rule: sort the members, sort the queues, cut into pieces
of nearly equal length. While they do not agree on who is there, a queue can be read by two of
them, or by none. Who must not be read by two locks its queues at the broker (orderly consumers).

Sources: AllocateMessageQueueAveragely, RebalanceImpl#rebalanceByTopic, RebalanceLockManager
(5.5.0).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...kernel import Map, replace

LOCK_LIVES_MS = 60_000


def allocate_queues(me: str, members: tuple[str, ...], queues: tuple[str, ...]) -> tuple[str, ...]:
    """The queues of one member; the first members have one more where it does not come out even."""
    everyone = sorted(members)
    if me not in everyone:
        return ()
    size, more = divmod(len(queues), len(everyone))
    index = everyone.index(me)
    start = index * size + min(index, more)
    return queues[start : start + size + (index < more)]


@dataclass(frozen=True, slots=True)
class Locks:
    """Queues held by one consumer of a group: (group, queue) → (client, since when)."""

    held: Map[tuple[str, str], tuple[str, int]] = Map()

    def take(
        self, group: str, client: str, queues: tuple[str, ...], at_ms: int
    ) -> tuple[Locks, tuple[str, ...]]:
        """Lock what is free, mine already, or held for too long; gives the queues that are mine."""
        held, mine = self.held, []
        for queue in queues:
            owner, since = held.get((group, queue), (client, at_ms))
            if owner == client or at_ms - since > LOCK_LIVES_MS:
                held = held.set((group, queue), (client, at_ms))
                mine.append(queue)
        return replace(self, held=held), tuple(mine)

    def give_back(self, group: str, client: str, queues: tuple[str, ...]) -> Locks:
        held = self.held
        for queue in queues:
            if held.get((group, queue), ("", 0))[0] == client:
                held = held.remove((group, queue))
        return replace(self, held=held)
