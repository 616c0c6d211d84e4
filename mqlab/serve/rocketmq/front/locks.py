"""Locks on queues, for consumers that take the messages of a queue in order.

Rebalancing tells each member of a group which queues are its own; two members may differ about
that for a while. Where order matters a member therefore asks the broker for its queues: a member
that holds a lock has the queue, for a minute, and asks again every 20 seconds.

Source: RebalanceLockManager (5.5.0). Locks are memory: after a restart the first one gets it.
"""

from __future__ import annotations

from ....kernel import Map, frozen, replace

LIFE_MS = 60_000  # rocketmq.broker.rebalance.lockMaxLiveTime
Queue = tuple[str, int]


@frozen
class Locks:
    """`held`: by group, topic and queue id, who holds it and since when it was last asked for."""

    held: Map[tuple[str, str, int], tuple[str, int]] = Map()

    def lock(
        self, group: str, client: str, queues: tuple[Queue, ...], at_ms: int
    ) -> tuple[Locks, tuple[Queue, ...]]:
        """Those of the queues that the client holds now."""
        held, got = self.held, []
        for queue in queues:
            holder, since = held.get((group, *queue), (client, at_ms))
            if holder == client or at_ms - since > LIFE_MS:
                held = held.set((group, *queue), (client, at_ms))
                got.append(queue)
        return replace(self, held=held), tuple(got)

    def any_held(self, group: str, at_ms: int) -> bool:
        """Whether a member of this group holds a queue (RebalanceLockManager#isLockAllExpired)."""
        held = ((name, since) for (name, *_), (_, since) in self.held.items())
        return any(name == group and at_ms - since <= LIFE_MS for name, since in held)

    def unlock(self, group: str, client: str, queues: tuple[Queue, ...]) -> Locks:
        held = self.held
        for queue in queues:
            if held.get((group, *queue), ("", 0))[0] == client:
                held = held.remove((group, *queue))
        return replace(self, held=held)
