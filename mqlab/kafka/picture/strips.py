"""Logs as strips of cells: one an offset, markers among the data, frontiers between them."""

from __future__ import annotations

from ...kernel import Cell, Frontier, Log
from ..log import Batch, fetch
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
    cells = []
    for batch, txn, outcome in rows:
        for i in range(batch.count):
            label = batch.control[:1] or label_record(batch, i)
            cells.append(
                Cell(
                    offset=batch.base + i,
                    label=label,
                    kind="control" if batch.control else "data",
                    txn=txn.name if txn else "",
                    readable=batch.base + i < limit,
                    aborted=outcome == "ABORT" and not batch.control,
                )
            )
    return Log(name, tuple(cells), (Frontier("LSO", part.lso), Frontier("HW", part.hw)))


def label_record(batch: Batch, i: int) -> str:
    records = batch.records
    if not isinstance(records, tuple) or i >= len(records):
        return "·"
    return str(getattr(records[i], "label", records[i]))
