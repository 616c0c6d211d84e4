"""The dispatcher: which entry goes to which consumer, and which to nobody.

It reads no further than maxReadPosition and only while a consumer has permits. Each entry goes
through the filters, in this order:

    1. a marker                            acknowledged here, dropped
    2. a message of an aborted transaction  acknowledged here, dropped
    3. pending for an open transaction     dropped; an abort brings it back
    4. all else                            sent

So a marker and an aborted message stay in a subscription's backlog until its dispatcher reads over
them. Whether a transaction was aborted is asked by its id alone, wherever the message lies.

Sources: AbstractBaseDispatcher#filterEntriesForConsumer, PersistentDispatcherMultipleConsumers#
readMoreEntries, #trySendMessagesToConsumers, PersistentDispatcherSingleActiveConsumer (4.2).
*Left out:* entry filters, delayed delivery, other markers, limits on size and rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...kernel import Effects, Send, replace
from ..ledger import TopicView
from ..messages import LedgerEntry, MessageId, PushMessage
from ..pending_ack.handle import WHOLE
from ..states import INDIVIDUAL
from .consumers import Attached, find_active, update

if TYPE_CHECKING:
    from . import Subscription

#: dispatcherMaxRoundRobinBatchSize: so many entries go to one consumer before the next one
ROUND_ROBIN_BATCH = 20


class _Round:
    """One pass of a dispatcher over what may be sent now."""

    def __init__(self, sub: Subscription, view: TopicView) -> None:
        self.sub, self.view = sub, view
        self.on = sub.config.on
        self.effects: list[Send] = []
        self.sent = 0

    def run(self) -> None:
        for entry in self.entries():
            self.handle(entry)

    def entries(self) -> Iterator[LedgerEntry]:
        """What is to be sent again first, then on from the read position, while there is somebody
        who may be sent something."""
        log, replay = self.view.log, self.sub.replay
        again = 0
        while again < len(replay) and replay[again] <= self.view.max_read:
            if self.choose() is None:
                break
            yield from log.read(replay[again], replay[again] + 1)
            again += 1
        if again:
            self.sub = replace(self.sub, replay=replay[again:])
        start = max(self.sub.read, log.start)
        for entry in log.read(start, self.view.max_read + 1):
            if self.choose() is None:
                return
            self.sub = replace(self.sub, read=entry.base + 1)
            yield entry

    def choose(self) -> Attached | None:
        """Who is sent the next message, if anybody may be sent one."""
        consumers = self.sub.consumers
        if self.sub.sub_type not in INDIVIDUAL:
            active = find_active(self.sub)
            ready = [c for c in consumers if c.client == active and c.permits > 0]
            return ready[0] if ready else None
        ready = [c for c in consumers if c.permits > 0]
        if not ready:
            return None
        turn = self.sub.turn + self.sent // ROUND_ROBIN_BATCH
        return min(ready, key=lambda c: (consumers.index(c) - turn) % len(consumers))

    def handle(self, entry: LedgerEntry) -> None:
        """Send an entry, or deal with it without sending it."""
        sub, at = self.sub, entry.base
        if sub.cursor.is_deleted(at):
            return
        aborted = entry.txn is not None and self.view.is_aborted(entry.txn)
        if entry.marker is not None or (aborted and "filter_aborted" in self.on):
            self.sub = replace(sub, cursor=sub.cursor.delete((at,)))
            return
        done = sub.cursor.acked_indexes(at)
        if "pending_ack_filter" in self.on:
            pending = sub.pending.positions.get(at, ())
            if pending == WHOLE:
                return
            done = tuple(sorted({*done, *pending}))
        if len(done) < len(entry.values):
            self.send(entry, done)

    def send(self, entry: LedgerEntry, done: tuple[int, ...]) -> None:
        consumer = self.choose()
        assert consumer is not None
        sub, at = self.sub, entry.base
        consumer = consumer.hold(at, len(entry.values) - len(done))
        if sub.is_single:  # counts and single redelivery are for the other types
            consumer = replace(consumer, held=())
        message = PushMessage(
            MessageId(sub.partition, at),
            sub.name,
            entry.values,
            sub.counts.get(at, 0),
            entry.txn,
            done,
        )
        self.sub = update(sub, consumer)
        self.effects.append(Send(consumer.client, message))
        self.sent += 1


def dispatch(sub: Subscription, view: TopicView) -> tuple[Subscription, Effects]:
    """Send what may be sent. The cursor moves over what nobody is sent."""
    if not sub.consumers or (sub.read > view.max_read and not sub.replay):
        return sub, ()
    this = _Round(sub, view)
    this.run()
    new = this.sub
    if this.sent:
        new = replace(new, turn=_next_turn(new, this.sent))
    return new, tuple(this.effects)


def _next_turn(sub: Subscription, sent: int) -> int:
    if sub.sub_type not in INDIVIDUAL:
        return 0
    batches = -(-sent // ROUND_ROBIN_BATCH)
    return (sub.turn + batches) % len(sub.consumers)
