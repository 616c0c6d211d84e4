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

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...kernel import Effects, Send, replace
from ..ledger import TopicView
from ..messages import LedgerEntry, MessageId, PushMessage
from ..pending_ack.handle import WHOLE
from ..states import INDIVIDUAL
from .consumers import find_active

if TYPE_CHECKING:
    from . import Subscription

#: dispatcherMaxRoundRobinBatchSize: so many entries go to one consumer before the next one
ROUND_ROBIN_BATCH = 20


class _Round:
    """One pass of a dispatcher over what may be sent now. `ready`: the places of the consumers that
    may be sent something, sorted, so that whose turn it is costs the logarithm of their number;
    `held`: of each consumer by its place, what it is sent here; `passed`: what nobody is sent."""

    def __init__(self, sub: Subscription, view: TopicView) -> None:
        self.sub, self.view = sub, view
        self.on = sub.config.on
        self.effects: list[Send] = []
        self.read, self.replay = sub.read, sub.replay
        self.passed: list[int] = []
        self.held: dict[int, list[int]] = {}
        self.permits = [consumer.permits for consumer in sub.consumers]
        served = "" if sub.sub_type in INDIVIDUAL else find_active(sub)
        self.ready = [
            place
            for place, consumer in enumerate(sub.consumers)
            if consumer.permits > 0 and (not served or consumer.client == served)
        ]

    def run(self) -> Subscription:
        for entry in self.entries():
            self.handle(entry)
        consumers = list(self.sub.consumers)
        for place, positions in self.held.items():  # single redelivery is for the other types
            kept = () if self.sub.is_single else positions
            consumers[place] = consumers[place].hold(kept, self.permits[place])
        return replace(
            self.sub,
            consumers=tuple(consumers),
            cursor=self.sub.cursor.delete(tuple(self.passed)) if self.passed else self.sub.cursor,
            read=self.read,
            replay=self.replay,
            turn=_next_turn(self.sub, len(self.effects)) if self.effects else self.sub.turn,
        )

    def entries(self) -> Iterator[LedgerEntry]:
        """What is to be sent again first, then on from the read position, while there is somebody
        who may be sent something."""
        log, replay = self.view.log, self.replay
        again = 0
        while again < len(replay) and replay[again] <= self.view.max_read:
            if not self.ready:
                break
            yield from log.read(replay[again], replay[again] + 1)
            again += 1
        self.replay = replay[again:]
        for entry in log.read(max(self.read, log.start), self.view.max_read + 1):
            if not self.ready:
                return
            self.read = entry.base + 1
            yield entry

    def choose(self) -> int:
        """The place of the consumer that is sent the next message: whose turn it is, or the next
        one behind that may be sent one."""
        turn = self.sub.turn + len(self.effects) // ROUND_ROBIN_BATCH
        behind = bisect_left(self.ready, turn % len(self.permits))
        return self.ready[behind % len(self.ready)]

    def handle(self, entry: LedgerEntry) -> None:
        """Send an entry, or deal with it without sending it."""
        sub, at = self.sub, entry.base
        if sub.cursor.is_deleted(at):
            return
        aborted = entry.txn is not None and self.view.is_aborted(entry.txn)
        if entry.marker is not None or (aborted and "filter_aborted" in self.on):
            self.passed.append(at)
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
        sub, at, place = self.sub, entry.base, self.choose()
        self.permits[place] -= len(entry.values) - len(done)
        if self.permits[place] <= 0:
            del self.ready[bisect_left(self.ready, place)]
        self.held.setdefault(place, []).append(at)
        message = PushMessage(
            MessageId(sub.partition, at),
            sub.name,
            entry.values,
            sub.counts.get(at, 0),
            entry.txn,
            done,
        )
        self.effects.append(Send(sub.consumers[place].client, message))


def dispatch(sub: Subscription, view: TopicView) -> tuple[Subscription, Effects]:
    """Send what may be sent. The cursor moves over what nobody is sent."""
    if not sub.consumers or (sub.read > view.max_read and not sub.replay):
        return sub, ()
    this = _Round(sub, view)
    return this.run(), tuple(this.effects)


def _next_turn(sub: Subscription, sent: int) -> int:
    if sub.sub_type not in INDIVIDUAL:
        return 0
    batches = -(-sent // ROUND_ROBIN_BATCH)
    return (sub.turn + batches) % len(sub.consumers)
