"""Consumers: what an application asks of them, and what the broker pushes to them.

An acknowledgement in a transaction registers its subscription with the coordinator first, once,
and then waits for the broker's word; a plain one is not answered. A conflict spoils the
transaction: a later commit aborts it.

A consumer of a partitioned topic is one for each partition; here each is subscribed by itself, and
those of one client that have the same subscription's name are received from together.

Sources: ConsumerBase#acknowledgeAsync, ConsumerImpl#connectionOpened, #redeliverUnacknowledged-
Messages, PersistentAcknowledgmentsGroupingTracker, TransactionImpl#registerAckedTopic (4.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...kernel import (
    CancelTimer,
    Effects,
    Outcome,
    Send,
    Text,
    Words,
    build_failure,
    build_success,
    frozen,
    replace,
)
from ...kernel.role import UNKNOWN
from ..errors import INVALID_CONFIGURATION, TIMEOUT, name_exception
from ..messages import (
    Ack,
    AckPosition,
    AddSubscriptionToTxn,
    Answer,
    CloseConsumer,
    Flow,
    MessageId,
    PushMessage,
    Redeliver,
    Seek,
    SendMessage,
    SendReceipt,
    Subscribe,
    Subscribed,
)
from ..states import INDIVIDUAL, AckType, ClientTxnState
from .calls import Acknowledge, Close, Nack, Receive, RedeliverAll, SeekTo, SubscribeTo
from .producing import INVALID_STATUS

if TYPE_CHECKING:
    from . import Client


# ---- A consumer: what came, what was received, and what is reported to the broker ----
#
# The broker pushes as many messages as it was given permits for. They wait in a queue until the
# application receives them; when half of the queue has been taken out, the broker gets permits for
# so many more. `redeliver` empties the queue: what was in it comes again.
#
# A reader is a consumer whose subscription is not kept: where it is, only the client knows.
#
# With a queue of 0 each `receive` gives the broker one permit. A batch, which is more than one
# message, closes such a consumer.
#
# With a dead letter policy, a message that comes more often than `max_redeliver` times again is not
# received. The consumer itself sends it to another topic and acknowledges it.
#
# Sources: ConsumerImpl#messageReceived, #increaseAvailablePermits,
# #redeliverUnacknowledgedMessages,
# #processPossibleToDLQ (4.2). *Left out:* acknowledgements that are collected and sent together
# later (grouping), chunks, retry topics.


@frozen
class Consumer:
    """`call`: what subscribed it. `open`: the broker has accepted it. `queue`: what came and was
    not received. `taken`: what was received since the broker was given permits. `received`: ids
    that were received and not acknowledged. `sizes`: how many messages a batch has, by its
    position. `left`: messages of batches that no plain acknowledgement has named since they came
    (MessageIdAdv#getAckSet)."""

    call: SubscribeTo
    open: bool = False
    queue: tuple[PushMessage, ...] = ()
    taken: int = 0
    received: tuple[MessageId, ...] = ()
    sizes: tuple[tuple[int, int], ...] = ()
    left: tuple[MessageId, ...] = ()

    @property
    def partition(self) -> str:
        return self.call.partition

    @property
    def subscription(self) -> str:
        return self.call.subscription

    @property
    def waiting(self) -> int:
        """How many messages are in the queue."""
        return count_messages(self.queue)

    def give(self, permits: int) -> tuple[Send, ...]:
        """So many permits, where it is any."""
        flow = Flow(self.partition, self.subscription, permits)
        return (Send(self.partition, flow),) if permits else ()

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
        words, ids, sizes, left = [], list(self.received), dict(self.sizes), self.left
        for message in self.queue:
            at, came = message.message_id.position, list_messages(message)
            words += [describe_message(id, value, message.redelivery_count) for id, value in came]
            ids += [id for id, _ in came]
            if len(message.values) > 1:
                sizes[at] = len(message.values)
                left = (*(id for id in left if id.position != at), *(id for id, _ in came))
        received, known = tuple(dict.fromkeys(ids)), tuple(sorted(sizes.items()))
        new = replace(self, queue=(), received=received, sizes=known, left=left)
        new, flows = new.free(self.waiting) if self.call.queue else (new, ())
        return new, flows, words

    def free(self, count: int) -> tuple[Consumer, tuple[Flow, ...]]:
        """Room for so many messages more; the broker gets permits when half of the queue is
        free."""
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

    def expire(self, wanted: set[int]) -> tuple[Consumer, tuple[Flow, ...], set[int]]:
        """Take what is wanted again from the head of the queue, and one more that follows it, as
        Java does (#removeExpiredMessagesFromQueue); with the permits to give and the entries."""
        stays = (i for i, m in enumerate(self.queue) if m.message_id.position not in wanted)
        first = next(stays, len(self.queue))
        gone = self.queue[: first + 1] if first else ()
        new, flows = replace(self, queue=self.queue[len(gone) :]).free(count_messages(gone))
        return new, flows, {message.message_id.position for message in gone}

    def reconnect(self) -> Consumer:
        """A new connection: what was not acknowledged comes again, and permits begin again."""
        return replace(self, open=False, queue=(), taken=0)

    def choose(self, ids: tuple[MessageId, ...], cumulative: bool) -> tuple[MessageId, ...]:
        """The ids to acknowledge here: those of this partition; without any, all that were
        received. Cumulatively: the last of them."""
        mine = tuple(id for id in ids if id.partition == self.partition) if ids else self.received
        return mine[-1:] if cumulative else mine

    def tell_plain(self, ids: tuple[MessageId, ...], cumulative: bool) -> tuple[AckPosition, ...]:
        """What a plain acknowledgement of these reports to the broker: the whole batch with the
        last of its messages (MessageIdAdvUtils#acknowledge), and before that its index. Without
        `batch_index_ack` that is nothing or, cumulatively, the entry before it."""
        batches = {id.position for id in self.leave_plain(ids, cumulative)}
        whole = (AckPosition(id.position) for id in ids if id.position not in batches)
        rest = [id for id in ids if id.position in batches]
        if self.call.batch_index_ack:
            return tuple(dict.fromkeys((*whole, *map(self.position_of, rest))))
        before = (AckPosition(id.position - 1) for id in rest if cumulative and id.position)
        return tuple(dict.fromkeys((*whole, *before)))

    def leave_plain(self, ids: tuple[MessageId, ...], cumulative: bool) -> tuple[MessageId, ...]:
        """What is `left` once these are acknowledged."""
        return tuple(id for id in self.left if (id > ids[0] if cumulative else id not in ids))

    def position_of(self, id: MessageId) -> AckPosition:
        """A message of a batch of unknown size counts as the whole entry."""
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


Result = tuple["Client", Effects]

#: the timer's name
OPERATION_TIMEOUT = "operation timeout"
CONNECT = "ConnectException"
TERMINATED = "PulsarClientException java.lang.InterruptedException: Queue is terminated"
NO_CONSUMER = "there is no consumer of {name} here; subscribe first"


# ---- subscribe, receive, redeliver, close --------------------------------------------


def subscribe(client: Client, call: SubscribeTo) -> Result:
    """A second time, while the first consumer is connected: the broker says whether it may."""
    consumer, known = Consumer(call), client.find_consumer(call.partition, call.subscription)
    if known is not None and known.open:
        beside = Send(consumer.partition, replace(consumer.request, beside=True))
        return client, (beside, client.limit())
    request = Send(consumer.partition, consumer.request)
    return client.keep_consumer(consumer), (request, client.limit())


def give_up(client: Client, call: SubscribeTo) -> Result:
    """The broker has not answered SUBSCRIBE in time. It is asked to close the consumer, which it
    may have by now, or may get (ConsumerImpl#connectionOpened)."""
    consumer = client.find_consumer(call.partition, call.subscription)
    gone = CloseConsumer(call.partition, call.subscription)
    new, returned = client.finish(Outcome(call, UNKNOWN, TIMEOUT))
    if consumer is None or consumer.open:
        return new, returned
    return new.drop_consumer(consumer), (Send(call.partition, gone), *returned)


def finish_subscribe(client: Client, answer: Subscribed) -> Result:
    """Take the answer to SUBSCRIBE. If accepted, the consumer sends its first permits (FLOW), as
    many as its queue holds, or one if it has no queue and a receive waits; if refused, it is
    removed, unless an earlier SUBSCRIBE of it was accepted. The call that subscribed, if there is
    one, returns; after a lost connection a consumer subscribes again by itself."""
    consumer = client.find_consumer(answer.partition, answer.subscription)
    if consumer is None:
        return client, ()
    call = client.call
    asked = isinstance(call, SubscribeTo) and (call.partition, call.subscription)
    call_waits = asked == (consumer.partition, consumer.subscription)
    if not answer.ok:
        client = client if consumer.open else client.drop_consumer(consumer)
        if not call_waits:
            return client, ()
        failure = build_failure(call, f"{name_exception(answer.error)} {answer.message}")
        client, effects = client.finish(failure)
        return client, (CancelTimer(OPERATION_TIMEOUT), *effects)
    # the call's consumer takes the place of an earlier one, with the settings of the call
    consumer = replace(Consumer(call) if call_waits else consumer, open=True)
    new = client.keep_consumer(consumer)
    flow = consumer.give(consumer.call.queue or int(_receives(client, answer.subscription)))
    if not call_waits:
        return new, flow
    new, effects = new.finish(build_success(call))
    return new, (CancelTimer(OPERATION_TIMEOUT), *flow, *effects)


def _receives(client: Client, subscription: str) -> bool:
    call = client.call
    return isinstance(call, Receive) and call.subscription == subscription


def receive(client: Client, call: Receive) -> Result:
    """What is in the queues now; it does not wait for more. Without a queue the broker is asked
    for one message, and the call waits for it (ZeroQueueConsumerImpl#internalReceive)."""
    found = client.consumers_of(call.subscription)
    if not any(c.queue or c.call.queue for c in found):
        return client, tuple(send for c in found for send in c.give(1))
    words: list[str] = []
    effects: list[Send] = []
    for consumer in found:
        new, flows, came = consumer.take()
        client = client.keep_consumer(new)
        effects += [Send(consumer.partition, flow) for flow in flows]
        words += came
    client, returned = client.finish(build_success(call, ", ".join(words) or "nothing"))
    return client, (*effects, *returned)


def redeliver(client: Client, call: RedeliverAll) -> Result:
    effects: list[Send] = []
    for consumer in client.consumers_of(call.subscription):
        new, flows = consumer.forget_all().free(consumer.waiting)
        client = client.keep_consumer(new)
        again = Redeliver(consumer.partition, consumer.subscription)
        effects += [Send(consumer.partition, body) for body in (again, *flows)]
    client, returned = client.finish(build_success(call))
    return client, (*effects, *returned)


def nack(client: Client, call: Nack) -> Result:
    """The broker is asked for whole entries (NegativeAcksTracker#triggerRedelivery), also for one
    that has come again meanwhile and waits in the queue: then it has come in vain."""
    effects: list[Send] = []
    for consumer in client.consumers_of(call.subscription):
        wanted = {id.position for id in call.ids if id.partition == consumer.partition}
        ids = tuple(id for id in consumer.received if id.position in wanted)
        new, flows, expired = consumer.forget(ids).expire(wanted)
        if at := tuple(sorted(expired.union(id.position for id in ids))):
            client = client.keep_consumer(new)
            again = Redeliver(consumer.partition, consumer.subscription, at)
            effects += [Send(consumer.partition, body) for body in (again, *flows)]
    if not effects:
        return client.finish(build_failure(call, "none of these was received and not acknowledged"))
    client, returned = client.finish(build_success(call))
    return client, (*effects, *returned)


def seek(client: Client, call: SeekTo) -> Result:
    """Of a batch, the messages before the one that is wanted count as done."""
    at = call.to
    consumer = client.find_consumer(at.partition, call.subscription)
    if consumer is None or not consumer.call.durable:
        why = f"no consumer of {call.subscription} reads {at.partition} here; subscribe first"
        return client.finish(build_failure(call, why))
    done = (at.position, tuple(range(at.batch_index))) if at.batch_index > 0 else None
    body = Seek(at.partition, call.subscription, at.position - 1, done)
    return client.ask(at.partition, body)


def finish_seek(client: Client, call: SeekTo) -> Result:
    """The broker has closed the consumer before it answered, so what waits here is of the new
    place."""
    consumer = client.find_consumer(call.to.partition, call.subscription)
    if consumer is not None:
        client = client.keep_consumer(replace(consumer, received=()))
    return client.finish(build_success(call))


def come_back(client: Client, gone: CloseConsumer) -> Result:
    """The broker has closed a consumer: what came is thrown away, and it subscribes again."""
    consumer = client.find_consumer(gone.partition, gone.subscription)
    if consumer is None:
        return client, ()
    return client.keep_consumer(consumer.reconnect()), (Send(gone.partition, consumer.request),)


def close(client: Client, call: Close) -> Result:
    effects: list[Send] = []
    for consumer in client.consumers_of(call.subscription):
        client = client.drop_consumer(consumer)
        gone = CloseConsumer(consumer.partition, consumer.subscription)
        effects.append(Send(consumer.partition, gone))
    client, returned = client.finish(build_success(call))
    return client, (*effects, *returned)


# ---- what the broker pushes ----------------------------------------------------------


def take_push(client: Client, message: PushMessage) -> Result:
    """Take a message that the broker has pushed: into the consumer's queue, from which a waiting
    receive call gets it at once, or, if it was redelivered too often (`is_dead`), to the dead
    letter topic. A reader drops what it has received before; a batch closes a consumer with a
    queue of 0."""
    consumer = client.find_consumer(message.message_id.partition, message.subscription)
    if consumer is None:
        return client, ()  # it was closed meanwhile; the broker will send the message to others
    if not consumer.call.queue and len(message.values) > 1:
        return _close_at_batch(client, consumer)
    if not consumer.has_read(message) and not consumer.is_dead(message):
        client = client.keep_consumer(consumer.put(message))
        waits = _receives(client, message.subscription)
        return receive(client, client.call) if waits else (client, ())
    # its place in the queue is free again; flows: the permits that are then due
    new, flows = consumer.free(1)
    client, sent = client.keep_consumer(new), tuple(Send(consumer.partition, f) for f in flows)
    if consumer.has_read(message):
        return client, sent
    buried: Effects = ()
    for _, value in list_messages(message):  # each by itself
        # -1: without a sequence number
        dead = SendMessage(consumer.call.dead_letter, client.config.name, -1, (value,))
        client, more = client.ask(dead.partition, dead, about=message)
        buried = (*buried, *more)
    return client, (*buried, *sent)


def _close_at_batch(client: Client, consumer: Consumer) -> Result:
    """It is too much for it (ZeroQueueConsumerImpl#receiveIndividualMessagesFromBatch)."""
    gone = Send(consumer.partition, CloseConsumer(consumer.partition, consumer.subscription))
    client, receives = client.drop_consumer(consumer), _receives(client, consumer.subscription)
    if not receives:
        return client, (gone,)
    client, returned = client.finish(build_failure(client.call, TERMINATED))
    return client, (gone, *returned)


def finish_dead_letter(client: Client, message: PushMessage, receipt: SendReceipt) -> Result:
    """It is in the other topic, all of it: here it is done with. If not, it comes again."""
    at = message.message_id
    others = tuple(request for request in client.pending if request.about != message)
    if receipt.ok and len(others) < len(client.pending):
        return client, ()
    client = replace(client, pending=others)
    if not receipt.ok:
        again = Redeliver(at.partition, message.subscription, (at.position,))
        return client, (Send(at.partition, again),)
    ack = Ack(at.partition, message.subscription, (AckPosition(at.position),))
    return client, (Send(at.partition, ack),)


def reconnect(client: Client, partition: str) -> Result:
    """Every consumer of this partition subscribes again. An acknowledgement in a transaction that
    was not answered has failed, whatever the broker did with it."""
    effects: list[Send] = []
    for consumer in client.consumers:
        if consumer.partition == partition:
            client = client.keep_consumer(consumer.reconnect())
            effects.append(Send(partition, consumer.request))
    call = client.call
    if isinstance(call, Acknowledge) and client.waits_for(partition):
        spoilt = client.forget_requests(partition).spoil(call.txn)
        client, more = spoilt.finish(Outcome(call, UNKNOWN, CONNECT))
        return client, (*effects, *more)
    return client, tuple(effects)


# ---- acknowledge ---------------------------------------------------------------------


def begin_acknowledge(client: Client, call: Acknowledge) -> Result:
    """Begin an acknowledge call, at each partition with messages to acknowledge (`owed`). It fails
    at once if the transaction is not open, there is no consumer, or the type of the subscription
    allows no cumulative acknowledgement."""
    txn = client.txns[call.txn] if call.txn else None
    if txn is not None and txn.state is not ClientTxnState.OPEN:
        return client.finish(build_failure(call, f"{INVALID_STATUS} {txn.state}"))
    consumers = client.consumers_of(call.subscription)
    if not consumers:
        return client.finish(build_failure(call, NO_CONSUMER.format(name=call.subscription)))
    if call.cumulative and any(c.call.sub_type in INDIVIDUAL for c in consumers):
        return client.finish(build_failure(call, INVALID_CONFIGURATION))
    owed = tuple(c.partition for c in consumers if c.choose(call.ids, call.cumulative))
    if txn is None:
        return _acknowledge_plain(client, call, owed)
    return proceed(replace(client, owed=owed), call)


def _acknowledge_plain(client: Client, call: Acknowledge, owed: tuple[str, ...]) -> Result:
    effects: list[Send] = []
    for partition in owed:
        ack = _build_ack(client, call, partition)
        effects += [Send(partition, ack)] if ack.positions else []
        client = _forget(client, call, partition)
    client, returned = client.finish(build_success(call))
    return client, (*effects, *returned)


def proceed(client: Client, call: Acknowledge) -> Result:
    """The next request of this acknowledgement: one partition after the other."""
    if not client.owed:
        return client.finish(build_success(call))
    txn, partition = client.txns[call.txn], client.owed[0]
    where = (partition, call.subscription)
    if where not in txn.subscriptions:
        return client.ask_coordinator(txn.id.most, AddSubscriptionToTxn(txn.id, (where,)))
    return client.ask(partition, _build_ack(client, call, partition))


def _build_ack(client: Client, call: Acknowledge, partition: str) -> Ack:
    consumer = client.find_consumer(partition, call.subscription)
    assert consumer is not None
    ids = consumer.choose(call.ids, call.cumulative)
    told = map(consumer.position_of, ids) if call.txn else consumer.tell_plain(ids, call.cumulative)
    kind = AckType.CUMULATIVE if call.cumulative else AckType.INDIVIDUAL
    txn = client.txns[call.txn].id if call.txn else None
    return Ack(partition, call.subscription, tuple(told), kind, txn)


def finish_registration(client: Client, call: Acknowledge, answer: Answer) -> Result:
    if not answer.ok:
        return client.spoil(call.txn).finish(build_failure(call, name_exception(answer.error)))
    txn = client.txns[call.txn]
    registered = tuple(sorted((*txn.subscriptions, (client.owed[0], call.subscription))))
    return client.keep(call.txn, replace(txn, subscriptions=registered)).proceed()


def finish_acknowledge(client: Client, call: Acknowledge, answer: Answer) -> Result:
    if not answer.ok:
        return client.spoil(call.txn).finish(build_failure(call, name_exception(answer.error)))
    new = _forget(client, call, client.owed[0])
    return replace(new, owed=new.owed[1:]).proceed()


def _forget(client: Client, call: Acknowledge, partition: str) -> Client:
    consumer = client.find_consumer(partition, call.subscription)
    assert consumer is not None
    ids = consumer.choose(call.ids, call.cumulative)
    if call.cumulative or not call.txn:  # else: doTransactionAcknowledgeForResponse
        consumer = replace(consumer, left=consumer.leave_plain(ids, call.cumulative))
    if call.cumulative:
        ids = tuple(id for id in consumer.received if id <= ids[0])
    return client.keep_consumer(consumer.forget(ids))


# ---- What a step has changed in a client's memory, in words --------------------------

ENTERED = Words("{name} {txn}: {state}")
WAITS = Words("{sub}: to be received: {values}")


def tell_client(old: Client | None, new: Client) -> tuple[Text, ...]:
    """A transaction's state, and what waits in a queue when it has grown."""
    return tuple(_tell(old, new)) if old is not None else ()


def _tell(old: Client, new: Client) -> Iterator[Text]:
    for name, txn in new.txns.items():
        before = old.txns.get(name)
        if before is None or before.state is not txn.state:
            yield ENTERED(name=name, txn=txn.id, state=txn.state)
    for consumer in new.consumers:
        before = old.find_consumer(consumer.partition, consumer.subscription)
        if before is not None and len(consumer.queue) > len(before.queue):
            yield WAITS(sub=consumer.subscription, values=", ".join(_list_values(consumer)))


def _list_values(consumer: Consumer) -> list[str]:
    return [str(value) for message in consumer.queue for _, value in list_messages(message)]
