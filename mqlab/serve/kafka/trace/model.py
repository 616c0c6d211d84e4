"""What the live picture knows: read off the steps as they go by, in bounded memory.

It is to the running server what `kafka.transactions` and `kafka.snapshot` are to a lesson's
world; only it cannot look back, so it takes notes: the last cells of every partition, the
transaction each belongs to, the latest transactions with the states they went through.
Transactions are called T1, T2 … in the order in which they begin. No role knows this.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ....kafka.coordinator import Entry, StateRecord
from ....kafka.group import Offsets
from ....kafka.log import ABORT, COMMIT, Batch
from ....kafka.log.partition import Partition
from ....kafka.states import COMPLETED, TxnState
from ..wire.records import COMPRESSION, Records

MOST, LEAST = 40, 24  # cells kept of a partition: beyond the one, it is cut to the other
IDS = 8  # transactional ids kept for the table
READABLE = 256 << 10  # a larger batch is not looked into
UNPACKED = 16 << 10  # nor a compressed one that is larger: it may become a thousand times as long
ATTRIBUTES = 22  # the byte of a batch whose last bits name its compression
COUNTABLE = 2_000  # nor is one of more records: they take time, one after the other
LABEL = 12  # characters of a label
SAME_OUTCOME, DECIDED_FIRST = "same outcome", "decided first"  # lights about a moment
DECISIONS = {TxnState.PREPARE_COMMIT: COMMIT, TxnState.PREPARE_ABORT: ABORT}


def shown(batch: Batch) -> int:
    """How many of a batch's cells are drawn: its last ones."""
    return min(batch.count, LEAST)


@dataclass
class Row:
    """A batch in a strip; `outcome` is "" while its transaction is open here. `drawn` is
    where a picture keeps what it has made of it."""

    batch: Batch
    txn: str
    outcome: str
    texts: list[str] | None = None
    drawn: dict[tuple[str, bool, str], list[Any]] = field(default_factory=dict)

    def label(self, i: int) -> str:
        """Of the record at place `i` of the batch; worked out when first drawn."""
        if self.batch.control:
            return self.batch.control[:1]
        if self.texts is None:
            self.texts = _texts(self.batch)
        back = self.batch.count - i
        return self.texts[-back] if back <= len(self.texts) else "·"


class Strip:
    """The end of a partition's log. `changes` counts, so that a picture knows it is old."""

    def __init__(self) -> None:
        self.rows: deque[Row] = deque()
        self.size = 0
        self.changes = 0
        self._open: dict[int, list[Row]] = {}

    def add(self, batch: Batch, txn: str) -> None:
        self.changes += 1
        row = Row(batch, txn, batch.control or ("" if batch.transactional else COMMIT))
        if batch.control:
            for mine in self._open.pop(batch.pid, ()):
                mine.outcome = batch.control
        elif batch.transactional:
            mine_open = self._open.setdefault(batch.pid, [])
            mine_open.append(row)
            del mine_open[:-MOST]
        self.rows.append(row)
        self.size += shown(batch)
        if self.size > MOST:
            # Several at once, so that a picture's cells do not all move at every append.
            while self.size - shown(self.rows[0].batch) >= LEAST:
                self.size -= shown(self.rows.popleft().batch)

    def txn_of(self, pid: int) -> str:
        """The transaction that this producer has open here, as far as it is remembered."""
        mine = self._open.get(pid)
        return mine[-1].txn if mine else ""


@dataclass
class Txn:
    """A transaction: its name, its id, the states it went through."""

    name: str
    txn_id: str
    path: list[TxnState] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return bool(self.path) and self.path[-1] in COMPLETED


