"""What the live picture knows: read off the steps as they go by, in bounded memory.

A lesson's world keeps every log, so its picture is read off the world. A server cannot look
back, so it takes notes: the last batches of every partition, the transaction each belongs to, the
latest transactions of the latest ids. They are `Seen` to `kafka/picture/snapshot.py`, which draws
them, and `Known` to `kafka/picture/telling.py`, which says what a message means: as in a lesson.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from functools import partial
from operator import itemgetter
from typing import Any

from ...kafka import claims
from ...kafka.coordinator.entry import Entry, StateRecord
from ...kafka.group import GroupCoordinator
from ...kafka.group.commits import Offsets
from ...kafka.leader import Leader
from ...kafka.log import ABORT, Batch
from ...kafka.log.role import Partition, upper_bound
from ...kafka.messages import (
    READ_COMMITTED,
    Fetch,
    FetchResponse,
    ListOffsets,
    Unwatch,
    Watch,
    Watched,
)
from ...kafka.picture import words
from ...kafka.picture.snapshot import draw_seen
from ...kafka.picture.telling import (
    Kind,
    explain_answer,
    explain_batch,
    explain_change,
    explain_record,
    explain_request,
)
from ...kafka.picture.view import (
    Attribution,
    Given,
    Limits,
    Readable,
    Row,
    Seen,
    Txn,
    add_record,
    name_by_beginning,
)
from ...kafka.picture.why import UNGUARDED, explain_fact
from ...kernel import (
    Append,
    Appended,
    Caller,
    Effects,
    Event,
    Fact,
    Fired,
    Lane,
    Light,
    Put,
    Reply,
    Request,
    Send,
    Telling,
    Text,
    replace,
)
from ...kernel.claims import keep_answers
from ...kernel.reasons import say_unguarded
from ...kernel.trace import plain_of
from ..trace.live import Held
from ..trace.teller import (
    LABEL,
    LEAST,
    MOST,
    Lanes,
    Lights,
    Parts,
    Same,
    Teller,
    cut,
    label,
    read_text,
)
from .front import BROKER, PARTS, Gathering
from .front.internal import ServedGroups, StateReader
from .front.topic import is_internal
from .wire.api import Ask
from .wire.validation import COMPRESSION, Records

IDS = 8  # transactional ids kept for the table
TXNS = 4  # transactions kept of each: a late message may be about one that is over
READABLE = 256 << 10  # a larger batch is not looked into
UNPACKED = 16 << 10  # nor a compressed one that is larger: it may become a thousand times as long
ATTRIBUTES = 22  # the byte of a batch whose last bits name its compression
COUNTABLE = 2_000  # nor is one of more records: they take time, one after the other
COORDINATOR, LEADER, GROUP = 1, 2, 3  # kinds of lanes, after the clients
LANES = (1, 6, 1)  # of each kind
LIMITS = Limits(cells=LEAST, rows=10, cut=cut)
KINDS = {Leader: Kind.PARTITION, ServedGroups: Kind.GROUP}


class Labels:
    """What the records of a batch are called; worked out when first asked for. Then the records
    themselves are let go, since pictures are kept for longer than they."""

    __slots__ = ("batch", "count", "texts")

    def __init__(self, batch: Batch) -> None:
        self.batch: Batch | None = batch
        self.count = batch.count
        self.texts: list[str] = []

    def label(self, i: int) -> str:
        """Of the record at place `i` of the batch."""
        if self.batch is not None:
            self.texts, self.batch = _texts(self.batch), None
        back = self.count - i
        return self.texts[-back] if back <= len(self.texts) else "·"


class Tail(Attribution):
    """The end of a partition's log. `changes` counts, so that a picture knows it is old; `turns`:
    of each batch, its number among those of all logs."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: dict[int, int] = {}
        self._listed: tuple[int, tuple[Row, ...]] = (0, ())
        self.size = 0
        self.changes = 0

    def note(self, batch: Batch, find: Callable[[Batch], Txn | None], turn: int = 0) -> Txn | None:
        """The next batch; its transaction."""
        self.changes += 1
        txn = self.add(replace(batch, records=Labels(batch)), find)
        self.turns[batch.base] = turn
        if batch.pid in self.open:
            del self.open[batch.pid][1][:-MOST]
        self.size += _count_shown(batch)
        if self.size > MOST:
            # Several at once, so that a picture's cells do not all move at every append.
            while self.size - (least := _count_shown(next(iter(self.rows.values()))[0])) >= LEAST:
                first = next(iter(self.rows))
                del self.rows[first], self.turns[first]
                self.size -= least
        return txn

    def list_rows(self) -> tuple[Row, ...]:
        """The same object until the next batch."""
        if self._listed[0] != self.changes:
            self._listed = self.changes, tuple(self.rows.values())
        return self._listed[1]


