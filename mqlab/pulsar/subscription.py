"""A subscription: its place in the topic, its consumers, and what they have acknowledged.

Every subscription of a topic gets all messages, and each has a cursor of its own. Its consumers
share them, in a way that the type says: Exclusive and Failover serve one consumer in order, Shared
and Key_Shared several, message by message. For acknowledgements it matters which of these two:

                              Exclusive, Failover          Shared, Key_Shared
    acknowledge cumulatively  yes                          no
    after an abort            all that is not acknowledged  exactly the freed entries,
                              is sent again, in order       with a count that is one higher
    redelivery count          always 0                     counted

**Durable**: the cursor and the pending-ack log. *Memory*: the consumers, where the dispatcher
reads, redelivery counts. *What can go wrong:* a consumer dies with messages that it has not
acknowledged; they go to another one. A restart sends again whatever no cursor and no log knows.
*Invariants:* nothing above maxReadPosition is sent, no marker, nothing of an aborted transaction,
and nothing that an open transaction has acknowledged by itself. Messages under a pending
*cumulative* acknowledgement are sent again after a reconnect: only single ones are left out.

*Left out:* delayed delivery, the keys of Key_Shared (it acknowledges as Shared does), and the limit
of unacknowledged messages.
Read on in PersistentSubscription, PersistentDispatcherMultipleConsumers,
PersistentDispatcherSingleActiveConsumer, Consumer (Pulsar 4.2).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

from ..kernel import (
    Append,
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
from .config import CURSORS, LEDGERS, PulsarConfig, name_pending_ack_log
from .errors import ServerError
from .ledger import Cursor, TopicView, join
from .messages import (
    Ack,
    AckPosition,
    AckResponse,
    Answer,
    CloseConsumer,
    Deleted,
    DeleteLedger,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    Flow,
    LedgerEntry,
    MessageId,
    PendingAckEntry,
    PushMessage,
    Redeliver,
    Seek,
    Subscribe,
    Subscribed,
    SubscriptionRequest,
    Unsubscribe,
)
from .pending_ack import (
    ACK,
    COMMIT,
    WHOLE,
    Applied,
    PendingAck,
    acknowledge,
    acknowledge_up_to,
    apply_record,
    build_end,
    replay_log,
)
from .states import INDIVIDUAL, AckType, PendingAckState, SubType, TxnAction

# ---- Who consumes: consumers come and go, and the type says how they share the messages
#
# Exclusive: one consumer. Failover: one at a time is active, the others wait. Shared and
# Key_Shared:
# all of them, and each holds the entries that it was sent and has not acknowledged.
#
# Sources: PersistentSubscription#addConsumerInternal, #removeConsumer,
# PersistentDispatcherMultipleConsumers#addConsumer, #removeConsumer,
# AbstractDispatcherSingleActiveConsumer#pickAndScheduleActiveConsumer (4.2). *Left out:* priorities
# of consumers, keys of Key_Shared, the permits that too many unacknowledged messages block; that a
# client has two consumers of one subscription (where the second is taken, the first is gone).

Result = tuple["Subscription", Effects]

EXCLUSIVE_TAKEN = "Exclusive consumer is already connected"
IS_SHARED = "Unconnected or shared consumer attempting to unsubscribe"
IN_USE = "Subscription has active connected consumers"
NO_LEDGER = "No such ledger exists on Metadata Server"
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
    """Handle SUBSCRIBE: connect a consumer, or refuse it because the subscription has another type
    or an exclusive consumer. It replaces a consumer that the same client had here; one that is
    still connected (`ask.beside`) only where the type allows several. The answer is a message of
    the broker's own, so that the broker notices when the client is gone."""
    same_type = sub.sub_type is ask.sub_type
    if not ask.beside or (same_type and sub.sub_type is not SubType.EXCLUSIVE):
        sub, _ = detach(sub, caller.name)
    has_consumers = bool(sub.consumers)
    refused = ""
    if has_consumers and not same_type:
        refused = OTHER_TYPE
    elif has_consumers and ask.sub_type is SubType.EXCLUSIVE:
        refused = EXCLUSIVE_TAKEN
    error = ServerError.ConsumerBusy if refused else ServerError.NoError
    answer = Subscribed(error, refused, sub.partition, sub.name)
    if not refused:
        # another type has another dispatcher, which counts redeliveries from 0 again
        counts = sub.counts if sub.sub_type is ask.sub_type else Map()
        sub = replace(sub, sub_type=ask.sub_type, durable=ask.durable, counts=counts)
        sub = _attach(sub, caller.name)
    return sub, (Send(caller.name, answer),)


