"""The lanes of Pulsar's live picture, behind the clients: coordinators, then topics."""

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
    Table,
    Telling,
    Text,
    frozen,
    replace,
)
from ...kernel.trace import plain_of as plain
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
from ...pulsar.picture.ledgers import DECIDED, Written, draw_subscription
from ...pulsar.picture.meaning import explain
from ...pulsar.picture.snapshot import (
    draw_buffers,
    draw_graph,
    draw_ledger,
    draw_pending,
    draw_records,
    draw_transactions,
)
from ...pulsar.picture.why import explain_fact
from ...pulsar.states import ENDED, MarkerType, TxnStatus
from ...pulsar.subscription import Subscription
from ...pulsar.topic import Topic
from ..trace.live import Step
from ..trace.teller import LEAST, Lanes, Lights, Parts, Same, Strip, Teller, cut, label
from .front import FRONT
from .front.hosting import Hosted
from .wire.answers import Ask, Handed, Notice, Push

COORDINATOR, TOPIC = 1, 2
MOST = (2, 6)  # of each kind
DEFAULT = "persistent://public/default/"
TAKEN = re.compile(rf"{PREFIX}|conn-|disk$")


def make_lanes() -> Lanes:
    return Lanes(MOST, find_kind, head_lane)


def find_kind(name: str) -> int:
    return COORDINATOR if name.startswith(PREFIX) else TOPIC


def name_shortly(topic: str) -> str:
    """Without the namespace that nearly every topic is in."""
    return topic.removeprefix(DEFAULT)


def name_lane(name: str) -> str:
    """The same, unless a part of the broker is called so."""
    short = name_shortly(name)
    return name if TAKEN.match(short) else short


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
TOGETHER = 8  # messages of a batch that are told
PLACES = 64  # topics of a transaction whose markers are watched


@frozen
class LastWritten(Written):
    """The latest transactions. `before`: how many there were before the first of them."""

    before: int = 0

    def name(self, txn: TxnID | None) -> str:
        known = txn in self.begun
        return f"T{self.before + self.begun.index(txn) + 1}" if known and txn is not None else ""


class Model:
    """`strips`: by topic, that which was written to last at the end; `records`: by coordinator;
    `readers`: by consumer, what it was sent. `changes` counts records and messages sent.
    `unmarked`: of a transaction, the topics that it wrote to and that have no commit marker yet.
    Transactions that have left the notes are judged no more."""

    def __init__(self) -> None:
        self.strips: dict[str, Strip[LedgerEntry]] = {}
        self.records: dict[str, Strip[TransactionMetadataEntry]] = {}
        self.readers: dict[str, deque[Got]] = {}
        self.written = LastWritten(())
        self.changes = 0
        self.lights = Lights(LIT)
        self.unmarked: dict[TxnID, set[str]] = {}

    def note_entry(self, topic: str, entry: LedgerEntry) -> None:
        """An entry of a topic, as `simplify` has left it."""
        strip = self.strips.pop(topic) if topic in self.strips else Strip()
        self.strips[topic] = strip
        strip.add(entry)
        self._watch_markers(topic, entry)
        for name in list(islice(self.strips, max(0, len(self.strips) - TOPICS))):
            del self.strips[name]

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
        self.changes += 1
        self.records.setdefault(coordinator, Strip()).add(record)
        written = self.written
        if record.op == "NEW":
            begun = (*written.begun, record.txn)
            gone, begun = begun[:-TXNS], begun[-TXNS:]
            self.unmarked[record.txn] = set()
            for txn in gone:
                written.decisions.pop(txn, None)
                written.done.pop(txn, None)
                self.unmarked.pop(txn, None)
            self.written = replace(written, begun=begun, before=written.before + len(gone))
        elif record.txn in written.begun and record.status in DECIDED:
            written.decisions.setdefault(record.txn, record.status)
        elif record.txn in written.begun and record.status in ENDED:
            written.done.setdefault(record.txn, record.status)
            if record.status is TxnStatus.COMMITTED and self.unmarked[record.txn]:
                self.lights.judge(TOLD_TO_ALL, False)

    def note_sent(self, consumer: str, message: PushMessage) -> None:
        """What a consumer is sent, as `simplify` has left it."""
        self.changes += 1
        txn = message.txn
        if txn in self.written.begun and not self.written.has_committed(txn):
            self.lights.judge(CLEAN_READ, False)
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


# ---- what is told, in a few characters ---------------------------------------------------------


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


# The live Snapshot, as plain JSON values, of which only what has changed is made again

ROWS = 10  # of a table
SUBSCRIPTIONS = 4  # of a topic, that are shown