def _count_shown(batch: Batch) -> int:
    return min(batch.count, LEAST)


@keep_answers
def _list_readable(part: Partition, rows: tuple[Row, ...], isolation: str) -> Readable:
    limit = upper_bound(part, isolation)
    return [
        (batch, txn)
        for batch, txn, outcome in rows
        if not batch.control and batch.last < limit
        if outcome != ABORT or isolation != READ_COMMITTED
    ]


class Model(Seen):
    """`coordinator`: the name of that role, which may be a learner's. `roles`: each as it was
    after the step that was taken last; `lanes`: who is drawn. `partitions`, `groups`, `parts` and
    `rows`, as `Seen` calls them, are those of the picture that is drawn."""

    limits = LIMITS

    def __init__(self, coordinator: str) -> None:
        """Begin with an empty picture of a Kafka broker: lanes, roles, logs, transactions and
        groups as the live trace has seen them. `coordinator` is the transaction coordinator's
        name."""
        self.coordinator = coordinator
        self.lanes = Lanes(LANES, self._find_lane, self._head_lane)
        self.roles: dict[str, Any] = {}  # by name, as after its last step
        self.tails: dict[str, Tail] = {}  # by partition, the end of its log
        self.txns: dict[str, list[Txn]] = {}  # by transactional id, the last to change at the end
        self.entries: dict[str, Entry] = {}  # by transactional id, its latest record
        self.changes = 0  # of transactions; tells whether a drawn table is still right
        self.lights = Lights(claims.LIT)  # the invariants shown; one that was broken stays red
        # what the picture shows now: partitions and groups by name, and their state and rows
        self.partitions: tuple[str, ...] = ()
        self.groups: tuple[str, ...] = ()
        self.parts: dict[str, Partition] = {}
        self.rows: dict[str, tuple[Row, ...]] = {}  # by partition, the records drawn
        self._draw_part = Parts(self._version_of).draw
        self._pids: dict[int, str] = {}  # by producer id, the transactional id
        self._begun = 0  # transactions so far; they are named by their number
        self._turn = 0  # changes of logs so far; says which is the newest

    def find_part(self, name: str) -> Partition | None:
        part: Partition | None = getattr(self.roles.get(name), "part", None)
        return part

    # -- taking notes ------------------------------------------------------------------------

    def note_recovery(self, name: str, log: Any) -> None:
        """A leader has started: the end of what it found."""
        part = self.find_part(name)
        tail = self.tails[name] = Tail()
        if part is not None:
            for batch in log.read(max(part.hw - LEAST, log.start), part.hw):
                tail.note(batch, lambda batch: None)

    def note_append(self, log: str, entry: Any) -> None:
        if isinstance(entry, StateRecord):
            self._moved(entry)
        elif isinstance(entry, Batch):
            tail = self.tails.get(log) or self.tails.setdefault(log, Tail())
            self._turn += 1
            txn = tail.note(entry, partial(self._find_owner, log), self._turn)
            if entry.control and txn is not None:
                decided = claims.is_decided((entry, self._find_latest(txn), entry.control))
                self.lights.judge(claims.DECIDED_FIRST, decided)

    def note_deletion(self, topics: set[str]) -> None:
        """These are no more, and their partitions are not drawn any longer."""
        for gone in [name for name in self.tails if name.rpartition("-")[0] in topics]:
            del self.tails[gone]
            self.roles.pop(gone, None)
            self.lanes.used.pop(gone, None)
            self.lanes.changes += 1

    def _moved(self, record: StateRecord) -> None:
        entry = record.entry
        self.changes += 1
        self._pids[entry.pid] = entry.txn_id
        self.entries[entry.txn_id] = entry
        mine = self.txns[entry.txn_id] = self.txns.pop(entry.txn_id, [])
        add_record(mine, entry, self._begin)
        del mine[:-TXNS]
        if len(self.txns) > IDS:
            gone = next(iter(self.txns))
            del self.txns[gone], self.entries[gone]
            self._pids = {pid: i for pid, i in self._pids.items() if i != gone}

    def _begin(self) -> str:
        self._begun += 1
        return name_by_beginning(self._begun - 1)

    def _find_owner(self, log: str, batch: Batch) -> Txn | None:
        """The latest transaction of this producer that knows of this log. An administrator may end
        what no coordinator knows of."""
        mine = self.list_txns(self._pids.get(batch.pid, ""))
        return next((txn for txn in reversed(mine) if log in txn.partitions), None)

    def _find_latest(self, txn: Txn) -> Txn:
        """Its state now, as far as that is remembered."""
        return next((t for t in self.list_txns(txn.txn_id) if t.name == txn.name), txn)

    # -- what a meaning must know --------------------------------------------------------------

    def list_txns(self, txn_id: str | None = None) -> list[Txn]:
        """Of an id; None: of all."""
        if txn_id is not None:
            return self.txns.get(txn_id, [])
        return [txn for mine in self.txns.values() for txn in mine]

    def name_next(self, txn_id: str) -> str:
        return name_by_beginning(self._begun)

    def is_first(self, txn_id: str) -> bool:
        return next(iter(self.entries), txn_id) == txn_id

    def find_kind(self, name: str) -> Kind:
        if name == self.coordinator:
            return Kind.COORDINATOR
        return KINDS.get(type(self.roles.get(name)), Kind.CLIENT)

    def find_batch(self, log: str, end: int) -> Batch | None:
        """The batch that ends before offset `end`, as far as it is remembered."""
        tail = self.tails.get(log)
        rows = reversed(tail.rows.values()) if tail is not None else ()
        return next((batch for batch, _, _ in rows if batch.last == end - 1), None)

    def find_txn(self, log: str, base: int) -> str:
        """The transaction of the batch that begins there."""
        tail = self.tails.get(log)
        txn = tail.rows[base][1] if tail is not None and base in tail.rows else None
        return txn.name if txn is not None else ""

    # -- the lanes -------------------------------------------------------------------------------

    def _find_lane(self, name: str) -> int:
        if name == self.coordinator:
            return COORDINATOR
        return GROUP if is_internal(name) else LEADER

    def _head_lane(self, kind: int, name: str) -> Lane:
        below = {COORDINATOR: words.TXN_LOG, LEADER: words.LEADER, GROUP: words.GROUP}[kind]
        return Lane(name, Text(name), below())

    # -- what is drawn ---------------------------------------------------------------------------

    def draw(self) -> Any:
        """The Snapshot as it is now, as plain JSON values."""
        self.partitions, self.groups = self._list_names(LEADER), self._list_names(GROUP)
        names = (*self.partitions, *self.groups)
        self.parts = {name: self.roles[name].part for name in names}
        self.rows = {name: self.tails[name].list_rows() for name in names}
        return plain_of(draw_seen(self, self.lanes.draw, self._draw_lights, self._draw_part))

    def _list_names(self, kind: int) -> tuple[str, ...]:
        names = self.lanes.list_names(kind)
        return tuple(n for n in names if n in self.tails and self.find_part(n) is not None)

    def _version_of(self, what: str, of: str) -> Hashable:
        """Of a part of the Snapshot."""
        match what:
            case "lanes":
                return self.lanes.changes
            case "graphs" | "states":
                return self.changes
            case "log" | "positions":
                return Same(self.rows[of]), Same(self.parts[of])
            case "members":
                return Same(self.roles[of].groups)
        logs = tuple(self._version_of("log", name) for name in self.parts)
        return self.changes, self.lanes.changes, logs

    def _draw_lights(self) -> tuple[Light, ...]:
        self.lights.judge(claims.SAME_OUTCOME, claims.same_outcome(self))
        self.lights.judge(claims.CLEAN_READ, claims.clean_read(self))
        self.lights.judge(claims.REPLICATED_READ, claims.replicated_read(self))
        return self.lights.draw()

    def list_readable(self, partition: str, isolation: str) -> Readable:
        """What readers get of the end of a log."""
        return _list_readable(self.parts[partition], self.rows[partition], isolation)

    def list_given(self, isolation: str) -> Given:
        """As they were written, whatever their partitions."""
        given = [
            (self.tails[name].turns[batch.base], name, batch, txn)
            for name in self.partitions
            for batch, txn in self.list_readable(name, isolation)
        ]
        given.sort(key=itemgetter(0))
        now = {txn.name: txn for txn in self.list_txns()}
        return [(name, batch, txn and now.get(txn.name, txn)) for _, name, batch, txn in given]

    def list_latest(self) -> list[Txn]:
        """That which has moved last first."""
        return [mine[-1] for mine in reversed(self.txns.values()) if mine]

    def list_entries(self) -> Collection[Entry]:
        return self.entries.values()

    def find_coordinator(self, group: str) -> GroupCoordinator | None:
        role = self.roles[group]
        return role if isinstance(role, GroupCoordinator) else None


