"""Logs as strips of cells: one an offset, markers among the data, frontiers between them."""

from __future__ import annotations

from collections.abc import Iterable

from ...kernel import Cell, Frontier, Log
from ...kernel.claims import keep_answers
from ..log import ABORT, Batch, fetch
from ..log.partition import Partition
from ..messages import READ_COMMITTED
from .transactions import Row, Txn
from .view import Seen


def draw_strips(seen: Seen, log: str) -> tuple[Log, ...]:
    """The leader's log, and beside it what each follower has copied of it."""
    most = seen.limits.cells
    return tuple(_draw_strip(name, part, rows, most) for name, part, rows in seen.list_copies(log))


def _draw_strip(name: str, part: Partition, rows: Iterable[Row], most: int) -> Log:
    limit = fetch.upper_bound(part, READ_COMMITTED)
    cells = tuple(
        cell
        for batch, txn, outcome in rows
        for cell in _draw_batch(batch, name_txn(txn), outcome, batch.last < limit, most)
    )
    start = cells[0].offset if cells else 0
    return Log(name, cells, (Frontier("LSO", part.read_limit), Frontier("HW", part.hw)), start)


@keep_answers
def _draw_batch(
    batch: Batch, txn: str, outcome: str, readable: bool, most: int
) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            offset=batch.base + i,
            label=batch.control[:1] or label_record(batch, i),
            kind="control" if batch.control else "data",
            txn=txn,
            readable=readable,
            aborted=outcome == ABORT and not batch.control,
        )
        for i in list_shown(batch, most)
    )


def name_txn(txn: Txn | None) -> str:
    return txn.name if txn is not None else ""


def list_shown(batch: Batch, most: int) -> range:
    """The places in a batch of its last `most` records; of all where that is 0."""
    return range(max(0, batch.count - most) if most else 0, batch.count)


def label_record(batch: Batch, i: int) -> str:
    """A lesson's value, or what the record calls itself; "·" where nothing is known of it. What a
    client has sent in bytes is read by a server's notes, which then know what to call it."""
    records = batch.records
    if not isinstance(records, tuple):
        return str(records.label(i)) if hasattr(records, "label") else "·"
    return str(getattr(records[i], "label", records[i])) if i < len(records) else "·"
