"""How many messages each consumer holds and has not acknowledged, as a broker's statistics say it.

The count goes by what the broker was told and does not ask the cursor. So it can be too high: what
an abort brings back is sent, and counted, once more, and a plain acknowledgement in a batch where a
transaction has others pending may not count at all. A real broker's does so too (4.2.4).

Source: Consumer#sendMessages, #individualAckNormal, #individualAckWithTransaction,
#redeliverUnacknowledgedMessages, PendingAcksMap#updateRemainingUnacked (4.2.4).
"""

from __future__ import annotations

from ....kernel import Effects, Event, Map, Request, Send, frozen
from ....pulsar.messages import (
    Ack,
    CloseConsumer,
    PushMessage,
    Redeliver,
    Seek,
    SubscriptionRequest,
    Unsubscribe,
)
from ....pulsar.pending_ack import WHOLE, group, has
from ....pulsar.states import INDIVIDUAL, AckType
from ....pulsar.subscription import Attached, Subscription
from ....pulsar.topic import Topic


@frozen
class Unacked:
    """Of one consumer. `left`: by entry that it was sent, how many messages of it."""

    count: int = 0
    left: Map[int, int] = Map()

    def send(self, position: int, messages: int) -> Unacked:
        return Unacked(self.count + messages, self.left.set(position, messages))

    def take(self, position: int, messages: int) -> Unacked:
        """So many of an entry that it holds are acknowledged."""
        left = self.left.set(position, self.left.get(position, 0) - messages)
        return Unacked(self.count - messages, left)

    def drop(self, position: int) -> Unacked:
        """The entry is done with, or to be sent again."""
        if position not in self.left:
            return self
        return Unacked(self.count - self.left[position], self.left.remove(position))

    def keep(self, held: tuple[int, ...]) -> Unacked:
        """What it no longer holds needs no number."""
        if len(self.left) < max(LEAST, 2 * len(held)):
            return self
        return Unacked(self.count, Map((at, self.left[at]) for at in held if at in self.left))


Holders = Map[str, Unacked]
LEAST = 64


def follow(holders: Holders, old: Topic, new: Topic, event: Event, effects: Effects) -> Holders:
    """By consumer, of the types that are sent single entries, after a step."""
    if isinstance(event, Request) and isinstance(event.body, SubscriptionRequest):
        sub = old.subs.get(event.body.subscription)
        if sub is not None and not sub.is_single:
            holders = _hear(holders, sub, event)
    for effect in effects:
        if isinstance(effect, Send) and isinstance(effect.body, PushMessage):
            message = effect.body
            if new.subs[message.subscription].sub_type in INDIVIDUAL:
                messages = len(message.values) - len(message.acked)
                held = holders.get(effect.to) or Unacked()
                held = held.send(message.message_id.position, messages)
                holders = holders.set(effect.to, held)
    return holders if new.subs else Map()


def _hear(holders: Holders, sub: Subscription, event: Request) -> Holders:
    """What a request changes in the numbers of unacknowledged messages that consumers hold."""
    name = event.caller.name
    match event.body:
        case Ack() as ask if ask.ack_type is AckType.INDIVIDUAL:
            return _acknowledge(holders, sub, ask, name)
        case Redeliver(positions=positions) if name in holders:
            held = holders[name]
            for position in positions or tuple(held.left):
                held = held.drop(position)
            return holders.set(name, held)
        case CloseConsumer() if name in holders:
            return holders.remove(name)
        case Unsubscribe() | Seek():
            for consumer in sub.consumers:
                if consumer.client in holders:
                    holders = holders.remove(consumer.client)
    return holders


def _acknowledge(holders: Holders, sub: Subscription, ask: Ack, name: str) -> Holders:
    """An acknowledgement lowers the number of the consumer that holds the message,
    which need not be the one that acknowledges."""
    sizes = {position.position: position.batch_size for position in ask.positions}
    for at, indexes in group(ask.positions).items():
        owner = _find_owner(sub, name, at)
        if owner is None or owner.client not in holders:
            continue
        held = holders[owner.client].keep(owner.held)
        if indexes == WHOLE:
            held = held.drop(at)
        elif ask.txn is not None:
            held = held.take(at, len(indexes))
        elif before := sub.cursor.acked_indexes(at):
            held = held.take(at, len({*indexes}.difference(before)))
        else:
            held = held.take(at, max(0, held.left.get(at, 0) - (sizes[at] - len(indexes))))
        holders = holders.set(owner.client, held)
    return holders


def _find_owner(sub: Subscription, name: str, position: int) -> Attached | None:
    """The consumer that holds an entry: the one that asks, or another one."""
    found = None
    for consumer in sub.consumers:
        if has(consumer.held, position):
            found = consumer
            if consumer.client == name:
                break
    return found
