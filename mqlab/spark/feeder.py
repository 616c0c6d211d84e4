"""Feeds a file of order lines into topic Order: one message a line, keyed by its invoice.

- All lines of an invoice go to one partition, in the file's order (`topics.partition_of`).
- Each record is stamped with its order time, so that the broker can be asked "which is the first
  record at or after 12:05?" (offsets-for-times). That is how the job cuts its batches.
- A closing record a partition says that no order comes after it; its time is the minute after
  the last order's. Without it the last minute would stay open for ever: a watermark moves only
  when something later arrives.

Why the feeder is idempotent and NOT transactional. A transaction would leave its commit marker in
the log, stamped with today's time; asked for the first record at or after any time since 2011 the
broker then answers with that marker (Kafka 4.3.1), and no batch could be cut behind it.

Why a killed feeder doubles nothing all the same. One message a line and no markers: the end
offset of a partition IS the number of its lines that are in. So a restarted feeder goes on behind
them, after it has compared the last record it finds there with the line it would have sent. What
is still under way from a killed feeder can only be seen afterwards: the final count must fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from . import topics
from .errors import IncomeError
from .orders import CLOSING, MINUTE_MS, YEARS, BadLine, Line, encode, floor_minute, time_ms

Progress = Callable[[int], None]
LARGEST = 1_000_000  # bytes of a value; the client and a broker refuse messages over 1 MiB or so
REPORT = 100_000  # records between two calls of it


class Record(NamedTuple):
    """What the feeder sends: `stamp_ms` is the order's time, milliseconds since 1970 UTC."""

    key: bytes | None
    value: bytes
    stamp_ms: int


def records(lines: Sequence[Line]) -> list[Record]:
    """One record a line. A line whose time cannot be read gets the stamp of the one before it,
    and those before the first readable one get that one's: a stamp of 0 would mean "now".

    Raises IncomeError where no line has a time that can be read.
    """
    if not lines:
        return []
    stamps = [_stamp(line) for line in lines]
    last = next((stamp for stamp in stamps if stamp is not None), None)
    if last is None:
        raise IncomeError(
            f"no order line has an InvoiceDate like 2011-12-05 08:38:00 (the first has "
            f"{lines[0].get('InvoiceDate', '')!r}): write the times that way, years "
            f"{YEARS[0]} to {YEARS[-1]}"
        )
    found = []
    for number, (line, stamp) in enumerate(zip(lines, stamps, strict=True), 1):
        last = last if stamp is None else stamp
        value = encode(line)
        if len(value) > LARGEST:
            raise IncomeError(
                f"order line {number:,} is {len(value):,} bytes long, a message of Kafka takes "
                f"{LARGEST:,}: shorten it"
            )
        found.append(Record(line.get("InvoiceNo", "").encode(), value, last))
    return found


def _stamp(line: Line) -> int | None:
    try:
        return time_ms(line.get("InvoiceDate", ""))
    except BadLine:
        return None


def digest(found: Sequence[Record]) -> str:
    """SHA-256 over all records: two feeds with the same digest are the same feed."""
    total = hashlib.sha256()
    for record in found:
        total.update(repr(record).encode())
    return total.hexdigest()


def split(found: Sequence[Record], partitions: int) -> list[list[Record]]:
    """The records of each partition, its closing record last."""
    parts: list[list[Record]] = [[] for _ in range(partitions)]
    for record in found:
        parts[topics.partition_of((record.key or b"").decode(), partitions)].append(record)
    last = max((record.stamp_ms for record in found), default=0)
    closing = Record(None, CLOSING, floor_minute(last) + MINUTE_MS)
    return [[*part, closing] for part in parts]


def feed(
    address: str,
    topic: str,
    found: Sequence[Record],
    partitions: int = 2,
    progress: Progress = lambda sent: None,
) -> int:
    """Send what is not in the topic yet, then close it; gives how many records were sent.

    Raises IncomeError if the topic holds anything but the beginning of these records.
    """
    with topics.broker_errors(address):
        topics.create(address, topic, partitions)
        parts = split(found, partitions)
        there = _already(address, topic, parts)
        sent = _send(address, topic, [part[n:] for part, n in zip(parts, there, strict=True)],
                     progress)  # fmt: skip
        _already(address, topic, parts, complete=True)
        return sent


def _already(
    address: str, topic: str, parts: list[list[Record]], complete: bool = False
) -> list[int]:
    """How many records of each partition are in; checks the last of them."""
    client = topics.consumer(address)
    try:
        counts = []
        for partition, part in enumerate(parts):
            _, end = topics.bounds(client, topic, partition)
            last = topics.at_offset(client, topic, partition, end - 1) if end else None
            fits = end <= len(part) and (last is None or last.value() == part[end - 1].value)
            if not fits or (complete and end != len(part)):
                raise IncomeError(
                    f"topic {topic} holds something else than these orders (partition {partition} "
                    f"ends at {end}, the orders at {len(part)}): feed a topic of its own, that is, "
                    "take a fresh --checkpoint"
                )
            counts.append(end)
        return counts
    finally:
        client.close()


def _send(address: str, topic: str, parts: list[list[Record]], progress: Progress) -> int:
    client = topics.producer(
        address,
        **{"enable.idempotence": True, "linger.ms": 20, "batch.num.messages": 10_000},
    )
    delivery = topics.Delivery()
    sent = 0
    # The partitions grow side by side, as they would in a living shop.
    for row in zip_longest(*parts):
        for partition, record in enumerate(row):
            if record is None:
                continue
            topics.send(client, topic, key=record.key, value=record.value, partition=partition,
                        timestamp=record.stamp_ms, on_delivery=delivery)  # fmt: skip
            sent += 1
            if sent % topics.CHUNK == 0:
                client.poll(0)
                delivery.check()
            if sent % REPORT == 0:
                progress(sent)
    topics.flush(client)
    delivery.check()
    return sent
