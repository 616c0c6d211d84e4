"""A partition: its entries, how far they may be read, and who reads them.

The owner of a partition appends to its ledger, keeps its transaction buffer and serves its
subscriptions. In the broker these are objects that call each other; so they are one role here.

    SendMessage            here            plain or in a transaction; answered once it is safe
    OpenProducer, …        access.py       whether a producer shares the topic; the topic epoch
    EndTxnOnPartition      here            one marker, also where nothing was written
    (a watermark comes)    here            what ended long ago and blocks this partition is aborted
    (it is time)           here            what a load need not read the whole topic for
    Subscribe, Ack, …      ../subscription with a view of how far one may read
    GetLastMessageId, …    access.py       what a reader could be sent; what an administrator asks
    DeleteTopic            access.py       all of it goes

**Durable** are the entries, the buffer's snapshots, the topic epoch and, for each subscription, a
cursor and a log of pending acks. **In memory** are what the buffer knows, who is connected, and
which sequence numbers were seen. A message is answered when it is safe, *before* its transaction
ends: whether it will ever be read is decided later.

*What can go wrong.* A marker comes twice, since the coordinator informs all participants again when
one of them did not answer: the second one changes nothing. A message comes twice: with
deduplication its sequence number is known; but that number counts from when it was written and not
from a commit, so after an abort the same number is a duplicate still. *Invariants:* entries are
never removed by an abort; nothing above maxReadPosition is dispatched.

A crash and a restart of this node are what unloading and loading the topic is in Pulsar.
*Left out:* new ledgers (a position is one number), retention, schemas.
Read on in PersistentTopic, ManagedLedgerImpl, MessageDeduplication (4.2).
"""

from __future__ import annotations

from typing import Any

from ...kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Put,
    Reply,
    Request,
    Send,
    SetTimer,
    Text,
    Truncate,
    Words,
    frozen,
    replace,
)
from ...kernel.role import LogView
from ..buffer import Buffer, recover_buffer
from ..config import (
    CURSORS,
    LEDGERS,
    MARKER_PRODUCER,
    SNAPSHOT_LOG,
    TOPIC,
    PulsarConfig,
    find_subscription,
)
from ..errors import ServerError
from ..ledger import TopicView
from ..messages import (
    Answer,
    BufferSnapshot,
    CloseProducer,
    CreateNamespace,
    DeleteLedger,
    DeleteTopic,
    EndTxnOnPartition,
    EndTxnOnPartitionResponse,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    GetLastMessageId,
    LedgerEntry,
    OpenProducer,
    ProducerOpened,
    RecoverBuffer,
    SendMessage,
    SendReceipt,
    Subscribe,
    Subscribed,
    SubscriptionRequest,
    TxnID,
)
from ..states import MARKER_OF, BufferState, TxnAction
from ..subscription import Subscription, delete_ledger
from . import access
from .access import Access, delete, revive, was_deleted

# ---- Entries in flight: appended, and not safe yet -----------------------------------


@frozen
class Unsafe:
    """An entry that was appended and is not safe yet, and who hears when it is. `caller` None:
    no client, for a watermark asked for it. `low_watermark`: what came with a marker. `sent`: the
    command that brought a message (PublishContext), which need not say what the message says."""

    entry: LedgerEntry
    caller: Caller | None = None
    low_watermark: int | None = None
    sent: SendMessage | None = None

    @property
    def taken(self) -> LedgerEntry:
        """The entry as the buffer takes it while the topic is loaded: in the transaction that the
        command has named (TopicTransactionBuffer#appendBufferToTxn)."""
        if self.sent is None or self.sent.txn == self.entry.txn:
            return self.entry
        return replace(self.entry, txn=self.sent.txn)


# ---- Transaction markers (END_TXN_ON_PARTITION), and what a low watermark reveals ----
#
# A commit appends its marker even where the transaction has written nothing; an abort only once
# the buffer is Ready, since before its first snapshot nothing can be open. (But what waits for that
# very snapshot is appended afterwards, and then blocks the partition.) Then the low watermark that
# came along is checked: if the oldest open transaction has certainly ended, an abort marker is
# appended for it, and when that one is safe the next oldest is looked at.
#
# Source: TopicTransactionBuffer#commitTxn, #abortTxn, #handleLowWaterMark (4.2).

Result = tuple["Topic", Effects]


