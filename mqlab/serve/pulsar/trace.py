"""The lanes of Pulsar's live picture, after the clients: coordinators, then topics."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from ...kernel import (
    Append,
    Caller,
    Effect,
    Effects,
    Event,
    Fact,
    Fired,
    Got,
    Lane,
    Progress,
    Reader,
    Reply,
    Request,
    Send,
    Telling,
    Text,
    escape_unseen,
    replace,
)
from ...kernel.trace import plain_of
from ...pulsar.claims import CLEAN_READ, LIT, ONE_HOLDER, TOLD_TO_ALL, has_one_holder
from ...pulsar.config import COORDINATOR as PREFIX
from ...pulsar.coordinator import Coordinator, TxnMeta
from ...pulsar.messages import (
    Ack,
    AddPartitionToTxn,
    AddSubscriptionToTxn,
    Answer,
    CloseConsumer,
    EndTxn,
    LedgerEntry,
    NewTxn,
    PushMessage,
    Redeliver,
    Seek,
    SendMessage,
    Subscribe,
    TcClientConnect,
    TransactionMetadataEntry,
    TxnID,
    Unsubscribe,
)
from ...pulsar.picture import words
from ...pulsar.picture.meaning import explain
from ...pulsar.picture.snapshot import DECIDED, Limits, Seen, Written, draw_seen, draw_subscription
from ...pulsar.picture.why import explain_fact
from ...pulsar.states import ENDED, MarkerType, TxnStatus
from ...pulsar.subscription import Subscription
from ...pulsar.topic import Topic
from ..trace.teller import LEAST, Lanes, Lights, LogTail, Parts, Same, Teller, cut, label
from .front import FRONT
from .front.hosting import Hosted
from .wire.answers import Ask, Handed, Notice, Push

COORDINATOR, TOPIC = 1, 2
MOST = (2, 6)  # of each kind
DEFAULT = "persistent://public/default/"
TAKEN = re.compile(rf"{PREFIX}|conn-|disk$")


def find_kind(name: str) -> int:
    return COORDINATOR if name.startswith(PREFIX) else TOPIC


def name_shortly(topic: str) -> str:
    """Without the namespace that nearly every topic is in."""
    return topic.removeprefix(DEFAULT)


def name_lane(name: str) -> str:
    """The same, unless a part of the broker is called so; with nothing unseen in it."""
    short = name_shortly(name)
    return escape_unseen(name if TAKEN.match(short) else short)


def head_lane(kind: int, name: str) -> Lane:
    if kind == COORDINATOR:
        return Lane(name, Text(name), words.COORDINATOR())
    return Lane(name_lane(name), Text(cut(name_shortly(name))), words.PARTITION())


# ---- What the live picture knows: read off the steps as they go by, in bounded memory
#
# A lesson's world keeps every log, so its picture is read off the world. A server cannot look back,
# so it takes notes: the last entries of a few topics, those that were written to last, the last
# records of the coordinators, the latest transactions, and what consumers were sent last. Of a
# message only a few characters are kept. What they mean is worked out by `mqlab/pulsar/picture`, as
# in a lesson.

TOPICS = 6  # topics kept
TXNS = 64  # transactions kept
READERS = 4  # consumers whose messages are kept
TOGETHER = 8  # messages of a batch that are shown
PLACES = 64  # topics of a transaction whose markers are watched
SUBSCRIPTIONS = 4  # of a topic, that are shown


class Model(Seen):
    """`tails`: by topic, that which was written to last at the end; `records`: by coordinator;
    `readers`: by consumer, what it was sent. `roles`: the engine's, after the step that was taken
    last; `lanes`: who is drawn. `changes` counts records and messages sent. `unmarked`: of a
    transaction, the topics that it wrote to and that have no commit marker yet. Transactions that
    have left the notes are judged no more."""

    limits = Limits(rows=10, cut=lambda name: cut(name_shortly(name)))

    def __init__(self) -> None:
        self.lanes = Lanes(MOST, find_kind, head_lane)
        self.roles: dict[str, Any] = {}
        self.tails: dict[str, LogTail[LedgerEntry]] = {}
        self.records: dict[str, LogTail[TransactionMetadataEntry]] = {}
        self.readers: dict[str, deque[Got]] = {}
        self.written = Written(())
        self.changes = 0
        self.lights = Lights(LIT)
        self.unmarked: dict[TxnID, set[str]] = {}
        self._part = Parts(self._version).draw
        self._subs: dict[str, tuple[Same, list[Subscription]]] = {}

    def note_entry(self, topic: str, entry: LedgerEntry) -> None:
        """An entry of a topic, as `simplify` has left it."""
        tail = self.tails.pop(topic) if topic in self.tails else LogTail()
        self.tails[topic] = tail
        tail.add(entry)
        self._watch_markers(topic, entry)
        for name in list(islice(self.tails, max(0, len(self.tails) - TOPICS))):
            del self.tails[name]

    def _watch_markers(self, topic: str, entry: LedgerEntry) -> None:
        """What is written before the decision has to be marked after it."""
        places = self.unmarked.get(entry.txn) if entry.txn is not None else None
        if places is None:
            return
        if entry.marker is MarkerType.TXN_COMMIT:
            places.discard(topic)
        elif entry.txn not in self.written.decisions and len(places) < PLACES:
            places.add(topic)

    def note_record(self, coordinator: str, record: TransactionMetadataEntry) -> None:
        """Note a record of a coordinator's transaction log: what was decided about the newest
        `TXNS` transactions and which have ended; older ones are forgotten. Where a commit has ended
        though a participant has no marker yet, the invariant is judged broken."""
        self.changes += 1
        self.records.setdefault(coordinator, LogTail()).add(record)
        written = self.written
        if record.op == "NEW":
            begun = (*written.begun, record.txn)
            forgotten, begun = begun[:-TXNS], begun[-TXNS:]
            self.unmarked[record.txn] = set()  # topics that it wrote to, without its marker
            for txn in forgotten:
                written.decisions.pop(txn, None)
                written.done.pop(txn, None)
                self.unmarked.pop(txn, None)
            self.written = replace(written, begun=begun, before=written.before + len(forgotten))
        elif record.txn in written.begun and record.status in DECIDED:
            written.decisions.setdefault(record.txn, record.status)
        elif record.txn in written.begun and record.status in ENDED:
            written.done.setdefault(record.txn, record.status)
            if record.status is TxnStatus.COMMITTED and self.unmarked[record.txn]:
                self.lights.judge(TOLD_TO_ALL, holds=False)

    def note_sent(self, consumer: str, message: PushMessage) -> None:
        """What a consumer is sent, as `simplify` has left it."""
        self.changes += 1
        txn = message.txn
        if txn in self.written.begun and not self.written.has_committed(txn):
            self.lights.judge(CLEAN_READ, holds=False)
        got = self.readers.pop(consumer) if consumer in self.readers else deque[Got](maxlen=LEAST)
        self.readers[consumer] = got
        text = ",".join(map(str, message.values))
        partition = name_shortly(message.message_id.partition)
        got.append(Got(partition, text, self.written.name(message.txn)))
        for gone in list(islice(self.readers, max(0, len(self.readers) - READERS))):
            del self.readers[gone]

    def forget_readers(self, conn: str) -> None:
        """A connection has ended, and its consumers with it."""
        for name in [name for name in self.readers if name.startswith(f"{conn}/")]:
            del self.readers[name]
            self.changes += 1

    # -- what is drawn ---------------------------------------------------------------------------

    def draw(self) -> Any:
        """The Snapshot as it is now, as plain JSON values; lights last: logs judge them."""
        draws = self.lanes.draw, self._draw_readers, self.lights.draw
        return plain_of(draw_seen(self, *draws, self._part))

    def _version(self, what: str, of: str) -> Hashable:
        """Of a part of the Snapshot. Which cells of a topic can be read, its buffer says."""
        match what:
            case "lanes":
                return self.lanes.changes
            case "log":
                return self._tail(of).changes, self.changes, self._see(self.find_role(of))
            case "readers" | "graphs":
                return self.changes
            case "lights":
                return len(self.lights.red)
            case "transactions":
                txns = (Same(tc.txns) for tc in self.find_roles(self.coordinators))
                return self.changes, tuple(txns)
        return self.changes, tuple(map(self._see, self.find_roles(self.partitions)))

    def _see(self, role: Any) -> Hashable:
        """What of a topic is drawn."""
        if not isinstance(role, Topic):
            return None
        return Same(role.buffer), role.lac, Same(role.subs), Same(role.access)

    @property
    def partitions(self) -> list[str]:  # type: ignore[override]
        return sorted(self.tails)

    @property
    def coordinators(self) -> list[str]:  # type: ignore[override]
        """Those that have written something since, or have a lane."""
        return sorted({*self.records, *self.lanes.list_names(COORDINATOR)})

    def find_role(self, name: str) -> Any:
        return self.roles.get(name)

    def read(self, name: str) -> list[Any]:
        return list(self._tail(name).cells)

    def _tail(self, name: str) -> LogTail[Any]:
        return self.tails.get(name) or self.records.get(name) or LogTail()

    def draw_progress(self, partition: str) -> tuple[Progress, ...]:
        """Who was refused is not looked up in a subscription's log."""
        topic, entries = self.find_role(partition), self.tails[partition].cells
        if topic is None:
            return ()
        durable = (sub for sub in self.list_subs(topic) if sub.durable)
        drawn = range(entries[0].base, topic.lac + 1)
        return tuple(
            draw_subscription(cut(sub.name), sub.cursor, sub.pending, {}, self.written, drawn)
            for sub in islice(durable, SUBSCRIPTIONS)
        )

    def list_subs(self, topic: Topic) -> list[Subscription]:
        """Listed again when one of them has changed; then who holds a message there is judged."""
        version, (old, before) = Same(topic.subs), self._subs.get(topic.name, (None, []))
        if version == old:
            return before
        subs, held = topic.subs.values(), {id(sub.pending) for sub in before}
        new = (sub for sub in subs if id(sub.pending) not in held)
        self.lights.judge(ONE_HOLDER, all(map(has_one_holder, new)))
        self._subs = {name: kept for name, kept in self._subs.items() if name in self.roles}
        self._subs[topic.name] = (version, subs)
        return subs

    def list_live(self, tc: Coordinator) -> list[TxnMeta]:
        """Of many, those that began last and have a name."""
        if len(tc.txns) <= TXNS:
            return tc.txns.values()
        return [tc.txns[txn] for txn in self.written.begun if txn in tc.txns]

    def _draw_readers(self) -> tuple[Reader, ...]:
        """By the subscription, then the connection."""
        return tuple(
            Reader(cut(" · ".join(consumer.split("/", 1)[::-1])), tuple(got))
            for consumer, got in self.readers.items()
        )


