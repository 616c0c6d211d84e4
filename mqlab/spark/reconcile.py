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

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import checkpoint, topics
from .columns import Judged, judge
from .cuts import Cut
from .errors import IncomeError
from .orders import MINUTE_MS, floor_minute, minute_text

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
    """The batches once more, without Spark. Give it every record, then ask for its sums,
    as `replay_orders` does."""

    def __init__(self, ends: Sequence[Cut]) -> None:
        """`ends[n]` is where batch n ends, as `offsets/n` says."""
        self.ends = ends
        self.columns = list(zip(*(cut.offsets for cut in ends), strict=True))
        self.newest = [0] * len(ends)  # the largest time seen in each batch
        # (batch, end of minute) → tenths of a penny, lines
        self.tenths: Counter[tuple[int, int]] = Counter()
        self.lines: Counter[tuple[int, int]] = Counter()
        self.firsts: list[int] = []  # the time of each partition's first record
        self.dead_in: set[int] = set()  # batches
        self.read = self.dead = 0

    def add(
        self,
        partition: int,
        offsets: Sequence[int],
        stamps: Sequence[int],
        values: Sequence[bytes | None],
    ) -> None:
        """Some of a partition's records, in the log's order; stamps in ms since 1970 UTC."""
        if offsets[0] == 0:
            self.firsts.append(stamps[0])
        judged = judge(values, stamps)
        start = 0
        for batch, end in enumerate(self.columns[partition]):
            stop = bisect_left(offsets, end, start)
            if start < stop:
                self._add_to(batch, start, stop, stamps, judged)
            start = stop

    def _add_to(
        self,
        batch: int,
        start: int,
        stop: int,
        stamps: Sequence[int],
        judged: Judged,
    ) -> None:
        """Those with `start <= position < stop` belong to the batch."""
        tenths = judged.tenths[start:stop].to_pylist()
        lines = judged.lines[start:stop].to_pylist()
        for place, money, line in zip(range(start, stop), tenths, lines, strict=True):
            if place in judged.reasons:
                self.dead += 1
                self.read += 1
                self.dead_in.add(batch)
                continue
            stamp = stamps[place]
            self.newest[batch] = max(self.newest[batch], stamp)
            if line:
                window = batch, stamp - stamp % MINUTE_MS + MINUTE_MS
                self.tenths[window] += money
                self.lines[window] += 1
                self.read += 1

    def expected(self) -> Expected:
        """`watermarks[n]` closes minutes in batch n; late is judged by the one before it."""
        watermarks = [0]
        for batch, newest in enumerate(self.newest[:-1]):
            # A dead letter stands at the time its batch begins (source.py).
            begins = self.ends[batch - 1].until_ms if batch else floor_minute(min(self.firsts))
            seen = max(newest, begins if batch in self.dead_in else 0)
            watermarks.append(max(watermarks[-1], seen))
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


def replay_orders(address: str, order_topic: str, folder: Path) -> Expected:
    """Replays topic Order through the batches of the query whose checkpoint is `folder`."""
    numbers = checkpoint.batches(folder)
    if numbers != list(range(len(numbers))) or not numbers:
        raise IncomeError(f"{folder}/offsets is not complete: the account cannot be checked")
    replay = Replay([checkpoint.cut_of(folder, number) for number in numbers])
    client = topics.consumer(address)
    try:
        for partition, end in enumerate(replay.ends[-1].offsets):
            for chunk in topics.read_chunks(client, order_topic, partition, 0, end):
                replay.add(
                    partition,
                    [record.offset() or 0 for record in chunk],
                    [record.timestamp()[1] for record in chunk],
                    [record.value() for record in chunk],
                )
    finally:
        client.close()
    return replay.expected()


def reconcile(
    address: str, order_topic: str, counted: int, dead: int, folder: Path, fed: int
) -> Reconciliation:
    """What the rows and the dead letters sum up to, against a replay of the batches.

    `counted` lines are in topic Income, `dead` ones in topic Dead; `folder` is the query's
    checkpoint. Raises IncomeError.
    """
    must = replay_orders(address, order_topic, folder)
    return Reconciliation(fed, must.read, counted, dead, must.late, must.open, must.missing)
