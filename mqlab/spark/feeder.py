"""Feeds a file of order lines into topic Order: one message per line, keyed by its invoice.

- All lines of an invoice go to one partition, in the file's order (`topics.partition_of`).
- Each record is stamped with its order time, so that the broker can be asked "which is the first
  record at or after 12:05?" (offsets-for-times). That is how the job cuts its batches.
- A closing record a partition says that no order comes after it; its time is the minute after
  the last order's. Without it the last minute would stay open for ever: a watermark moves only
  when something later arrives.

Why the feeder is idempotent and NOT transactional. A transaction would leave its commit marker in
the log, stamped with today's time; asked for the first record at or after any time since 2011 the
broker then answers with that marker (Kafka 4.3.1), and no batch could be cut after it.

Why a killed feeder doubles nothing all the same. One message per line and no markers: the end
offset of a partition IS the number of its lines that are in. So a restarted feeder goes on after
them, after it has compared the last record it finds there with the line it would have sent. What is
still in flight from a killed feeder can only be seen afterwards: the final count must fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from . import topics
from .errors import IncomeError
from .orders import (
    CLOSING,
    MINUTE_MS,
    REJECTED,
    ROW,
    BadLine,
    encode,
    floor_minute,
    say_reason,
    time_ms,
)
from .topics import ANY, Span

if TYPE_CHECKING:
    import pyarrow as pa

    from .files import Reading

Progress = Callable[[int], None]
LARGEST = 1_000_000  # bytes of a value; the client and a broker refuse messages over 1 MiB or so
REPORT = 100_000  # records between two calls of it


class Record(NamedTuple):
    """What the feeder sends: `stamp_ms` is the order's time, milliseconds since 1970 UTC."""

    key: bytes | None
    value: bytes
    stamp_ms: int


def records_of(reading: Reading, span: Span = ANY) -> list[Record]:
    """Turn each order line into the Kafka record to send: its invoice number as key, its JSON as
    value, its time as timestamp.

    A line whose time cannot be read, or is not in `span`, gets the stamp of the one before it, and
    those before the first readable one get that one's: a stamp of 0 would mean "now". The broker
    would refuse a stamp outside `span` (the times that it takes) with the whole batch around it, so
    such a line travels as its text and its reason. Raises IncomeError where there are lines and
    none is an order, or one is too long to be sent.
    """
    from .columns import encode_rows

    table = reading.table
    if not table.num_rows:
        return []
    values, dates = encode_rows(table), _texts(table, "InvoiceDate")
    stamps = [_stamp(text or "") for text in dates]
    for row, stamp in enumerate(stamps):
        # `refuse`: why the broker would not take this time, "" where it does
        if stamp is not None and (reason := span.refuse(stamp, repr(dates[row]))):
            values[row] = encode({REJECTED: reason, ROW: values[row].decode()})
            stamps[row] = None
    keys = [(name or "").encode() for name in _texts(table, "InvoiceNo")]
    for place, key, value in zip(reading.places, keys, values, strict=True):
        if (size := _size(key, value)) > LARGEST:
            raise IncomeError(
                "line {:,} of {} is {:,} bytes long, and a Kafka message holds {:,}: shorten it",
                place,
                reading.name,
                size,
                LARGEST,
            )
    filled = _fill(stamps)
    _need_an_order(reading, values, filled)
    return list(map(Record, keys, values, filled))


def _size(key: bytes, value: bytes) -> int:
    """Bytes of the record, or of the dead letter that it may become, in which its JSON is a text
    in JSON once more."""
    if len(value) <= LARGEST // 3:  # each byte may become two there
        return len(key) + len(value)
    return max(len(key) + len(value), len(encode({"value": value.decode()})))


def _texts(table: pa.Table, name: str) -> list[str | None]:
    known = name in table.column_names
    return table.column(name).to_pylist() if known else [None] * table.num_rows


def _fill(stamps: Sequence[int | None]) -> list[int]:
    """Where there is none, that of a neighbour; nowhere one: zeros."""
    last = next((stamp for stamp in stamps if stamp is not None), 0)
    filled = []
    for stamp in stamps:
        last = last if stamp is None else stamp
        filled.append(last)
    return filled


def _need_an_order(reading: Reading, values: Sequence[bytes], stamps: Sequence[int]) -> None:
    """Raise IncomeError, with the first line's reason, where no line is an order: otherwise a job
    that counts nothing at all would agree with the truth. `values`, `stamps`: of the records."""
    from .columns import judge

    first_reason = ""
    for start in range(0, len(values), topics.CHUNK):
        chunk = slice(start, start + topics.CHUNK)
        judged = judge(values[chunk], stamps[chunk])
        # a line without a reason is an order
        if len(judged.reasons) < len(judged.lines):
            return
        first_reason = first_reason or judged.reasons[0]
    raise IncomeError(
        "{} has {:,} lines and none of them is an order; line {:,}: {}",
        reading.name,
        len(values),
        reading.places[0],
        say_reason(first_reason),
    )