class Picture:
    """`now()` is the Snapshot of the model and the lanes as they are. `roles`: the engine's roles
    after the step that was taken last, by name."""

    def __init__(self, model: Model, lanes: Lanes) -> None:
        self.model = model
        self.lanes = lanes
        self._judged: dict[str, list[Subscription]] = {}
        self.roles: dict[str, Any] = {}
        self._part = Parts().make
        self._subs: dict[str, tuple[Same, list[Subscription]]] = {}

    def now(self) -> dict[str, Any]:
        model, part = self.model, self._part
        names = sorted(model.strips)
        topics = [self.roles[name] for name in names if name in self.roles]
        logs = [part(f"log {n}", self._version(n), partial(self._topic, n)) for n in names] + [
            part(f"log {n}", (strip.changes, model.changes), partial(self._records, n))
            for n, strip in sorted(model.records.items())
        ]
        seen: tuple[Hashable, ...] = (model.changes, *map(self._see, topics))
        return {
            "lanes": part("lanes", self.lanes.changes, lambda: plain(self.lanes.draw())),
            "logs": part("logs", tuple(map(id, logs)), lambda: logs),
            "readers": part("readers", model.changes, self._readers),
            "graphs": part("graph", model.changes, lambda: plain((draw_graph(model.written),))),
            "lights": part(
                "lights", (seen, len(model.lights.red)), partial(self.draw_lights, topics)
            ),
            "tables": part("tables", (seen, *self._txns()), partial(self._tables, topics)),
        }

    # -- parts -------------------------------------------------------------------------------

    def _version(self, name: str) -> Hashable:
        """Which cells can be read, and which belong to what was aborted, the buffer says."""
        topic: Topic | None = self.roles.get(name)
        return (self.model.strips[name].changes, self.model.changes, self._see(topic))

    def _see(self, topic: Topic | None) -> Hashable:
        """What of a topic is drawn."""
        return None if topic is None else (Same(topic.buffer), topic.lac, Same(topic.subs))

    def _list_subs(self, topic: Topic) -> list[Subscription]:
        """Its subscriptions, listed again when one of them has changed."""
        version, (old, subs) = Same(topic.subs), self._subs.get(topic.name, (None, []))
        if version != old:
            subs = topic.subs.values()
            self._subs = {name: kept for name, kept in self._subs.items() if name in self.roles}
            self._subs[topic.name] = (version, subs)
        return subs

    def draw_lights(self, topics: list[Topic]) -> Any:
        """Who holds a pending message is looked up where a subscription has changed."""
        for topic in topics:
            before, subs = self._judged.get(topic.name, []), self._list_subs(topic)
            if subs is not before:
                held = {id(sub.pending) for sub in before}
                new = (sub for sub in subs if id(sub.pending) not in held)
                self.model.lights.judge(ONE_HOLDER, all(map(has_one_holder, new)))
        self._judged = {topic.name: self._list_subs(topic) for topic in topics}
        return plain(self.model.lights.draw())

    def _topic(self, name: str) -> Any:
        topic: Topic | None = self.roles.get(name)
        entries = list(self.model.strips[name].cells)
        rows: tuple[Progress, ...] = ()
        if topic is not None:
            durable = (sub for sub in self._list_subs(topic) if sub.durable)
            strip = range(entries[0].base if entries else 0, topic.lac + 1)
            rows = tuple(self._subscription(sub, strip) for sub in islice(durable, SUBSCRIPTIONS))
        return plain(draw_ledger(cut(name_shortly(name)), entries, topic, self.model.written, rows))

    def _subscription(self, sub: Subscription, strip: range) -> Progress:
        """Who was refused is not looked up in its log."""
        written = self.model.written
        return draw_subscription(cut(sub.name), sub.cursor, sub.pending, (), written, strip)

    def _records(self, name: str) -> Any:
        records = list(self.model.records[name].cells)
        return plain(draw_records(int(name.rpartition("-")[2]), records, self.model.written))

    def _readers(self) -> Any:
        rows = []
        for consumer, got in self.model.readers.items():
            conn, _, subscription = consumer.partition("/")
            rows.append(Reader(cut(f"{subscription} · {conn}"), tuple(got)))
        return plain(tuple(rows))

    def _coordinators(self) -> list[Coordinator]:
        names = self.lanes.list_names(COORDINATOR)
        return [self.roles[name] for name in names if name in self.roles]

    def _txns(self) -> tuple[Hashable, ...]:
        return tuple(Same(tc.txns) for tc in self._coordinators())

    def _live(self, tc: Coordinator) -> list[TxnMeta]:
        """Of many, those that began last and have a name."""
        if len(tc.txns) <= TXNS:
            return tc.txns.values()
        return [tc.txns[txn] for txn in self.model.written.begun if txn in tc.txns]

    def _tables(self, topics: list[Topic]) -> list[Any]:
        written = self.model.written
        short = [replace(topic, name=cut(name_shortly(topic.name))) for topic in topics]
        always = [
            draw_transactions(
                (meta for tc in self._coordinators() for meta in self._live(tc)[:ROWS]), written
            ),
            draw_buffers(short, written, ROWS),
        ]
        subs = (
            (cut(name_shortly(topic.name)), sub)
            for topic in topics
            for sub in self._list_subs(topic)
            if sub.pending.of_txn or sub.pending.slot
        )
        pending = draw_pending(islice(subs, ROWS), written, ROWS)
        return [plain(_clip_rows(t)) for t in (*always, *([pending] if pending.rows else []))]


