"""What several panels need: a cache for each trace, colours of transactions, the step before, and
the plan of the space-time diagram."""

from __future__ import annotations

import re
import weakref
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from mqlab.kernel.snapshot import Graph, Lane, Log, Reader, Snapshot, Table, Word
from mqlab.kernel.text import Lang, Text, in_chinese, phrase_word
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import width

P = ParamSpec("P")
R = TypeVar("R")

RIGHT = 332
"""Width of the panels in the right column, px: two columns take 790."""

ROOMY = 440
"""The same where there is so much room, as beside a diagram in a notebook's pane of 950 px. Only
panels that say more there are drawn for it too."""

TXN_COLOURS = 6
NUMBERED = re.compile(r"T([1-9][0-9]{0,8})")


def per_trace(fn: Callable[Concatenate[Trace, P], R]) -> Callable[Concatenate[Trace, P], R]:
    """A decorator that caches a function's results for each trace and arguments (hashable ones), as
    long as the trace is alive. By identity: hashing a trace would hash every fact of it at every
    step."""
    cache: dict[int, tuple[weakref.ref[Trace], dict[Any, R]]] = {}

    def cached(trace: Trace, /, *args: P.args, **kwargs: P.kwargs) -> R:
        number = id(trace)
        entry = cache.get(number)
        if entry is None or entry[0]() is not trace:  # none, or of a dead trace with the same id
            entry = cache[number] = (weakref.ref(trace, lambda _: cache.pop(number, None)), {})
        results, key = entry[1], (args, tuple(kwargs.items()))
        if key not in results:
            results[key] = fn(trace, *args, **kwargs)
        return results[key]

    update_wrapper(cached, fn)
    return cached


#: columns of tables with what users have named
GIVEN = frozenset((
    "client", "group", "member", "order", "partition", "partitions", "producer group", "queue",
    "row", "subscription", "transactionalId",
))  # fmt: skip


def say_words(trace: Trace, lang: Lang) -> Trace:
    """The trace as it is drawn in a language: in its Snapshots, the words of the model's own (its
    states, timers and flags, the kinds of its records) are said in it. Names and records stay."""
    return trace if lang == "en" else _say_in_chinese(trace)


@per_trace
def _say_in_chinese(trace: Trace) -> Trace:
    snapshots = in_chinese(lambda: tuple(map(_say_snapshot, trace.snapshots)))
    return replace(trace, snapshots=snapshots)


def _say_snapshot(snapshot: Snapshot) -> Snapshot:
    return replace(
        snapshot,
        logs=tuple(map(_say_log, snapshot.logs)),
        readers=tuple(map(_say_reader, snapshot.readers)),
        graphs=tuple(map(_say_graph, snapshot.graphs)),
        tables=tuple(map(_say_table, snapshot.tables)),
    )


def _say_log(log: Log) -> Log:
    cells, flags = log.cells, log.frontiers
    if any(isinstance(cell.label, Word) for cell in cells):
        cells = tuple(replace(cell, label=_say_label(cell.label)) for cell in cells)
    flags = tuple(replace(flag, name=phrase_word(flag.name)) for flag in flags)
    return replace(log, cells=cells, frontiers=flags)


def _say_label(label: str) -> str:
    return phrase_word(label) if isinstance(label, Word) else label


@lru_cache(1_024)
def _say_reader(reader: Reader) -> Reader:
    got = tuple(replace(one, log=phrase_word(one.log)) for one in reader.got)
    return replace(reader, name=phrase_word(reader.name), got=got)


@lru_cache(1_024)
def _say_graph(graph: Graph) -> Graph:
    return replace(
        graph,
        states=tuple(replace(state, name=phrase_word(state.name)) for state in graph.states),
        edges=tuple((phrase_word(a), phrase_word(b)) for a, b in graph.edges),
        path=tuple(map(phrase_word, graph.path)),
    )


@lru_cache(1_024)
def _say_table(table: Table) -> Table:
    given = [column in GIVEN for column in table.columns]
    rows = (zip(row, given, strict=False) for row in table.rows)
    said = tuple(tuple(one if own else phrase_word(one) for one, own in row) for row in rows)
    return replace(table, rows=said)


