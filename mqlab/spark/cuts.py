"""Where a micro-batch ends: at one minute T, the same in every partition.

Partitions of a topic run apart in time. Read by equal counts, one of them would be hours ahead,
push the watermark (one for the whole query: the latest time seen anywhere) and make the orders of
the other one late: 2,320 of the busiest day's 5,331. So a batch is everything before T, whatever
that is in each partition, and the watermark may follow without any delay.

Offsets are what Spark writes into `offsets/N`: `{"batch": 3, "until": "2011-12-05 12:05", "0":
1402, "1": 1377}`. `batch` and `until` make the plan a pure function of the last end, so a killed
job plans the same batch again; and they can be read by a human.
"""

from __future__ import annotations

from dataclasses import dataclass

from .orders import MINUTE_MS, YEARS, floor_minute, minute_ms, minute_text

# T of the last batch, which holds no record: nothing comes after it.
END_MS = minute_ms(f"{YEARS[-1]}-12-31 23:59")
Offsets = dict[str, int | str]


@dataclass(frozen=True, slots=True)
class Cut:
    """An end of a batch: `until_ms` is T, `offsets` the first record of each partition not in it.

    `batch` counts the batches before this end, so batch n reaches from cut n to cut n + 1.
    """

    batch: int
    until_ms: int
    offsets: tuple[int, ...]

    def to_json(self) -> Offsets:
        """Partitions last and in order: Spark compares offsets as texts."""
        places = {str(partition): offset for partition, offset in enumerate(self.offsets)}
        return {"batch": self.batch, "until": minute_text(self.until_ms), **places}

    @staticmethod
    def from_json(given: Offsets) -> Cut:
        count = len(given) - 2
        offsets = tuple(int(given[str(partition)]) for partition in range(count))
        return Cut(int(given["batch"]), minute_ms(str(given["until"])), offsets)


@dataclass(frozen=True, slots=True)
class Plan:
    """How large a batch is: so many minutes, or at most about so many orders."""

    minutes: int = 0
    orders: int = 0

    def __post_init__(self) -> None:
        if (self.minutes > 0) == (self.orders > 0):
            raise ValueError("a batch is so many minutes or so many orders: give one of the two")

    def by_minutes(self, until_ms: int, next_stamp_ms: int) -> int:
        """T on a grid that began with the first order; empty stretches of it are stepped over. It
        ends with the calendar, before the last batch."""
        step = self.minutes * MINUTE_MS
        ahead = max(next_stamp_ms - until_ms, 0) // step
        return min(until_ms + (ahead + 1) * step, END_MS - MINUTE_MS)

    def by_orders(self, until_ms: int, next_stamp_ms: int, far_stamp_ms: int) -> int:
        """T before the stamp `orders` ahead, but never less than one minute on."""
        least = floor_minute(max(until_ms, next_stamp_ms)) + MINUTE_MS
        return max(least, floor_minute(far_stamp_ms))


def day_plan(first_ms: int, last_ms: int, batches: int = 8) -> Plan:
    """A classroom's plan: one day in 8 batches; anything longer in batches of 200,000 orders."""
    minutes = (floor_minute(last_ms) - floor_minute(first_ms)) // MINUTE_MS + 1
    if minutes > 24 * 60:
        return Plan(orders=200_000)
    return Plan(minutes=-(-minutes // batches))