def _clip_rows(table: Table) -> Table:
    """The first rows, whose cells may hold names that a client chose."""
    rows = tuple(tuple(cut(cell) for cell in row) for row in table.rows[:ROWS])
    return replace(table, rows=rows)


# ---- From steps to facts: what a lesson's `Run` tells, told of a server that goes on -
#
# The front is glass: what a client asks of a coordinator or a topic is told as sent to it, and an
# answer as coming from there. What only fills the page is not told: lookups, permits, what an
# administrator asks.

SHOWN = (
    Ack, AddPartitionToTxn, AddSubscriptionToTxn, CloseConsumer, EndTxn, NewTxn, Redeliver,
    Seek, SendMessage, Subscribe, TcClientConnect, Unsubscribe,
)  # fmt: skip


class Observer(Teller):
    def __init__(self, started_ms: int, log: Callable[[str], Any]) -> None:
        super().__init__(make_lanes(), started_ms)
        self.model = Model()
        self.picture = Picture(self.model, self.lanes)
        self.draw = self.picture.now

    def explain(self, fact: Fact) -> Text:
        if fact.node in self.lanes.clients:
            return explain_fact(fact, "client")
        is_tc = find_kind(fact.node) == COORDINATOR
        return explain_fact(fact, "coordinator" if is_tc else "partition")

    def _add(self, fact: Fact, telling: Telling) -> None:
        node, peer = name_lane(fact.node), name_lane(fact.peer)
        super()._add(replace(fact, node=node, peer=peer), telling)

    def take(self, step: Step, listener: Callable[[Fact], None] | None = None) -> None:
        """The next step; its facts are counted, and told where somebody listens."""
        at_ms, name, new, event, effects = step
        self._count(at_ms, listener)
        if new is None:
            self.model.forget_readers(name)
            self._end_client(name)
        elif name == FRONT:
            self._seen(event)
        elif isinstance(new, Hosted):
            self._hosted(name, new, event, effects)

    def skip(self, step: Step) -> None:
        """A step that nobody will ever be told of: only what a later picture needs is noted.
        It counts as one fact, so that a follower sees by the numbers that it missed some."""
        at_ms, name, new, event, effects = step
        self._count(at_ms, None)
        self.facts += 1
        if new is None:
            self.model.forget_readers(name)
            self._end_client(name)
        elif name == FRONT:
            self._seen(event)
        elif isinstance(new, Hosted):
            self.picture.roles[name] = new.role
            for effect in effects if event is not None else ():
                self._note(name, effect)

    # -- clients -------------------------------------------------------------------------------

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

    def _hosted(
        self, name: str, new: Hosted, event: Event | None, effects: tuple[Effect, ...]
    ) -> None:
        old, self.picture.roles[name] = self.picture.roles.get(name), new.role
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
        meaning = partial(explain, self.model.written, partial(self._entries, node), inner, effect)
        self._fact(node, peer, effect, meaning)

    def _entries(self, topic: str) -> list[LedgerEntry]:
        strip = self.model.strips.get(topic)
        return list(strip.cells) if strip is not None else []


def _find_body(event: Event) -> Any:
    """What somebody asks of a role; who it is makes no difference."""
    if not isinstance(event, Request):
        return None
    return event.body.body if isinstance(event.body, Handed) else event.body


def _is_shown(event: Event) -> bool:
    """Whether an answer belongs to what was told: an answer that came later does always."""
    return not (isinstance(event, Request) and isinstance(event.body, Handed)) or isinstance(
        event.body.body, SHOWN
    )


def _find_conn(caller: Caller) -> str:
    """The connection of a client, or of its consumer; any other asker is a role."""
    return f"conn-{caller.conn}" if caller.conn else _read_conn(caller.name)


def _read_conn(name: str) -> str:
    """A consumer that is closed with its connection asks nothing more by itself."""
    return name.rpartition("@")[2].partition("/")[0] if "@conn-" in name else name