# ---- what is shown, in a few characters --------------------------------------------------------


def simplify(body: Any) -> Any:
    """A message or a record whose payloads and topics can be drawn."""
    match body:
        case LedgerEntry() | SendMessage() | PushMessage():
            return replace(body, values=_shorten_values(body.values))
        case AddPartitionToTxn(partitions=names):
            return replace(body, partitions=tuple(map(name_shortly, names)))
        case AddSubscriptionToTxn(subscriptions=where):
            return replace(body, subscriptions=_shorten_places(where))
        case TransactionMetadataEntry(partitions=names, subscriptions=where):
            short = tuple(map(name_shortly, names))
            return replace(body, partitions=short, subscriptions=_shorten_places(where))
    return body


def _shorten_values(values: Sequence[Any]) -> tuple[str, ...]:
    first = tuple(label(str(v)) for v in values[:TOGETHER])
    return first if len(values) <= TOGETHER else (*first, "…")


def _shorten_places(where: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name_shortly(topic), name) for topic, name in where)


# ---- From steps to facts: a lesson's `Run`, of a server that goes on ---------------------------
#
# The front is invisible: what a client asks of a coordinator or a topic is shown as sent to it, and
# an answer as coming from there. What only fills the page is left out: lookups, permits, what an
# administrator asks.

