"""From a broker or its folder to a Reading.

The broker keeps no list of open transactions: a half message is undecided when the check has not
passed it and no op record names it. So the half messages from the check's position on are read, and
then the op records from theirs on: in this order, since an end that comes between them is then
seen. Of several copies of one half message the last counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from ...kernel import Cell, Frontier, Text, Words, frozen, replace, tr
from ...rocketmq.check import REMOVE_TAG
from ...rocketmq.config import DISCARD_TOPIC, DLQ_PREFIX, HALF_TOPIC, OP_TOPIC, TRANS_GROUP
from ...rocketmq.messages import (
    CHECK_IMMUNITY,
    CHECK_TIMES,
    PGROUP,
    PREPARED_QUEUE_OFFSET,
    REAL_QID,
    REAL_TOPIC,
    TAGS,
    UNIQ_KEY,
    name_queue,
)
from ...rocketmq.picture.snapshot import CHECK_CURSOR, OP_CURSOR
from ...rocketmq.remoting import MessageRecord
from ..asking import Refused, attempt
from ..reading import Ask, Gap, LogRead, Position, Reading, Txn, Unreadable
from .folder import Store
from .remote import Broker

MOST_HALVES, MOST_OPS, MOST_PARKED = 10_000, 50_000, 200
MOST_TOPICS, MOST_DRAWN, MOST_LAGS, MOST_SHOWN = 200, 16, 50, 200
AROUND, LONGEST = 4, 12
KEPT = 40  # records from the check's positions on, for what may happen next
#: of RocketMQ itself; a group or a topic of a user begins otherwise
SYSTEM = (
    "rmq_sys_", "RMQ_SYS_", "CID_RMQ_SYS_", "SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC", "TBW102",
    "OFFSET_MOVED_EVENT", "BenchmarkTest", DISCARD_TOPIC,
)  # fmt: skip
#: RocketMQ's defaults; its interval is half of this from 5.1.1 on
DEFAULTS = {
    "transactionTimeOut": 6_000, "transactionCheckInterval": 60_000, "transactionCheckMax": 15
}  # fmt: skip
SETTINGS, TOPICS, PRODUCERS = tr("the broker's settings"), tr("topics"), tr("producer groups")
PLACES, READERS = tr("positions of groups"), Words("who reads for group {group}")
HALVES = tr("half messages that are undecided or set aside")
REST, MANY = Words("{what} beyond {most}"), tr("there are more; name one with --topic")
TOO_MANY = Words("{n} more were stored than are read at once")
#: of 5.5 with transRocksDBEnable=true and transWriteOriginTransHalfEnable=false
ROCKSDB_HALF = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"
IN_ROCKSDB = Words(
    "{n} half messages and copies; which of them are undecided, and how often each was checked, is "
    "in RocksDB (transRocksDBEnable=true, transWriteOriginTransHalfEnable=false), which is not "
    "read. --topic {topic} shows the messages; with transWriteOriginTransHalfEnable=true, the "
    "default, new ones are read here"
)
PAST_END = Words(
    "{group} reads next {at}, after the end, {end}: what it has read is missing here. The queue's "
    "file may be damaged, or its topic was made again"
)
OPS_LEFT = Words(
    "{n} more than are read at once, so a half message that is called undecided may have ended"
)


@frozen
class Half:
    """A half message that no op record names, or that was set aside. `queue`: for which it is
    meant; `times`: how often the check came by; `patience_ms`: from which age on it is asked
    about."""

    key: str
    group: str
    queue: str
    offset: int
    times: int
    born_ms: int
    stored_ms: int
    patience_ms: int
    msg_id: str


@frozen
class Lag:
    """A group that has not read all of a queue. `oldest_ms`: when the first message that it has
    not read was stored; -1: unknown; so `readers`."""

    group: str
    queue: str
    at: int
    end: int
    oldest_ms: int
    readers: int


@frozen
class Facts:
    """What the judges ask. `registered`: producer groups with a live client, None where unknown;
    `check_at`: the check's position, -1 where unknown; `dead`: queues of dead letters,
    and how many are in each; `ended`: the places in the half topic that op records name."""

    halves: tuple[Half, ...]
    parked: tuple[Half, ...]
    registered: frozenset[str] | None
    check_at: int
    interval_ms: int
    check_max: int
    lags: tuple[Lag, ...]
    dead: tuple[tuple[str, int], ...]
    ended: frozenset[int] = frozenset()


def read_source(source: Broker | Store, ask: Ask) -> Reading:
    return _Reader(source, ask).read()


@dataclass
class _Reader:
    source: Broker | Store
    ask: Ask
    logs: list[LogRead] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    lags: list[Lag] = field(default_factory=list)
    dead: list[tuple[str, int]] = field(default_factory=list)  # (queue, dead letters in it)
    ended: frozenset[int] = frozenset()  # the offsets in the half topic that op records name
    readers: dict[str, int] = field(default_factory=dict)
    # by (group, topic, queue): the group's committed offset; the check is a group too
    places: Mapping[tuple[str, str, int], int] = field(default_factory=dict)

    def read(self) -> Reading:
        """Read the broker's settings, the half messages that are undecided, those that the check
        has set aside, the topics' queues and the groups' positions. A refused request costs its
        part only, and is noted as a gap; raises Unreadable where all are refused."""
        source = self.source
        settings = self._try(SETTINGS, {}, source.settings)
        # ms until a half message is checked, ms between two checks, and the most checks of one
        timeout, interval, most = (_number(settings, name, n) for name, n in DEFAULTS.items())
        topics = self._try(TOPICS, {}, source.topics)
        places = self._try(PLACES, None, source.places)
        self.places = places or {}
        # fills `logs` and `ended` too; `check_at`: how far the check has read the half topic
        halves, check_at = self._read_halves(timeout)
        off = settings.get("transRocksDBEnable") == "false"
        # how many half messages 5.x keeps in RocksDB, which is not read here
        if kept := 0 if off else sum(b - a for a, b in self._rocksdb_bounds(topics)):
            why = IN_ROCKSDB(n=kept, topic=ROCKSDB_HALF)
            source.gaps.append(Gap(Text(ROCKSDB_HALF), why, failed=True))
        parked = self._read_parked(timeout)
        # where the check's position is lost, half messages that it has set aside are read as
        # undecided too; with another number of checks it is one that was put back since
        given_up = {(half.key, half.times) for half in parked}
        halves = [half for half in halves if (half.key, half.times) not in given_up]
        for half in (*halves, *parked):
            self.labels.setdefault(half.key, f"T{len(self.labels) + 1}")
        self.logs = [self._label(log) for log in self.logs]  # those read before their labels
        # fills `positions`, `lags` and `dead`
        self._read_topics(topics, {half.queue for half in halves})
        if not (settings or topics or self.logs) and source.gaps:
            worst = next((gap for gap in source.gaps if gap.failed), source.gaps[0])
            raise Unreadable("{} refuses to be read: {}: {}", source.name, worst.what, worst.why)
        groups = {half.group for half in halves}
        producers = self._try(PRODUCERS, None, source.producers, groups) if groups else None
        # -1: the positions could not be read, so the check's is not known either
        facts = Facts(
            tuple(halves), tuple(parked), producers, -1 if places is None else check_at, interval,
            most, tuple(self.lags), tuple(self.dead), self.ended,
        )  # fmt: skip
        txns = [self._txn(half, HALF_TOPIC, "undecided") for half in halves]
        txns += [self._txn(half, DISCARD_TOPIC, "set aside") for half in parked]
        if len(txns) > MOST_SHOWN:
            source.gaps.append(Gap(REST(what=HALVES, most=MOST_SHOWN), MANY))
        return Reading(
            "rocketmq", source.name, source.now_ms, tuple(self.logs), tuple(txns[:MOST_SHOWN]),
            tuple(self.positions), tuple(source.gaps), facts,
        )  # fmt: skip

    def _try(self, what: Text, otherwise: Any, ask: Callable[..., Any], *args: object) -> Any:
        return attempt(self.source.gaps, what, otherwise, ask, *args)

    def _records(self, topic: str, queue: int, first: int, end: int) -> Iterator[MessageRecord]:
        """Until the source refuses."""
        name = name_queue(topic, queue)
        try:
            for n, record in enumerate(self.source.records(topic, queue, first, end), 1):
                if n % 1_000 == 0:
                    self.ask.say(f"{name}: {first + n}/{end}")
                yield record
        except Refused as refused:
            self.source.gaps.append(Gap(Text(name), refused.why, refused.failed))

    def _bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        found: dict[int, tuple[int, int]]
        found = self._try(Text(topic), {}, self.source.bounds, topic)
        return found

    def _rocksdb_bounds(self, topics: Collection[str]) -> Iterable[tuple[int, int]]:
        return self._bounds(ROCKSDB_HALF).values() if ROCKSDB_HALF in topics else ()

    # -- half messages -----------------------------------------------------------------

    def _start(self, topic: str, most: int, words: Words) -> tuple[tuple[int, int], int, int]:
        """A topic's bounds, the check's position in it, and where reading stops."""
        first, end = self._bounds(topic).get(0, (0, 0))
        at = self.places.get((TRANS_GROUP, topic, 0), first)
        self._check_position(topic, TRANS_GROUP, at, end)
        stop = min(end, max(at, first) + most)
        if stop < end:
            self.source.gaps.append(Gap(REST(what=topic, most=stop), words(n=end - stop)))
        return (first, end), at, stop

    def _read_halves(self, timeout: int) -> tuple[list[Half], int]:
        """Return the half messages that were asked for, from the check's position on, that no op
        message has decided, and that position. `timeout`: the age in ms from which one is checked,
        where it has none of its own. Also notes both logs, and sets `ended`."""
        bounds, check_at, stop = self._start(HALF_TOPIC, MOST_HALVES, TOO_MANY)
        cells, half_by_key = list[Cell](), dict[str, tuple[Half, set[int]]]()
        rows = list[MessageRecord]()
        for record in self._records(HALF_TOPIC, 0, max(bounds[0], check_at - AROUND), stop):
            half = _half(record, timeout)
            cells.append(self._cell(record, half))
            if half.offset >= check_at:
                if len(rows) < KEPT:
                    rows.append(record)
                # by key, the last copy counts; an op message names it or the one it is a copy of
                offsets = {half.offset, _number(record.properties, PREPARED_QUEUE_OFFSET, -1)}
                # no copy: the client has sent it again, as the answer was lost
                if CHECK_TIMES not in record.properties and half.key in half_by_key:
                    half_by_key[f"{half.key}@{half.offset}"] = half_by_key.pop(half.key)
                half_by_key[half.key] = (half, offsets)
        ended = self._read_ops(check_at)
        self.ended = frozenset(ended)
        halves = [half for half, offsets in half_by_key.values() if not offsets & ended]
        counts = (("read", len(cells)), ("undecided", len(halves)))
        self._note(HALF_TOPIC, bounds, (Frontier(CHECK_CURSOR, check_at),), cells, counts, rows)
        self.logs.reverse()  # `_read_ops` has noted its log first, which is shown below
        return [half for half in halves if self._is_wanted(half)], check_at

    def _read_ops(self, since: int) -> set[int]:
        """The places in the half topic that op records name, from the check's position on."""
        bounds, at, stop = self._start(OP_TOPIC, MOST_OPS, OPS_LEFT)
        ended, cells, rows = set[int](), list[Cell](), list[MessageRecord]()
        for record in self._records(OP_TOPIC, 0, max(bounds[0], at - AROUND), stop):
            body = record.body.decode(errors="replace").strip(",")
            if record.properties.get(TAGS) == REMOVE_TAG:
                named = (int(part) for part in body.split(",") if part.strip().isdecimal())
                ended.update(place for place in named if place >= since)
            rows += [record] * (record.queue_offset >= at and len(rows) < KEPT)
            cells.append(Cell(record.queue_offset, body[:LONGEST], "control"))
            del cells[MOST_PARKED:-MOST_PARKED]
        self._note(OP_TOPIC, bounds, (Frontier(OP_CURSOR, at),), cells, rows=rows)
        return ended

    def _read_parked(self, timeout: int) -> list[Half]:
        bounds = first, end = self._bounds(DISCARD_TOPIC).get(0, (0, 0))
        records = list(self._records(DISCARD_TOPIC, 0, max(first, end - MOST_PARKED), end))
        parked = [_half(record, timeout) for record in records]
        if parked:
            cells, counts = list(map(self._cell, records, parked)), (("set aside", end - first),)
            self._note(DISCARD_TOPIC, bounds, (), cells, counts, records[-KEPT:])
        return [half for half in parked if self._is_wanted(half)]

    def _is_wanted(self, half: Half) -> bool:
        topic, _, queue = half.queue.rpartition("-")
        return self.ask.wants(topic, int(queue))

    def _cell(self, record: MessageRecord, half: Half | None = None) -> Cell:
        """A body only where it was asked for. Of a half message the key is where a label will
        be."""
        label = record.body.decode(errors="replace")[:LONGEST] if self.ask.payloads else "·"
        if half is None:
            return Cell(record.queue_offset, label)
        label = f"{label} ({half.times})" if half.times else label
        return Cell(half.offset, label, "copy" if half.times else "data", half.key, False)

    def _label(self, log: LogRead) -> LogRead:
        """What has no label by now is over."""
        known = self.labels
        cells = (
            replace(c, txn=known.get(c.txn, ""), readable=c.txn not in known) for c in log.cells
        )
        return replace(log, cells=tuple(cells))

    def _txn(self, half: Half, seen: str, state: str) -> Txn:
        return Txn(
            self.labels[half.key], half.key, state, seen, (half.queue,), half.group,
            first=half.offset, since_ms=half.born_ms, timeout_ms=half.patience_ms,
            source=f"{self.source.name} {seen}-0", more=(("checks", str(half.times)),),
        )  # fmt: skip

    # -- topics and groups -----------------------------------------------------------------

    def _read_topics(self, topics: Mapping[str, Any], open_queues: set[str]) -> None:
        """Read the queues of the topic that was asked for, or of all topics but RocketMQ's own (see
        `_read_queue`); without a topic asked for, only those that have messages or a group's
        position. `open_queues`: for which an undecided half message is meant."""
        used = {topic for group, topic, _ in self.places if not group.startswith(SYSTEM)}
        asked = self.ask.topic
        wanted = (
            [asked] if asked else [t for t in sorted({*topics, *used}) if not t.startswith(SYSTEM)]
        )
        if len(wanted) > MOST_TOPICS:
            self.source.gaps.append(Gap(REST(what=TOPICS, most=MOST_TOPICS), MANY))
        for topic in wanted[:MOST_TOPICS]:
            queues_of_groups = {queue for _, of_topic, queue in self.places if of_topic == topic}
            for queue, bounds in self._bounds(topic).items():
                shown = asked or bounds[0] < bounds[1] or queue in queues_of_groups
                if self.ask.wants(topic, queue) and shown:
                    self._read_queue(topic, queue, bounds, open_queues)

    def _read_queue(
        self, topic: str, queue: int, bounds: tuple[int, int], open_queues: set[str]
    ) -> None:
        """Read one queue: the groups' positions in it and how far each lags, and, where they are to
        be shown, the messages around these positions and its end, or those that were asked for.
        `open_queues`: those for which undecided half messages are meant; `bounds`: its first
        offset, and the one after its last."""
        name, (first, end) = name_queue(topic, queue), bounds
        # by group, its position in this queue
        at = {g: n for (g, t, q), n in sorted(self.places.items()) if (t, q) == (topic, queue)}
        if topic.startswith(DLQ_PREFIX):
            self.dead.append((name, end - first))
        for group, place in at.items():
            self._check_position(name, group, place, end)
            # `readers`: how many consumers the group has, -1 where unknown
            lag = self._lag(group, topic, queue, place, end) if place < end else None
            more = (("consumers", str(lag.readers)),) if lag and lag.readers >= 0 else ()
            self.positions.append(Position(group, name, place, end, more=more))
        cells = list[Cell]()
        # messages are shown of queues with undecided half messages and of dead letters
        drawn = name in open_queues or topic.startswith(DLQ_PREFIX)
        if self.ask.topic or (drawn and len(self.logs) < MOST_DRAWN):
            # (around the positions of AROUND groups at most)
            ask, places = self.ask, [*list(at.values())[:AROUND], end]
            spans = [(place - AROUND, place + AROUND) for place in places]
            if ask.first or ask.last >= 0:
                last = ask.last + 1 if ask.last >= 0 else end
                spans = [(ask.first, min(last, ask.first + MOST_PARKED))]
            offsets = sorted({n for a, b in spans for n in range(max(a, first), min(b, end))})
            # offsets that follow each other, whose distance to their index is equal, are read
            # together
            for _, adjacent in groupby(enumerate(offsets), lambda pair: pair[1] - pair[0]):
                part = [offset for _, offset in adjacent]
                cells += map(self._cell, self._records(topic, queue, part[0], part[-1] + 1))
        flags = tuple(Frontier(group, place) for group, place in at.items())
        self._note(name, bounds, flags, cells, (("messages", end - first),))

    def _check_position(self, name: str, group: str, at: int, end: int) -> None:
        if at > end:
            why = PAST_END(group=group, at=at, end=end)
            self.source.gaps.append(Gap(Text(name), why, failed=True))

    def _lag(self, group: str, topic: str, queue: int, at: int, end: int) -> Lag | None:
        if len(self.lags) >= MOST_LAGS:
            return None
        if group not in self.readers:
            what = READERS(group=group)
            self.readers[group] = self._try(what, -1, self.source.readers, group)
        oldest = next(self._records(topic, queue, at, at + 1), None)
        stored = oldest.store_timestamp if oldest is not None else -1
        self.lags.append(Lag(group, name_queue(topic, queue), at, end, stored, self.readers[group]))
        return self.lags[-1]

    def _note(
        self, name: str, bounds: tuple[int, int], flags: tuple[Frontier, ...], cells: list[Cell],
        counts: tuple[tuple[str, int], ...] = (), rows: Sequence[MessageRecord] = (),
    ) -> None:  # fmt: skip
        """Of many cells those at the two ends. A log of which nothing is known, or that was never
        written to, is not shown."""
        if not bounds[1]:
            return
        most = 3 * AROUND
        shown = (
            cells if self.ask.last >= 0 else [*cells[:most], *cells[max(most, len(cells) - most) :]]
        )
        source = f"{self.source.name} {name}"
        self.logs.append(LogRead(name, *bounds, flags, tuple(shown), counts, source, tuple(rows)))


def _half(record: MessageRecord, timeout: int) -> Half:
    props = record.properties
    immune = _number(props, CHECK_IMMUNITY, -1)
    return Half(
        props.get(UNIQ_KEY) or f"@{record.queue_offset}", props.get(PGROUP, ""),
        name_queue(props.get(REAL_TOPIC, "?"), _number(props, REAL_QID, 0)), record.queue_offset,
        _number(props, CHECK_TIMES, 0), record.born_timestamp, record.store_timestamp,
        immune * 1000 if immune >= 0 else timeout, record.msg_id,
    )  # fmt: skip


def _number(props: Mapping[str, str], name: str, otherwise: int) -> int:
    with suppress(ValueError):
        return int(props.get(name, otherwise))
    return otherwise
