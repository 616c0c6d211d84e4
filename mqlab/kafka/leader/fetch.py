"""Fetch: what a reader gets.

The broker cuts, the client filters. Under read_committed the leader gives nothing at or
above the LSO, and adds the list of transactions that were aborted in the range; aborted
data and markers travel all the same. No mode buffers anything.

Sources: UnifiedLog#read, LocalLog#addAbortedTransactions, TransactionIndex (Kafka 4.3).
"""

from __future__ import annotations

from ...kernel import Disk
from ...storage import AbortedTxn, Batch
from ..errors import Error
from ..messages import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    Fetch,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
)
from ..partition import Partition


def limit(part: Partition, isolation: str) -> int:
    """The offset that a reader of this isolation level may not reach."""
    if isolation == READ_COMMITTED and part.config.lso_rule is not None:
        firsts = sorted(first for first, _ in (*part.open, *part.unreplicated))
        return part.config.lso_rule(tuple(firsts), part.hw)
    if isolation == READ_COMMITTED and "lso" in part.config.on:
        return part.lso
    return part.hw


def answer(part: Partition, name: str, ask: Fetch, disk: Disk) -> FetchResponse:
    log = disk.log(name)
    end = limit(part, ask.isolation)
    if not log.start <= ask.offset <= log.end:
        return FetchResponse(Error.OFFSET_OUT_OF_RANGE, part.hw, part.lso, log.start)
    batches: list[Batch] = []
    size = 0
    for batch in log.read(ask.offset, end) if ask.offset < end else ():
        if batch.last >= end or (batches and size + batch.size > ask.max_bytes):
            break
        batches.append(batch)
        size += batch.size
    aborted: tuple[AbortedTxn, ...] | None = None
    if ask.isolation == READ_COMMITTED:
        upper = batches[-1].last + 1 if batches else ask.offset
        aborted = aborted_between(name, ask.offset, upper, disk)
        if "aborted_index" not in part.config.on:
            aborted = ()
    return FetchResponse(Error.NONE, part.hw, part.lso, log.start, tuple(batches), aborted)


def aborted_between(name: str, start: int, upper: int, disk: Disk) -> tuple[AbortedTxn, ...]:
    """The aborted transactions that matter for [start, upper)
    (TransactionIndex#collectAbortedTxns). Entries are in the order of their last offset,
    so the first that matters is found by halving."""
    index = disk.log(name + ".txnindex")
    low, high = 0, index.end
    while low < high:
        middle = (low + high) // 2
        if next(iter(index.read(middle, middle + 1))).last_offset < start:
            low = middle + 1
        else:
            high = middle
    found: list[AbortedTxn] = []
    for entry in index.read(low):
        if entry.first_offset < upper:
            found.append(entry)
        if entry.lso >= upper:
            break
    return tuple(found)


def offset(part: Partition, name: str, ask: ListOffsets, disk: Disk) -> ListOffsetsResponse:
    """Earliest, latest (LSO or HW), or the first record stamped at or after a time, found
    among what the isolation level may read; -1 where there is none."""
    log = disk.log(name)
    end = limit(part, ask.isolation)
    if ask.at_ms == EARLIEST:
        return ListOffsetsResponse(log.start)
    if ask.at_ms == LATEST:
        return ListOffsetsResponse(end)
    for batch in log.read(log.start, end):
        if not batch.control and batch.at_ms >= ask.at_ms:
            return ListOffsetsResponse(batch.base, batch.at_ms)
    return ListOffsetsResponse(-1)