@per_trace
def txn_classes(trace: Trace) -> dict[str, str]:
    """A CSS class for each transaction; the colours repeat. One that is called by a number has the
    colour of its number, wherever a picture of something that goes on begins; others have theirs
    in order of appearance."""
    names = dict.fromkeys(f.txn for f in trace.facts if f.txn)
    for snapshot in (trace.snapshots[0], trace.snapshots[-1]):
        names |= dict.fromkeys(c.txn for log in snapshot.logs for c in log.cells if c.txn)
    numbers = {name: int(match[1]) - 1 for name in names if (match := NUMBERED.fullmatch(name))}
    return {
        name: f"t{numbers.get(name, place) % TXN_COLOURS + 1}" for place, name in enumerate(names)
    }


def colour(trace: Trace, txn: str) -> str:
    """The class of a transaction's colour, "t0" for what belongs to none."""
    return txn_classes(trace).get(txn, "t0")


@per_trace
def _list_previous(trace: Trace) -> list[int]:
    """For each position the one before it that a learner saw: folded facts are skipped."""
    out = [0]
    latest = 0
    for position, fact in enumerate(trace.facts, 1):
        out.append(latest)
        if not fact.fold:
            latest = position
    return out


def find_previous(trace: Trace, step: int) -> int:
    """The position to compare `step` with, to see what changed."""
    return _list_previous(trace)[step]


def draw_heading(scene: Scene, text: Text, lang: Lang) -> None:
    """The panel's title, always at the same place."""
    scene.text("heading", 0, 13, text.of(lang), "heading")


# ---- Layout of the space-time diagram: computed once for a trace ---------------------
#
# A transaction is *open* on a lane from its first durable fact there to the fact that wrote
# its control record (its marker). A lane whose log holds no control record of it, such as a
# coordinator's, has it open until its last durable fact there, if no partition still waits for a
# marker at the end of the trace. All of that is read off the Snapshots.

ROW = 22
FIRST = 64  # x of the first lane; row numbers and transaction names are left of it
HEAD = 46  # the lanes' names and what they are
BAR = 22  # the bar of stages above them
STAIRS = 14  # more than that, where every other name is lower
SLOTS = (0, 12, -12, 21, -21)  # where open transactions of one lane are beside each other
WIDE = 456  # what the diagram may use beside the right column in a notebook of 950 px
HALF = 388  # the same where two traces are beside each other
LEAST, MOST = 41, 180  # distance of two lanes; twelve fit beside the right column
AFTER = 0.72  # of a lane's distance: the room right of the last lane, and at least so much:
BEHIND = 58
MANY = 6  # more lanes than this, and those without a fact are left out


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a lane on which a transaction is open, as positions of the slider. `cls`: the
    transaction's colour; `slot`: which of the parallel spans of its lane; `first`, `last`: where it
    begins and ends; `closed`: it ends there, and is not only cut off."""

    key: str
    lane: str
    cls: str
    slot: int
    first: int
    last: int
    closed: bool


@dataclass
class Plan:
    """Places of lanes, rows and spans. `rows[r]` is the position drawn in row r. `x`: of each lane;
    `spacing`: px between lanes."""

    lanes: tuple[Lane, ...]
    x: dict[str, float]
    spacing: float
    stairs: bool  # if every other lane's name is lower, because they would touch
    width: float
    rows: list[int]
    row_of: list[int]  # position -> its row, or the last visible row before it
    spans: list[Span]
    down: list[tuple[str, int, int]]  # lane, first and last position while it is down
    txn: list[str]  # class of each fact's transaction, by position
    bar: bool  # if the bar of stages is above the names
    row: float = ROW  # px of a row
    draw_row: Callable[[Trace, int, Plan, Lang], Part] | None = None  # None: a fact's own
    placed: dict[tuple[int, str], Part] = field(default_factory=dict)  # rows, by when they are
    heads: dict[frozenset[str], Part] = field(default_factory=dict)  # names, by who is down

    @property
    def head(self) -> float:
        """Where the rows begin."""
        return self.top + HEAD + STAIRS * self.stairs

    @property
    def top(self) -> float:
        """Where the names begin."""
        return BAR * self.bar

    @property
    def height(self) -> float:
        return len(self.rows) * self.row

    def alive(self, first_row: int, step: int) -> list[Span]:
        """Spans that have begun at `step` and reach into the rows from `first_row` on."""
        begun = bisect_right(self.spans, step, key=lambda span: span.first)
        return [s for s in self.spans[:begun] if self.row_of[s.last] >= first_row]

    def y(self, position: int) -> float:
        """The middle of a position's row."""
        return (self.row_of[position] + 0.5) * self.row


