"""What the live picture knows: read off the steps as they go by, in bounded memory.

A lesson's world keeps every log, so its picture is read off the world. A server cannot look
back, so it takes notes: the last cells of every partition, the transaction each belongs to, the
latest transactions of the latest ids. What a message means is worked out from them by
`kafka/picture/meaning.py`, as in a lesson; this file is `Known` to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ....kafka.claims.invariants import DECIDED_FIRST, SAME_OUTCOME
from ....kafka.coordinator import Entry, StateRecord
from ....kafka.group import Offsets
from ....kafka.leader import Leader
from ....kafka.log import ABORT, COMMIT, Batch
from ....kafka.log.partition import Partition
from ....kafka.picture.meaning import Kind
from ....kafka.picture.transactions import Txn, add_record, find_last, name_by_beginning
from ....kafka.states import TxnState
from ...trace.parts import LABEL, LEAST, MOST, label, read_text
from ..front.internal import ServedGroups
from ..wire.records import COMPRESSION, Records

IDS = 8  # transactional ids kept for the table
TXNS = 4  # transactions kept of each: a late message may be about one that is over
READABLE = 256 << 10  # a larger batch is not looked into
UNPACKED = 16 << 10  # nor a compressed one that is larger: it may become a thousand times as long
ATTRIBUTES = 22  # the byte of a batch whose last bits name its compression
COUNTABLE = 2_000  # nor is one of more records: they take time, one after the other
KINDS = {
    Leader: Kind.PARTITION,
    ServedGroups: Kind.GROUP,
}
DECISIONS = {TxnState.PREPARE_COMMIT: COMMIT, TxnState.PREPARE_ABORT: ABORT}


def count_shown(batch: Batch) -> int:
    """How many of a batch's cells are drawn: its last ones."""
    return min(batch.count, LEAST)


@dataclass
class Row:
    """A batch in a strip; `outcome` is "" while its transaction is open here; `turn` counts the
    batches of all strips. `drawn` is where a picture keeps what it has made of it."""

    batch: Batch
    txn: str
    outcome: str
    turn: int
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

    def add(self, batch: Batch, txn: str, turn: int) -> None:
        self.changes += 1
        row = Row(batch, txn, batch.control or ("" if batch.transactional else COMMIT), turn)
        if batch.control:
            for mine in self._open.pop(batch.pid, ()):
                mine.outcome = batch.control
        elif batch.transactional:
            mine_open = self._open.setdefault(batch.pid, [])
            mine_open.append(row)
            del mine_open[:-MOST]
        self.rows.append(row)
        self.size += count_shown(batch)
        if self.size > MOST:
            # Several at once, so that a picture's cells do not all move at every append.
            while self.size - count_shown(self.rows[0].batch) >= LEAST:
                self.size -= count_shown(self.rows.popleft().batch)

    def find_open(self, pid: int) -> str:
        """The transaction that this producer has open here, as far as it is remembered."""
        mine = self._open.get(pid)
        return mine[-1].txn if mine else ""


class Model:
    """`coordinator`: the name of that role, which may be a learner's. `roles`: each as it was
    after the step that was taken last. `broken`: the names of claims that a marker has broken."""

    def __init__(self, coordinator: str) -> None:
        self.coordinator = coordinator
        self.roles: dict[str, Any] = {}
        self.strips: dict[str, Strip] = {}
        self.txns: dict[str, list[Txn]] = {}  # by id, that which has moved last at the end
        self.entries: dict[str, Entry] = {}  # of these ids the latest record, the first id first
        self.changes = 0  # of transactions
        self.broken: set[str] = set()
        self._pids: dict[int, str] = {}
        self._begun = 0
        self._turn = 0

    def find_part(self, name: str) -> Partition | None:
        part: Partition | None = getattr(self.roles.get(name), "part", None)
        return part

    # -- taking notes ------------------------------------------------------------------------

    def note_recovery(self, name: str, log: Any) -> None:
        """A leader has started: the end of what it found."""
        part = self.find_part(name)
        strip = self.strips[name] = Strip()
        if part is not None:
            for batch in log.read(max(part.hw - LEAST, log.start), part.hw):
                strip.add(batch, "", 0)

    def note_append(self, log: str, entry: Any) -> None:
        if isinstance(entry, StateRecord):
            self._moved(entry)
        elif isinstance(entry, Batch):
            strip = self.strips.get(log) or self.strips.setdefault(log, Strip())
            self._turn += 1
            strip.add(entry, self.find_txn(log, entry), self._turn)
            if entry.control:
                self._marked(log, entry)

    def _marked(self, log: str, marker: Batch) -> None:
        """A marker is what the coordinator has decided, and comes after the decision."""
        entry = self.entries.get(self._pids.get(marker.pid, ""))
        if entry is None or log not in entry.partitions:
            return  # an administrator ends what no coordinator knows of
        decided = DECISIONS.get(entry.state)
        if entry.state is TxnState.ONGOING:
            self.broken.add(DECIDED_FIRST.name)
        elif decided is not None and decided != marker.control:
            self.broken.add(SAME_OUTCOME.name)

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

    # -- what a meaning must know --------------------------------------------------------------

    def list_txns(self, txn_id: str) -> Sequence[Txn]:
        return self.txns.get(txn_id, ())

    def list_latest(self) -> list[Txn]:
        """The latest transaction of each id, that which has moved last first."""
        return [mine[-1] for mine in reversed(self.txns.values()) if mine]

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
        strip = self.strips.get(log)
        rows = reversed(strip.rows) if strip is not None else ()
        return next((row.batch for row in rows if row.batch.last == end - 1), None)

    def find_txn(self, log: str, batch: Batch) -> str:
        if not batch.transactional:
            return ""
        strip = self.strips.get(log)
        held = strip.find_open(batch.pid) if strip is not None else ""
        return held or find_last(self.list_txns(self._pids.get(batch.pid, "")))


# ---- labels ------------------------------------------------------------------------------


def _texts(batch: Batch) -> list[str]:
    """Labels of the batch's last records; short, and never more than a few."""
    if isinstance(batch.records, Records):
        packed = batch.records.data[ATTRIBUTES] & COMPRESSION
        most = UNPACKED if packed else READABLE
        readable = batch.size <= most and batch.count <= COUNTABLE
        pairs = batch.records.texts(LEAST) if readable else []
        return [name_record(key, value) for key, value in pairs]
    positions = (p for o in batch.records if isinstance(o, Offsets) for p in o.positions)
    return [label(str(p)) for p in positions][-LEAST:]


def name_record(key: bytes | None, value: bytes | None) -> str:
    """The value where it is short, else the key, else the beginning of the value."""
    text, name = read_text(value), read_text(key)
    return text if text and len(text) <= LABEL else label(name or text) or "·"
