"""What only an administrator asks about a role: when it was loaded and what it has sent since.

The engine's roles know no wall clock beyond their deadlines, and count nothing that they do not
need; a broker's statistics do. All of it is memory, from the load on, as in a real broker.

Source: PersistentTopic#getStats, TransactionBufferStats, TransactionPendingAckStats,
TransactionCoordinatorStats (4.2).
"""

from __future__ import annotations

from typing import Any

from ....kernel import Appended, Effects, Event, Map, Request, Send, frozen, replace
from ....pulsar.config import SNAPSHOT_LOG
from ....pulsar.coordinator import Coordinator
from ....pulsar.messages import PushMessage, SubscriptionRequest
from ....pulsar.states import PendingAckState, StoreState
from ....pulsar.topic import Topic
from .holding import Holders, follow

ALL = ""  # the sum over all subscriptions
MOST_SENT = 1_000  # sums, before those of consumers that have gone are forgotten


def find_subscription(event: Event) -> str | None:
    """The subscription that a request is about: of many, the only one that it changes."""
    if isinstance(event, Request) and isinstance(event.body, SubscriptionRequest):
        return event.body.subscription
    return None


@frozen
class Notes:
    """Times are milliseconds since 1970, 0 where something has not happened yet.

    `loaded_ms`: the role was loaded, when the log had `first` entries; `snapshot_ms`: the last
    snapshot was safe; `store_ms`: the coordinator's store began to load, and was ready;
    `pending_ms`: by subscription, its pending acks became ready; `sent`: by subscription and by
    consumer, (messages, bytes) that went out; `held`: by consumer, what it has not acknowledged."""

    loaded_ms: int = 0
    first: int = 0
    snapshot_ms: int = 0
    store_ms: tuple[int, int] = (0, 0)
    pending_ms: Map[str, int] = Map()
    sent: Map[str, tuple[int, int]] = Map()
    held: Holders = Map()

    def take(self, old: Any, new: Any, event: Event, effects: Effects) -> Notes:
        """Count messages and bytes for `stats`. After a step of the role."""
        at_ms = getattr(event, "at_ms", 0)
        if isinstance(new, Topic):
            noted = self._count(effects)
            held = follow(self.held, old, new, event, effects)
            noted = noted if held is self.held else replace(noted, held=held)
            if isinstance(event, Appended) and event.log == SNAPSHOT_LOG:
                noted = replace(noted, snapshot_ms=at_ms)
            return (
                noted
                if new.subs is old.subs
                else noted._note_pending(old, new, event, at_ms)._forget(new)
            )
        if isinstance(new, Coordinator) and new.state is not old.state:
            begun, _ = self.store_ms
            ready = at_ms if new.state is StoreState.READY else 0
            return replace(self, store_ms=(begun or at_ms, ready))
        return self

    def _note_pending(self, old: Topic, new: Topic, event: Event, at_ms: int) -> Notes:
        name, ready = find_subscription(event), PendingAckState.READY
        if name is None or name not in new.subs or new.subs[name].pending.state is not ready:
            return self
        before = old.subs.get(name)
        if before is not None and before.pending.state is ready:
            return self
        return replace(self, pending_ms=self.pending_ms.set(name, at_ms))

    def _forget(self, topic: Topic) -> Notes:
        """Consumers that have gone, now and then."""
        if len(self.sent) <= MOST_SENT:
            return self
        here = {c.client for sub in topic.subs.values() for c in sub.consumers}
        left = (
            (key, sum_)
            for key, sum_ in self.sent.items()
            if key in here or key in (ALL, *topic.subs)
        )
        return replace(self, sent=Map(left))

    def _count(self, effects: Effects) -> Notes:
        sent = self.sent
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.body, PushMessage):
                payload = effect.body.values[0]
                for key in (ALL, effect.body.subscription, effect.to):
                    messages, size = sent.get(key) or (0, 0)
                    sent = sent.set(key, (messages + payload.count, size + len(payload.data)))
        return self if sent is self.sent else replace(self, sent=sent)