@per_trace
def plan(trace: Trace, lang: Lang, unfold: bool, wide: int = WIDE) -> Plan:
    """Lay out the space-time diagram of a trace, `wide` px (more where there are very many lanes):
    lanes, of many only those with a fact; rows (folded facts have none, except with `unfold`);
    spans of transactions; times when a node is down."""
    facts = trace.facts
    rows = [i for i, f in enumerate(facts, 1) if unfold or not f.fold]
    lanes = _lanes(trace)
    spacing = _find_spacing(len(lanes), wide)
    widest = max((width(lane.title.of(lang), 12, bold=True) for lane in lanes), default=0)
    x = {lane.name: FIRST + i * spacing for i, lane in enumerate(lanes)}
    down = find_down(trace)
    return Plan(
        lanes=lanes,
        x=x,
        spacing=spacing,
        stairs=len(lanes) > 1 and widest + 8 > spacing,
        width=FIRST + max(0, len(lanes) - 1) * spacing + max(BEHIND, spacing * AFTER),
        rows=rows,
        # The last row up to each position, -1 before the first one.
        row_of=[bisect_right(rows, p) - 1 for p in range(len(facts) + 1)],
        spans=[s for s in _spans(trace, down) if s.lane in x],
        down=[d for d in down if d[0] in x],
        txn=["t0", *(colour(trace, f.txn) for f in facts)],  # "t0": before the first fact
        bar=any(fact.stage for fact in facts),
    )


def find_lanes(snapshots: Sequence[Snapshot]) -> list[Lane]:
    """List every lane that any of the snapshots has, from left to right, each as the last snapshot
    that has it shows it. A lane that comes later is put before the one that follows it in its own
    snapshot, or at the end where none does."""
    latest: dict[str, Lane] = {}
    order: list[str] = []
    seen: tuple[Lane, ...] | None = None
    for snapshot in snapshots:
        if snapshot.lanes == seen:
            continue
        seen = snapshot.lanes
        place = len(order)
        for lane in reversed(seen):  # so that the lane after a new one has its place already
            if lane.name in latest:
                place = order.index(lane.name)
            else:
                order.insert(place, lane.name)
            latest[lane.name] = lane
    return [latest[name] for name in order]


def _lanes(trace: Trace) -> tuple[Lane, ...]:
    """The lanes of a trace; of many only those that do something."""
    lanes = find_lanes(trace.snapshots)
    if len(lanes) > MANY:
        used = {name for f in trace.facts for name in (f.node, f.peer)}
        lanes = [lane for lane in lanes if lane.name in used] or lanes
    return tuple(lanes)


def _find_spacing(lanes: int, wide: int) -> float:
    """The distance between lanes: what they share of a diagram's width."""
    share = min((wide - FIRST) / (lanes - 1 + AFTER), (wide - FIRST - BEHIND) / max(lanes - 1, 1))
    return int(min(max(share, LEAST), MOST))


def find_down(trace: Trace) -> list[tuple[str, int, int]]:
    out: list[tuple[str, int, int]] = []
    since: dict[str, int] = {}
    seen: tuple[Lane, ...] | None = None
    for position, snapshot in enumerate(trace.snapshots):
        if snapshot.lanes == seen:
            continue
        seen = snapshot.lanes
        for lane in seen:
            if not lane.up:
                since.setdefault(lane.name, position)
            elif lane.name in since:
                out.append((lane.name, since.pop(lane.name), position))
    return out + [(name, first, len(trace)) for name, first in since.items()]


def _controls(snapshot: Snapshot, txn: str) -> int:
    """A number that grows with each control record of a transaction: the sum of the offsets after
    them. A count would not grow in a log of which only the end is drawn."""
    return sum(
        c.offset + 1
        for log in snapshot.logs
        for c in log.cells
        if c.txn == txn and c.kind == "control"
    )


