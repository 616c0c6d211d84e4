"""What of a journal is still about something."""

from __future__ import annotations

from typing import Any

from ...kafka.coordinator import StateRecord
from ...kafka.leader import index_of
from ...kernel import Append, Put
from .entries import Effect
from .front.topic import Topic


class Living:
    """How many bytes of a journal are still about something: by table and key, by log and
    transactional id, by log."""

    def __init__(self) -> None:
        self._sizes: dict[Any, int] = {}
        self._topics: dict[str, Topic] = {}

    @property
    def bytes(self) -> int:
        return sum(self._sizes.values())

    def note(self, effect: Effect, size: int) -> None:
        match effect:
            case Append(log=name, entry=StateRecord(entry=entry)):
                self._sizes[name, entry.txn_id] = size
            case Append(log=name):
                self._sizes[name] = self._sizes.get(name, 0) + size
            case Put(table=table, key=key, value=value):
                self._sizes[table, key] = size
                if value is None:
                    self._gone(table, key)
                elif table == "topics":
                    self._topics[key] = value

    def _gone(self, table: str, key: Any) -> None:
        del self._sizes[table, key]
        topic = self._topics.pop(key, None) if table == "topics" else None
        for partition in topic.partitions if topic is not None else ():
            self._sizes.pop(partition, None)
            self._sizes.pop(index_of(partition), None)
