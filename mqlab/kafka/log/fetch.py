"""Fetch: what a reader gets.

The broker cuts, the client filters. Under read_committed the leader gives nothing at or
above the LSO, and adds the list of transactions that were aborted in the range; aborted
data and markers travel all the same. No mode buffers anything.

Sources: UnifiedLog#read, LocalLog#addAbortedTransactions, TransactionIndex (Kafka 4.3).
"""

from __future__ import annotations

from typing import Protocol

from ...kernel import Disk
from ...kernel.role import LogView
from ..errors import Error
from ..messages import (
    EARLIEST,
    LATEST,
    NEWEST,
    READ_COMMITTED,
    Fetch,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
)
from .batch import AbortedTxn, Batch, index_of
from .partition import Partition

LEAST_BYTES = 70  # of a record that no client sent, so that nobody has counted its bytes


def upper_bound(part: Partition, isolation: str) -> int:
    """The offset that a reader of this isolation level may not reach."""
    if isolation == READ_COMMITTED and "lso" in part.config.on:
        return part.read_limit
    return part.hw


def answer_fetch(part: Partition, name: str, ask: Fetch, disk: Disk) -> FetchResponse:
    log = disk.log(name)
    end = upper_bound(part, ask.isolation)
    if not log.start <= ask.offset <= log.end:
        return FetchResponse(Error.OFFSET_OUT_OF_RANGE, part.hw, part.read_limit, log.start)
    batches: list[Batch] = []
    size = 0
    for batch in log.read(ask.offset, end) if ask.offset < end else ():
        bytes_more = batch.size or LEAST_BYTES * batch.count
        if batch.last >= end or (batches and size + bytes_more > ask.max_bytes):
            break
        batches.append(batch)
        size += bytes_more
    aborted: tuple[AbortedTxn, ...] | None = None
    if ask.isolation == READ_COMMITTED:
        upper = batches[-1].last + 1 if batches else ask.offset
        aborted = collect_aborted_txns(name, ask.offset, upper, disk)
        if "aborted_index" not in part.config.on:
            aborted = ()
    return FetchResponse(Error.NONE, part.hw, part.read_limit, log.start, tuple(batches), aborted)


def collect_aborted_txns(name: str, start: int, upper: int, disk: Disk) -> tuple[AbortedTxn, ...]:
    """The aborted transactions that matter for [start, upper)
    (TransactionIndex#collectAbortedTxns). Entries are in the order of their last offset,
    so the first that matters is found by halving."""
    index = disk.log(index_of(name))
    low, high = 0, index.end
    while low < high:
        middle = (low + high) // 2
        if next(iter(index.read(middle, middle + 1))).last_offset < start:
            low = middle + 1
        else:
            high = middle
    aborted: list[AbortedTxn] = []
    for entry in index.read(low):
        if entry.first_offset < upper:
            aborted.append(entry)
        if entry.lso >= upper:
            break
    return tuple(aborted)


class TimeIndexed(Protocol):
    """A log that keeps a time index beside its batches (`.timeindex`) finds a time by
    halving; a lesson's log has none and is read from its start."""

    def find_since(self, at_ms: int) -> int: ...

    @property
    def newest(self) -> int: ...


class Stamped(Protocol):
    """Records that are bytes, each with a stamp of its own; (place, stamp) of the first at
    or after a time. A lesson's records share their batch's stamp."""

    def find_since(self, at_ms: int) -> tuple[int, int] | None: ...


def answer_list_offsets(
    part: Partition, name: str, ask: ListOffsets, disk: Disk
) -> ListOffsetsResponse:
    """Earliest, latest (LSO or HW), or the first record stamped at or after a time, found
    among what the isolation level may read; -1 where there is none. A marker is a record
    with a stamp of its own and may be the answer (seen on a real 4.3.1 broker)."""
    log = disk.log(name)
    end = upper_bound(part, ask.isolation)
    if ask.at_ms == EARLIEST:
        return ListOffsetsResponse(log.start)
    if ask.at_ms == LATEST:
        return ListOffsetsResponse(end)
    at_ms = find_newest(log, end) if ask.at_ms == NEWEST else ask.at_ms
    start: int = log.find_since(at_ms) if hasattr(log, "find_since") else log.start
    for batch in log.read(start, end) if start < end else ():
        if batch.at_ms >= at_ms:
            return _find_since(batch, at_ms)
    return ListOffsetsResponse(-1)


def find_newest(log: LogView | TimeIndexed, end: int) -> int:
    """The latest stamp of a log, which is not always the last."""
    if hasattr(log, "newest"):
        return log.newest
    return max((b.at_ms for b in log.read(log.start, end)), default=-1)


def _find_since(batch: Batch, at_ms: int) -> ListOffsetsResponse:
    """The record within a batch whose latest stamp is late enough."""
    records: Stamped | object = batch.records
    match = records.find_since(at_ms) if hasattr(records, "find_since") else None
    if match is None:
        return ListOffsetsResponse(batch.base, batch.at_ms)
    place, stamp = match
    return ListOffsetsResponse(batch.base + place, stamp)
