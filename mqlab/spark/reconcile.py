"""Does the account balance? fed = read = counted + dead + unaccounted, counted in the topics.

*Fed* is the number of lines the file has. *Counted* comes from the rows themselves (each says how
many lines it sums), *dead* from the dead-letter topic, *read* from topic Order up to where the job
has read. What is left over was dropped without a word: orders that came after their minute was
closed.

How many those must be is computed a second time, without Spark: the batches are replayed from
`offsets/N`, with the rule Spark follows. In batch n the watermark for late orders is the largest
time seen in the batches before n - 1 (one batch behind the one that closes minutes), and an order
is late when its minute's end is not after it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import checkpoint, topics
from .errors import IncomeError
from .orders import CLOSING, MINUTE_MS, BadLine, floor_minute, income_of, minute_text

Missing = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Numbers of lines. `late` and `open` are computed without Spark, the rest is counted.

    `missing` is what the late lines and those in open minutes would have added: minute → (tenths
    of a penny, lines).
    """

    fed: int
    read: int
    counted: int
    dead: int
    late: int
    open: int
    missing: Missing = field(default_factory=dict)

    @property
    def unaccounted(self) -> int:
        """Lines that were read and are nowhere; below 0 where lines are counted twice."""
        return self.read - self.counted - self.dead

    @property
    def balanced(self) -> bool:
        """All that was fed was read, and the late and open lines are all that is unaccounted."""
        return self.fed == self.read and self.unaccounted == self.late + self.open

    def __str__(self) -> str:
        waiting = f" + {self.open:,} in minutes still open" if self.open else ""
        verdict = "balanced" if self.balanced else "NOT BALANCED"
        return (
            f"lines fed {self.fed:,}, read {self.read:,} = counted {self.counted:,} "
            f"+ dead {self.dead:,} + unaccounted {self.unaccounted:,}\n"
            f"without Spark: {self.late:,} late{waiting} → {verdict}"
        )


@dataclass(frozen=True, slots=True)
class Expected:
    """What a job with these batches must leave: numbers of lines."""

    read: int
    dead: int
    late: int
    open: int
    missing: Missing


class Replay:
    """The batches once more, without Spark. Feed it every record, then ask `expected`."""

    def __init__(self, ends: list[tuple[int, ...]]) -> None:
        """`ends[n][p]` is where batch n ends in partition p, as `offsets/n` says."""
        self.ends = ends
        self.columns = list(zip(*ends, strict=True))
        self.newest = [0] * len(ends)  # the largest time seen in each batch
        # (batch, end of minute) → tenths of a penny, lines
        self.tenths: Counter[tuple[int, int]] = Counter()
        self.lines: Counter[tuple[int, int]] = Counter()
        self.read = self.dead = 0

    def add(self, partition: int, offset: int, stamp_ms: int, value: bytes | None) -> None:
        batch = bisect_right(self.columns[partition], offset)
        if batch == len(self.ends):
            return  # not read yet
        if value != CLOSING:
            self.read += 1
            try:
                tenths = income_of(value, stamp_ms)
            except BadLine:
                self.dead += 1
                return
            window = batch, floor_minute(stamp_ms) + MINUTE_MS
            self.tenths[window] += tenths
            self.lines[window] += 1
        self.newest[batch] = max(self.newest[batch], stamp_ms)

    def expected(self) -> Expected:
        """`watermarks[n]` closes minutes in batch n; late is judged by the one before it."""
        watermarks = [0]
        for newest in self.newest[:-1]:
            watermarks.append(max(watermarks[-1], newest))
        late = still_open = 0
        missing: dict[str, tuple[int, int]] = {}
        for (batch, end_ms), lines in self.lines.items():
            if end_ms <= watermarks[max(batch - 1, 0)]:
                late += lines
            elif end_ms > watermarks[-1]:
                still_open += lines
            else:
                continue
            minute = minute_text(end_ms - MINUTE_MS)
            tenths, gone = missing.get(minute, (0, 0))
            missing[minute] = tenths + self.tenths[batch, end_ms], gone + lines
        return Expected(self.read, self.dead, late, still_open, missing)


def expected(address: str, order_topic: str, folder: Path) -> Expected:
    """Replays topic Order through the batches of the query whose checkpoint is `folder`."""
    numbers = checkpoint.batches(folder)
    if numbers != list(range(len(numbers))) or not numbers:
        raise IncomeError(f"{folder}/offsets is not complete: the account cannot be checked")
    replay = Replay([checkpoint.cut_of(folder, number).offsets for number in numbers])
    client = topics.consumer(address)
    try:
        for partition, end in enumerate(replay.ends[-1]):
            for record in topics.read(client, order_topic, partition, 0, end):
                stamp_ms = record.timestamp()[1]
                replay.add(partition, record.offset() or 0, stamp_ms, record.value())
    finally:
        client.close()
    return replay.expected()


def reconcile(
    address: str, order_topic: str, income_topic: str, dead_topic: str, folder: Path, fed: int
) -> Reconciliation:
    """Count the topics and replay the batches. `folder` is the income query's checkpoint."""
    must = expected(address, order_topic, folder)
    counted = sum(json.loads(row)["lines"] for row in topics.read_values(address, income_topic))
    dead = len(topics.read_values(address, dead_topic))
    return Reconciliation(fed, must.read, counted, dead, must.late, must.open, must.missing)
