"""A consumer: what came, what was received, and what is told to the broker.

The broker pushes as many messages as it was given permits for. They wait in a queue until the
application receives them; when half of the queue has been taken out, the broker is told that so
many more may come. `redeliver` empties the queue: what lies there comes again.

A reader is a consumer whose subscription nobody keeps: where it is, only the client knows.

With a dead letter policy, a message that comes more often than `max_redeliver` times again is not
received. The consumer itself sends it to another topic and acknowledges it.

Sources: ConsumerImpl#messageReceived, #increaseAvailablePermits, #redeliverUnacknowledgedMessages,
#processPossibleToDLQ (4.2). *Left out:* acknowledgements that are collected and sent together
later (grouping), chunks, retry topics, acknowledgement of batches without
enableBatchIndexAcknowledgment.
"""

from __future__ import annotations

from ...kernel import frozen, replace
from ..messages import AckPosition, Flow, MessageId, PushMessage, Subscribe
from .calls import SubscribeTo


@frozen
class Consumer:
    """`call`: what subscribed it. `open`: the broker has accepted it. `queue`: what came and was
    not received. `taken`: what was received since the broker was given permits. `received`: ids
    that were received and not acknowledged. `sizes`: how many messages a batch has, by its
    position."""

    call: SubscribeTo
    open: bool = False
    queue: tuple[PushMessage, ...] = ()
    taken: int = 0
    received: tuple[MessageId, ...] = ()
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def partition(self) -> str:
        return self.call.partition

    @property
    def subscription(self) -> str:
        return self.call.subscription

    @property
    def waiting(self) -> int:
        """How many messages lie in the queue."""
        return count_messages(self.queue)

    @property
    def first_flow(self) -> Flow:
        """The permits that a new connection begins with."""
        return Flow(self.partition, self.subscription, self.call.queue)

    @property
    def request(self) -> Subscribe:
        ask = self.call
        return Subscribe(
            ask.partition, ask.subscription, ask.sub_type, ask.initial_position, ask.durable
        )

    def is_dead(self, message: PushMessage) -> bool:
        """Whether the dead letter policy keeps it from the application."""
        limit = self.call.max_redeliver
        return bool(self.call.dead_letter) and message.redelivery_count > limit

    def has_read(self, message: PushMessage) -> bool:
        """A reader's subscription begins again with each connection; it leaves out what it has
        received already."""
        at = message.message_id.position
        return not self.call.durable and any(at <= id.position for id in self.received)

    def put(self, message: PushMessage) -> Consumer:
        return replace(self, queue=(*self.queue, message))

    def take(self) -> tuple[Consumer, tuple[Flow, ...], list[str]]:
        """Receive what is there: the permits to give, and each message in words."""
        words, ids, sizes = [], list(self.received), dict(self.sizes)
        for message in self.queue:
            for id, value in list_messages(message):
                words.append(describe_message(id, value, message.redelivery_count))
                ids.append(id)
            if len(message.values) > 1:
                sizes[message.message_id.position] = len(message.values)
        new = replace(
            self,
            queue=(),
            received=tuple(dict.fromkeys(ids)),
            sizes=tuple(sorted(sizes.items())),
        )
        new, flows = new.free(self.waiting)
        return new, flows, words

    def free(self, count: int) -> tuple[Consumer, tuple[Flow, ...]]:
        """Room for so many messages more; the broker is told when half of the queue is free."""
        taken = self.taken + count
        if taken < max(1, self.call.queue // 2):
            return replace(self, taken=taken), ()
        flow = Flow(self.partition, self.subscription, taken)
        return replace(self, taken=0), (flow,)

    def forget_all(self) -> Consumer:
        """Everything that is not acknowledged comes again."""
        return replace(self, queue=(), received=())

    def forget(self, ids: tuple[MessageId, ...]) -> Consumer:
        return replace(self, received=tuple(id for id in self.received if id not in ids))

    def reconnect(self) -> Consumer:
        """A new connection: what was not acknowledged comes again, and permits begin again."""
        return replace(self, open=False, queue=(), taken=0)

    def choose(self, ids: tuple[MessageId, ...], cumulative: bool) -> tuple[MessageId, ...]:
        """The ids to acknowledge here: those of this partition; without any, all that were
        received. Cumulatively: the last of them."""
        mine = tuple(id for id in ids if id.partition == self.partition) if ids else self.received
        return mine[-1:] if cumulative else mine

    def position_of(self, id: MessageId) -> AckPosition:
        """A message of a batch whose size nobody has heard of counts as the whole entry."""
        size = dict(self.sizes).get(id.position, 0)
        if id.batch_index < 0 or not size:
            return AckPosition(id.position)
        return AckPosition(id.position, id.batch_index, size)


def list_messages(message: PushMessage) -> list[tuple[MessageId, object]]:
    """Each message of an entry with its id, without those that are dealt with already."""
    if len(message.values) == 1:
        return [(message.message_id, message.values[0])]
    at = message.message_id
    return [
        (MessageId(at.partition, at.position, index), value)
        for index, value in enumerate(message.values)
        if index not in message.acked
    ]


def count_messages(queue: tuple[PushMessage, ...]) -> int:
    return sum(len(list_messages(message)) for message in queue)


def describe_message(id: MessageId, value: object, count: int) -> str:
    index = "" if id.batch_index < 0 else f":{id.batch_index}"
    again = f" again {count}" if count else ""
    return f"{value} @{id.position}{index}{again}"