# ---- labels ------------------------------------------------------------------------------


def _texts(batch: Batch) -> list[str]:
    """Labels of the batch's last records; short, and never more than a few."""
    if isinstance(batch.records, Records):
        packed = batch.records.data[ATTRIBUTES] & COMPRESSION
        most = UNPACKED if packed else READABLE
        readable = batch.size <= most and batch.count <= COUNTABLE
        pairs = batch.records.texts(LEAST) if readable else []
        return [name_record(key, value) for key, value in pairs]
    names = (
        name
        for o in batch.records
        for name in (o.positions if isinstance(o, Offsets) else (getattr(o, "label", o),))
    )
    return [label(str(name)) for name in names][-LEAST:]


def name_record(key: bytes | None, value: bytes | None) -> str:
    """The value where it is short, else the key, else the beginning of the value."""
    text, name = read_text(value), read_text(key)
    return text if text and len(text) <= LABEL else label(name or text) or "·"


# ---- From steps to facts: a lesson's `Run`, of a server that goes on ---------------------
#
# The broker's front is invisible: a client's request is shown as sent to the role that decides, an
# answer as coming from it. What only fills the page is left out: fetches that found nothing, long
# polls, what the metadata answered.

SILENT = (Watch, Unwatch, Watched)
POLLING = (Fetch, ListOffsets)  # asked again and again; of interest is an answer with records