def _stamp(text: str) -> int | None:
    try:
        return time_ms(text)
    except BadLine:
        return None


def digest(records: Sequence[Record]) -> str:
    """SHA-256 over all records: two feeds with the same digest are the same feed."""
    total = hashlib.sha256(repr([record.stamp_ms for record in records]).encode())
    for record in records:
        total.update(b"%d %b%b" % (len(record.key or b""), record.key or b"", record.value))
    return total.hexdigest()


def arrange(records: Sequence[Record], partitions: int) -> list[list[int]]:
    """Which records each partition holds, by number: the n-th of them has offset n."""
    parts: list[list[int]] = [[] for _ in range(partitions)]
    place = cache(lambda key: parts[topics.partition_of(key.decode(), partitions)])
    for number, record in enumerate(records):
        place(record.key or b"").append(number)
    return parts


def split(records: Sequence[Record], partitions: int) -> list[list[Record]]:
    """The records of each partition, its closing record last."""
    last = max((record.stamp_ms for record in records), default=0)
    closing = Record(None, CLOSING, floor_minute(last) + MINUTE_MS)
    parts = arrange(records, partitions)
    return [[*(records[number] for number in part), closing] for part in parts]


def feed(
    address: str,
    topic: str,
    records: Sequence[Record],
    partitions: int = 2,
    progress: Progress = lambda sent: None,
    only: int | None = None,
) -> int:
    """Send the records that the topic does not contain yet, then close its partitions; returns how
    many were sent.

    `only`: send so many of the first records, and leave the topic open for the others. Raises
    IncomeError if the topic contains anything but the beginning of these records. `progress` is
    called with the number sent so far.
    """
    with topics.broker_errors(address):
        topics.create(address, topic, partitions)
        parts = split(records, partitions)
        if only is not None:
            # without its last record, which closes a partition
            parts = [part[:-1] for part in split(records[:only], partitions)]
        counts = _count_sent(address, topic, parts)
        sent = _send(address, topic, [part[n:] for part, n in zip(parts, counts, strict=True)],
                     progress)  # fmt: skip
        _count_sent(address, topic, parts, complete=True)
        return sent


def _count_sent(
    address: str, topic: str, parts: list[list[Record]], complete: bool = False
) -> list[int]:
    """Count the records that each partition already has. Raises IncomeError where it has more than
    `parts` (the records of each partition), or its last one is not the record there; `complete`:
    also where it has fewer."""
    client = topics.consumer(address)
    try:
        counts = []
        for partition, part in enumerate(parts):
            # one record per line and no markers: the end offset is the number of records
            _, end = topics.bounds(client, topic, partition)
            last = topics.at_offset(client, topic, partition, end - 1) if end else None
            fits = end <= len(part) and (last is None or last.value() == part[end - 1].value)
            if not fits or (complete and end != len(part)):
                raise IncomeError(
                    "topic {} holds other records than these orders (partition {} ends "
                    "at {}, the orders at {}): start with a fresh --checkpoint, which "
                    "gets its own topic",
                    topic,
                    partition,
                    end,
                    len(part),
                )
            counts.append(end)
        return counts
    finally:
        client.close()


def _send(address: str, topic: str, parts: list[list[Record]], progress: Progress) -> int:
    """Produce the records, a list for each partition, and return their number. Raises
    KafkaException where one is not acknowledged. `progress` is called with the number so far after
    every REPORT records."""
    client = topics.producer(
        address,
        **{
            "client.id": "feeder", "enable.idempotence": True,
            "linger.ms": 20, "batch.num.messages": 10_000,
            # Half a million acknowledgements that are not looked at: only what failed is reported.
            "delivery.report.only.error": True,
        },
    )  # fmt: skip
    delivery = topics.Delivery()
    sent = 0
    # The partitions grow side by side, as they would in a living shop.
    for row in zip_longest(*parts):  # the next record of each partition; None: it has no more
        for partition, record in enumerate(row):
            if record is None:
                continue
            topics.send(client, topic, record.value, record.key, partition, record.stamp_ms,
                        delivery)  # fmt: skip
            sent += 1
            if sent % topics.CHUNK == 0:
                client.poll(0)
                delivery.check()
            if sent % REPORT == 0:
                progress(sent)
    topics.flush(client)
    delivery.check()
    return sent