def end_txn(topic: Topic, ask: EndTxnOnPartition, caller: Caller, disk: Disk) -> Result:
    """The coordinator says how a transaction ended; a topic that was deleted has nothing to do."""
    done = Reply(caller, EndTxnOnPartitionResponse(txn=ask.txn))
    if not topic.exists:
        return topic, (done,)
    match topic.buffer.state:
        case BufferState.INITIALIZING:
            return replace(topic, queue=(*topic.queue, (caller, ask))), ()
        case state if state is not BufferState.READY and ask.action is TxnAction.ABORT:
            return topic, (done,)
    marker = _build_marker(ask.txn, ask.action)
    return topic.append(disk, Unsafe(marker, caller, ask.low_watermark))


def _build_marker(txn: TxnID, action: TxnAction) -> LedgerEntry:
    return LedgerEntry(-1, producer=MARKER_PRODUCER, txn=txn, marker=MARKER_OF[action])


def finish_marker(topic: Topic, done: Unsafe, disk: Disk) -> Result:
    """A marker is safe: the transaction has ended here."""
    txn = done.entry.txn
    assert txn is not None
    reply: Effects = ()
    if done.caller is not None:
        reply = (Reply(done.caller, EndTxnOnPartitionResponse(txn=txn)),)
    if done.low_watermark is not None:
        marks = topic.buffer.marks.hear(txn.most, done.low_watermark)
        topic = replace(topic, buffer=replace(topic.buffer, marks=marks))
    new, effects = _abort_ended(topic, disk)
    return new, (*reply, *effects)


def _abort_ended(topic: Topic, disk: Disk) -> Result:
    """The oldest open transaction here, if its coordinator has ended it long ago. One at a time."""
    buffer = topic.buffer
    if not buffer.ongoing or "low_watermark" not in topic.config.on:
        return topic, ()
    oldest, _ = buffer.ongoing[0]
    busy = any(unsafe.caller is None for unsafe in topic.appends)
    if busy or not buffer.marks.covers(oldest):
        return topic, ()
    return topic.append(disk, Unsafe(_build_marker(oldest, TxnAction.ABORT)))


# ---- A partition in a namespace that does not exist ----------------------------------
#
# No broker can serve it, and its lookup fails: a producer gets TopicDoesNotExistException, and a
# coordinator that has it as a participant **tries again every second, without limit**, informing
# all other participants as well, each of which appends one more marker each time. It ends within a
# second of creating the namespace. (A topic that was never created, in a namespace that exists, is
# a success at once.) Seen on running brokers 4.0.8 and 4.2.4.

#: the row of the table "topic" that says that the namespace was created
CREATED = "namespace"
NOT_READY, NOT_FOUND = ServerError.ServiceNotReady, ServerError.TopicNotFound


def has_namespace(config: PulsarConfig, name: str, rows: Map[str, bool]) -> bool:
    return name not in config.missing or CREATED in rows


def refuse(topic: Topic, body: Any, caller: Caller) -> Result:
    """Refuse a request to a partition whose namespace does not exist, each with the error that a
    real broker gives. Only the namespace's creation is accepted. PRODUCER and SUBSCRIBE are
    answered by a Send: the answer is a message of the broker's own (see `subscribe`)."""
    match body:
        case CreateNamespace():
            effects = (Put(TOPIC, CREATED, True), Reply(caller, Answer()))
            return replace(topic, namespace=True), effects
        case EndTxnOnPartition(txn=txn):
            return topic, (Reply(caller, EndTxnOnPartitionResponse(NOT_READY, txn=txn)),)
        case EndTxnOnSubscription(txn=txn, subscription=name):
            refusal = EndTxnOnSubscriptionResponse(NOT_READY, txn=txn, subscription=name)
            return topic, (Reply(caller, refusal),)
        case SendMessage():
            return topic, (Reply(caller, SendReceipt(NOT_FOUND)),)
        case OpenProducer(partition=partition):
            return topic, (Send(caller.name, ProducerOpened(NOT_FOUND, partition=partition)),)
        case Subscribe(partition=partition, subscription=name):
            answer = Subscribed(NOT_FOUND, partition=partition, subscription=name)
            return topic, (Send(caller.name, answer),)
    return topic, (Reply(caller, Answer(NOT_FOUND)),)


# ---- When the buffer writes a snapshot -----------------------------------------------
#
# The first one before the first transactional message, which waits for it. Later after an end, when
# maxReadPosition has advanced often enough (`snapshot_count`), and by time (`snapshot_ms`), when it
# has advanced at all.
#
# Source: TopicTransactionBuffer#takeSnapshotByChangeTimes, #takeSnapshotByTimeout (4.2).

