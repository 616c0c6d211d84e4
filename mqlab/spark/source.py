"""Topic Order as a Spark stream: a Python data source that cuts its batches by event time.

Where each method runs (Spark 4.3): `initialOffset`, `latestOffset`, `partitions`, `commit` and
`prepareForTriggerAvailableNow` in one long-lived process beside the driver, so they may keep a
connection; `read` in the executors' Python workers, on a copy of the reader that was pickled, so
it opens its own.

`read` gives Arrow batches, seven times as fast as tuples. Every record becomes one row:

    time (UTC) | tenths | lines | dead: partition, offset, stamp_ms, reason, value

`lines` is 1 for an order, 0 for a closing record and for what is no order; the latter fills `dead`.
A dead letter has the time at which its batch begins: an order can be late, a dead letter cannot, or
Spark would drop it without a word.

The end of a stream: closing records are passed on only when every partition is at its own.
Otherwise the first one would push the watermark past the other partition's orders. The last
minutes come out one batch later, as a watermark acts in the batch after the one that moved it.
Spark runs such a batch by itself, but not after a restart, when it has forgotten that one is due:
killed right there, the job would never write its last minutes. So the source asks for that batch
like for any other, by an end that has moved in nothing but its number and its time (`END_MS`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, Message
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from . import topics
from .columns import judge
from .cuts import END_MS, Cut, Offsets, Plan
from .errors import IncomeError
from .kills import Kill, Point
from .orders import CLOSING, floor_minute

SCHEMA = (
    "time timestamp, tenths bigint, lines int, dead struct<partition: int, offset: bigint, "
    "stamp_ms: bigint, reason: string, value: binary>"
)
DEAD = pa.struct(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("stamp_ms", pa.int64()),
        ("reason", pa.string()),
        ("value", pa.binary()),
    ]
)
ARROW = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("tenths", pa.int64()),
        ("lines", pa.int32()),
        ("dead", DEAD),
    ]
)


class OrderSource(DataSource):
    """`spark.readStream.format("orders")`, options address, topic, minutes or orders, kill."""

    @classmethod
    def name(cls) -> str:
        return "orders"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> OrderReader:
        return OrderReader(self.options)


class Range(InputPartition):
    """One partition's share of a batch that begins at `since_ms`: `start <= offset < end`."""

    def __init__(self, partition: int, start: int, end: int, since_ms: int) -> None:
        self.partition, self.start, self.end = partition, start, end
        self.since_ms = since_ms


class OrderReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches on the driver and reads them on the executors."""

    def __init__(self, options: Any) -> None:
        self.address, self.topic = options["address"], options["topic"]
        self.plan = Plan(int(options.get("minutes", 0)), int(options.get("orders", 0)))
        self.kill = Kill.from_json(options["kill"])
        self.ends: tuple[int, ...] = ()  # fixed by a run that ends when it has read what is there
        self.client: Consumer | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"client": None}  # a socket cannot travel to an executor

    # -- on the driver ---------------------------------------------------------------------

    def initialOffset(self) -> Offsets:
        starts = tuple(low for low, _ in self._bounds())
        first = [it for p, at in enumerate(starts) if (it := self._record(p, at)) is not None]
        until = floor_minute(min((_stamp(record) for record in first), default=0))
        return Cut(0, until, starts).to_json()

    def prepareForTriggerAvailableNow(self) -> None:
        self.ends = tuple(high for _, high in self._bounds())

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        """The end of the next batch; `start` itself where no batch is complete yet."""
        last = Cut.from_json(start)
        self.kill.at(Point.NEXT, last.batch - 1)
        ends = self.ends or tuple(high for _, high in self._bounds())
        if last.offsets == ends:
            return self._last(last).to_json()
        until_ms = self._find_end_time(last, ends)
        offsets = self._find_offsets(until_ms, ends)
        if offsets is None or offsets == last.offsets:
            return start
        return Cut(last.batch + 1, until_ms, offsets).to_json()

    def partitions(self, start: Offsets, end: Offsets) -> list[Range]:
        """One Spark task a partition of the topic. Runs after `offsets/N` was written."""
        first, last = Cut.from_json(start), Cut.from_json(end)
        self.kill.at(Point.WAL, first.batch)
        pairs = zip(first.offsets, last.offsets, strict=True)
        return [
            Range(p, low, high, first.until_ms) for p, (low, high) in enumerate(pairs) if low < high
        ]

    def commit(self, end: Offsets) -> None:
        """Nothing to do: the positions are Spark's, in `offsets/N`. Runs after `offsets/N+1`."""
        self.kill.at(Point.SOURCE, Cut.from_json(end).batch - 1)

    def stop(self) -> None:
        if self.client is not None:
            self.client.close()

    def _last(self, last: Cut) -> Cut:
        """After everything a batch without a record, once every partition is closed."""
        closed = all(self._closed(partition, end) for partition, end in enumerate(last.offsets))
        if last.until_ms >= END_MS or not closed:
            return last
        return Cut(last.batch + 1, END_MS, last.offsets)

    def _find_end_time(self, last: Cut, ends: tuple[int, ...]) -> int:
        """The time (ms since 1970 UTC) at which the next batch ends, by the plan: so many minutes
        after the batch before it, past stretches without a record, or the full minute, a later
        one, before which there are about so many more orders. `last`: where that batch ends;
        `ends`: the end offset of each partition. Raises IncomeError where no record is left before
        these."""
        # the time of the first record of each partition that no batch has
        next_stamps = [
            _stamp(record)
            for partition, (start, end) in enumerate(zip(last.offsets, ends, strict=True))
            if start < end and (record := self._record(partition, start)) is not None
        ]
        if not next_stamps:
            raise IncomeError(
                "topic {} ends in records that are not orders: feed it without "
                "transactions, whose markers carry the broker's time",
                self.topic,
            )
        if self.plan.minutes:
            return self.plan.by_minutes(last.until_ms, min(next_stamps))
        # rounded up: each partition's part of the orders of one batch
        share = -(-self.plan.orders // len(ends))
        # the time of the record that is so many offsets on, or of the last one (None of a partition
        # of which all was read)
        last_stamps = [
            _stamp(record)
            for partition, (start, end) in enumerate(zip(last.offsets, ends, strict=True))
            if (record := self._record(partition, max(start, min(start + share, end - 1))))
            is not None
        ]
        return self.plan.by_orders(last.until_ms, min(next_stamps), min(last_stamps))

    def _find_offsets(self, until_ms: int, ends: tuple[int, ...]) -> tuple[int, ...] | None:
        """The offset in each partition before which a batch that ends at `until_ms` ends; None
        while one of them has no later record yet, as its next one may still belong to the batch.
        `ends`: the end offset of each partition."""
        found = topics.offsets_for_time(self._client(), self.topic, range(len(ends)), until_ms)
        offsets = []
        for partition, end in enumerate(ends):
            offset = found[partition]
            # -1: no record is as late; in a closed partition the batch ends at its closing record.
            if offset < 0 and self._closed(partition, end):
                offset = end - 1
            if not 0 <= offset <= end:
                return None
            offsets.append(offset)
        all_closed = [
            self._closed(partition, end) and offset == end - 1
            for partition, (offset, end) in enumerate(zip(offsets, ends, strict=True))
        ]
        # The last batch has the closing records too.
        return ends if all(all_closed) else tuple(offsets)

    def _closed(self, partition: int, end: int) -> bool:
        record = self._record(partition, end - 1) if end else None
        return record is not None and record.value() == CLOSING

    def _record(self, partition: int, offset: int) -> Message | None:
        return topics.at_offset(self._client(), self.topic, partition, offset)

    def _bounds(self) -> list[tuple[int, int]]:
        count = topics.partitions_of(self.address, self.topic)
        if not count:
            raise IncomeError(
                "no topic {} at {}: write the orders to it first", self.topic, self.address
            )
        return [topics.bounds(self._client(), self.topic, p) for p in range(count)]

    def _client(self) -> Consumer:
        if self.client is None:
            # Single records are looked at here: small fetches, nothing read ahead.
            small: dict[str, Any] = {"max.partition.fetch.bytes": 4_096, "queued.min.messages": 1}
            self.client = topics.consumer(self.address, **small)
        return self.client

    # -- on an executor --------------------------------------------------------------------

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        client = topics.consumer(self.address)
        try:
            for chunk in topics.read_chunks(
                client, self.topic, partition.partition, partition.start, partition.end
            ):
                yield rows_of(chunk, partition.since_ms)
        finally:
            client.close()


def rows_of(messages: list[Message], since_ms: int) -> pa.RecordBatch:
    """Turn Kafka messages into the stream's rows, one per record, in the columns of ARROW. A record
    that is no order (but not a closing one) becomes a dead letter, at the time `since_ms` at which
    its batch begins."""
    # times in ms since 1970 UTC
    values = [message.value() for message in messages]
    stamps = [_stamp(message) for message in messages]
    judged = judge(values, stamps)
    dead_letters: list[dict[str, Any] | None] = [None] * len(messages)
    for index, reason in judged.reasons.items():
        message = messages[index]
        dead_letters[index] = {
            "partition": message.partition(), "offset": message.offset(),
            "stamp_ms": stamps[index], "reason": reason, "value": values[index] or b"",
        }  # fmt: skip
        stamps[index] = since_ms
    times = pa.array(stamps, pa.timestamp("ms", tz="UTC")).cast(ARROW.field("time").type)
    structs = pa.array(dead_letters, DEAD) if judged.reasons else pa.nulls(len(dead_letters), DEAD)
    return pa.RecordBatch.from_arrays([times, judged.tenths, judged.lines, structs], schema=ARROW)


def _stamp(message: Message) -> int:
    return message.timestamp()[1]
