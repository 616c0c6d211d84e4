"""A partition's log, batch by batch: what is open in it, what was aborted, who may read how far.

The batches come from a segment's bytes, from a fetch, or from what kafka-dump-log has printed; here
they are all the same `Row`. A scan keeps nothing of a batch but its head, and of those only the
last ones, so it needs as much memory for 20 GB as for 20 MB.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...kernel import Cell, Frontier, frozen
from ..reading import LogRead, Txn

AROUND = 8  # records that are shown on either side of a frontier
REMEMBERED = 2_000  # heads at the end of a log, for what the groups have still to read
AHEAD, KEPT = 48, 100  # offsets, and heads, that are kept for what may happen next
MOST_OPEN = 10_000  # open transactions of one log
COMMIT, ABORT = "C", "A"
UNNAMED = "·"  # a record of which nothing is shown


@frozen
class Row:
    """A batch's head. `control`: C or A of a marker, ? of another control record; `labels`: one for
    each record, where they may be shown; `file`, `at`: where it was read, and at which byte; `seq`:
    its first sequence number; `count`: of its records, fewer after compaction; -1: unknown."""

    base: int
    last: int
    pid: int = -1
    epoch: int = -1
    transactional: bool = False
    control: str = ""
    at_ms: int = -1
    labels: tuple[str, ...] = ()
    file: str = ""
    at: int = -1
    seq: int = -1
    count: int = -1

    def count_from(self, offset: int) -> int:
        """How many records it has from this offset on, at most."""
        most = max(self.last - max(self.base, offset) + 1, 0)
        return min(most, self.count) if self.count >= 0 else most

    @property
    def place(self) -> str:
        return f"{self.file} position: {self.at}" if self.at >= 0 else self.file


@frozen
class Open:
    """A transaction that is open in a partition: its first offset, the time of its first batch, as
    far as it was seen, and where."""

    pid: int
    epoch: int
    first: int
    at_ms: int
    place: str = ""


class Labels(dict[tuple[object, ...], str]):
    """T1, T2 … for transactions, in the order in which they are asked for."""

    def __missing__(self, key: tuple[object, ...]) -> str:
        self[key] = f"T{len(self) + 1}"
        return self[key]


@dataclass
class Scan:
    """`opens`: by producer id, in the order in which they began. `aborted`: the first and last
    offsets of a producer's transactions that are known as aborted. `records`, `lost`,
    `markers`: what was counted; `lost` are records of aborted transactions."""

    name: str
    source: str
    start: int = 0
    end: int = 0
    opens: dict[int, Open] = field(default_factory=dict)
    aborted: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    records: int = 0
    lost: int = 0
    markers: int = 0
    tail: deque[Row] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    _held: dict[int, tuple[int, int]] = field(default_factory=dict)  # pid: first offset, records

    def take(self, row: Row) -> None:
        """Count the log's next batch (`row`), and follow what it does: a transactional batch opens
        its producer's transaction, a marker ends it. Of an aborted transaction the records seen by
        this scan count as `lost`."""
        self.end = row.last + 1
        self.tail.append(row)
        if row.control:
            self.markers += row.last >= self.start  # one, unless it was deleted
            self.opens.pop(row.pid, None)
            first, record_count = self._held.pop(row.pid, (-1, 0))  # none was seen: 0 records
            if row.control == ABORT and record_count:
                self.lost += record_count
                self.note_aborted(row.pid, first, row.last)
            return
        count = row.count_from(self.start)  # what was deleted is not counted
        self.records += count
        if row.transactional:
            first, record_count = self._held.get(row.pid, (row.base, 0))
            self._held[row.pid] = (first, record_count + count)
            if row.pid not in self.opens and len(self.opens) < MOST_OPEN:
                self.opens[row.pid] = Open(row.pid, row.epoch, row.base, row.at_ms, row.place)

    def note_aborted(self, pid: int, first: int, last: int) -> None:
        """Of a producer's aborted transactions the last ones are known."""
        known = self.aborted.setdefault(pid, [])
        known.append((first, last))
        del known[:-REMEMBERED]

    # ---- what follows from it ------------------------------------------------------------

    @property
    def first_open(self) -> int:
        """The first offset that a reader of committed records may not have yet; the end, if it may
        have all."""
        return min((one.first for one in self.opens.values()), default=self.end)

    def was_aborted(self, row: Row) -> bool:
        return row.transactional and any(
            first <= row.base <= last for first, last in self.aborted.get(row.pid, ())
        )

    def count_left(self, at: int) -> tuple[int, int] | None:
        """Of a reader of committed records that is at `at`: how many records it will get, and
        how many offsets hold none for it. None: it is unknown, or something is open."""
        if self.opens or not self.tail or not max(self.tail[0].base, self.start) <= at <= self.end:
            return None
        gets = sum(
            row.count_from(at)
            for row in self.tail
            if row.last >= at and not row.control and not self.was_aborted(row)
        )
        return gets, self.end - at - gets

    def read(
        self,
        labels: Labels,
        around: Iterable[Row] = (),
        hw: int = -1,
        lso: int = -1,
        asked: range = range(0),
        counted: Scan | None = None,
    ) -> LogRead:
        """Return the log as it is shown, with the records around its LSO, its high watermark, its
        end and in the range `asked`. `labels`: T1, T2 … by (producer id, epoch); `around`: rows of
        these places that the scan may no longer have; `hw` and `lso`: offsets as the broker has
        said them, else -1; `counted`: the scan whose counts are shown, if it is another one."""
        # not said: readers get what is before the first open transaction
        lso = min(self.first_open, self.end if hw < 0 else hw) if lso < 0 else lso
        frontiers = [Frontier("LSO", lso)]
        frontiers += [Frontier("HW", hw if hw >= 0 else self.end)]
        rows = {row.base: row for row in (*self.tail, *around)}
        spans = [range(f - AROUND, f + AROUND) for f in sorted({lso, frontiers[1].at, self.end})]
        spans += [asked]
        cells = {
            offset: self._cell(rows[base], offset, lso, labels)
            for base in sorted(rows)
            if rows[base].count  # compaction has left an empty one
            for span in spans
            for offset in range(
                max(base, span.start, self.start), min(rows[base].last + 1, span.stop)
            )
        }
        scan = counted or self
        counts = (("records", scan.records), ("markers", scan.markers), ("aborted", scan.lost))
        return LogRead(
            self.name,
            self.start,
            self.end,
            tuple(frontiers),
            tuple(cells[offset] for offset in sorted(cells)),
            tuple((what, number) for what, number in counts if number),
            self.source,
            # not shown: what the engine continues from (play.py)
            tuple(rows[base] for base in sorted(rows) if rows[base].last >= lso - AROUND)[:KEPT],
        )

    def _cell(self, row: Row, offset: int, lso: int, labels: Labels) -> Cell:
        txn = self._label(row, labels)
        if row.control:
            return Cell(offset, row.control, "control", txn, offset < lso)
        at = offset - row.base
        label = row.labels[at] if at < len(row.labels) else UNNAMED
        return Cell(offset, label, "data", txn, offset < lso, self.was_aborted(row))

    def _label(self, row: Row, labels: Labels) -> str:
        """Of the row's transaction: one for what is open under one producer, wherever it writes;
        what has ended is distinguished by the marker that ended it."""
        if row.pid < 0 or not (row.transactional or row.control):
            return ""
        one = self.opens.get(row.pid)
        if one is not None and row.base >= one.first:
            return labels[one.pid, one.epoch]
        ends = (r.base for r in self.tail if r.control and r.pid == row.pid and r.base >= row.base)
        return labels[self.name, row.pid, next(ends, -1)]

    def list_open(self, labels: Labels) -> list[Txn]:
        """Return the transactions that are open at the end of this log, as the log knows them:
        producer, epoch and first offset, but no transactional id. `labels`: T1, T2 … by (producer
        id, epoch)."""
        return [
            Txn(
                labels[opened.pid, opened.epoch],
                "",  # its transactional id, which a log does not have
                "open",
                self.name,  # who says so
                (self.name,),  # where it writes, as far as this log knows
                str(opened.pid),
                opened.epoch,
                opened.first,
                opened.at_ms,
                source=opened.place or self.source,
            )
            for opened in self.opens.values()
        ]