def _attach(sub: Subscription, client: str) -> Subscription:
    before = find_active(sub)
    consumers = tuple(sorted((*sub.consumers, Attached(client)), key=_by_name))
    new = replace(sub, consumers=consumers, idle=False)
    if not sub.consumers or (new.is_single and find_active(new) != before):
        return rewind(new)
    return new


def detach(sub: Subscription, client: str) -> tuple[Subscription, bool]:
    """Remove the consumer of a client; returns whether there was one. What it has not acknowledged
    is sent to the others, with the redelivery counts that it had; without a consumer the counts
    are forgotten."""
    gone = next((c for c in sub.consumers if c.client == client), None)
    if gone is None:
        return sub, False
    before = find_active(sub)
    new = replace(sub, consumers=tuple(c for c in sub.consumers if c is not gone), idle=False)
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


def delete_ledger(disk: Disk, log: str, name: str, records: int, caller: Caller) -> Effects:
    """Nothing changes before the next load: who has opened a ledger does not ask for its metadata
    again. The last record is in the ledger that is written to. `name`: of its row."""
    if records >= disk.log(log).end:
        return (Reply(caller, Answer(ServerError.MetadataError, NO_LEDGER)),)
    return Put(LEDGERS, name, Deleted(records or None)), Reply(caller, Answer())


def _by_name(consumer: Attached) -> str:
    return consumer.client


def rewind(sub: Subscription) -> Subscription:
    """Read from mark-delete on again; what is acknowledged or pending is left out on the way."""
    return replace(sub, read=sub.cursor.mark_delete + 1, replay=())