class Observer(Teller):
    """`listener`, where given, is called with each fact, the model being as it was just then.
    `off`: safeguards that are switched off."""

    def __init__(
        self,
        coordinator: str,
        started_ms: int,
        log: Callable[[str], Any],
        off: tuple[str, ...] = (),
    ) -> None:
        self.model = Model(coordinator)
        super().__init__(self.model.lanes, started_ms)
        self.off = off
        self.draw = self.model.draw
        self.coordinator = coordinator
        self._log = log

    def explain(self, fact: Fact) -> Text:
        return explain_fact(fact, self.model.find_kind)

    def _say_why(self, fact: Fact, telling: Telling) -> Text:
        return say_unguarded(super()._say_why(fact, telling), self.off, UNGUARDED)

    def _tell(self, fact: Fact, telling: Telling, why: Text) -> Text:
        return say_unguarded(super()._tell(fact, telling, why), self.off, UNGUARDED)

    def tell_step(self, name: str, role: Any, event: Event | None, effects: Effects) -> None:
        """What a role recovered, which event it took, and each of its effects."""
        if isinstance(role, Held):  # a request waits at the gate
            self._take_held(role.role, event, effects)
            return
        if isinstance(role, StateReader):
            return  # it only reads what another has written
        before = self.model.roles.get(name)
        self.model.roles[name] = role
        if name == BROKER:
            self._take_front(role, event, effects)
        elif event is None:  # it has just started
            self._take_recovered(name, role)
        else:
            self._tell_event(name, before, role, event)
            for effect in effects:
                self._tell_effect(name, event, effect)

    def note_step(self, name: str, role: Any, event: Event | None, effects: Effects) -> None:
        if isinstance(role, Held):
            return  # a request that is held at the gate: nothing has happened yet
        self.model.roles[name] = role
        if name == BROKER:
            if isinstance(event, Request) and isinstance(event.body, Ask):
                self._seen(event.caller.name, event.body)
            self._forget_deleted(effects)
        elif event is None:  # it has just started
            self._take_recovered(name, role)
        else:
            for effect in effects:
                if isinstance(effect, Append):
                    self.model.note_append(effect.log, effect.entry)

    # -- clients and the front -----------------------------------------------------------------

    def _take_front(self, broker: Any, event: Event | None, effects: Any) -> None:
        """What the front sends on is shown as the client's own request."""
        if isinstance(event, Request) and isinstance(event.body, Ask):
            self._seen(event.caller.name, event.body)
            if self.held.pop(event.caller, 0):
                effects = ()  # what it sends was shown when it came to the gate
        for effect in effects:
            if isinstance(effect, Send) and not isinstance(effect.body, (Fetch, *SILENT)):
                waiting = broker.open.get(effect.corr >> PARTS)
                if waiting is not None:
                    self._sent(waiting.caller.name, effect)
        self._forget_deleted(effects)

    def _take_held(self, broker: Any, event: Event | None, effects: Any) -> None:
        """A request that waits at the gate is shown as sent; `broker`: as it would be."""
        next_fact = self.facts + 1
        self._take_front(broker, event, effects)
        if self.facts >= next_fact and isinstance(event, Request):
            self.held[event.caller] = next_fact

    def _forget_deleted(self, effects: Any) -> None:
        topics = {
            effect.key
            for effect in effects
            if isinstance(effect, Put) and effect.table == "topics" and effect.value is None
        }
        if topics:
            self.model.note_deletion(topics)

    def _seen(self, conn: str, ask: Ask) -> None:
        body = ask.body
        known = self.lanes.conns.get(conn)
        fetches = hasattr(body, "isolation_level") or hasattr(body, "require_stable")
        what = words.READER if fetches else (known.what if known else words.PRODUCER)
        title = find_name(body) or (known.title if known else "") or ask.client or conn
        self.lanes.note_client(conn, title, what)

    # -- roles ---------------------------------------------------------------------------------

    def _take_recovered(self, name: str, new: Any) -> None:
        if hasattr(new, "part") and name not in self.model.tails:
            self.model.note_recovery(name, self._log(name))
        empty = hasattr(new, "part") and not new.part.hw
        if name in self.lanes.used or (name == self.coordinator and new.entries):
            if not empty and self.lanes.admit(name, self.steps):
                self._add_recovery(name, new)

    def _tell_event(self, name: str, old: Any, new: Any, event: Event) -> None:
        """What precedes the effects: a timer, a frontier that moved."""
        if isinstance(event, Fired):
            self._add_timer(name, event.timer)
        if old is not None and name in self.lanes.used:
            for text in new.describe_changes(old):
                self._add_change(name, text, self._explain_change(name, event))

    def _tell_effect(self, name: str, event: Event, effect: Any) -> None:
        model = self.model
        if isinstance(effect, Append):
            log, entry = effect.log, effect.entry
            model.note_append(log, entry)
            self._fact(name, "disk", effect, lambda: self._explain_append(log, entry))
        elif isinstance(effect, Send):
            self._sent(name, effect)
        elif isinstance(effect, Reply) and effect.caller.name == BROKER:
            self._answered(name, event, effect)
        elif isinstance(effect, Reply):
            self._replied(name, effect, event.body if isinstance(event, Request) else None)

    def _answered(self, name: str, event: Event, effect: Reply) -> None:
        """An answer to the front is an answer to its client."""
        waiting: Gathering | None = self.model.roles[BROKER].open.get(effect.caller.corr >> PARTS)
        body = effect.body
        if waiting is None or isinstance(body, SILENT):
            return
        conn = waiting.caller.name
        question = event.body if isinstance(event, Request) else None
        if isinstance(body, FetchResponse):
            if not body.batches:
                return
            self._sent(conn, Send(name, question))
        # Where the answer had to wait for a record to be safe, the event is not the question.
        self._replied(name, Reply(Caller(conn), body), question, find_txn_id(waiting.ask.body))

    def _sent(self, node: str, effect: Send) -> None:
        body = effect.body

        def explain() -> Telling:
            telling = explain_request(self.model, node, body)
            return replace(telling, fold=telling.fold or isinstance(body, POLLING))

        self._fact(node, effect.to, effect, explain)

    def _replied(self, node: str, effect: Reply, question: object, txn_id: str = "") -> None:
        model, peer, body = self.model, effect.caller.name, effect.body
        self._fact(node, peer, effect, lambda: explain_answer(model, node, question, body, txn_id))

    def _explain_append(self, log: str, entry: Any) -> Telling:
        """Of an append of which the model has taken note."""
        if isinstance(entry, StateRecord):
            return explain_record(self.model, entry.entry)
        if not isinstance(entry, Batch):
            return Telling(fold=True)
        return explain_batch(self.model.find_txn(log, entry.base), entry)

    def _explain_change(self, name: str, event: Event) -> Telling:
        model, part, newest, txn = self.model, None, None, ""
        if isinstance(event, Appended) and model.find_kind(name) is Kind.PARTITION:
            part, newest = model.find_part(name), model.find_batch(name, event.end)
            txn = model.find_txn(name, newest.base) if newest is not None else ""
        return explain_change(model, event, part, newest, txn)


def find_name(body: object) -> str:
    """What a client is called by a request of the wire: by its transactional id or its group, which
    it says first where it asks for their coordinator; "" where it says neither."""
    keys = getattr(body, "coordinator_keys", None) or (getattr(body, "key", ""),)
    return find_txn_id(body) or str(getattr(body, "group_id", None) or keys[0])


def find_txn_id(body: object) -> str:
    """The transactional id in a request of the wire; "" where it has none."""
    names = ("transactional_id", "v3_and_below_transactional_id")
    return next((value for name in names if (value := getattr(body, name, None))), "")
