"""From the admin interface's answers to a Reading.

The coordinators know which transactions live; a topic knows how many are open in it, and that all
after its maxReadPosition waits for the oldest of these. So each topic is asked first, then the
coordinators for their transactions, then the topics that are held back once more: where its place
is the same, and no coordinator has a transaction that begins there, what holds it back will never
be ended.

Offsets count the entries of the topic's ledgers that are still there.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...kernel import Cell, Frontier, Text, Words, frozen, replace, tr
from ...pulsar.picture.snapshot import MAX_READ
from ..asking import Refused, attempt
from ..reading import Ask, Gap, LogRead, Position, Reading, Txn, Unreadable
from .admin import SPACE, Live, Saved

MOST_TXNS, MOST_TOPICS, MOST_SPACES, MOST_DRAWN, MOST_CELLS = 500, 200, 50, 16, 200
AROUND, LONGEST = 4, 12
SETTLED, PATIENCE = ("Ready", "NoSnapshot"), 6
MARKERS = {"21": "C", "22": "A"}
OWN_CURSORS = ("__", "pulsar.repl.", "pulsar.dedup")  # of Pulsar itself
INTERNAL = re.compile(r"__|.*__transaction_pending_ack$|transaction_coordinator_assign")
UNLOADED = re.compile("coordinator not found", re.IGNORECASE)
COORDINATORS, SLOW = tr("transaction coordinators"), tr("the transactions of the coordinators")
NAMESPACES, OF_TOPIC = tr("namespaces"), Words("{what} of {topic}")
UNLISTED = Words(
    "{n} transactions are in progress, and {m} are listed: some may have ended meanwhile, or wait "
    "for a participant that does not answer (4.0 lists none of those); run it again"
)
FILTERED = tr(
    "the list may contain only those older than the time that was given with -t, or one "
    "coordinator's: what is not in it may be in progress. Add what `pulsar-admin transactions "
    "coordinator-stats` prints, which says how many there are"
)
BUSY = Words(
    "{n} transactions are in progress; a request for each would be a burden, so none was sent"
)
REST = Words("topics beyond {most}")
MANY = tr("there are more than one request covers; name one with --topic")
BUFFER, PENDING, STATS, SUBS, ENTRIES = (
    tr("transaction buffer"), tr("pending acknowledgements"), tr("statistics"),
    tr("subscriptions"), tr("entries"),
)  # fmt: skip


#: an entry: its offset, its transaction, C or A of a marker, what may be shown, whether aborted
Row = tuple[int, str, str, str, bool]


@frozen
class Topic:
    """`readable`: the offset after maxReadPosition; `place`: that position, as the broker writes
    it; `next_open`: the live transactions that begin there, None where no coordinator reports them;
    `open`, `aborted`, `committed`: how many transactions; `recovers`: its buffer reads its log;
    `refused`: the broker's words where it cannot load the topic."""

    name: str
    end: int = 0
    state: str = ""
    place: str = ""
    readable: int = 0
    open: int = 0
    recovers: bool = False
    aborted: int = 0
    committed: int = 0
    refused: str = ""
    next_open: tuple[str, ...] | None = None


@frozen
class Pending:
    """The pending acks of a subscription, `sub`. `open`: of how many transactions; `of`: the live
    ones that acknowledge there, None where no coordinator reports them."""

    topic: str
    sub: str
    state: str
    open: int
    of: tuple[str, ...] | None = None


@frozen
class Facts:
    """What the judges ask. `states`: of the coordinators; `unloaded`: the broker's words where none
    is loaded; `missing`: a topic that a transaction names and that is not there."""

    states: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    pending: tuple[Pending, ...] = ()
    unloaded: str = ""
    missing: str = ""