def find_active(sub: Subscription) -> str:
    """Exclusive and Failover: the consumer that is served. Of several, the number of the partition
    picks one in the order of their names, so that partitions are shared out."""
    if not sub.consumers or sub.idle:
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
    everything after mark-delete, for the sake of the order, and only for the active consumer."""
    if sub.sub_type not in INDIVIDUAL:
        return rewind(sub) if client == find_active(sub) else sub
    held = next((c.held for c in sub.consumers if c.client == client), ())
    known = frozenset(held)
    return send_again(sub, tuple(p for p in positions if p in known) if positions else held)


def seek(sub: Subscription, ask: Seek, caller: Caller, last: int) -> Result:
    """The cursor moves, back or ahead. The broker closes every consumer, whose client subscribes
    again, so that nothing from before is in flight; a reader's subscription ends. Those that wait
    in a Failover subscription stay, and wait on until one comes or goes. What is pending for a
    transaction stays so (PersistentSubscription#resetCursor, #disconnectActiveConsumers, 4.2)."""
    mark = last if ask.after is None else min(ask.after, last)
    batches = () if ask.done is None else ((ask.done[0], join(ask.done[1])),)
    waits = sub.sub_type is SubType.FAILOVER
    kept = tuple(c for c in sub.consumers if waits and c.client != find_active(sub))
    new = replace(sub, cursor=Cursor(mark, batches=batches), consumers=kept, counts=Map())
    new = replace(new, idle=bool(kept))
    gone = CloseConsumer(sub.partition, sub.name)
    closed = tuple(Send(c.client, gone) for c in sub.consumers if c not in kept)
    # in the other order a reader of Python's goes on at its old place
    return replace(rewind(new), gone=not sub.durable), (*closed, Reply(caller, Answer()))


def send_again(sub: Subscription, positions: tuple[int, ...]) -> Subscription:
    """These entries once more, with a redelivery count that is one higher."""
    counts = sub.counts
    for position in positions:
        counts = counts.set(position, counts.get(position, 0) + 1)
    consumers = tuple(c.drop(positions) for c in sub.consumers)
    replay = tuple(sorted({*sub.replay, *positions}))
    return replace(sub, counts=counts, consumers=consumers, replay=replay)


# Acknowledgements: plain ones at once, those of a transaction into the pending-ack log first
#
# A plain acknowledgement goes to the cursor even where an open transaction has the message pending.
# One of a transaction is written to the log; when it is safe there, the check follows, and then the
# answer. The consumer lets go of its messages *before* that: if one of them is refused, the others
# of the same request are neither acknowledged nor held by a consumer, and on Shared they are sent
# again only when every consumer has gone. The end of a transaction goes through the log as well.
# What is safe is looked at in the order of the log, so what was asked first is decided first.
#
# Sources: Consumer#individualAckNormal, #individualAckWithTransaction, PersistentSubscription#
# acknowledgeMessage, #transactionIndividualAcknowledge, #endTxn, PendingAckHandleImpl (4.2).


@frozen
class Waiting:
    """A record that is not known to be safe yet, and who hears what came of it. `caller` None:
    no client, the low watermark asked for it. `low_watermark`: up to which number all
    transactions of its coordinator have ended, as that said."""

    record: PendingAckEntry
    caller: Caller | None
    low_watermark: int | None = None


# ---- plain ---------------------------------------------------------------------------------


def acknowledge_plain(sub: Subscription, ask: Ack, lac: int) -> Result:
    """At once, pending or not, without an answer. What is beyond the last confirmed entry is not
    acknowledged, and that is not reported either."""
    batch_index_ack = bool(sub.config.batch_index_ack)
    if ask.ack_type is AckType.CUMULATIVE:
        if not sub.is_single:
            return sub, ()
        cursor = acknowledge_up_to(sub.cursor, ask.positions[0], batch_index_ack, lac)
        pending = sub.pending.clear_up_to(cursor.mark_delete)
        return replace(sub, cursor=cursor, pending=pending), ()
    cursor = acknowledge(sub.cursor, ask.positions, batch_index_ack, lac)
    keeps = sub.config.coordinators > 0  # Consumer#isTransactionEnabled in #individualAckNormal
    pending = sub.pending if sub.is_single or not keeps else sub.pending.join_indexes(ask.positions)
    pending = pending.clear_deleted(cursor, ask.positions)
    new = _reset_counts(replace(sub, cursor=cursor, pending=pending), ask.positions)
    return _release_acked(new, (p for p in ask.positions if keeps or p.batch_index < 0)), ()


def _reset_counts(sub: Subscription, acked: Iterable[AckPosition]) -> Subscription:
    """Redelivery is counted again, also for what is left of a batch (InMemoryRedeliveryTracker#
    removeBatch)."""
    counts = sub.counts
    for position in acked:
        counts = counts.remove(position.position)
    return replace(sub, counts=counts)


def _release_acked(sub: Subscription, acked: Iterable[AckPosition]) -> Subscription:
    """No consumer holds these entries any more, so the end of its connection does not bring them
    back. Of a batch: once nothing of it is left."""
    done = tuple(p.position for p in acked if not sub.pending.has_some_left(p))
    return replace(sub, consumers=tuple(c.drop(done) for c in sub.consumers))


# ---- of a transaction ----------------------------------------------------------------------


def acknowledge_in_txn(sub: Subscription, ask: Ack, caller: Caller, lac: int, disk: Disk) -> Result:
    """A cumulative one where messages are acknowledged one by one is ignored, and succeeds. Whether
    there is such a message is not looked at: one that is sent later is pending from the start."""
    if ask.ack_type is AckType.CUMULATIVE and not sub.is_single:
        return sub, (Reply(caller, AckResponse()),)
    assert ask.txn is not None
    base = disk.log(sub.log).end
    record = PendingAckEntry(base, ACK, ask.txn, ask.ack_type, ask.positions)
    sub = _release_acked(sub, (p for p in ask.positions if p.batch_index < 0))
    return _write(sub, Waiting(record, caller), lac)


def end_txn(
    sub: Subscription, ask: EndTxnOnSubscription, caller: Caller, lac: int, disk: Disk
) -> Result:
    """The coordinator says how a transaction ended. Nothing pending here is a success."""
    sub = _open(sub)
    record = build_end(sub.pending, ask.txn, ask.action, disk.log(sub.log).end)
    if record is None:
        return sub, (
            Reply(caller, EndTxnOnSubscriptionResponse(txn=ask.txn, subscription=sub.name)),
        )
    return _write(sub, Waiting(record, caller, ask.low_watermark), lac)


def _open(sub: Subscription) -> Subscription:
    """The first transaction that comes here opens the log."""
    if sub.pending.state is not PendingAckState.NONE:
        return sub
    return replace(sub, pending=replace(sub.pending, state=PendingAckState.READY))


def _write(sub: Subscription, waiting: Waiting, lac: int) -> Result:
    """The record first; the rest follows when it is safe. Without the log it follows at once."""
    sub = _open(sub)
    if "pending_ack_log" not in sub.config.on:
        return _apply_durable(sub, waiting, lac)
    return replace(sub, waiting=(*sub.waiting, waiting)), (Append(sub.log, waiting.record),)


def finish_append(sub: Subscription, end: int, lac: int, disk: Disk) -> Result:
    """Everything of the log below `end` is safe: decide it and answer."""
    ready = tuple(w for w in sub.waiting if w.record.base < end)
    sub = replace(sub, waiting=sub.waiting[len(ready) :])
    assert all(w.record.base >= end for w in sub.waiting), sub.waiting  # else some are dropped
    effects: Effects = ()
    ended = False
    for waiting in ready:
        new, more = _apply_durable(sub, waiting, lac)
        ended = ended or _has_ended(sub, new.pending)
        sub, effects = new, (*effects, *more)
    if ended:
        sub, more = _abort_ended(sub, lac, disk)
        effects = (*effects, *more)
    return sub, effects


def _has_ended(sub: Subscription, pending: PendingAck) -> bool:
    """Whether a transaction has given up what it held one by one: only then the low watermark is
    noted and looked at."""
    return len(pending.of_txn) < len(sub.pending.of_txn)


def _apply_durable(sub: Subscription, waiting: Waiting, lac: int) -> Result:
    """A record of the pending-ack log is durable: apply it to the cursor and the pending
    acknowledgements, answer its caller, and redeliver what an abort has freed. `waiting`: the
    record with its caller (None: a low watermark revealed that the transaction had ended, and
    no client waits for an answer). `lac`: the last confirmed entry."""
    record = waiting.record
    applied = apply_record(sub.config, sub.pending, sub.cursor, record, lac)
    ended = _has_ended(sub, applied.pending)
    if record.op == COMMIT and ended:
        sub = _reset_counts(sub, sub.pending.acked_by(record.txn))
    sub = replace(sub, pending=applied.pending, cursor=applied.cursor)
    if record.op == ACK:
        return _answer_ack(sub, waiting, applied)
    if waiting.low_watermark is not None and ended:
        low_watermark = waiting.low_watermark
        sub = replace(sub, pending=sub.pending.hear_mark(record.txn, low_watermark))
    if applied.freed and "redeliver_aborted" in sub.config.on:
        sub = _redeliver_freed(sub, applied.freed, lac, by_watermark=waiting.caller is None)
    if waiting.caller is None:
        return sub, ()
    answer = EndTxnOnSubscriptionResponse(txn=record.txn, subscription=sub.name)
    return sub, (Reply(waiting.caller, answer),)


def _answer_ack(sub: Subscription, waiting: Waiting, done: Applied) -> Result:
    assert waiting.caller is not None
    if waiting.record.ack_type is AckType.INDIVIDUAL:
        sub = _release_acked(sub, waiting.record.positions)
    refused = ServerError.TransactionConflict if done.conflict else ServerError.NoError
    return sub, (Reply(waiting.caller, AckResponse(refused, done.conflict)),)


def _redeliver_freed(
    sub: Subscription, freed: tuple[int, ...], lac: int, by_watermark: bool
) -> Subscription:
    """What an abort has freed is delivered again: by itself where consumers hold single entries;
    else by reading from mark-delete on, everything unacknowledged once more. Only the low
    watermark names no consumer, so there nothing moves before a client asks for redelivery."""
    if not sub.is_single:
        new = send_again(sub, tuple(p for p in freed if not sub.cursor.is_deleted(p)))
        return replace(new, replay=tuple(p for p in new.replay if p <= lac))  # the rest is to come
    return sub if by_watermark or not find_active(sub) else rewind(sub)


def _abort_ended(sub: Subscription, lac: int, disk: Disk) -> Result:
    """If the oldest transaction here ended long ago, abort it. When that is done the next one is
    looked at."""
    ended = sub.pending.find_ended() if "low_watermark" in sub.config.on else None
    if ended is None or any(w.record.txn == ended and w.record.op != ACK for w in sub.waiting):
        return sub, ()
    record = build_end(sub.pending, ended, TxnAction.ABORT, disk.log(sub.log).end)
    return (sub, ()) if record is None else _write(sub, Waiting(record, None), lac)


# ---- The dispatcher: which entry goes to which consumer, and which to none -----------
#
# It reads no further than maxReadPosition and only while a consumer has permits. Each entry goes
# through the filters, in this order:
#
#     1. a marker                            acknowledged here, dropped
#     2. a message of an aborted transaction  acknowledged here, dropped
#     3. pending for an open transaction     dropped; an abort brings it back
#     4. all else                            sent
#
# So a marker and an aborted message stay in a subscription's backlog until its dispatcher reads
# over them. Whether a transaction was aborted is asked by its id alone, wherever the message is.
#
# Sources: AbstractBaseDispatcher#filterEntriesForConsumer, PersistentDispatcherMultipleConsumers#
# readMoreEntries, #trySendMessagesToConsumers, PersistentDispatcherSingleActiveConsumer (4.2).
# *Left out:* entry filters, delayed delivery, other markers, limits on size and rate.

#: dispatcherMaxRoundRobinBatchSize: so many entries go to one consumer before the next one
ROUND_ROBIN_BATCH = 20


class _Round:
    """One pass of a dispatcher over what may be sent now. `ready`: the places of the consumers that
    may be sent something, sorted, so that whose turn it is costs the logarithm of their number;
    `held`: of each consumer by its place, what it is sent here; `passed`: what is sent to no
    consumer."""

    def __init__(self, sub: Subscription, view: TopicView) -> None:
        self.sub, self.view = sub, view
        self.on = sub.config.on
        self.effects: list[Send] = []
        self.read, self.replay = sub.read, sub.replay
        self.passed: list[int] = []
        self.held: dict[int, list[int]] = {}
        self.permits = [consumer.permits for consumer in sub.consumers]
        self.rooms = list(self.permits)
        active = find_active(sub) if sub.is_single else ""
        self.ready = [
            place
            for place, consumer in enumerate(sub.consumers)
            if consumer.permits > 0 and (not sub.is_single or consumer.client == active)
        ]

    def run(self) -> Subscription:
        """Dispatch all that may be sent now, into `effects`. Returns the subscription afterwards:
        its consumers with what they hold and their permits, and its cursor, which has acknowledged
        what is sent to no consumer."""
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
        """Yield the entries to dispatch while a consumer has permits: first those to be sent again
        (`replay`), then those from the read position up to maxReadPosition. Both are moved along as
        entries are taken."""
        log, replay = self.view.log, self.replay
        resent = 0
        while resent < len(replay) and replay[resent] <= self.view.max_read:
            if not self.ready:
                break
            yield from log.read(replay[resent], replay[resent] + 1)
            resent += 1
        self.replay = replay[resent:]
        for entry in log.read(max(self.read, log.start), self.view.max_read + 1):
            if not self.ready:
                return
            self.read = entry.base + 1
            yield entry

    def choose(self) -> int:
        """The place of the consumer that is sent the next message: whose turn it is, or the next
        one after it that may be sent one."""
        turn = self.sub.turn + len(self.effects) // ROUND_ROBIN_BATCH
        behind = bisect_left(self.ready, turn % len(self.permits))
        return self.ready[behind % len(self.ready)]

    def handle(self, entry: LedgerEntry) -> None:
        """Send an entry to a consumer, or pass over it: a marker or an aborted message
        (acknowledged here), and what is already acknowledged or pending in a transaction. Of a
        batch only the remaining messages are sent."""
        sub, position = self.sub, entry.base
        if sub.cursor.is_deleted(position):
            return
        aborted = entry.txn is not None and self.view.is_aborted(entry.txn)
        # `on`: the safeguards that are on; an experiment switches one off to show what then happens
        if entry.marker is not None or (aborted and "filter_aborted" in self.on):
            self.passed.append(position)
            return
        acked = sub.cursor.acked_indexes(position)
        if "pending_ack_filter" in self.on:
            # the indexes in the batch that are pending in a transaction; WHOLE: the whole entry
            pending = sub.pending.positions.get(position, ())
            if pending == WHOLE:
                return
            acked = tuple(sorted({*acked, *pending}))
        if len(acked) < len(entry.values):
            self.send(entry, acked)

    def send(self, entry: LedgerEntry, done: tuple[int, ...]) -> None:
        """Send an entry to the consumer whose turn it is; each message costs it one permit. `done`:
        the indexes of a batch that are acknowledged or pending, and left out. Only Shared stops at
        the last permit; the other types send as many entries as there were permits."""
        sub, at, place = self.sub, entry.base, self.choose()
        self.permits[place] -= len(entry.values) - len(done)
        self.rooms[place] -= 1
        if sub.sub_type is SubType.SHARED or not self.rooms[place]:
            self.rooms[place] = self.permits[place]
        if self.rooms[place] <= 0:
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
    """Send what may be sent. The cursor moves over what is sent to no consumer."""
    if not sub.consumers or (sub.read > view.max_read and not sub.replay):
        return sub, ()
    this = _Round(sub, view)
    return this.run(), tuple(this.effects)


def _next_turn(sub: Subscription, sent: int) -> int:
    if sub.sub_type not in INDIVIDUAL:
        return 0
    batches = -(-sent // ROUND_ROBIN_BATCH)
    return (sub.turn + batches) % len(sub.consumers)


# ---- What a step has changed in a subscription's memory, in words --------------------

PENDING = Words("{sub}: pending for {txn}: {positions}")
UP_TO = Words("{sub}: pending for {txn}: up to {position}")
OVER = Words("{sub}: nothing pending for {txn}")
CONSUMERS = Words("{sub}: consumers: {names}")
ACTIVE = Words("{sub}: {client} is the active consumer")
STUCK = Words("{sub}: the replay meets a deleted ledger; {request} waits")
GIVEN_UP = Words("{sub}: {request} of {client} waits no more")
NOBODY = "–"


def tell_subscription(old: Subscription | None, new: Subscription) -> tuple[Text, ...]:
    """What became pending or is so no more, and who is served. The cursor reports itself, by what
    it writes to the disk."""
    before = () if old is None else old.stuck
    stuck = (STUCK(sub=new.name, request=type(ask).__name__) for _, ask in new.stuck[len(before) :])
    over = (
        GIVEN_UP(sub=new.name, request=type(ask).__name__, client=who.name)
        for who, ask in before
        if (who, ask) not in new.stuck
    )
    return (*_tell_pending(old, new), *_tell_consumers(old, new), *stuck, *over)


def _is_of(ask: SubscriptionRequest, who: Caller, caller: Caller) -> bool:
    return isinstance(ask, Subscribe | Flow) and who.name == caller.name


def _tell_consumers(old: Subscription | None, new: Subscription) -> Iterator[Text]:
    before = () if old is None else tuple(c.client for c in old.consumers)
    names = tuple(c.client for c in new.consumers)
    if names != before:
        yield CONSUMERS(sub=new.name, names=", ".join(names) or NOBODY)
    chosen = new.sub_type is SubType.FAILOVER and len(names) > 1
    if chosen and not new.idle and (old is None or find_active(new) != find_active(old)):
        yield ACTIVE(sub=new.name, client=find_active(new))


def _tell_pending(old: Subscription | None, new: Subscription) -> Iterator[Text]:
    before = dict(old.pending.of_txn) if old is not None else {}
    after = dict(new.pending.of_txn)
    for txn in after:
        if after[txn] != before.get(txn):
            positions = ", ".join(map(str, after[txn]))
            yield PENDING(sub=new.name, txn=txn, positions=positions)
    for txn in before:
        if txn not in after:
            yield OVER(sub=new.name, txn=txn)
    cumulative = old.pending.cumulative if old is not None else None
    if new.pending.cumulative is not None and new.pending.cumulative != cumulative:
        yield UP_TO(sub=new.name, txn=new.pending.cumulative[0], position=new.pending.cumulative[1])
    elif new.pending.cumulative is None and cumulative is not None:
        yield OVER(sub=new.name, txn=cumulative[0])


@frozen
class Subscription:
    """`durable` False: a reader's, which goes with its consumer. `read`: the next entry to be
    read. `replay`: entries to be sent again before that, sorted; `counts`: how often each was.
    `turn`: whose turn it is among several consumers. `waiting`: records that are not safe yet.
    `stuck`: what waits for a replay that does not end; without the subscription a transaction has
    nothing to end. `idle`: a seek has closed its active consumer, and nobody is served. `gone`: it
    was unsubscribed, or its reader has left."""

    config: PulsarConfig
    partition: str
    name: str
    sub_type: SubType = SubType.EXCLUSIVE
    durable: bool = True
    cursor: Cursor = Cursor()
    pending: PendingAck = PendingAck()
    consumers: tuple[Attached, ...] = ()
    read: int = 0
    replay: tuple[int, ...] = ()
    counts: Map[int, int] = Map()
    turn: int = 0
    waiting: tuple[Waiting, ...] = ()
    stuck: tuple[tuple[Caller, SubscriptionRequest], ...] = ()
    idle: bool = False
    gone: bool = False

    @property
    def log(self) -> str:
        """The name of its pending-ack log."""
        return name_pending_ack_log(self.partition, self.name)

    @property
    def is_single(self) -> bool:
        """One consumer is served, in order."""
        return self.sub_type not in INDIVIDUAL

    # -- what a topic calls ------------------------------------------------------------------

    def handle_request(
        self, body: SubscriptionRequest, caller: Caller, view: TopicView, disk: Disk
    ) -> Result:
        return self._go_on(self._handle(body, caller, view, disk), view)

    def finish_append(self, end: int, view: TopicView, disk: Disk) -> Result:
        """The pending-ack log is safe below `end`."""
        return self._go_on(finish_append(self, end, view.lac, disk), view)

    def lose_consumer(self, client: str, view: TopicView) -> Result:
        """The connection to a client broke."""
        new, was_here = detach(self, client)
        new = replace(new, gone=new.gone or (was_here and not new.durable))
        return self._go_on((new, ()), view)

    def dispatch(self, view: TopicView) -> Result:
        """maxReadPosition may have moved."""
        return self._go_on((self, ()), view)

    def _handle(self, body: Any, caller: Caller, view: TopicView, disk: Disk) -> Result:
        """Pass a request or command to the function that handles it, by its type. While the
        pending-ack log is not replayed, all but Unsubscribe and DeleteLedger wait (`stuck`): for
        good, since only a deleted ledger keeps the replay from ending. `view`: what the
        subscription may see of its topic; `view.lac`: the topic's last confirmed entry."""
        ready = self.pending.state is not PendingAckState.INITIALIZING
        if not ready and isinstance(body, CloseConsumer):  # its client has given up
            kept = tuple((who, ask) for who, ask in self.stuck if not _is_of(ask, who, caller))
            return replace(self, stuck=kept), ()
        if not ready and not isinstance(body, Unsubscribe | DeleteLedger):
            return replace(self, stuck=(*self.stuck, (caller, body))), ()
        match body:
            case Subscribe():
                return subscribe(self, body, caller)
            case Flow(permits=permits):
                return give_permits(self, caller.name, permits), ()
            case Ack(txn=None):
                return acknowledge_plain(self, body, view.lac)
            case Ack():
                return acknowledge_in_txn(self, body, caller, view.lac, disk)
            case Redeliver(positions=positions):
                return redeliver(self, caller.name, positions), ()
            case Seek():
                return seek(self, body, caller, view.lac)
            case CloseConsumer():
                new, was_here = detach(self, caller.name)
                return replace(new, gone=was_here and not new.durable), ()
            case Unsubscribe():
                if (refused := find_users(self, body)) is not None:
                    return self, (Reply(caller, refused),)
                # no mark that a ledger of the pending-ack log was deleted may outlive the log
                marks = (Put(LEDGERS, self.name, None),) if self.name in disk.table(LEDGERS) else ()
                ended = (
                    Reply(who, EndTxnOnSubscriptionResponse(txn=ask.txn, subscription=self.name))
                    for who, ask in self.stuck
                    if isinstance(ask, EndTxnOnSubscription)
                )
                done = (Truncate(self.log, 0), *marks, Reply(caller, Answer()), *ended)
                return replace(self, gone=True), done  # gone: the topic then forgets it
            case DeleteLedger(records=records):
                return self, delete_ledger(disk, self.log, self.name, records, caller)
            case EndTxnOnSubscription():
                return end_txn(self, body, caller, view.lac, disk)
        raise TypeError(f"a subscription is never sent {type(body).__name__}")

    def _go_on(self, done: Result, view: TopicView) -> Result:
        """After whatever happened: send what may be sent now, and keep the cursor."""
        new, effects = done
        if not new.gone:
            new, sent = dispatch(new, view)
            effects = (*effects, *sent)
        if new.gone and self.durable:
            return new, (Put(CURSORS, self.name, None), *effects)
        if new.cursor != self.cursor and new.durable:
            return new, (Put(CURSORS, self.name, new.cursor), *effects)
        return new, effects

    def describe_changes(self, old: Subscription | None) -> tuple[Text, ...]:
        return tell_subscription(old, self)

    # -- how it begins -----------------------------------------------------------------------

    def create(self, mark_delete: int, durable: bool = True) -> Result:
        """The first Subscribe: everything up to `mark_delete` counts as acknowledged."""
        cursor = Cursor(mark_delete)
        new = replace(self, durable=durable, cursor=cursor, read=mark_delete + 1)
        return new, (Put(CURSORS, self.name, cursor),) if durable else ()

    def load(self, disk: Disk, lac: int) -> Result:
        """From the cursor's row and the pending-ack log. A commit that is in the log and not in
        the row is applied now."""
        kept: Cursor = disk.table(CURSORS)[self.name]
        pending, cursor = self.replay_log(kept, disk, lac)
        effects: Effects = (Put(CURSORS, self.name, cursor),) if cursor != kept else ()
        if disk.table(LEDGERS).get(self.name) == Deleted(None):  # a load begins a new one
            effects = (Truncate(self.log, 0), Put(LEDGERS, self.name, None), *effects)
        return rewind(replace(self, cursor=cursor, pending=pending)), effects

    def replay_log(self, cursor: Cursor, disk: Disk, lac: int) -> tuple[PendingAck, Cursor]:
        """What this subscription, of which nothing is known yet, and its cursor come to, in a topic
        that is confirmed up to `lac`."""
        gone = disk.table(LEDGERS).get(self.name)
        return replay_log(self.config, self.pending, cursor, disk.log(self.log), lac, gone)
