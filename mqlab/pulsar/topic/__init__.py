"""A partition: its entries, how far they may be read, and who reads them.

The owner of a partition appends to its ledger, keeps its transaction buffer and serves its
subscriptions. In the broker these are objects that call each other; so they are one role here.

    SendMessage            publishing.py   plain or in a transaction; answered once it is safe
    OpenProducer, …        access.py       whether a producer shares the topic; the topic epoch
    EndTxnOnPartition      markers.py      one marker, also where nothing was written
    (a watermark comes)    markers.py      what ended long ago and blocks this partition is aborted
    (it is time)           snapshots.py    what a load need not read the whole topic for
    Subscribe, Ack, …      ../subscription with a view of how far one may read
    GetLastMessageId, …    describing.py   what a reader could be sent; what an administrator asks
    DeleteTopic            deletion.py     all of it goes

**Durable** are the entries, the buffer's snapshots, the topic epoch and, for each subscription, a
cursor and a log of pending acks. **In memory** are what the buffer knows, who is connected, and
which sequence numbers were seen. A message is answered when it is safe, *before* its transaction
ends: whether it will ever be read is decided later.

*What can go wrong.* A marker comes twice, since the coordinator tells everybody again when one of
them did not answer: the second one changes nothing. A message comes twice: with deduplication its
sequence number is known; but that number counts from when it was written and not from a commit, so
after an abort the same number is a duplicate still. *Invariants:* entries are never removed by an
abort; nothing above maxReadPosition is dispatched.

A kill and a restart of this node are what unloading and loading the topic is in Pulsar.
*Left out:* new ledgers (a position is one number), retention, schemas.
Read on in PersistentTopic, ManagedLedgerImpl, MessageDeduplication (4.2).
"""

from __future__ import annotations

from typing import Any

from ...kernel import (
    Append,
    Appended,
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Reply,
    Request,
    Send,
    Text,
    Words,
    frozen,
    replace,
)
from ..buffer import Buffer, recover_buffer
from ..config import CURSORS, SNAPSHOT_LOG, TOPIC, PulsarConfig, find_subscription
from ..ledger import TopicView
from ..messages import (
    Answer,
    CloseProducer,
    DeleteTopic,
    EndTxnOnPartition,
    GetLastMessageId,
    OpenProducer,
    RecoverBuffer,
    SendMessage,
    Subscribe,
    SubscriptionRequest,
)
from ..states import BufferState
from ..subscription import Subscription
from . import access, deletion, describing, markers, namespace, publishing, snapshots
from .access import Access
from .unsafe import Unsafe

__all__ = ["Topic", "Unsafe"]

FRONTIER = Words("maxReadPosition={max_read}")
ENTERED = Words("buffer {state}")
LOADED = Words("loaded, the buffer recovers")

Result = tuple["Topic", Effects]


