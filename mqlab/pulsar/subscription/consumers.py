"""Who consumes: consumers come and go, and the type says how they share the messages.

Exclusive: one consumer. Failover: one at a time is active, the others wait. Shared and Key_Shared:
all of them, and each holds the entries that it was sent and has not acknowledged.

Sources: PersistentSubscription#addConsumerInternal, #removeConsumer,
PersistentDispatcherMultipleConsumers#addConsumer, #removeConsumer,
AbstractDispatcherSingleActiveConsumer#pickAndScheduleActiveConsumer (4.2). *Left out:* priorities
of consumers, keys of Key_Shared, the permits that too many unacknowledged messages block.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...kernel import Caller, Effects, Map, Reply, Send, frozen, replace
from ..errors import ServerError
from ..ledger import Cursor, join
from ..messages import Answer, Seek, Subscribe, Subscribed, Unsubscribe
from ..states import INDIVIDUAL, SubType

if TYPE_CHECKING:
    from . import Subscription

Result = tuple["Subscription", Effects]

EXCLUSIVE_TAKEN = "Exclusive consumer is already connected"
IS_SHARED = "Unconnected or shared consumer attempting to unsubscribe"
IN_USE = "Subscription has active connected consumers"
OTHER_TYPE = "Subscription is of different type"


@frozen
class Attached:
    """A connected consumer. `client`: whose it is. `permits`: how many messages it may still be
    sent. `held`: the entries that it was sent and has not acknowledged, sorted; kept for the
    types that redeliver single entries."""

    client: str
    permits: int = 0
    held: tuple[int, ...] = ()

    def hold(self, positions: Iterable[int], permits: int) -> Attached:
        """It was sent these, and may be sent `permits` messages more. One that it is sent twice,
        as after a load that frees what a transaction held, it holds once: `Consumer#pendingAcks`
        of 4.2.4 is a map of positions."""
        return replace(self, permits=permits, held=tuple(sorted({*self.held, *positions})))

    def drop(self, positions: tuple[int, ...]) -> Attached:
        held = list(self.held)
        for position in positions:
            at = bisect_left(held, position)
            if at < len(held) and held[at] == position:
                del held[at]
        return self if len(held) == len(self.held) else replace(self, held=tuple(held))


def subscribe(sub: Subscription, ask: Subscribe, caller: Caller) -> Result:
    """A consumer connects. The answer goes over the broker's own direction of the connection, so
    that the broker hears when the client is gone."""
    sub, _ = detach(sub, caller.name)  # the same client, on a new connection
    others = bool(sub.consumers)
    refused = ""
    if others and sub.sub_type is not ask.sub_type:
        refused = OTHER_TYPE
    elif others and ask.sub_type is SubType.EXCLUSIVE:
        refused = EXCLUSIVE_TAKEN
    error = ServerError.ConsumerBusy if refused else ServerError.NoError
    answer = Subscribed(error, refused, sub.partition, sub.name)
    if not refused:
        counts = sub.counts if sub.sub_type is ask.sub_type else Map()  # another dispatcher
        sub = replace(sub, sub_type=ask.sub_type, durable=ask.durable, counts=counts)
        sub = _attach(sub, caller.name)
    return sub, (Send(caller.name, answer),)


def _attach(sub: Subscription, client: str) -> Subscription:
    before = find_active(sub)
    new = replace(sub, consumers=tuple(sorted((*sub.consumers, Attached(client)), key=_by_name)))
    if not sub.consumers or (new.is_single and find_active(new) != before):
        return rewind(new)
    return new


def detach(sub: Subscription, client: str) -> tuple[Subscription, bool]:
    """The consumer is gone; gives whether there was one. What it held the others get, with the
    count that it had; when the last one goes, the counts go as well."""
    gone = next((c for c in sub.consumers if c.client == client), None)
    if gone is None:
        return sub, False
    before = find_active(sub)
    new = replace(sub, consumers=tuple(c for c in sub.consumers if c is not gone))
    if not new.consumers:
        return rewind(replace(new, counts=Map())), True
    if new.is_single:
        return (rewind(new) if find_active(new) != before else new), True
    return replace(new, replay=tuple(sorted({*new.replay, *gone.held}))), True


def find_users(sub: Subscription, ask: Unsubscribe) -> Answer | None:
    """Why a subscription cannot go: there are others that are connected to it
    (PersistentSubscription#doUnsubscribe, #delete)."""
    if ask.force or all(consumer.client == ask.consumer for consumer in sub.consumers):
        return None
    if ask.consumer:
        return Answer(ServerError.MetadataError, IS_SHARED)
    return Answer(ServerError.ConsumerBusy, IN_USE)


def _by_name(consumer: Attached) -> str:
    return consumer.client


def rewind(sub: Subscription) -> Subscription:
    """Read from mark-delete on again; what is acknowledged or pending is left out on the way."""
    return replace(sub, read=sub.cursor.mark_delete + 1, replay=())


def find_active(sub: Subscription) -> str:
    """Exclusive and Failover: the consumer that is served. Of several, the number of the partition
    picks one in the order of their names, so that partitions are shared out."""
    if not sub.consumers:
        return ""
    number = sub.partition.rpartition("-")[2]
    index = int(number) if number.isdigit() else 0
    return sub.consumers[index % len(sub.consumers)].client


def update(sub: Subscription, consumer: Attached) -> Subscription:
    """The subscription with this consumer's new state."""
    kept = (consumer if c.client == consumer.client else c for c in sub.consumers)
    return replace(sub, consumers=tuple(kept))


def give_permits(sub: Subscription, client: str, permits: int) -> Subscription:
    consumer = next((c for c in sub.consumers if c.client == client), None)
    if consumer is None:
        return sub
    return update(sub, replace(consumer, permits=consumer.permits + permits))


def redeliver(sub: Subscription, client: str, positions: tuple[int, ...]) -> Subscription:
    """A client wants messages again. Single entries only where they are held one by one; else
    everything behind mark-delete, for the sake of the order, and only for the active consumer."""
    if sub.sub_type not in INDIVIDUAL:
        return rewind(sub) if client == find_active(sub) else sub
    held = next((c.held for c in sub.consumers if c.client == client), ())
    known = frozenset(held)
    return send_again(sub, tuple(p for p in positions if p in known) if positions else held)


def seek(sub: Subscription, ask: Seek, caller: Caller, last: int) -> Result:
    """The cursor moves, back or ahead. The broker closes every consumer, whose client subscribes
    again, so that nothing from before is under way; a reader's subscription ends. What is pending
    for a transaction stays so (PersistentSubscription#resetCursor, 4.2)."""
    mark = last if ask.after is None else min(ask.after, last)
    batches = () if ask.done is None else ((ask.done[0], join(ask.done[1])),)
    new = replace(sub, cursor=Cursor(mark, batches=batches), consumers=(), counts=Map())
    return replace(rewind(new), gone=not sub.durable), (Reply(caller, Answer()),)


def send_again(sub: Subscription, positions: tuple[int, ...]) -> Subscription:
    """These entries once more, with a redelivery count that is one higher."""
    counts = sub.counts
    for position in positions:
        counts = counts.set(position, counts.get(position, 0) + 1)
    consumers = tuple(c.drop(positions) for c in sub.consumers)
    replay = tuple(sorted({*sub.replay, *positions}))
    return replace(sub, counts=counts, consumers=consumers, replay=replay)