class Model:
    """`roles`: each as it was after the step that was taken last. `broken`: invariants that
    a marker has broken."""

    def __init__(self) -> None:
        self.roles: dict[str, Any] = {}
        self.strips: dict[str, Strip] = {}
        self.txns: dict[str, Txn] = {}  # the latest of each id, the most recent last
        self.latest: Txn | None = None
        self.entries: dict[str, Entry] = {}  # the latest record of each of these ids
        self.changes = 0  # of transactions
        self.broken: set[str] = set()
        self._pids: dict[int, str] = {}
        self._begun = 0

    def part(self, name: str) -> Partition | None:
        found: Partition | None = getattr(self.roles.get(name), "part", None)
        return found

    # -- taking notes ------------------------------------------------------------------------

    def recovered(self, name: str, log: Any) -> None:
        """A leader has started: the end of what it found."""
        part = self.part(name)
        strip = self.strips[name] = Strip()
        if part is not None:
            for batch in log.read(max(part.hw - LEAST, log.start), part.hw):
                strip.add(batch, "")

    def appended(self, log: str, entry: Any) -> None:
        if isinstance(entry, StateRecord):
            self._moved(entry)
        elif isinstance(entry, Batch):
            strip = self.strips.get(log) or self.strips.setdefault(log, Strip())
            strip.add(entry, self.txn_of(log, entry))
            if entry.control:
                self._marked(log, entry)

    def _marked(self, log: str, marker: Batch) -> None:
        """A marker is what the coordinator has decided, and comes after the decision."""
        entry = self.entries.get(self._pids.get(marker.pid, ""))
        if entry is None or log not in entry.partitions:
            return  # an administrator ends what no coordinator knows of
        decided = DECISIONS.get(entry.state)
        if entry.state is TxnState.ONGOING:
            self.broken.add(DECIDED_FIRST)
        elif decided is not None and decided != marker.control:
            self.broken.add(SAME_OUTCOME)

    def _moved(self, record: StateRecord) -> None:
        entry = record.entry
        self.changes += 1
        self._pids[entry.pid] = entry.txn_id
        self.entries[entry.txn_id] = entry
        txn = self.txns.pop(entry.txn_id, None)
        if entry.state is TxnState.EMPTY:
            txn = txn if txn is not None else Txn("", entry.txn_id)
        elif txn is None or not txn.name or txn.over:
            txn = self._next(entry.txn_id)
        if entry.state is not TxnState.EMPTY and txn.path[-1:] != [entry.state]:
            txn.path.append(entry.state)
        self.txns[entry.txn_id] = txn
        self.latest = txn
        if len(self.txns) > IDS:
            gone = next(iter(self.txns))
            del self.txns[gone], self.entries[gone]
            self._pids = {pid: i for pid, i in self._pids.items() if i != gone}

    def _next(self, txn_id: str) -> Txn:
        self._begun += 1
        return Txn(f"T{self._begun}", txn_id)

    # -- whose is it -------------------------------------------------------------------------

    def name_of(self, txn_id: str | None) -> str:
        """The transaction of this id that goes on; the one about to begin if none does."""
        if not txn_id:
            return ""
        txn = self.txns.get(txn_id)
        return txn.name if txn is not None and txn.name and not txn.over else f"T{self._begun + 1}"

    def last_of(self, txn_id: str) -> str:
        """The transaction of this id that goes on, or was the last to end."""
        txn = self.txns.get(txn_id)
        return txn.name if txn is not None else ""

    def txn_of(self, log: str, batch: Batch) -> str:
        if not batch.transactional:
            return ""
        strip = self.strips.get(log)
        held = strip.txn_of(batch.pid) if strip is not None else ""
        return held or self.last_of(self._pids.get(batch.pid, ""))


# ---- labels ------------------------------------------------------------------------------


def _texts(batch: Batch) -> list[str]:
    """Labels of the batch's last records; short, and never more than a few."""
    if isinstance(batch.records, Records):
        packed = batch.records.data[ATTRIBUTES] & COMPRESSION
        most = UNPACKED if packed else READABLE
        readable = batch.size <= most and batch.count <= COUNTABLE
        pairs = batch.records.texts(LEAST) if readable else []
        return [label(key, value) for key, value in pairs]
    positions = (p for o in batch.records if isinstance(o, Offsets) for p in o.positions)
    return [_short(str(p)) for p in positions][-LEAST:]


def label(key: bytes | None, value: bytes | None) -> str:
    """The value where it is short, else the key, else the beginning of the value."""
    said, name = _text(value), _text(key)
    if said and len(said) <= LABEL:
        return said
    return _short(name or said) or "·"


def _text(data: bytes | None) -> str:
    try:
        text = (data or b"")[: 8 * LABEL].decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def _short(text: str) -> str:
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"