class Ledgers:
    """The entries of a topic, counted through its ledgers."""

    def __init__(self, stats: dict[str, Any]) -> None:
        self._first: list[tuple[int, int]] = []
        last, last_entry = _split(stats["lastConfirmedEntry"])
        self.end = 0
        for row in stats["ledgers"]:
            number = int(row["ledgerId"])
            self._first.append((number, self.end))
            self.end += last_entry + 1 if number == last else int(row["entries"])

    def after(self, place: str) -> int:
        """The offset after a position."""
        ledger, entry = _split(place)
        first = [(number, begin) for number, begin in self._first if number <= ledger]
        number, begin = first[-1] if first else (ledger, -entry - 1)
        return min(begin + entry + 1, self.end) if number == ledger else self.end

    def place(self, offset: int) -> tuple[int, int]:
        ledger, first = [one for one in self._first if one[1] <= offset][-1]
        return ledger, offset - first


def read_admin(admin: Live | Saved, ask: Ask) -> Reading:
    return _Reader(admin, ask).read()


@dataclass
class _Reader:
    admin: Live | Saved
    ask: Ask
    logs: list[LogRead] = field(default_factory=list)
    txns: list[Txn] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    starts: dict[tuple[str, str], str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    unloaded: str = ""  # the broker's words where no coordinator is loaded
    missing: str = ""  # a topic that a transaction names and that is not there
    listed: bool = False  # whether the coordinators have listed their open transactions

    def read(self) -> Reading:
        """Read the coordinators' statistics, the topics, then the open transactions (where a
        coordinator is loaded and they are few enough), and last the topics' subscriptions. A
        refused request costs its part only, and is noted as a gap. Raises Unreadable where nothing
        was learned of a coordinator, a transaction or what is open in a topic (`told`)."""
        # (_try: a request's result, or the second argument where it is refused)
        states, open_count = self._try(COORDINATORS, ((), 0), self._read_coordinators)
        topics_read = [self._read_topic(name) for name in self._list_topics()]
        if open_count > MOST_TXNS:
            self.admin.gaps.append(Gap(SLOW, BUSY(n=open_count)))
        elif not self.unloaded:
            self.listed = self._try(SLOW, False, self._read_open_txns)
            if self.listed and len(self.txns) < open_count:
                gap = Gap(SLOW, UNLISTED(n=open_count, m=len(self.txns)), failed=True)
                self.admin.gaps.append(gap)
            # filtered: a saved list, which may have been made with -t or of one coordinator
            whole = not self.admin.filtered or (states and len(self.txns) >= open_count)
            if self.listed and not whole:
                self.listed = False
                self.admin.gaps.append(Gap(SLOW, FILTERED))
        # only now is it known which transactions are open
        topics = []
        for topic, stats, internal, ledgers in topics_read:
            topic = self._try(_of(BUFFER, topic.name), topic, self._find_next_open, topic)
            topics.append(topic)
            if ledgers is not None:
                what = _of(SUBS, topic.name)
                self._try(what, None, self._read_subs, topic, stats, internal, ledgers)
                self._draw(topic, ledgers)
            read = {p.sub for p in self.pending if p.topic == topic.name}
            for sub in set(self.admin.subs(topic.name)) - read:
                what = _of(PENDING, f"{topic.name}/{sub}")
                self._try(what, None, self._read_pending, topic.name, sub)
        told = states or self.txns or self.listed or self.logs or self.pending or self.unloaded
        told = told or any(self.admin.lives or one.state or one.refused for one in topics)
        if not told and self.admin.gaps:
            first = next((gap for gap in self.admin.gaps if gap.failed), self.admin.gaps[0])
            buffers = (gap for gap in self.admin.gaps if gap.what.en.startswith(BUFFER.en))
            if topics:
                first = next(buffers, first)
                raise Unreadable(
                    "{} does not say what is open: {}: {}", self.admin.name, first.what, first.why
                )
            raise Unreadable(
                "{} refuses to be read: {}: {}", self.admin.name, first.what, first.why
            )
        facts = Facts(
            states, tuple(topics), tuple(self.pending), self.unloaded, self.missing
        )  # fmt: skip
        at_ms = self.admin.at_ms or self.ask.now_ms
        return Reading(
            "pulsar", self.admin.name, at_ms, tuple(self.logs), tuple(self.txns),
            tuple(self.positions), tuple(self.admin.gaps), facts,
        )  # fmt: skip

    def _try(self, what: Text, otherwise: Any, ask: Callable[..., Any], *args: object) -> Any:
        return attempt(self.admin.gaps, what, otherwise, ask, *args)

    def _get_noting_missing(self, path: str) -> Any:
        """The answer; of a refusal those words are kept that say what is wrong."""
        try:
            return self.admin.get(path)
        except Refused as refused:
            if UNLOADED.search(str(refused)):
                self.unloaded = str(refused)
            if missing := re.search(r"Topic not found (\S+)", str(refused)):
                self.missing = _bare_name(missing[1])
            raise

    # -- transactions and topics -----------------------------------------------------------

    def _read_coordinators(self) -> tuple[tuple[str, ...], int]:
        """Their states, and how many transactions are live."""
        rows = self._get_noting_missing("coordinatorStats").values()
        return tuple(str(row["state"]) for row in rows), sum(row["ongoingTxnSize"] for row in rows)

    def _read_open_txns(self) -> bool:
        """Read the open transactions that the coordinators list (slowTransactions with a timeout of
        0) into `txns`: their state, and the topics and subscriptions they take part in. Returns
        True; where it is refused, `_try` returns False instead."""
        rows = self._get_noting_missing("slowTransactions/0").values()
        for row in sorted(rows, key=lambda row: (int(row["openTimestamp"]), row["txnId"])):
            name, produced = str(row["txnId"]), row.get("producedPartitions") or {}
            for topic, details in produced.items():
                # where the transaction begins in this topic, "LEDGER:ENTRY"
                self.starts[_bare_name(topic), name] = details.get("startPosition") or ""
            acked = (row.get("ackedPartitions") or {}).items()
            places = [
                *map(_bare_name, produced),
                *(f"{_bare_name(t)}/{sub}" for t, subs in acked for sub in subs),
            ]
            self.txns.append(Txn(
                self._label(name), name, str(row["status"]),
                # (a transaction's name is "(COORDINATOR,NUMBER)"; timeoutAt is a duration)
                f"coordinator {name[1:].partition(',')[0]}", tuple(places),
                since_ms=int(row["openTimestamp"]), timeout_ms=int(row["timeoutAt"]),
                source=f"{self.admin.name} slowTransactions",
            ))  # fmt: skip
        return True

    def _label(self, name: str) -> str:
        return self.labels.setdefault(name, f"T{len(self.labels) + 1}")

    def _list_topics(self) -> list[str]:
        """Return the names of the topics to read, TENANT/NAMESPACE/TOPIC: the one that was asked
        for, or its partitions, or all that are not internal. Those beyond MOST_TOPICS are cut off,
        which is noted as a gap."""
        wanted, names = _bare_name(self.ask.topic), self.admin.topics()
        space = wanted.rpartition("/")[0] or "/".join(SPACE)
        if names is None:  # a running broker, which lists them by namespace
            spaces = [space] if wanted else self._try(NAMESPACES, [space], self._list_spaces)
            paths = [f"persistent/{one}" for one in spaces]
            lists = (self._try(NAMESPACES, [], self.admin.get, path) for path in paths)
            names = [_bare_name(name) for names in lists for name in names]
        base = re.escape(f"{space}/{wanted.rpartition('/')[2]}")
        number = self.ask.partition
        parts = re.compile(base + (r"(-partition-\d+)?" if number < 0 else f"-partition-{number}"))
        names = sorted(
            name for name in names
            if (parts.fullmatch(name) if wanted else not INTERNAL.match(name.rpartition("/")[2]))
        )  # fmt: skip
        if len(names) > MOST_TOPICS:
            self.admin.gaps.append(Gap(REST(most=MOST_TOPICS), MANY))
        return names[:MOST_TOPICS]

    def _list_spaces(self) -> list[str]:
        tenants = self.admin.get("/admin/v2/tenants")
        found = [space for tenant in tenants for space in self.admin.get(f"namespaces/{tenant}")]
        return [space for space in found if space != "pulsar/system"][:MOST_SPACES]

    def _read_topic(
        self, name: str
    ) -> tuple[Topic, dict[str, Any], dict[str, Any], Ledgers | None]:
        """Read a topic's statistics, which also loads it (before, its buffer says nothing), then
        its ledgers and its transaction buffer. Returns (topic, stats, internal stats, ledgers); {}
        or None for what was refused, and a topic with nothing but its name."""
        self.ask.say(name)
        topic = Topic(name)
        try:
            stats = self.admin.get(f"persistent/{name}/stats")
        except Refused as refused:
            self.admin.gaps.append(Gap(_of(STATS, name), refused.why, refused.failed))
            # 500 and more: it cannot be loaded, so the rest would be refused too
            topic = replace(topic, refused=str(refused) if refused.code >= 500 else "")
            stats = {}
        internal, ledgers = {}, None
        if not topic.refused:
            path, what = f"persistent/{name}/internalStats", _of(STATS, name)
            internal = self._try(what, {}, self.admin.get, path)
            ledgers = self._try(what, None, Ledgers, internal) if internal else None
            topic = replace(topic, end=ledgers.end if ledgers else 0)
            topic = self._try(_of(BUFFER, name), topic, self._read_buffer, name, stats, ledgers)
        return topic, stats, internal, ledgers

    def _read_buffer(self, name: str, stats: dict[str, Any], ledgers: Ledgers | None) -> Topic:
        """Of a topic that the question has loaded it recovers for a moment."""
        for _ in range(PATIENCE if self.admin.lives else 1):
            answer = self.admin.get(f"transactionBufferStats/{name}")
            if answer["state"] in SETTLED or not self.admin.lives:
                break
            time.sleep(0.5)
        place = str(answer["maxReadPosition"])
        return Topic(
            name, ledgers.end if ledgers else 0, str(answer["state"]), place,
            ledgers.after(place) if ledgers else 0, int(answer["ongoingTxnSize"]),
            0 < int(answer.get("recoverStartTime", 0)) > int(answer.get("recoverEndTime", 0)),
            int(stats.get("abortedTxnCount", 0)), int(stats.get("committedTxnCount", 0)),
        )  # fmt: skip

    def _find_next_open(self, topic: Topic) -> Topic:
        """Add to a topic that is held back which open transactions begin right after its
        maxReadPosition (`next_open`). A live broker is asked once more first: if that position has
        moved on, or nothing is open any more, the topic is returned as one that is not held
        back."""
        if not topic.open or not (self.listed or self.txns):
            return topic
        if self.admin.lives:
            again = self.admin.get(f"transactionBufferStats/{topic.name}")
            if again["maxReadPosition"] != topic.place or not again["ongoingTxnSize"]:
                return replace(topic, open=0)  # it has moved on
        ledger, entry = _split(topic.place)
        # by transaction, where it begins in this topic
        starts = {
            txn: _split(at) for (name, txn), at in self.starts.items() if name == topic.name and at
        }
        # the first entry of a ledger may come right after the last one of the ledger before it
        next_ones = [(ledger, entry + 1), *((at[0], 0) for at in starts.values() if at[0] > ledger)]
        next_txns = [txn for txn, at in starts.items() if at in next_ones]
        return replace(topic, next_open=tuple(next_txns) if next_txns or self.listed else None)

    # -- subscriptions and entries ---------------------------------------------------------

    def _read_subs(
        self, topic: Topic, stats: dict[str, Any], internal: dict[str, Any], ledgers: Ledgers
    ) -> None:
        """Read the subscriptions of a topic into `positions`: the position of each, with the open
        transactions that acknowledge in it; and its pending acknowledgements into `pending`.
        `stats`, `internal`: the topic's statistics and internal statistics."""
        stats_of = stats.get("subscriptions") or {}
        for sub, cursor in sorted((internal["cursors"] or {}).items()):
            if sub.startswith(OWN_CURSORS):
                continue
            found, where = stats_of.get(sub, {}), f"{topic.name}/{sub}"
            txns = [txn for txn in self.txns if where in txn.where]
            self.positions.append(Position(
                sub, topic.name, ledgers.after(cursor["markDeletePosition"]), ledgers.end,
                str(found.get("type", "")),
                tuple(txn.label for txn in txns), f"{self.admin.name} {topic.name}/internalStats",
                (("consumers", str(len(found.get("consumers", ())))),
                 ("backlog", str(found.get("msgBacklog", "?")))) if found else (),
            ))  # fmt: skip
            self._try(_of(PENDING, where), None, self._read_pending, topic.name, sub)

    def _read_pending(self, topic: str, sub: str) -> None:
        answer = self.admin.get(f"pendingAckStats/{topic}/{sub}")
        names = tuple(txn.name for txn in self.txns if f"{topic}/{sub}" in txn.where)
        of = names if names or self.listed else None
        state, count = str(answer["state"]), int(answer["ongoingTxnSize"])
        self.pending.append(Pending(topic, sub, state, count, of))
        if not any((one.group, one.log) == (sub, topic) for one in self.positions):
            more = (("open", str(count)),)
            self.positions.append(Position(sub, topic, -1, -1, state, more=more))

    def _draw(self, topic: Topic, ledgers: Ledgers) -> None:
        """A topic's ends, and its entries around them where something waits, or it was asked
        for."""
        cells: tuple[Cell, ...] = ()
        rows: list[Row] = []
        drawn = sum(bool(log.cells) for log in self.logs) < MOST_DRAWN
        if drawn and (self.ask.topic or (topic.state and topic.readable < topic.end)):
            cells = self._try(_of(ENTRIES, topic.name), (), self._cells, topic, ledgers, rows)
        known = bool(topic.state)  # whether its buffer has answered
        flags = (Frontier(MAX_READ, topic.readable, inclusive=True),) * known
        counts = (("open", topic.open), ("committed", topic.committed), ("aborted", topic.aborted))
        source = f"{self.admin.name} {topic.name}"
        log = LogRead(topic.name, 0, topic.end, flags, cells, counts * known, source, tuple(rows))
        self.logs.append(log)

    def _cells(self, topic: Topic, ledgers: Ledgers, rows: list[Row]) -> tuple[Cell, ...]:
        """Read the entries around maxReadPosition and the end of a topic, or those that were asked
        for (MOST_CELLS of them), with a request each. `ledgers` finds the ledger and entry of an
        offset. Returns them as cells of the picture, and adds to `rows` what the engine needs of
        them."""
        at, end, ask, cells = topic.readable, topic.end, self.ask, list[Cell]()
        spans = [(at - AROUND, at + AROUND), (end - AROUND, end)]
        if ask.first or ask.last >= 0:
            last = ask.last + 1 if ask.last >= 0 else end
            spans = [(ask.first, min(last, ask.first + MOST_CELLS))]
        for offset in sorted({n for a, b in spans for n in range(max(a, 0), min(b, end))}):
            ledger, entry = ledgers.place(offset)
            path = f"persistent/{topic.name}/ledger/{ledger}/entry/{entry}"
            headers, body = self.admin.entry(path, ask.payloads)
            fields = {key.removeprefix("x-pulsar-"): value for key, value in headers.items()}
            label = MARKERS.get(fields.get("marker-type", ""), "")
            most, least = fields.get("txnid-most-bits"), fields.get("txnid-least-bits")
            txn_name = f"({most},{least})" if least is not None else ""
            txn = self._label(txn_name) if txn_name else ""
            aborted = fields.get("txn-aborted") == "true" and not label
            kind = "control" if label else "data"
            readable = offset < topic.readable and not aborted
            # (`label`: of a marker, "" for a message)
            rows.append((offset, txn_name, label, body[:LONGEST], aborted))
            label = label or body[:LONGEST] or "·"
            cells.append(Cell(offset, label, kind, txn, readable, aborted))
        return tuple(cells)


def _split(place: str) -> tuple[int, int]:
    ledger, entry, *_ = place.split(":")
    return int(ledger), int(entry)


def _bare_name(name: str) -> str:
    return name.removeprefix("persistent://")


def _of(what: Text, topic: str) -> Text:
    return OF_TOPIC(what=what, topic=topic)
