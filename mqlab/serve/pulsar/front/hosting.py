"""An engine's role on the server's one disk, asked by clients through the front.

In a lesson each coordinator and each partition is on a node of its own, with its own disk and
its own clients. Here they share a disk and a port, and this is all that has to be put between:

    disk       the role's logs and tables are in a folder of its own
    requests   what the front hands on is asked in the client's name, so the role's answer goes to
               the client at once
    consumers  the role knows each by a name that says where it is ("sorter@conn-3/7"); what it is
               sent becomes a push to that connection
    producers  each is known in the same way; `opening.py` answers its client
    permits    the role is given PORTION of what a consumer permits, and more when these are used
               up, but nothing as long as the client does not read: as a real dispatcher, which
               asks whether the consumer's channel is writable (Consumer#isWritable). So of a
               portion at most waits here, in its order, until the client has read.

*Memory:* what waits, permits that were not given yet, and the epoch that a consumer has said it is
in: it drops messages that were sent before its last redelivery (CONSUMER_EPOCH in ConsumerImpl,
4.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from ....kernel import (
    Append,
    Appended,
    Caller,
    ConnectionLost,
    Disk,
    Effect,
    Effects,
    Event,
    Map,
    Put,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    Truncate,
    frozen,
    replace,
)
from ....pulsar.config import SNAPSHOT_LOG
from ....pulsar.coordinator import Coordinator
from ....pulsar.errors import ServerError
from ....pulsar.messages import (
    CloseConsumer,
    CloseProducer,
    Flow,
    ProducerOpened,
    PushMessage,
    SendReceipt,
    Subscribe,
    Subscribed,
    SubscriptionRequest,
    Unsubscribe,
)
from ....pulsar.states import PendingAckState, StoreState, SubType
from ....pulsar.subscription import find_active, find_users
from ....pulsar.topic import Topic
from ...adapter import Drained, Hangup, Unsent
from ..wire.answers import Handed, Notice, Push, Receipt
from . import opening
from .holding import Holders, follow
from .opening import Opening
from .sessions import FRONT, Gone, ProducerLost

# What only an administrator asks about a role: when it was loaded and what it has sent since.
#
# The engine's roles know no wall clock beyond their deadlines, and count nothing that they do not
# need; a broker's statistics do. All of it is memory, from the load on, as in a real broker.
#
# Source: PersistentTopic#getStats, TransactionBufferStats, TransactionPendingAckStats,
# TransactionCoordinatorStats (4.2).


ALL = ""  # the sum over all subscriptions


def find_subscription(event: Event) -> str | None:
    """The subscription that a request is about: of many, the only one that it changes."""
    if isinstance(event, Request) and isinstance(event.body, SubscriptionRequest):
        return event.body.subscription
    return None


@frozen
class Notes:
    """Times are milliseconds since 1970, 0 where something has not happened yet.

    `loaded_ms`: the role was loaded, when the log had `first` entries; `snapshot_ms`: the last
    snapshot was safe; `store_ms`: the coordinator's store began to load, and was ready;
    `pending_ms`: by subscription, its pending acks became ready; `sent`: by subscription and by
    consumer, (messages, bytes) that went out; `held`: by consumer, what it has not acknowledged."""

    loaded_ms: int = 0
    first: int = 0
    snapshot_ms: int = 0
    store_ms: tuple[int, int] = (0, 0)
    pending_ms: Map[str, int] = Map()
    sent: Map[str, tuple[int, int]] = Map()
    held: Holders = Map()

    def take(self, old: Any, new: Any, event: Event, effects: Effects) -> Notes:
        """Return these notes, which the admin API reports, as they are after a role's step from
        `old` to `new`: messages and bytes sent, what consumers hold, and when stores, snapshots and
        pending acknowledgements became ready."""
        at_ms = getattr(event, "at_ms", 0)
        if isinstance(new, Topic):
            notes = self._count_sent(effects)
            held = follow(self.held, old, new, event, effects)  # the same object: nothing changed
            notes = notes if held is self.held else replace(notes, held=held)
            if isinstance(event, Appended) and event.log == SNAPSHOT_LOG:
                notes = replace(notes, snapshot_ms=at_ms)
            # without a change of subscriptions there is nothing more to note
            return notes if new.subs is old.subs else notes._note_pending(old, new, event, at_ms)
        if isinstance(new, Coordinator) and new.state is not old.state:
            begun_ms, _ = self.store_ms  # when it began to load; 0: it begins now
            ready_ms = at_ms if new.state is StoreState.READY else 0
            return replace(self, store_ms=(begun_ms or at_ms, ready_ms))
        return self

    def _note_pending(self, old: Topic, new: Topic, event: Event, at_ms: int) -> Notes:
        name, ready = find_subscription(event), PendingAckState.READY
        if name is not None and name not in new.subs:  # one of this name begins from nothing
            return replace(self, sent=self.sent.remove(name))
        if name is None or new.subs[name].pending.state is not ready:
            return self
        before = old.subs.get(name)
        if before is not None and before.pending.state is ready:
            return self
        return replace(self, pending_ms=self.pending_ms.set(name, at_ms))

    def _count_sent(self, effects: Effects) -> Notes:
        sent = self.sent
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.body, PushMessage):
                payload = effect.body.values[0]
                for key in (ALL, effect.body.subscription, effect.to):
                    messages, size = sent.get(key) or (0, 0)
                    sent = sent.set(key, (messages + payload.count, size + len(payload.data)))
        return self if sent is self.sent else replace(self, sent=sent)


#: messages that a consumer is sent before it is asked whether its client reads
PORTION = 100
AT = "@conn-"
ADMINISTRATOR = f"administrator{AT}0/0"  # the consumer by which one makes a subscription
NO_REQUEST = (1 << 64) - 1  # the number of a command that no request asked for

Result = tuple["Hosted", Effects]


class Inspect:
    """A request that is answered from a role as it is: `read(role, disk)` gives the answer, or
    an `AskNext`. `noted`: it is handed the role's host with its notes, not the role."""

    def __init__(self, read: Callable[[Any, Disk], Any], noted: bool = False) -> None:
        self.read = read
        self.noted = noted