#: the timer's name
SNAPSHOT = "snapshot"


def take_first(topic: Topic, disk: Disk) -> Result:
    """NoSnapshot → FirstSnapshotting; until it is safe nothing can be read here."""
    new, effects = _take(topic, disk)
    return replace(new, buffer=replace(new.buffer, state=BufferState.FIRST_SNAPSHOTTING)), effects


def finish_snapshots(topic: Topic, disk: Disk) -> Result:
    """A snapshot is safe. After the first one the messages that waited for it are appended."""
    if topic.buffer.state is not BufferState.FIRST_SNAPSHOTTING:
        return topic, ()
    new = replace(topic, buffer=replace(topic.buffer, state=BufferState.READY))
    return new.serve_queue(disk)


def take_by_count(old: Topic, new: Topic, disk: Disk) -> Result:
    """After an end, once maxReadPosition has advanced `snapshot_count` times."""
    finished = len(old.appends) - len(new.appends)
    ended = any(unsafe.entry.marker is not None for unsafe in old.appends[:finished])
    if not ended or new.buffer.changes < new.config.snapshot_count:
        return new, ()
    return _take(new, disk)


def take_by_time(topic: Topic, disk: Disk) -> Result:
    return _take(topic, disk) if topic.buffer.changes else (topic, ())


def schedule(old: Topic, new: Topic) -> Effects:
    """The time begins to run with the first advance; a lesson without it has no such timer."""
    if not new.config.snapshot_ms or bool(old.buffer.changes) == bool(new.buffer.changes):
        return ()
    if not new.buffer.changes:
        return (CancelTimer(SNAPSHOT),)
    return (SetTimer(SNAPSHOT, new.config.snapshot_ms),)


def _take(topic: Topic, disk: Disk) -> Result:
    buffer = topic.buffer
    base = disk.log(SNAPSHOT_LOG).end
    snapshot = BufferSnapshot(base, buffer.max_read_position, tuple(buffer.aborts.items()))
    new = replace(topic, buffer=replace(buffer, changes=0))
    return new, (Append(SNAPSHOT_LOG, snapshot),)


# ---- SEND: whose it is first, then duplicates, then the buffer, then the ledger ------
#
# A plain message is appended at once, in every state of the buffer. One of a transaction waits
# until
# the buffer has recovered, and the very first one until the first snapshot is safe. The coordinator
# is not asked whether there is such a transaction: only the low watermark refuses it.
#
# A transaction is named twice: in the command, by which the buffer goes as long as the topic is
# loaded, and in the message itself, by which dispatchers filter what was aborted and a buffer
# recovers. A client that leaves out the second (Pulsar's Go client 0.19.0 does) has its aborted
# messages delivered, and those of open transactions after a load.
#
# Source: PersistentTopic#publishMessage, #publishTxnMessage, MessageDeduplication#isDuplicate,
# TopicTransactionBuffer#appendBufferToTxn, #internalAppendBufferToTxn (4.2).

DUP_UNKNOWN = "Cannot determine whether the message is a duplicate at this time"
HAS_ENDED = "Transaction {txn} has been ended."


def publish(topic: Topic, ask: SendMessage, caller: Caller, disk: Disk) -> Result:
    """Handle SEND: append the message, unless its producer may not write or it is a duplicate. One
    in a transaction waits (`queue`) until the transaction buffer is ready; the first of all makes
    it take its first snapshot."""
    refusal = access.find_refusal(topic, ask, caller) or _find_duplicate(topic, ask)
    if refusal is not None:
        return topic, (Reply(caller, refusal),)
    if ask.txn is None:
        return _append(topic, ask, caller, disk)
    match topic.buffer.state:
        case BufferState.READY:
            return _append_in_txn(topic, ask, caller, disk)
        case BufferState.NO_SNAPSHOT:
            waiting = replace(topic, queue=(*topic.queue, (caller, ask)))
            return take_first(waiting, disk)
    return replace(topic, queue=(*topic.queue, (caller, ask))), ()


def _find_duplicate(topic: Topic, ask: SendMessage) -> SendReceipt | None:
    """A number that is safe already is swallowed with a receipt that names no position; of one
    that is still in flight this is unknown (MessageDupUnknownException, which reaches the client as
    a PersistenceError). What waits for the buffer was not counted yet. Of a batch its lowest number
    is looked at. All chunks of a message have one number, so only the last one is looked at and
    counted."""
    lowest = ask.sequence if ask.lowest is None else ask.lowest
    if not topic.config.dedup or ask.is_part or lowest > topic.pushed.get(ask.producer, -1):
        return None
    if lowest <= topic.persisted.get(ask.producer, -1):
        return SendReceipt(position=-1)
    return SendReceipt(ServerError.PersistenceError, DUP_UNKNOWN)


