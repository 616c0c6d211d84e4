"""What an application asks of its consumers, and what the broker pushes to them.

An acknowledgement in a transaction registers its subscription with the coordinator first, once,
and then waits for the broker's word; a plain one is not answered. A conflict spoils the
transaction: a later commit aborts it.

A consumer of a partitioned topic is one for each partition; here each is subscribed by itself, and
those of one client that have the same subscription's name are received from together.

Sources: ConsumerBase#acknowledgeAsync, ConsumerImpl#connectionOpened, #redeliverUnacknowledged-
Messages, PersistentAcknowledgmentsGroupingTracker, TransactionImpl#registerAckedTopic (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Effects, Outcome, Send, build_failure, build_success, replace
from ...kernel.outcome import UNKNOWN
from ..errors import INVALID_CONFIGURATION, name_exception
from ..messages import (
    Ack,
    AckPosition,
    AddSubscriptionToTxn,
    Answer,
    CloseConsumer,
    PushMessage,
    Redeliver,
    SendMessage,
    SendReceipt,
    Subscribed,
)
from ..states import INDIVIDUAL, AckType, ClientTxnState
from .calls import Acknowledge, Close, Receive, RedeliverAll, SubscribeTo
from .consumer import Consumer
from .transactions import INVALID_STATUS

if TYPE_CHECKING:
    from . import Client

Result = tuple["Client", Effects]

CONNECT = "ConnectException"


# ---- subscribe, receive, redeliver, close ----------------------------------------------------


def subscribe(client: Client, call: SubscribeTo) -> Result:
    consumer = Consumer(call)
    new = client.keep_consumer(consumer)
    return new, (Send(consumer.partition, consumer.request),)


def finish_subscribe(client: Client, answer: Subscribed) -> Result:
    """Accepted: permits follow. Refused: there is no such consumer."""
    consumer = client.find_consumer(answer.partition, answer.subscription)
    if consumer is None:
        return client, ()
    call = client.call
    waits = isinstance(call, SubscribeTo) and call == consumer.call
    if not answer.ok:
        client = client.drop_consumer(consumer)
        failed = build_failure(call, f"{name_exception(answer.error)} {answer.message}")
        return client.finish(failed) if waits else (client, ())
    new = client.keep_consumer(replace(consumer, open=True))
    flow = (Send(consumer.partition, consumer.first_flow),)
    if not waits:
        return new, flow
    new, effects = new.finish(build_success(call))
    return new, (*flow, *effects)


def receive(client: Client, call: Receive) -> Result:
    """What lies in the queues now; it does not wait for more."""
    words: list[str] = []
    effects: list[Send] = []
    for consumer in client.consumers_of(call.subscription):
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


def close(client: Client, call: Close) -> Result:
    effects: list[Send] = []
    for consumer in client.consumers_of(call.subscription):
        client = client.drop_consumer(consumer)
        gone = CloseConsumer(consumer.partition, consumer.subscription)
        effects.append(Send(consumer.partition, gone))
    client, returned = client.finish(build_success(call))
    return client, (*effects, *returned)


# ---- what the broker pushes ------------------------------------------------------------------


def take_push(client: Client, message: PushMessage) -> Result:
    """Into the queue, or to the dead letter topic."""
    consumer = client.find_consumer(message.message_id.partition, message.subscription)
    if consumer is None:
        return client, ()  # it was closed meanwhile; the broker hears so and gives it to others
    if not consumer.has_read(message) and not consumer.is_dead(message):
        return client.keep_consumer(consumer.put(message)), ()
    new, flows = consumer.free(1)
    if consumer.has_read(message):
        return client.keep_consumer(new), tuple(Send(consumer.partition, flow) for flow in flows)
    dead = SendMessage(consumer.call.dead_letter, client.config.name, -1, message.values)
    client, effects = client.keep_consumer(new).ask(dead.partition, dead, about=message)
    return client, (*effects, *(Send(consumer.partition, flow) for flow in flows))


def finish_dead_letter(client: Client, message: PushMessage, receipt: SendReceipt) -> Result:
    """It lies in the other topic: here it is done with. If not, it comes again."""
    at = message.message_id
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


# ---- acknowledge -----------------------------------------------------------------------------


def begin_acknowledge(client: Client, call: Acknowledge) -> Result:
    txn = client.txns[call.txn] if call.txn else None
    if txn is not None and txn.state is not ClientTxnState.OPEN:
        return client.finish(build_failure(call, f"{INVALID_STATUS} {txn.state}"))
    consumers = client.consumers_of(call.subscription)
    if call.cumulative and any(c.call.sub_type in INDIVIDUAL for c in consumers):
        return client.finish(build_failure(call, INVALID_CONFIGURATION))
    owed = tuple(c.partition for c in consumers if c.choose(call.ids, call.cumulative))
    if txn is None:
        return _acknowledge_plain(client, call, owed)
    return proceed(replace(client, owed=owed), call)


def _acknowledge_plain(client: Client, call: Acknowledge, owed: tuple[str, ...]) -> Result:
    effects: list[Send] = []
    for partition in owed:
        effects.append(Send(partition, _build_ack(client, call, partition)))
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
    positions = tuple(consumer.position_of(id) for id in ids)
    kind = AckType.CUMULATIVE if call.cumulative else AckType.INDIVIDUAL
    txn = client.txns[call.txn].id if call.txn else None
    return Ack(partition, call.subscription, positions, kind, txn)


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
    if call.cumulative:
        ids = tuple(id for id in consumer.received if id <= ids[0])
    return client.keep_consumer(consumer.forget(ids))