class AskNext:
    """In the place of an answer: `role` is asked this, and answers."""

    def __init__(self, role: str, request: Any) -> None:
        self.role = role
        self.request = request


@frozen
class Folder:
    """A disk, of which a role sees what is in its folder."""

    disk: Disk
    name: str

    def log(self, name: str) -> Any:
        return self.disk.log(f"{self.name}/{name}")

    def logs(self, prefix: str = "") -> tuple[str, ...]:
        start = len(self.name) + 1
        return tuple(name[start:] for name in self.disk.logs(f"{self.name}/{prefix}"))

    def table(self, name: str) -> Map[Any, Any]:
        return self.disk.table(f"{self.name}/{name}")


@frozen
class Hosted(Quiet):
    """`role`: the engine's. `folder`: where its logs and tables are. `ledger`: the number under
    which clients know the topic's ledger. `epochs`: of consumers; `late`: by connection, pushes
    that wait; `openings`: producers that are not answered yet; `permits`: by consumer, with its
    subscription, how many the role was not given; `notes`: for an administrator."""

    role: Any
    folder: str
    ledger: int = 0
    epochs: Map[str, int] = field(default_factory=Map)
    late: Map[str, tuple[Send, ...]] = field(default_factory=Map)
    permits: Map[str, tuple[str, int]] = field(default_factory=Map)
    openings: Map[str, Opening] = field(default_factory=Map)
    notes: Notes = Notes()

    def step(self, event: Event, disk: Disk) -> Result:
        """Take one event for the hosted role (a topic or a coordinator). Requests of clients come
        as `Handed`, from the front: an administrator's `Inspect` reads the role, permits (`Flow`)
        are given to it in portions, everything else is a step of the role. Pushes that a client
        does not read are kept in `late` until it does."""
        own_disk = Folder(disk, self.folder)
        match event:
            case Request(body=Handed(caller=caller, body=Inspect() as request)):
                reply = request.read(self if request.noted else self.role, own_disk)
                if isinstance(reply, AskNext):
                    return self, (Send(reply.role, Handed(caller, reply.request)),)
                return self, (Reply(caller, reply),)
            case Request(body=Handed(body=Flow() as flow, caller=caller)):
                return self._give_permits(flow, caller, own_disk, event)
            case Request(body=Handed(caller=caller, body=ProducerLost()), at_ms=at_ms):
                return self._close_producer(caller, own_disk, at_ms)
            # a producer, which may have to wait until the topic lets it write; refused at once
            # where one of this id waits already
            case Request(body=Opening() as request, at_ms=at_ms):
                new, refused = opening.take(self, request)
                event = Request(request.caller, request.body, at_ms)
                return (new, refused) if refused else new._step(event, own_disk)
            # any other request of a client
            case Request(body=Handed() as handed, at_ms=at_ms):
                return self._note_request(handed)._step(
                    Request(handed.caller, handed.body, at_ms), own_disk, handed.caller
                )
            # the client has left too much unread: its pushes wait
            case Response(peer=peer, body=Unsent(body=push)):
                unsent = (*self.late.get(peer, ()), Send(peer, push))
                return replace(self, late=self.late.set(peer, unsent)), ()
            # it reads again: what waits is sent, and more where permits are left
            case Response(peer=peer, body=Drained()):
                return replace(self, late=self.late.remove(peer)), (
                    *self.late.get(peer, ()),
                    *(self._ask_more(name) for name in self.permits if _conn(name) == peer),
                )
            # what waits for this client goes with it; the front closes its producers and consumers
            case ConnectionLost(peer=peer):
                others = Map((k, v) for k, v in self.permits.items() if _conn(k) != peer)
                return replace(self, late=self.late.remove(peer), permits=others), ()
            # the role knows its logs without the folder's name
            case Appended(log=log):
                event = replace(event, log=log.removeprefix(f"{self.folder}/"))
        return self._step(event, own_disk)

    def _ask_more(self, name: str) -> Send:
        """To itself: another portion for this consumer, once what is before it has gone out."""
        more = Flow(self.folder, self.permits[name][0], 0)
        return Send(self.folder, Handed(Caller(name), more))

    def _give_permits(self, flow: Flow, caller: Caller, mine: Folder, event: Request) -> Result:
        """Permits come, or another portion of them is asked for."""
        name, waiting = caller.name, self.permits.get(caller.name, ("", 0))[1] + flow.permits
        if not waiting:
            return self, ()
        left = self._permits(flow.subscription, name)
        if _conn(name) in self.late or left > 0:
            return self._keep_permits(name, flow.subscription, waiting), ()
        given = min(waiting, PORTION - left)  # a batch may have taken more than there were
        new = self._keep_permits(name, flow.subscription, waiting - given)
        return new._step(replace(event, caller=caller, body=replace(flow, permits=given)), mine)

    def _keep_permits(self, name: str, subscription: str, permits: int) -> Hosted:
        if permits <= 0:
            return replace(self, permits=self.permits.remove(name))
        return replace(self, permits=self.permits.set(name, (subscription, permits)))

    def _is_used_up(self, name: str) -> bool:
        """Whether a consumer has permits, and none of them is the role's."""
        return name in self.permits and self._permits(self.permits[name][0], name) <= 0

    def _permits(self, subscription: str, name: str) -> int:
        """What of its portion a consumer has left."""
        sub = self.role.subs.get(subscription)
        consumer = next((c for c in sub.consumers if c.client == name), None) if sub else None
        return consumer.permits if consumer else 0

    def _close_producer(self, caller: Caller, mine: Folder, at_ms: int) -> Result:
        """A producer's connection has ended: no answer can be sent."""
        gone = Request(caller, CloseProducer(self.folder), at_ms)
        new, effects = self._drop_opening(caller.name)._step(gone, mine)
        left = (e for e in effects if not (isinstance(e, Reply) and e.caller == caller))
        return new, tuple(left)

    def _note_request(self, handed: Handed) -> Hosted:
        name = handed.caller.name
        if isinstance(handed.body, CloseProducer):
            return self._drop_opening(name)
        ends, sent = self._ends_subscription(handed.body), self.notes.sent
        leaves = isinstance(handed.body, CloseConsumer) or ends
        if leaves or isinstance(handed.body, Subscribe):
            self, sent = replace(self, permits=self.permits.remove(name)), sent.remove(name)
        if isinstance(handed.body, Subscribe) and name != ADMINISTRATOR:
            # the subscription has a type from now on
            sent = sent.set(handed.body.subscription, sent.get(handed.body.subscription) or (0, 0))
        sub = self.role.subs.get(handed.body.subscription) if ends else None
        for consumer in sub.consumers if sub is not None else ():
            sent = sent.remove(consumer.client)
        if sent is not self.notes.sent:
            self = replace(self, notes=replace(self.notes, sent=sent))
        if handed.epoch is not None:
            return replace(self, epochs=self.epochs.set(name, handed.epoch))
        if leaves and name in self.epochs:
            return replace(self, epochs=self.epochs.remove(name))
        return self

    def _ends_subscription(self, body: Any) -> bool:
        """Whether this ends a subscription, and its consumer with it."""
        sub = self.role.subs.get(body.subscription) if isinstance(body, Unsubscribe) else None
        return sub is not None and find_users(sub, body) is None

    def _drop_opening(self, name: str) -> Hosted:
        """A producer that may wait still has gone."""
        if name not in self.openings:
            return self
        return replace(self, openings=self.openings.remove(name))

    def _step(self, event: Event, own_disk: Folder, asker: Caller | None = None) -> Result:
        """Let the role take an event, and turn its effects into those of the server: logs under the
        server's names, pushes to clients. Pushes to a client that does not read are kept in `late`.
        `asker`: the client whose request the event is."""
        role, effects = self.role.step(event, own_disk)
        notes = self.notes.take(self.role, role, event, effects)
        new = replace(self, role=role, notes=notes)
        active_notices = notify_active(self.role, role, find_subscription(event))
        # clients that become active get notices beside what the role sends
        effects = (*effects, *active_notices)
        done: list[Effect] = []
        kept: dict[str, list[Send]] = {}
        sent: dict[str, None] = {}  # consumers that are sent messages, in order
        for effect in effects:
            match effect:
                case Send(to=to, body=CloseConsumer()):
                    counts = new.notes.sent.remove(to)
                    new = replace(new, notes=replace(new.notes, sent=counts))
                    done.append(Send(FRONT, Gone(*read_consumer(to), True)))
                case Send(to=to, body=Subscribed() | ProducerOpened() as told) if not told.ok:
                    consumes = isinstance(told, Subscribed)
                    done.append(Send(FRONT, Gone(*read_consumer(to), consumes)))
            placed = new.place(effect, asker)
            if isinstance(placed, Send):
                if isinstance(placed.body, Push):
                    sent[effect.to] = None
                if placed.to in new.late:
                    kept.setdefault(placed.to, []).append(placed)
                    continue
            done.append(placed)
        for conn, pushes in kept.items():
            new = replace(new, late=new.late.set(conn, (*new.late[conn], *pushes)))
        new = opening.forget(new, effects)  # producers that are answered no longer wait
        return new, (*done, *(new._ask_more(name) for name in sent if new._is_used_up(name)))

    def place(self, effect: Effect, asker: Caller | None = None) -> Effect:
        """Translate one effect of the role into the server's: logs and tables get the folder's
        prefix, and what is sent to a consumer or producer goes to its connection as a push or an
        answer. `asker`: the client whose request is being answered."""
        match effect:
            case Append(log=log) | Truncate(log=log):
                return replace(effect, log=f"{self.folder}/{log}")
            case Put(table=table):
                return replace(effect, table=f"{self.folder}/{table}")
            # to the engine a consumer is a node, which is sent this; here it answers SUBSCRIBE
            case Send(body=Subscribed() as subscribed) if asker is not None:
                return Reply(asker, subscribed)
            case Send(to=to, body=ProducerOpened() as opened):
                return opening.place(self, to, opened)
            # a producer that is not open (any more): it connects again
            case Reply(caller=caller, body=SendReceipt(error=ServerError.ServiceNotReady) as sent):
                return Reply(caller, Hangup(sent.message))
            case Reply(caller=caller, body=SendReceipt() as sent):
                return Reply(caller, Receipt(sent.error, sent.message, sent.position, self.ledger))
            # to a consumer: its name says its connection and its number there
            case Send(to=to, body=PushMessage() as message) if AT in to:
                conn, number = read_consumer(to)
                push = Push(number, self.ledger, message, self.epochs.get(to))
                return Send(conn, push)
            case Send(to=to, body=CloseConsumer()) if AT in to:
                conn, number = read_consumer(to)
                return Send(conn, write_close("consumer", number))
        return effect


