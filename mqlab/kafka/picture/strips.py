"""Logs as strips of cells: one an offset, markers among the data, frontiers between them."""

from __future__ import annotations

from ...kernel import Cell, Frontier, Log
from ..log import ABORT, Batch, fetch
from ..log.partition import Partition
from ..messages import READ_COMMITTED
from ..replication.copying import CHECKPOINT
from .transactions import Txn, attribute_batches
from .view import View


def draw_strips(seen: View, partition: str) -> list[Log]:
    """The leader's log, and beside it what each follower has copied of it."""
    cluster, leader = seen.cluster, seen.cluster.leader(seen.world, partition)
    logs = [_leading_strip(seen, partition)]
    for node in cluster.copies(partition):
        if node == leader:
            continue
        disk = seen.world.disk(node)
        hw = disk.table(CHECKPOINT).get(partition, 0)
        part = Partition.replay(cluster.config, disk.log(partition).read(0), hw)[0]
        rows = attribute_batches(partition, disk.log(partition).read(0), seen.txns)
        logs.append(_strip(node, part, rows))
    return logs


def _leading_strip(seen: View, partition: str) -> Log:
    name = seen.cluster.leader(seen.world, partition)
    return _strip(name, seen.parts[partition], seen.rows[partition])


def _strip(name: str, part: Partition, rows: list[tuple[Batch, Txn | None, str]]) -> Log:
    limit = fetch.upper_bound(part, READ_COMMITTED)
    cells = tuple(
        draw_cell(batch, i, label_record(batch, i), txn.name if txn else "", outcome, limit)
        for batch, txn, outcome in rows
        for i in range(batch.count)
    )
    return Log(name, cells, draw_frontiers(part.read_limit, part.hw))


def draw_cell(batch: Batch, i: int, label: str, txn: str, outcome: str, limit: int) -> Cell:
    """The record at place `i` of a batch. `outcome`: how its transaction ended in this log, ""
    while it is open; `limit`: the offset at which a reader of committed data must stop."""
    return Cell(
        offset=batch.base + i,
        label=batch.control[:1] or label,
        kind="control" if batch.control else "data",
        txn=txn,
        readable=batch.base + i < limit,
        aborted=outcome == ABORT and not batch.control,
    )


def draw_frontiers(lso: int, hw: int) -> tuple[Frontier, ...]:
    """Where readers of committed data, and where all readers, must stop."""
    return Frontier("LSO", lso), Frontier("HW", hw)


def label_record(batch: Batch, i: int) -> str:
    """A lesson's value, or what the record calls itself; "·" where nothing is known of it."""
    records = batch.records
    if not isinstance(records, tuple) or i >= len(records):
        return "·"
    return str(getattr(records[i], "label", records[i]))