SHOWN = (
    Ack, AddPartitionToTxn, AddSubscriptionToTxn, CloseConsumer, EndTxn, NewTxn, Redeliver,
    Seek, SendMessage, Subscribe, TcClientConnect, Unsubscribe,
)  # fmt: skip


class Observer(Teller):
    def __init__(self, started_ms: int, log: Callable[[str], Any]) -> None:
        self.model = Model()
        super().__init__(self.model.lanes, started_ms)
        self.draw = self.model.draw

    def explain(self, fact: Fact) -> Text:
        if fact.node in self.lanes.clients:
            return explain_fact(fact, "client")
        is_tc = find_kind(fact.node) == COORDINATOR
        return explain_fact(fact, "coordinator" if is_tc else "partition")

    def _add(self, fact: Fact, telling: Telling) -> None:
        node, peer = name_lane(fact.node), name_lane(fact.peer)
        super()._add(replace(fact, node=node, peer=peer), telling)

    def tell_step(self, name: str, new: Any, event: Event | None, effects: Effects) -> None:
        if name == FRONT:
            self._seen(event)
        elif isinstance(new, Hosted):
            self._hosted(name, new, event, effects)

    def note_step(self, name: str, new: Any, event: Event | None, effects: Effects) -> None:
        if name == FRONT:
            self._seen(event)
        elif isinstance(new, Hosted):
            self.model.roles[name] = new.role
            for effect in effects if event is not None else ():
                self._note(name, effect)

    # -- clients -------------------------------------------------------------------------------

    def _end_client(self, conn: str) -> None:
        self.model.forget_readers(conn)
        super()._end_client(conn)

    def _seen(self, event: Event | None) -> None:
        """A client is known by the first subscription that it has, or the name of its producer."""
        if not (isinstance(event, Request) and isinstance(event.body, Ask)):
            return
        conn, command = event.caller.name, event.body.command
        known = self.lanes.conns.get(conn)
        title = known.title if known is not None else ""
        if not title and command.name in ("SUBSCRIBE", "PRODUCER"):
            body = command.body
            title = body.subscription if command.name == "SUBSCRIBE" else body.producer_name
        self.lanes.note_client(conn, title, words.CLIENT)

    # -- coordinators and topics -----------------------------------------------------------------

    def _hosted(self, name: str, new: Hosted, event: Event | None, effects: Effects) -> None:
        old, self.model.roles[name] = self.model.roles.get(name), new.role
        if event is None:
            self._recovered(name, new)
            return
        self._began(name, old, new, event)
        for effect in effects:
            self._note(name, effect)
            self._done(name, event, effect)

    def _recovered(self, name: str, new: Hosted) -> None:
        if self.lanes.admit(name, self.steps):
            self._add_recovery(name, new.role)

    def _began(self, name: str, old: Any, new: Hosted, event: Event) -> None:
        """What precedes the effects: a request, a timer, what has changed in memory."""
        request = _find_body(event)
        if isinstance(request, SHOWN) and isinstance(event, Request):
            conn = _find_conn(event.body.caller)
            self._add_effect(conn, name, event, Send(name, simplify(request)))
        if isinstance(event, Fired) and self.lanes.admit(name, self.steps):
            self._add_timer(name, event.timer)
        if old is None or not self.lanes.admit(name, self.steps):
            return
        for text in new.role.describe_changes(old):
            self._add_change(name, text)

    def _note(self, name: str, effect: Effect) -> None:
        """What a later picture needs of an effect."""
        match effect:
            case Append(entry=LedgerEntry() as entry):
                self.model.note_entry(name, simplify(entry))
            case Append(entry=TransactionMetadataEntry() as record):
                self.model.note_record(name, record)
            case Send(to=conn, body=Push(message=message)):
                self.model.note_sent(f"{conn}/{message.subscription}", simplify(message))

    def _done(self, name: str, event: Event, effect: Effect) -> None:
        match effect:
            case Append(log=log, entry=entry):
                short = Append(log.removeprefix(f"{name}/"), simplify(entry))
                self._add_effect(name, "disk", event, short)
            case Send(to=conn, body=Push(message=message)):
                self._add_effect(name, conn, event, Send(conn, simplify(message)))
            case Send(to=to, body=body) if to != name and not isinstance(body, Notice):
                self._add_effect(name, to, event, effect)
            case Reply(caller=caller, body=Answer() as body) if _is_shown(event):
                peer = _find_conn(caller)
                self._add_effect(name, peer, event, Reply(replace(caller, name=peer), body))

    def _add_effect(self, node: str, peer: str, event: Event, effect: Effect) -> None:
        request = _find_body(event)
        inner = replace(event, body=request) if isinstance(event, Request) else event
        meaning = partial(
            explain, self.model.written, partial(self.model.read, node), inner, effect
        )
        self._fact(node, peer, effect, meaning)


def _find_body(event: Event) -> Any:
    """What is asked of a role, by whatever client."""
    if not isinstance(event, Request):
        return None
    return event.body.body if isinstance(event.body, Handed) else event.body


def _is_shown(event: Event) -> bool:
    """Whether an answer belongs to what was shown: an answer that came later does always."""
    return not (isinstance(event, Request) and isinstance(event.body, Handed)) or isinstance(
        event.body.body, SHOWN
    )


def _find_conn(caller: Caller) -> str:
    """The connection of a client, or of its consumer; any other asker is a role."""
    return f"conn-{caller.conn}" if caller.conn else _read_conn(caller.name)


def _read_conn(name: str) -> str:
    """A consumer that is closed with its connection asks nothing more by itself."""
    return name.rpartition("@")[2].partition("/")[0] if "@conn-" in name else name
