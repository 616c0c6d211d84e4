"""The server's disk: the logs and tables a role reads, kept in memory, grown in place.

It answers the same questions as a lesson's `MemoryDisk`, which is a value that is copied;
here a log is a list that only its driver appends to, so an append costs the same at any
length. What makes it survive a stop is `journal.py`.

A partition's log keeps a *time index*, the largest timestamp so far beside each batch, as
Kafka's `.timeindex` does, and finds a time by halving. `__transaction_state` is compacted
as it is written: of each key the latest record is kept, and its offset.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from itertools import accumulate, takewhile
from operator import attrgetter
from typing import Any

from ..kafka.coordinator import StateRecord
from ..kafka.leader.deletion import STARTS
from ..kafka.log import Batch
from ..kafka.states import TxnState
from ..kernel import Append, Map, Put

TXN_LOG = "__transaction_state"
RECENT = 2_000  # records of a compacted log that are not cleaned yet
EMPTY: Map[Any, Any] = Map()


class ServerLog:
    """Entries by offset. `stamps[i]`: the largest timestamp of entries 0 … i; `bytes`: of
    its batches."""

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.bytes = 0
        self.entries: list[Any] = []
        self.bases: list[int] = []
        self.stamps: list[int] = []

    def append(self, entry: Any) -> None:
        self.entries.append(entry)
        self.bases.append(entry.base)
        self.end = entry.last + 1
        if isinstance(entry, Batch):
            self.bytes += entry.size
            self.stamps.append(max(entry.at_ms, self.stamps[-1] if self.stamps else -1))

    def read(self, start: int, end: int | None = None) -> Iterator[Any]:
        """The entries that hold an offset in [start, end)."""
        i = max(bisect_right(self.bases, start) - 1, 0)
        entries, size = self.entries, len(self.entries)
        while i < size:
            entry = entries[i]
            if end is not None and entry.base >= end:
                return
            if entry.last >= start:
                yield entry
            i += 1

    def since(self, at_ms: int) -> int:
        """The offset before which every record is older than `at_ms`."""
        i = bisect_left(self.stamps, at_ms)
        return self.bases[i] if i < len(self.bases) else self.end

    @property
    def newest(self) -> int:
        """The largest timestamp, -1 for none."""
        return self.stamps[-1] if self.stamps else -1

    def trim(self, start: int) -> None:
        """Begin at `start`: the batch that holds it stays, those before it go."""
        self.start = max(self.start, start)
        self.end = max(self.end, start)
        gone = bisect_right(self.bases, start) - 1
        gone += gone == len(self.bases) - 1 and self.end == start
        if gone > 0:
            self.bytes -= sum(batch.size for batch in self.entries[:gone])
            del self.entries[:gone], self.bases[:gone]
            self.stamps = list(accumulate((batch.at_ms for batch in self.entries), max))

    def fits(self, base: int) -> bool:
        """Whether an entry may begin here: at the end, or, in a log that was trimmed and is
        read again, at or before its start."""
        return base == self.end or (not self.entries and base <= self.start)

    def cut(self, end: int) -> None:
        while self.entries and self.entries[-1].last >= end:
            self.bytes -= getattr(self.entries[-1], "size", 0)
            del self.entries[-1], self.bases[-1]
            if self.stamps:
                del self.stamps[-1]
        self.end = min(self.end, end)


class CompactedLog:
    """A partition of `__transaction_state`: the latest record of each transactional id, and
    whatever was written lately, for those who read along."""

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.latest: dict[str, StateRecord] = {}
        self.recent: deque[StateRecord] = deque(maxlen=RECENT)

    def append(self, entry: StateRecord) -> None:
        self.recent.append(entry)
        self.latest[entry.entry.txn_id] = entry
        self.end = entry.last + 1

    def read(self, start: int, end: int | None = None) -> Iterator[Any]:
        """The latest record of each id as far as it is older than what is recent, then all
        that is recent: a cleaner never touches the end of a log."""
        uncleaned = self.recent[0].base if self.recent else self.end
        found: list[StateRecord] = []
        if start < uncleaned:
            old = (e for e in self.latest.values() if start <= e.base < uncleaned)
            found = sorted(old, key=attrgetter("base"))
        found += reversed(list(takewhile(lambda e: e.base >= start, reversed(self.recent))))
        return (entry for entry in found if end is None or entry.base < end)

    @property
    def bytes(self) -> int:
        """Nothing: it is never deleted."""
        return 0

    def fits(self, base: int) -> bool:
        """Whether an entry may begin here: offsets grow, and what was replaced left gaps."""
        return base >= self.end

    def cut(self, end: int) -> None:
        raise ValueError("a compacted log cannot be cut back")

    def trim(self, start: int) -> None:
        raise ValueError("a compacted log is not deleted from")

    def kept(self) -> Iterator[Any]:
        """What a journal must hold of it: tombstones have done their work, except the last
        record of all, which says where the log ends."""
        for entry in sorted(self.latest.values(), key=attrgetter("base")):
            if entry.entry.state is not TxnState.DEAD or entry.last + 1 == self.end:
                yield entry


NO_LOG = ServerLog()  # stands for every log nothing was written to; never appended to


class ServerDisk:
    """All logs and tables of the one node."""

    def __init__(self) -> None:
        self._logs: dict[str, ServerLog | CompactedLog] = {}
        self._tables: dict[str, Map[Any, Any]] = {}

    def log(self, name: str) -> ServerLog | CompactedLog:
        return self._logs.get(name, NO_LOG)

    def logs(self, prefix: str = "") -> tuple[str, ...]:
        return tuple(sorted(name for name in self._logs if name.startswith(prefix)))

    def table(self, name: str) -> Map[Any, Any]:
        return self._tables.get(name, EMPTY)

    # -- for the driver ----------------------------------------------------------------------

    def append(self, name: str, entry: Any) -> None:
        """Raises ValueError for an entry that does not belong at the log's end."""
        log = self._logs.get(name)
        if log is None:
            # The partition of a topic called __transaction_state-0 is a log like any other.
            compacted = name.rpartition("-")[0] == TXN_LOG
            log = CompactedLog() if compacted else ServerLog()
            self._logs[name] = log
        if not log.fits(entry.base):
            raise ValueError(f"{name}: append at {entry.base}, but the end is {log.end}")
        log.append(entry)

    def effects(self) -> Iterator[Append | Put]:
        """Everything there is, as the effects that make it."""
        for table, values in sorted(self._tables.items()):
            for key, value in values.items():
                yield Put(table, key, value)
        for name, log in sorted(self._logs.items()):
            entries = log.kept() if isinstance(log, CompactedLog) else log.read(log.start)
            for entry in entries:
                yield Append(name, entry)

    def put(self, table: str, key: Any, value: Any) -> None:
        old = self.table(table)
        self._tables[table] = old.remove(key) if value is None else old.set(key, value)
        if table == STARTS and value is not None:
            self._logs.setdefault(key, ServerLog()).trim(value)

    def cut(self, name: str, end: int) -> None:
        if name in self._logs:
            self._logs[name].cut(end)

    def drop(self, name: str) -> None:
        """Forget a deleted partition's log."""
        self._logs.pop(name, None)
        if name in self.table(STARTS):
            self.put(STARTS, name, None)
