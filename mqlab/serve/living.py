"""What of a journal is still about something: a newer value, a newer entry of a compacted
log's key, or a deleted log makes bytes of it dead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernel import Append, Put
from .entries import Effect

if TYPE_CHECKING:
    from .home import Home


class Living:
    """How many bytes of a journal are about what still is: by table and key, by log, and by
    log and key where that is compacted."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._sizes: dict[Any, int] = {}
        self._tables: dict[tuple[str, Any], Any] = {}

    @property
    def bytes(self) -> int:
        return sum(self._sizes.values())

    def note(self, effect: Effect, size: int) -> None:
        match effect:
            case Append(log=name, entry=entry):
                compaction = self._home.keeping.compaction(name)
                if compaction is not None:
                    self._sizes[name, compaction.key(entry)] = size
                else:
                    self._sizes[name] = self._sizes.get(name, 0) + size
            case Put(table=table, key=key, value=value):
                old = self._tables.pop((table, key), None)
                for log in self._home.change(table, key, old, value).drop:
                    self._sizes.pop(log, None)
                if value is None:
                    self._sizes.pop((table, key), None)
                else:
                    self._sizes[table, key] = size
                    self._tables[table, key] = value