def _find_pending(trace: Trace) -> set[str]:
    """Transactions with data, at the end, that no control record of theirs has ended: one
    that follows in the same log, or one in a log that speaks of it."""
    out: set[tuple[str, str]] = set()
    logs = trace.snapshots[-1].logs
    for log in sorted(logs, key=lambda log: bool(log.ends)):  # data before what speaks of them
        for cell in log.cells:
            if cell.kind != "control" and cell.txn and not log.ends:
                out.add((cell.txn, log.name))
            elif cell.kind == "control":
                out.discard((cell.txn, log.ends or log.name))
    return {txn for txn, _ in out}


def _find_ended(trace: Trace) -> set[str]:
    """Where a picture begins in the midst of a trace: the transactions that have ended by its end.
    Of such a one the last fact alone may be left, which opens nothing."""
    if not trace.facts or trace.facts[0].index == 1:
        return set()
    cells = [cell for log in trace.snapshots[-1].logs for cell in log.cells]
    return {cell.txn for cell in cells if cell.kind == "control"}


def _spans(trace: Trace, down: list[tuple[str, int, int]]) -> list[Span]:
    """List the pieces of lanes on which transactions are open, by the position where they begin;
    one that no write ends is open to the end of the trace. Spans of a lane that overlap are drawn
    beside each other, in different slots while there are any, and none goes on while its node is
    `down` (lane, first and last position)."""
    pending = _find_pending(trace)
    ended_txns = _find_ended(trace)
    spans: list[Span] = []
    busy: dict[str, list[int]] = {}  # lane -> for each slot, until when it is taken
    # A stay: a transaction on one lane, by its first and last write there and its marker's position
    # (0: none).
    for stay in _find_stays(trace):
        # Without a marker it ends at its last write; 0, not at all, if a marker is still pending
        # or if it has a single write, which in a trace from its beginning is where it has just
        # begun.
        single = stay.last == stay.first and stay.txn not in ended_txns
        ended = stay.marker or (0 if stay.txn in pending or single else stay.last)
        until = ended or len(trace)
        slots = busy.setdefault(stay.lane, [0] * len(SLOTS))
        # The first slot that is free by then; the last one takes all that find none.
        slot = next((i for i, taken in enumerate(slots) if taken <= stay.first), len(SLOTS) - 1)
        slots[slot] = until
        cls = colour(trace, stay.txn)
        for start, end in _cut_out(stay.first, until, [d[1:] for d in down if d[0] == stay.lane]):
            key = f"span:{stay.lane}:{stay.txn}:{start}"
            closed = bool(ended) or end < until
            spans.append(Span(key, stay.lane, cls, slot, start, end, closed=closed))
    return sorted(spans, key=lambda span: span.first)


@dataclass
class _Stay:
    """A transaction on a lane: its first and last durable fact, and its marker (0: none)."""

    lane: str
    txn: str
    first: int
    last: int
    marker: int = 0


def _find_stays(trace: Trace) -> list[_Stay]:
    """Each time that a transaction is open on a lane: from its first durable fact there to its last
    or to its marker. A second marker closes nothing; data after the marker opens it again."""
    out: list[_Stay] = []
    latest: dict[tuple[str, str], _Stay] = {}  # by node and transaction
    for p, fact in enumerate(trace.facts, 1):
        if fact.glyph != "▮" or not fact.txn:  # "▮": a durable write
            continue
        old, new = trace.snapshots[p - 1], trace.snapshots[p]
        # This fact wrote a marker if the logs have a new control record.
        marker = old.logs != new.logs and _controls(new, fact.txn) > _controls(old, fact.txn)
        stay = latest.get((fact.node, fact.txn))
        if stay is None or (stay.marker and not marker):
            stay = latest[fact.node, fact.txn] = _Stay(fact.node, fact.txn, p, p)
            out.append(stay)
        if not stay.marker:
            stay.last = p
            stay.marker = p if marker else 0
    return out


def _cut_out(first: int, last: int, holes: list[tuple[int, ...]]) -> list[tuple[int, int]]:
    """The interval without the times at which its lane was down."""
    pieces = []
    for start, end in sorted(holes):
        if start >= last or end <= first:
            continue
        if start > first:
            pieces.append((first, start))
        first = end
    return [*pieces, (first, last)] if first < last else pieces