def _append_in_txn(topic: Topic, ask: SendMessage, caller: Caller, disk: Disk) -> Result:
    assert ask.txn is not None
    if "low_watermark" in topic.config.on and topic.buffer.marks.covers(ask.txn):
        refusal = SendReceipt(ServerError.NotAllowedError, HAS_ENDED.format(txn=ask.txn))
        return topic, (Reply(caller, refusal),)
    return _append(topic, ask, caller, disk)


def _append(topic: Topic, ask: SendMessage, caller: Caller, disk: Disk) -> Result:
    metadata = ask.metadata or ask
    entry = LedgerEntry(-1, ask.values, metadata.producer, metadata.sequence, metadata.txn)
    pushed = topic.pushed if ask.is_part else _raise(topic.pushed, ask.producer, ask.sequence)
    return replace(topic, pushed=pushed).append(disk, Unsafe(entry, caller, sent=ask))


def finish_publishing(topic: Topic, done: Unsafe, disk: Disk) -> Result:
    """A message is safe: its producer gets its position."""
    sent, receipt = done.sent, SendReceipt(position=done.entry.base)
    assert done.caller is not None and sent is not None
    if not sent.is_part:
        persisted = _raise(topic.persisted, sent.producer, sent.sequence)
        topic = replace(topic, persisted=persisted)
    return topic, (Reply(done.caller, receipt),)


def recover_sequences(topic: Topic, log: LogView) -> Topic:
    """The highest number of each producer, as the messages say it themselves; an abort does not
    take it back. A chunk counts here, whichever it is: of a message of which some chunks were safe,
    the last one is then taken for a duplicate, and the message is lost (4.2.4 does so too)."""
    if not topic.config.dedup:
        return topic
    seen: Map[str, int] = Map()
    for entry in log.read(0):
        if entry.marker is None:
            seen = _raise(seen, entry.producer, entry.sequence)
    return replace(topic, pushed=seen, persisted=seen)


def _raise(numbers: Map[str, int], producer: str, number: int) -> Map[str, int]:
    return numbers if number <= numbers.get(producer, -1) else numbers.set(producer, number)


FRONTIER = Words("maxReadPosition={max_read}")
ENTERED = Words("buffer {state}")
LOADED = Words("loaded, the buffer recovers")


