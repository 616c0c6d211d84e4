"""How many messages each consumer holds and has not acknowledged, as a broker's statistics say it.

The count goes by the acknowledgements that the broker got and does not ask the cursor. So it can be
too high: what an abort brings back is sent, and counted, once more, and a plain acknowledgement in
a batch where a transaction has others pending may not count at all. A real broker's does so too
(4.2.4).

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
from ....pulsar.subscription import Attached, Subscription, find_users
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
            holders = _take_request(holders, sub, event)
    for effect in effects:
        if isinstance(effect, Send) and isinstance(effect.body, PushMessage):
            message = effect.body
            if new.subs[message.subscription].sub_type in INDIVIDUAL:
                messages = len(message.values) - len(message.acked)
                held = holders.get(effect.to) or Unacked()
                held = held.send(message.message_id.position, messages)
                holders = holders.set(effect.to, held)
    return holders if new.subs else Map()


def _take_request(holders: Holders, sub: Subscription, event: Request) -> Holders:
    """Return the numbers of messages that consumers hold unacknowledged, by consumer, after a
    client's request to a subscription: individually acknowledged, given back, or gone with a
    consumer or cursor. Other requests change nothing; the types that are counted here cannot be
    acknowledged cumulatively."""
    client = event.caller.name
    match event.body:
        case Ack() as ack if ack.ack_type is AckType.INDIVIDUAL:
            return _acknowledge(holders, sub, ack, client)
        case Redeliver(positions=positions) if client in holders:
            held = holders[client]
            for position in positions or tuple(held.left):  # none named: all that it holds
                held = held.drop(position)
            return holders.set(client, held)
        case CloseConsumer() if client in holders:
            return holders.remove(client)
        case Unsubscribe() | Seek() as ask if isinstance(ask, Seek) or not find_users(sub, ask):
            for consumer in sub.consumers:
                if consumer.client in holders:
                    holders = holders.remove(consumer.client)
    return holders


def _acknowledge(holders: Holders, sub: Subscription, ask: Ack, name: str) -> Holders:
    """Lower the numbers of held messages (`holders`, by consumer) by an acknowledgement from client
    `name` to the subscription `sub`, which is as it was before it. The consumer that holds an entry
    need not be the one that acknowledges it."""
    sizes = {position.position: position.batch_size for position in ask.positions}
    # indexes: the messages of a batch that are named, or WHOLE
    for position, indexes in group(ask.positions).items():
        holder = _find_holder(sub, name, position)
        if holder is None or holder.client not in holders:
            continue
        unacked = holders[holder.client].keep(holder.held)  # without entries held no more
        if indexes == WHOLE:
            unacked = unacked.drop(position)
        elif ask.txn is not None:  # pending in a transaction: counted as named
            unacked = unacked.take(position, len(indexes))
        elif acked_before := sub.cursor.acked_indexes(position):
            unacked = unacked.take(position, len({*indexes}.difference(acked_before)))
        else:  # the first acknowledgement in this batch: what it does not name is left
            still_held = sizes[position] - len(indexes)
            unacked = unacked.take(position, max(0, unacked.left.get(position, 0) - still_held))
        holders = holders.set(holder.client, unacked)
    return holders


def _find_holder(sub: Subscription, name: str, position: int) -> Attached | None:
    """The consumer that holds an entry: the one that asks, or another one."""
    found = None
    for consumer in sub.consumers:
        if has(consumer.held, position):
            found = consumer
            if consumer.client == name:
                break
    return found
