"""A node's disk: logs and tables, as values that never change.

Two ways to stop a node differ here and only here. *Process killed*: what was written
stays, the operating system still holds it. *Power cut*: what was not flushed is gone.
Kafka acknowledges on replication and does not flush; a lesson says which stop it uses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from .maps import Map, frozen, replace
from .role import Append, Effect, Flush, Put, Truncate


class Single:
    """A record that takes one offset, its `base`; one of several takes `base` … `last`."""

    __slots__ = ()
    base: int

    @property
    def last(self) -> int:
        return self.base


@frozen
class MemoryLog:
    """Entries in the order of their offsets; `flushed` of them survive a power cut."""

    entries: tuple[Any, ...] = ()
    flushed: int = 0
    start: int = 0

    @property
    def end(self) -> int:
        return self.entries[-1].last + 1 if self.entries else self.start

    def read(self, start: int, end: int | None = None) -> Iterator[Any]:
        """The entries that hold an offset in [start, end)."""
        first = bisect_right(self.entries, start, key=lambda e: e.base) - 1
        for entry in self.entries[max(first, 0) :]:
            if end is not None and entry.base >= end:
                return
            if entry.last >= start:
                yield entry


#: a table for logs that begin later than they did: log → its first offset
LOG_STARTS = "log starts"
EMPTY_LOG = MemoryLog()
EMPTY_TABLE: Map[Any, Any] = Map()


def _put(tables: Map[str, Map[Any, Any]], put: Put) -> Map[str, Map[Any, Any]]:
    table, key, value = tables.get(put.table, EMPTY_TABLE), put.key, put.value
    return tables.set(put.table, table.remove(key) if value is None else table.set(key, value))


@frozen
class MemoryDisk:
    """A whole disk as one hashable value (explore, replay, play, simulate). `kept`: the logs;
    `tables`, `flushed_tables`: as written, and as a power cut leaves them."""

    kept: Map[str, MemoryLog] = Map()
    tables: Map[str, Map[Any, Any]] = Map()
    flushed_tables: Map[str, Map[Any, Any]] = Map()

    def log(self, name: str) -> MemoryLog:
        log: MemoryLog = self.kept.get(name, EMPTY_LOG)
        return log

    def logs(self, prefix: str = "") -> tuple[str, ...]:
        """The names of all logs that begin with `prefix`, sorted."""
        return tuple(name for name in self.kept if name.startswith(prefix))

    def table(self, name: str) -> Map[Any, Any]:
        table: Map[Any, Any] = self.tables.get(name, EMPTY_TABLE)
        return table

    def apply(self, effect: Effect) -> MemoryDisk:
        """The disk after one effect of a role: an append, a truncation, a write to a table or a
        flush of everything. Any other effect leaves the disk as it is. A power cut keeps only what
        was flushed, so the flushed part is stored beside what was written.

        Raises ValueError for an append whose offset is not the log's end: a bug of the role.
        """
        match effect:
            case Append(log=name, entry=entry):
                log = self.log(name)
                if entry.base != log.end:
                    raise ValueError(f"{name}: append at {entry.base}, but the end is {log.end}")
                return self._with(name, replace(log, entries=(*log.entries, entry)))
            case Truncate(log=name, end=end):
                log = self.log(name)
                # an entry may have several offsets, up to `last`: one that reaches `end` goes whole
                kept = tuple(e for e in log.entries if e.last < end)
                return self._with(
                    name, replace(log, entries=kept, flushed=min(log.flushed, len(kept)))
                )
            case Put(table=name, key=key, value=value):
                flushed = self.flushed_tables  # what a power cut leaves
                flushed = _put(flushed, effect) if effect.synced else flushed
                new = replace(self, tables=_put(self.tables, effect), flushed_tables=flushed)
                # this table says at which offset a log (its key) begins (None: 0): older entries go
                return new._begin_later(key, value or 0) if name == LOG_STARTS else new
            case Flush():
                logs = ((n, replace(log, flushed=len(log.entries))) for n, log in self.kept.items())
                # the tables, and what a power cut leaves of them: now the same
                return MemoryDisk(Map(logs), self.tables, self.tables)
        return self

    def _begin_later(self, name: str, start: int) -> MemoryDisk:
        """Without the entries that are wholly before `start`."""
        log = self.log(name)
        kept = tuple(e for e in log.entries if e.last >= start)
        flushed = max(0, log.flushed - len(log.entries) + len(kept))
        return self._with(name, MemoryLog(kept, flushed, start))

    def _with(self, name: str, log: MemoryLog) -> MemoryDisk:
        return replace(self, kept=self.kept.set(name, log))

    def power_cut(self) -> MemoryDisk:
        """What is left when the machine loses power."""
        kept = ((n, replace(g, entries=g.entries[: g.flushed])) for n, g in self.kept.items())
        return MemoryDisk(Map(kept), self.flushed_tables, self.flushed_tables)
