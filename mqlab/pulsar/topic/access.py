"""Producer access modes, with the topic epoch that fences; then deletion and administration.

How a producer shares its topic:

    Shared                  many at once; no other producer may have the topic for itself
    Exclusive               alone, or refused where there is any other producer
    WaitForExclusive        queued, and alone when the last one before it has gone
    ExclusiveWithFencing    alone at once: all others are thrown out, and those that wait refused

A producer that gets the topic for itself raises its *epoch*, which is durable, before it is
answered. A producer that is thrown out hears nothing: its next message is not taken, its client
opens it again with the epoch that it knows, and where the epoch has moved since then, or another
producer is there, it is fenced. So **a topic has one writer, if all of its writers ask for it**.
What a producer has sent before it was fenced stays, in a transaction too, and whether that commits
is its coordinator's affair, who knows no epoch: sends are fenced, commits are not.

*What can go wrong.* A load forgets who is connected, not the epoch: the first that comes back goes
on. One that fences with an epoch that is too old is refused, but those that it found are out
already, and come back. One that leaves while it waits still takes its turn, which raises the
epoch. (4.2.4 does all of it.) *Invariant:* from the position at which a producer got the topic for
itself until it goes, every message is its own.

Source: AbstractTopic#incrementTopicEpochIfNeeded, #handleProducerRemoved, #internalAddProducer,
PersistentTopic#incrementTopicEpoch, ServerCnx#handleProducer, #handleSend (4.2.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import (
    Caller,
    Disk,
    Effects,
    Map,
    Put,
    Reply,
    Send,
    Text,
    Truncate,
    Words,
    frozen,
    replace,
)
from ..buffer import Buffer
from ..config import CURSORS, LEDGERS, SNAPSHOT_LOG, TOPIC
from ..errors import ServerError
from ..messages import (
    Ack,
    AckPosition,
    AckResponse,
    Answer,
    CloseConsumer,
    CreateNamespace,
    DeleteLedger,
    Described,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    GetBufferStats,
    GetLastMessageId,
    GetPendingAckStats,
    GetPositionStats,
    GetTransactionInBuffer,
    LastMessageId,
    OpenProducer,
    ProducerOpened,
    SendMessage,
    SendReceipt,
    SubscriptionRequest,
    TxnID,
    Unsubscribe,
)
from ..states import AccessMode, BufferState, PendingAckState

if TYPE_CHECKING:
    from ..subscription import Subscription
    from . import Topic


# ---- A topic is deleted: entries, snapshot, subscriptions with their logs ------------
#
# The next message or subscription makes it again, with nothing in it. Until then the end of a
# transaction has nothing to do here, and succeeds.
#
# Source: PersistentTopic#deleteTopic, TopicTransactionBuffer#clearSnapshot (4.2).
# *Left out:* that a topic in use is deleted by force only; that this closes its producers too. The
# server sees to both.

Result = tuple["Topic", Effects]

#: the row of the table "topic" that says so
DELETED = "deleted"


def was_deleted(rows: Map[str, bool]) -> bool:
    return DELETED in rows


def revive(topic: Topic) -> Result:
    """A client uses the topic: there is one again."""
    if topic.exists:
        return topic, ()
    return replace(topic, exists=True), (Put(TOPIC, DELETED, None),)


def delete(topic: Topic, caller: Caller, disk: Disk) -> Result:
    """Delete the topic: its ledger, its snapshots, and its subscriptions with their pending-ack
    logs. The topic epoch is deleted too, if it was set (-1: it was not)."""
    subscriptions: Effects = ()
    for name, sub in topic.subs.items():
        gone = CloseConsumer(topic.name, name)
        closed = (Send(consumer.client, gone) for consumer in sub.consumers)
        subscriptions = (*subscriptions, *closed, Truncate(sub.log, 0), Put(CURSORS, name, None))
    for name in disk.table(LEDGERS):  # logs of which a ledger was deleted
        subscriptions = (*subscriptions, Put(LEDGERS, name, None))
    new = type(topic)(
        topic.config, topic.name, buffer=Buffer(BufferState.NO_SNAPSHOT), exists=False
    )
    forgotten = () if topic.access.epoch < 0 else (Put(TOPIC, EPOCH, None),)
    return new, (
        Put(TOPIC, DELETED, True),
        *forgotten,
        *subscriptions,
        Truncate(SNAPSHOT_LOG, 0),
        Truncate(topic.name, 0),
        Reply(caller, Answer()),
    )


#: the row of the table "topic" that holds the epoch (the property pulsar.topic.epoch of a ledger)
EPOCH = "epoch"
FENCED, BUSY = ServerError.ProducerFenced, ServerError.ProducerBusy
TAKEN = "Topic has an existing exclusive producer: {name}"
SHARED = "Topic has existing shared producers"
MOVED = "Topic epoch has already moved. Current epoch: {now}, Producer epoch: {its}"
NAMED = "Producer with name '{name}' is already connected to topic"
THROWN_OUT = "Fenced out"
PRESENT = "Producer is already present on the connection"
#: in its place a real broker closes the connection, and the client opens its producers again
NOT_OPEN = SendReceipt(ServerError.ServiceNotReady, "the producer is not open")

ALONE = Words("topic epoch {epoch}: {name} writes alone")
FREE = Words("topic epoch {epoch}: nobody writes alone")
QUEUED = Words("producers that wait: {names}")


@frozen
class Access:
    """`epoch` -1: no producer has had the topic for itself yet. `open`: who has opened a producer
    here, with what was asked; `names`: who has opened the producer of each name. `alone`: which of
    them has the topic for itself, "" for none; `since`: the position from which on. `waiting`: in
    their order; who has left is "" there."""

    epoch: int = -1
    open: Map[str, OpenProducer] = Map()
    alone: str = ""
    since: int = 0
    waiting: tuple[tuple[str, OpenProducer], ...] = ()
    names: Map[str, str] = Map()

    @property
    def is_taken(self) -> bool:
        return bool(self.alone or self.waiting)

    @property
    def writer(self) -> str:
        """The name of the producer that has the topic for itself; "null", as Java says it."""
        return self.open[self.alone].producer if self.alone else "null"

    def is_older(self, ask: OpenProducer) -> bool:
        return ask.topic_epoch is not None and ask.topic_epoch < self.epoch


# ---- a producer comes ----------------------------------------------------------------


def open_producer(topic: Topic, ask: OpenProducer, caller: Caller, disk: Disk) -> Result:
    topic, effects = revive(topic)
    topic, more = _open(topic, ask, caller.name, disk)
    return topic, (*effects, *more)


def _open(topic: Topic, ask: OpenProducer, who: str, disk: Disk) -> Result:
    """Handle PRODUCER: open a producer as its access mode demands. A shared one is refused while
    the topic is taken; an exclusive one is refused or waits while others are open; one with fencing
    closes the others. While no producer is open, one of an exclusive mode gets the topic for
    itself, unless it brings an old topic epoch. `who`: the client; one that has a producer here
    already is only answered. `_tell` sends PRODUCER_SUCCESS: it is open, or (ready=False) waits."""
    access = topic.access
    if who in access.open:
        return topic, (_tell(topic, who, ask),)
    # it waits already: one request per connection
    if who in (name for name, _ in access.waiting):
        return topic, (_refuse(topic, who, ServerError.ServiceNotReady, PRESENT),)
    match ask.access_mode:
        case AccessMode.SHARED:
            return _share(topic, ask, who)
        case AccessMode.EXCLUSIVE if access.is_taken:
            return topic, (_refuse(topic, who, FENCED, TAKEN.format(name=access.writer)),)
        case AccessMode.EXCLUSIVE if access.open:
            return topic, (_refuse(topic, who, FENCED, SHARED),)
        case AccessMode.WAIT_FOR_EXCLUSIVE if access.open:
            waiting = (*access.waiting, (who, ask))
            waits = _tell(topic, who, ask, ready=False)
            return _keep(topic, replace(access, waiting=waiting)), (waits,)
        case AccessMode.EXCLUSIVE_WITH_FENCING:
            topic, effects = _fence_all(topic)
            topic, more = _open_alone(topic, ask, who, disk)
            return topic, (*effects, *more)
    return _open_alone(topic, ask, who, disk)


def _share(topic: Topic, ask: OpenProducer, who: str) -> Result:
    access = topic.access
    if access.is_taken:
        return topic, (_refuse(topic, who, BUSY, TAKEN.format(name=access.writer)),)
    if ask.producer in access.names:
        return topic, (_refuse(topic, who, BUSY, NAMED.format(name=ask.producer)),)
    opened, names = access.open.set(who, ask), access.names.set(ask.producer, who)
    new = _keep(topic, replace(access, open=opened, names=names))
    epoch = None if access.epoch < 0 else access.epoch
    return new, (_tell(topic, who, ask, epoch),)


def _fence_all(topic: Topic) -> Result:
    """Those that are there hear nothing; those that wait are refused."""
    access = topic.access
    refusals = tuple(_refuse(topic, who, FENCED, THROWN_OUT) for who, _ in access.waiting if who)
    return _keep(topic, replace(access, open=Map(), names=Map(), alone="", waiting=())), refusals


def _open_alone(topic: Topic, ask: OpenProducer, who: str, disk: Disk) -> Result:
    """No other producer is here: the topic is its own, unless another one had it since."""
    access = topic.access
    if access.is_older(ask):
        why = MOVED.format(now=access.epoch, its=ask.topic_epoch)
        return topic, (_refuse(topic, who, FENCED, why),)
    return _grant(topic, ask, who, disk)


def _grant(topic: Topic, ask: OpenProducer, who: str, disk: Disk) -> Result:
    epoch = topic.access.epoch + 1 if ask.topic_epoch is None else ask.topic_epoch
    raised = replace(topic.access, epoch=epoch)
    if not who:  # it has left while it waited
        return _keep(topic, raised), (Put(TOPIC, EPOCH, epoch),)
    since = topic.find_next(disk)
    opened, names = Map(((who, ask),)), Map(((ask.producer, who),))
    alone = replace(raised, open=opened, names=names, alone=who, since=since)
    return _keep(topic, alone), (Put(TOPIC, EPOCH, epoch), _tell(topic, who, ask, epoch))


# ---- a producer goes -----------------------------------------------------------------


def close_producer(topic: Topic, who: str, disk: Disk) -> Result:
    """Handle CLOSE_PRODUCER, or the loss of its connection: remove the producer. Once no producer
    is left, the first waiting one gets the topic for itself; one that left while it waited has the
    name "" and only raises the epoch."""
    access = topic.access
    waiting = tuple(("" if name == who else name, ask) for name, ask in access.waiting)
    if who not in access.open:
        is_unchanged = waiting == access.waiting
        return topic if is_unchanged else _keep(topic, replace(access, waiting=waiting)), ()
    # alone: who has the topic for itself; names: the producer names that are in use
    sole_producer = "" if access.alone == who else access.alone
    opened, names = access.open.remove(who), access.names.remove(access.open[who].producer)
    without_it = replace(access, open=opened, names=names, alone=sole_producer, waiting=waiting)
    topic = _keep(topic, without_it)
    effects: Effects = ()
    while topic.access.waiting and not topic.access.open:
        (name, ask), *rest = topic.access.waiting
        topic = _keep(topic, replace(topic.access, waiting=tuple(rest)))
        topic, more = _grant(topic, ask, name, disk)
        effects = (*effects, *more)
    return topic, effects


# ---- its messages --------------------------------------------------------------------


def find_refusal(topic: Topic, ask: SendMessage, caller: Caller) -> SendReceipt | None:
    """Of a producer that is not open here. One that was not opened by a call is opened with its
    first message, as one that shares, and is not counted."""
    access = topic.access
    if caller.name in access.open:
        return None
    if ask.opened:
        return NOT_OPEN
    return SendReceipt(BUSY, TAKEN.format(name=access.writer)) if access.is_taken else None


def _keep(topic: Topic, access: Access) -> Topic:
    return replace(topic, access=access)


def _tell(
    topic: Topic, who: str, ask: OpenProducer, epoch: int | None = None, ready: bool = True
) -> Send:
    """With deduplication a producer goes on after the last number that is safe."""
    last = topic.persisted.get(ask.producer, -1) if topic.config.dedup else -1
    opened = ProducerOpened(
        partition=topic.name, topic_epoch=epoch, ready=ready, last_sequence=last
    )
    return Send(who, opened)


def _refuse(topic: Topic, who: str, error: ServerError, why: str) -> Send:
    return Send(who, ProducerOpened(error, why, partition=topic.name))


def tell_changes(old: Access, new: Access) -> tuple[Text, ...]:
    texts: list[Text] = []
    if (old.epoch, old.alone) != (new.epoch, new.alone):
        words = ALONE if new.alone else FREE
        texts.append(words(epoch=new.epoch, name=new.writer))
    if old.waiting != new.waiting:
        names = ", ".join(ask.producer for who, ask in new.waiting if who) or "–"
        texts.append(QUEUED(names=names))
    return tuple(texts)


# ---- Administration (REST): what may be asked of a partition, and what a reader may ask
#
# Source: PersistentTopic#getLastDispatchablePosition, TransactionsBase, PendingAckHandleImpl#
# checkPositionInPendingAckState (4.2).


def answer(topic: Topic, body: Any, disk: Disk) -> Answer:
    """Answer a request that only reads the topic: the last message id, statistics of the
    transaction buffer and of pending acknowledgements, or the state of a position; or one to create
    the namespace, which exists already."""
    match body:
        case GetLastMessageId():
            return LastMessageId(position=_find_last(topic, disk))
        case GetBufferStats():
            return Described(facts=_describe_buffer(topic))
        case GetTransactionInBuffer(txn=txn):
            return Described(facts=_describe_txn(topic, txn))
        case GetPendingAckStats(subscription=name) | GetPositionStats(subscription=name):
            sub = topic.subs.get(name)
            if sub is None:
                return Described(ServerError.SubscriptionNotFound)
            if isinstance(body, GetPendingAckStats):
                return Described(facts=_describe_pending(sub))
            state = _find_state(sub, body.position, disk)
            return Described(facts=(("state", state),))
        case CreateNamespace():  # REST's 409 (NamespacesBase#internalCreateNamespace)
            return Answer(ServerError.NotAllowedError, "Namespace already exists")
    raise TypeError(f"a partition is never sent {type(body).__name__}")


def refuse_unknown(body: SubscriptionRequest, caller: Caller) -> Effects:
    """There is no such subscription: a transaction ends well, an acknowledgement in one fails,
    and for the rest no client waits."""
    match body:
        case EndTxnOnSubscription(txn=txn, subscription=name):
            return (Reply(caller, EndTxnOnSubscriptionResponse(txn=txn, subscription=name)),)
        case Ack(txn=txn) if txn is not None:
            return (Reply(caller, AckResponse(ServerError.SubscriptionNotFound)),)
        case Unsubscribe() | DeleteLedger():
            return (Reply(caller, Answer(ServerError.SubscriptionNotFound)),)
    return ()


def _find_last(topic: Topic, disk: Disk) -> int:
    """The last entry that a reader could be sent: no marker, and nothing aborted."""
    view, position = topic.view(disk), topic.readable
    while position >= 0:
        entry = next(iter(view.log.read(position, position + 1)), None)
        if entry is None:
            return -1
        if entry.marker is None and not (entry.txn is not None and view.is_aborted(entry.txn)):
            return position
        position -= 1
    return position


def _describe_buffer(topic: Topic) -> tuple[tuple[str, str], ...]:
    buffer = topic.buffer
    return (
        ("state", buffer.state),
        ("maxReadPosition", str(buffer.max_read_position)),
        ("ongoingTxnSize", str(len(buffer.ongoing))),
        ("totalAbortedTransactions", str(len(buffer.aborts))),
    )


def _describe_txn(topic: Topic, txn: TxnID) -> tuple[tuple[str, str], ...]:
    start = topic.buffer.find_start(txn)
    aborted = txn in topic.buffer.aborts
    return (
        ("startPosition", "null" if start is None else str(start)),
        ("aborted", str(aborted).lower()),
    )


def _describe_pending(sub: Subscription) -> tuple[tuple[str, str], ...]:
    """Only what was acknowledged one by one counts as ongoing."""
    return (("state", sub.pending.state), ("ongoingTxnSize", str(len(sub.pending.of_txn))))


def _find_state(sub: Subscription, position: AckPosition, disk: Disk) -> str:
    if sub.pending.state is not PendingAckState.READY:
        return "PendingAckNotReady"
    if position.position <= sub.cursor.mark_delete:
        return "MarkDelete"
    entry = next(iter(disk.log(sub.partition).read(position.position, position.position + 1)), None)
    size = 0 if entry is None else len(entry.values)
    if position.position in sub.pending.positions and position.batch_index >= size:
        return "InvalidPosition"
    return "PendingAck" if sub.pending.is_pending(position) else "NotInPendingAck"
