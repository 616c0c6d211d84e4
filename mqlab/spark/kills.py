"""The seven instants at which the job is killed, and how.

A micro-batch of Spark is a little protocol, and each arrow of it is a place to die:

    latestOffset → offsets/N written → partitions() → the sink: rows … commit → commits/N written
                 → latestOffset → offsets/N+1 written → source.commit(end of N)

A *hard* kill is kill -9 of the JVM and of the Python driver, from inside, at exactly that arrow.
A *soft* kill raises an exception there instead and the query is restarted in the same session:
the same outcome in every cell, a hundred times cheaper. Random kills miss the narrow windows; a
list of them does not.
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import asdict, dataclass
from enum import StrEnum


class Point(StrEnum):
    """Where in a batch. The value is what the table prints."""

    WAL = "after offsets/N, before any row"
    BEFORE = "in the sink, before the first row"
    HALF = "in the sink, half of the rows out"
    OUT = "in the sink, all out, before the commit"
    COMMITTED = "after the sink's commit, before commits/N"
    NEXT = "after commits/N, before offsets/N+1"
    SOURCE = "after offsets/N+1, before source.commit(N)"


class Killed(Exception):
    """A soft kill."""


@dataclass(frozen=True, slots=True)
class Kill:
    """At `point` of batch `batch`: kill -9 these process ids, or raise where there are none."""

    point: Point | None = None
    batch: int = -1
    pids: tuple[int, ...] = ()

    def at(self, point: Point, batch: int) -> None:
        """Called at every arrow; dies at the one that was chosen. Raises Killed."""
        if point != self.point or batch != self.batch:
            return
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        if self.pids:
            os._exit(1)  # this process may be a third one: Spark runs sources beside the driver
        raise Killed(f"killed {point} (batch {batch})")

    def to_json(self) -> str:
        """For Spark's options, which are texts."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Kill:
        given = json.loads(text)
        point = Point(given["point"]) if given["point"] else None
        return Kill(point, given["batch"], tuple(given["pids"]))


NEVER = Kill()