def notify_active(old: Any, new: Any, name: str | None) -> Effects:
    """Return the notices by which consumers of a Failover subscription learn which of them is
    active: to all when that changes, else to a consumer that has just come
    (AbstractDispatcherSingleActiveConsumer#notifyActiveConsumerChanged, 4.2). `name`: the
    subscription of the request; None where there is none."""
    sub = new.subs.get(name) if isinstance(new, Topic) and name is not None else None
    sub_before = None if sub is None else old.subs.get(name)
    if sub is None or sub.sub_type is not SubType.FAILOVER or sub_before is sub:
        return ()
    notices: list[Send] = []
    clients_before = {c.client for c in sub_before.consumers} if sub_before is not None else set()
    active = find_active(sub)
    has_changed = sub_before is None or find_active(sub_before) != active
    for consumer in sub.consumers:
        if (has_changed and active) or consumer.client not in clients_before:
            conn, number = read_consumer(consumer.client)
            fields = (("consumer_id", number), ("is_active", consumer.client == active))
            notices.append(Send(conn, Notice("ACTIVE_CONSUMER_CHANGE", fields)))
    return tuple(notices)


def write_close(kind: str, number: int) -> Notice:
    """The message to the client of a producer or consumer that the broker closes."""
    fields = ((f"{kind}_id", number), ("request_id", NO_REQUEST))
    return Notice(f"CLOSE_{kind.upper()}", fields)


def host(role: tuple[Any, Effects], folder: str, at_ms: int, ledger: int = 0) -> Result:
    """A role that has recovered, hosted."""
    first = role[0].lac + 1 if isinstance(role[0], Topic) else 0
    hosted = Hosted(role[0], folder, ledger, notes=Notes(at_ms, first))
    return hosted, tuple(map(hosted.place, role[1]))


def name_consumer(name: str, conn: str, number: int) -> str:
    """Sorted by the consumer's own name, as a Failover subscription sorts them."""
    return f"{name}@{conn}/{number}"


def _conn(name: str) -> str:
    return read_consumer(name)[0]


def read_consumer(name: str) -> tuple[str, int]:
    """The connection of a consumer, and its number there."""
    conn, _, number = name.rpartition("@")[2].partition("/")
    return conn, int(number)
