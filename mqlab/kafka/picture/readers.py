"""What readers of either isolation level get now, and in words what is odd about it."""

from __future__ import annotations

from ...kernel import NOTHING, Got, Reader, Text
from ..log import Batch
from ..log.fetch import upper_bound
from ..messages import READ_COMMITTED, READ_UNCOMMITTED
from . import words
from .strips import label_record
from .transactions import Txn
from .view import View


def draw_committed_reader(seen: View) -> Reader:
    got = {p: seen.list_readable(p, READ_COMMITTED) for p in seen.cluster.partitions}
    return Reader(READ_COMMITTED, _given(got), describe_torn(seen, got) or describe_wait(seen))


def draw_uncommitted_reader(seen: View) -> Reader:
    got = {p: seen.list_readable(p, READ_UNCOMMITTED) for p in seen.cluster.partitions}
    note = NOTHING
    for txn in {t.name: t for rows in got.values() for _, t in rows if t}.values():
        if txn.outcome == "ABORT":
            note = words.ABORTED_READ(txn=txn.name)
        elif not txn.outcome and not note.en:
            note = words.UNDECIDED(txn=txn.name)
    return Reader(READ_UNCOMMITTED, _given(got), note)


def _given(got: dict[str, list[tuple[Batch, Txn | None]]]) -> tuple[Got, ...]:
    return tuple(
        Got(p, label_record(batch, i), txn.name if txn else "")
        for p, batches in got.items()
        for batch, txn in batches
        for i in range(batch.count)
    )


def describe_torn(seen: View, got: dict[str, list[tuple[Batch, Txn | None]]]) -> Text | None:
    """In words, that a reader gets part of a committed transaction."""
    holding: dict[str, set[str]] = {}
    shown: dict[str, set[str]] = {}
    for partition in seen.cluster.partitions:
        if seen.world.nodes[seen.cluster.leader(seen.world, partition)].up:
            for _, txn, _ in seen.rows[partition]:
                if txn:
                    holding.setdefault(txn.name, set()).add(partition)
    for partition, rows in got.items():
        for _, txn in rows:
            if txn:
                shown.setdefault(txn.name, set()).add(partition)
    for txn in seen.list_txns():
        mine = shown.get(txn.name, set())
        if mine and (missing := holding.get(txn.name, set()) - mine):
            return words.TORN(txn=txn.name, where=", ".join(sorted(missing)))
    return None


def describe_wait(seen: View) -> Text:
    """In words, which transaction holds a reader up."""
    for partition in seen.cluster.partitions:
        part = seen.parts[partition]
        limit = upper_bound(part, READ_COMMITTED)
        if limit < part.hw:
            for batch, txn, _ in seen.rows[partition]:
                if batch.base == limit and txn is not None:
                    return words.WAITS(where=partition, txn=txn.name)
    return NOTHING