@frozen
class Topic:
    """`lac`: the last confirmed entry. `appends`: entries that are not safe yet, the oldest
    first. `queue`: requests that wait for the buffer. `pushed` and `persisted`: the highest
    sequence number of each producer that was appended, and that is safe. `subs`: by name.
    `access`: which producers are open, and whether one of them is alone.
    `exists` False: it was deleted, and nobody has used it since. `namespace`
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
                return snapshots.take_by_time(self, disk)
        # A topic asks nobody anything, so there are no answers for it.
        return self, ()

    def check_invariants(self, disk: Disk) -> None:
        """AssertionError where a reader could be sent more than the ledger has, or a message of an
        open transaction."""
        readable, first = self.buffer.readable, self.buffer.ongoing[:1]
        assert max(readable, self.lac) < disk.log(self.name).end, (readable, self.lac)
        assert not first or readable < first[0][1], (readable, first)

    def handle_request(self, body: Any, caller: Caller, disk: Disk) -> Result:
        if not self.namespace:
            return namespace.refuse(self, body, caller)
        match body:
            case SendMessage():
                new, effects = deletion.revive(self)
                new, more = publishing.publish(new, body, caller, disk)
                return new, (*effects, *more)
            case OpenProducer():
                return access.open_producer(self, body, caller, disk)
            case CloseProducer():
                new, effects = access.close_producer(self, caller.name, disk)
                return new, (Reply(caller, Answer()), *effects)
            case EndTxnOnPartition():
                return markers.end_txn(self, body, caller, disk)
            case GetLastMessageId() if self.buffer.state is BufferState.INITIALIZING:
                return replace(self, queue=(*self.queue, (caller, body))), ()
            case RecoverBuffer():
                return self._recover_buffer(disk)
            case DeleteTopic():
                return deletion.delete(self, caller)
        if isinstance(body, SubscriptionRequest):
            return self._ask_subscription(body, caller, disk)
        return self, (Reply(caller, describing.answer(self, body, disk)),)

    def _finish_append(self, log: str, end: int, disk: Disk, at_ms: int) -> Result:
        """Everything of a log below `end` is safe: the topic's own, that of its snapshots, or one
        of pending acks."""
        if log == SNAPSHOT_LOG:
            return snapshots.finish(self, disk)
        sub = None if log == self.name else self.subs.get(find_subscription(self.name, log))
        if sub is not None:
            return self._keep(sub.name, sub.finish_append(end, self.view(disk, at_ms), disk))
        new: Topic = self
        effects: Effects = ()
        while new.appends and new.appends[0].entry.base < end:
            done = new.appends[0]
            lac = done.entry.base
            new = replace(new, appends=new.appends[1:], lac=lac, buffer=new.buffer.take(done.taken))
            finish = publishing.finish if done.entry.marker is None else markers.finish
            new, more = finish(new, done, disk)
            effects = (*effects, *more)
        new, more = snapshots.take_by_count(self, new, disk)
        return new, (*effects, *more)

    def append(self, disk: Disk, unsafe: Unsafe) -> Result:
        """Write an entry at the end of the ledger; the rest happens when it is safe."""
        entry = replace(unsafe.entry, base=self.find_next(disk))
        new = replace(self, appends=(*self.appends, replace(unsafe, entry=entry)))
        return new, (Append(self.name, entry),)

    def find_next(self, disk: Disk) -> int:
        """Where the next entry will lie."""
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
        return new, (*effects, *snapshots.schedule(self, new))

    # -- subscriptions -------------------------------------------------------------------

    @property
    def readable(self) -> int:
        """How far a dispatcher reads."""
        return self.buffer.readable if "max_read_position" in self.config.on else self.lac

    def view(self, disk: Disk, at_ms: int = 0) -> TopicView:
        log = disk.log(self.name)
        return TopicView(self.name, log, self.lac, self.readable, self.buffer.aborts, at_ms)

    def _ask_subscription(self, body: SubscriptionRequest, caller: Caller, disk: Disk) -> Result:
        """A subscription is made by the first who subscribes; where there is none, a transaction
        ends well."""
        new: Topic = self
        effects: Effects = ()
        sub = self.subs.get(body.subscription)
        if sub is None and isinstance(body, Subscribe):
            new, effects = deletion.revive(new)
            start = -1 if body.initial_position == "Earliest" else self.lac
            start = start if body.after is None else min(body.after, self.lac)
            sub, more = self.begin_subscription(body.subscription).create(start, body.durable)
            effects = (*effects, *more)
        if sub is None:
            return self, describing.refuse_unknown(body, caller)
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
        """A topic is loaded. Subscriptions read their cursors and logs; the buffer recovers by
        itself, and until it has, nothing is dispatched."""
        log = disk.log(self.name)
        rows = disk.table(TOPIC)
        new = replace(self, lac=log.end - 1, exists=not deletion.was_deleted(rows))
        new = replace(new, access=Access(rows.get(access.EPOCH, -1)))
        new = replace(new, namespace=namespace.has_namespace(self.config, self.name, rows))
        new = publishing.recover_sequences(new, log)
        effects: Effects = ()
        for name in disk.table(CURSORS):
            new, more = new._keep(name, new.begin_subscription(name).load(disk, new.lac))
            effects = (*effects, *more)
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