@frozen
class Topic:
    """`lac`: the last confirmed entry. `appends`: entries that are not safe yet, the oldest
    first. `queue`: requests that wait for the buffer. `pushed` and `persisted`: the highest
    sequence number of each producer that was appended, and that is safe. `subs`: by name.
    `access`: which producers are open, and whether one of them is alone.
    `exists` False: it was deleted, and was not used since. `namespace`
    False: there is no namespace for it."""

    config: PulsarConfig
    name: str
    lac: int = -1
    buffer: Buffer = Buffer()
    appends: tuple[Unsafe, ...] = ()
    queue: tuple[tuple[Caller, Any], ...] = ()
    pushed: Map[str, int] = Map()
    persisted: Map[str, int] = Map()
    subs: Map[str, Subscription] = Map()
    access: Access = Access()
    exists: bool = True
    namespace: bool = True

    # -- events --------------------------------------------------------------------------

    def step(self, event: Event, disk: Disk) -> Result:
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self._go_on(self.handle_request(body, caller, disk), disk, at_ms)
            case Appended(log=log, end=end, at_ms=at_ms):
                return self._go_on(self._finish_append(log, end, disk, at_ms), disk, at_ms)
            case ConnectionLost(peer=peer, at_ms=at_ms):
                return self._lose_client(peer, disk, at_ms)
            case Fired():
                return take_by_time(self, disk)
        # A topic sends no requests, so there are no answers for it.
        return self, ()

    def check_invariants(self, disk: Disk) -> None:
        """AssertionError where a reader could be sent more than the ledger has, or a message of an
        open transaction."""
        readable, first = self.buffer.readable, self.buffer.ongoing[:1]
        assert max(readable, self.lac) < disk.log(self.name).end, (readable, self.lac)
        assert not first or readable < first[0][1], (readable, first)

    def handle_request(self, body: Any, caller: Caller, disk: Disk) -> Result:
        """Pass a request to the function that handles it, by its type; those of consumers go to
        their subscription. A message or a new producer creates a deleted topic again. The last
        message id is answered once the transaction buffer has recovered."""
        if not self.namespace:  # it has not been created yet
            return refuse(self, body, caller)
        match body:
            case SendMessage():
                new, effects = revive(self)
                new, more = publish(new, body, caller, disk)
                return new, (*effects, *more)
            case OpenProducer():
                return access.open_producer(self, body, caller, disk)
            case CloseProducer():
                new, effects = access.close_producer(self, caller.name, disk)
                return new, (Reply(caller, Answer()), *effects)
            case EndTxnOnPartition():
                return end_txn(self, body, caller, disk)
            case GetLastMessageId() if self.buffer.state is BufferState.INITIALIZING:
                return replace(self, queue=(*self.queue, (caller, body))), ()
            case RecoverBuffer():
                return self._recover_buffer(disk)
            case DeleteTopic():
                return delete(self, caller, disk)
            case DeleteLedger(subscription=""):
                # 0 records before the end of the ledger: it is the last one of the snapshots' log,
                # whose name its row in the table of ledgers has too
                return self, delete_ledger(disk, SNAPSHOT_LOG, SNAPSHOT_LOG, 0, caller)
        if isinstance(body, SubscriptionRequest):
            return self._ask_subscription(body, caller, disk)
        return self, (Reply(caller, access.answer(self, body, disk)),)

    def _finish_append(self, log: str, end: int, disk: Disk, at_ms: int) -> Result:
        """The entries of a log below `end` are durable: of the snapshots' log, of a subscription's
        pending-ack log, or of the topic itself. Each of the topic's own entries now moves the last
        confirmed position, changes the buffer and is answered."""
        if log == SNAPSHOT_LOG:
            return finish_snapshots(self, disk)
        sub = None if log == self.name else self.subs.get(find_subscription(self.name, log))
        if sub is not None:
            return self._keep(sub.name, sub.finish_append(end, self.view(disk, at_ms), disk))
        if log != self.name:  # of a subscription that was deleted meanwhile
            return self, ()
        new: Topic = self
        effects: Effects = ()
        while new.appends and new.appends[0].entry.base < end:
            done = new.appends[0]
            lac = done.entry.base
            new = replace(new, appends=new.appends[1:], lac=lac, buffer=new.buffer.take(done.taken))
            finish_entry = finish_publishing if done.entry.marker is None else finish_marker
            new, more = finish_entry(new, done, disk)
            effects = (*effects, *more)
        # a snapshot of the transaction buffer, if it is due
        new, more = take_by_count(self, new, disk)
        return new, (*effects, *more)

    def append(self, disk: Disk, unsafe: Unsafe) -> Result:
        """Write an entry at the end of the ledger; the rest happens when it is safe."""
        entry = replace(unsafe.entry, base=self.find_next(disk))
        new = replace(self, appends=(*self.appends, replace(unsafe, entry=entry)))
        return new, (Append(self.name, entry),)

    def find_next(self, disk: Disk) -> int:
        """Where the next entry will be."""
        end = disk.log(self.name).end
        return end + sum(u.entry.base >= end for u in self.appends)  # appended in this very step

    def _go_on(self, done: Result, disk: Disk, at_ms: int) -> Result:
        """After whatever happened: dispatch, if one may read further, and watch for the time of
        the next snapshot."""
        new, effects = done
        new.check_invariants(disk)
        if new.readable != self.readable:
            sent = list(effects)
            for name, sub in new.subs.items():
                new, more = new._keep(name, sub.dispatch(new.view(disk, at_ms)))
                sent += more
            effects = tuple(sent)
        return new, (*effects, *schedule(self, new))

    # -- subscriptions -------------------------------------------------------------------

    @property
    def readable(self) -> int:
        """How far a dispatcher reads."""
        return self.buffer.readable if "max_read_position" in self.config.on else self.lac

    def view(self, disk: Disk, at_ms: int = 0) -> TopicView:
        log = disk.log(self.name)
        return TopicView(self.name, log, self.lac, self.readable, self.buffer.aborts, at_ms)

    def _ask_subscription(self, body: SubscriptionRequest, caller: Caller, disk: Disk) -> Result:
        """Pass a request to its subscription. The first SUBSCRIBE creates the subscription, and a
        deleted topic with it. A request to an unknown subscription is refused, or dropped where
        no client waits for an answer; the end of a transaction succeeds there."""
        new: Topic = self
        effects: Effects = ()
        sub = self.subs.get(body.subscription)
        if sub is None and isinstance(body, Subscribe):
            new, effects = revive(new)
            # -1: with the first entry; lac: with the next one to come; after: where a reader says
            start_after = -1 if body.initial_position == "Earliest" else self.lac
            start_after = start_after if body.after is None else min(body.after, self.lac)
            sub, more = self.begin_subscription(body.subscription).create(start_after, body.durable)
            effects = (*effects, *more)
        if sub is None:
            return self, access.refuse_unknown(body, caller)
        new, more = new._keep(
            body.subscription, sub.handle_request(body, caller, new.view(disk), disk)
        )
        return new, (*effects, *more)

    def begin_subscription(self, name: str) -> Subscription:
        """One of which nothing is known yet."""
        return Subscription(self.config, self.name, name)

    def _keep(self, name: str, done: tuple[Subscription, Effects]) -> Result:
        sub, effects = done
        if sub is self.subs.get(name) and not sub.gone:
            return self, effects
        subs = self.subs.remove(name) if sub.gone else self.subs.set(name, sub)
        return replace(self, subs=subs), effects

    def _lose_client(self, peer: str, disk: Disk, at_ms: int) -> Result:
        new, effects = access.close_producer(self, peer, disk)
        for name, sub in self.subs.items():
            new, more = new._keep(name, sub.lose_consumer(peer, new.view(disk, at_ms)))
            effects = (*effects, *more)
        return new, effects

    # -- words and recovery --------------------------------------------------------------

    def describe_changes(self, old: Topic | None) -> tuple[Text, ...]:
        if old is None:
            return (LOADED(),) if self.buffer.state is BufferState.INITIALIZING else ()
        texts = []
        if self.buffer.state is not old.buffer.state:
            texts.append(ENTERED(state=self.buffer.state))
        if self.buffer.readable != old.buffer.readable:
            texts.append(FRONTIER(max_read=self.buffer.readable))
        texts += access.tell_changes(old.access, self.access)
        for name, sub in self.subs.items():
            if sub is not old.subs.get(name):
                texts += sub.describe_changes(old.subs.get(name))
        return tuple(texts)

    @classmethod
    def recover(cls, config: PulsarConfig, name: str, disk: Disk, at_ms: int) -> Result:
        return cls(config, name).load(disk)

    def load(self, disk: Disk) -> Result:
        """Load the topic from its disk: its properties, its subscriptions with their cursors and
        logs, the sequence numbers of its producers, and the transaction buffer. A topic that is not
        empty recovers its buffer in a step of its own, and until then nothing is dispatched."""
        log = disk.log(self.name)
        rows = disk.table(TOPIC)  # its properties: whether it was deleted, the topic epoch …
        # lac: the last confirmed entry; -1: there is none
        new = replace(self, lac=log.end - 1, exists=not was_deleted(rows))
        new = replace(new, access=Access(rows.get(access.EPOCH, -1)))
        new = replace(new, namespace=has_namespace(self.config, self.name, rows))
        new = recover_sequences(new, log)
        effects: Effects = ()
        # a ledger of the snapshots was deleted: their log begins again (a real broker warns of it)
        if SNAPSHOT_LOG in disk.table(LEDGERS):
            effects = (Truncate(SNAPSHOT_LOG, 0), Put(LEDGERS, SNAPSHOT_LOG, None))
        for name in disk.table(CURSORS):
            new, more = new._keep(name, new.begin_subscription(name).load(disk, new.lac))
            effects = (*effects, *more)
        # an empty topic without a snapshot has nothing to recover
        if not log.end and not disk.log(SNAPSHOT_LOG).end:
            return replace(new, buffer=new.load_buffer(disk)), effects
        return new, (*effects, Send(self.name, RecoverBuffer()))

    def load_buffer(self, disk: Disk) -> Buffer:
        """What the buffer knows, once it has read what it needs."""
        return recover_buffer(self.config, self.name, disk)

    def _recover_buffer(self, disk: Disk) -> Result:
        """The buffer is loaded; who waited for it is served, in order."""
        return replace(self, buffer=self.load_buffer(disk)).serve_queue(disk)

    def serve_queue(self, disk: Disk) -> Result:
        new = replace(self, queue=())
        effects: Effects = ()
        for caller, body in self.queue:
            new, more = new.handle_request(body, caller, disk)
            effects = (*effects, *more)
        return new, effects
