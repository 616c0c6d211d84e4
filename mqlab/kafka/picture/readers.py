"""What readers of either isolation level get now, and in words what is odd about it."""

from __future__ import annotations

from collections.abc import Iterable

from ...kernel import NOTHING, Got, Reader, Text
from ...kernel.claims import keep_answers
from ..log import Batch
from ..log.fetch import upper_bound
from ..messages import READ_COMMITTED, READ_UNCOMMITTED
from . import words
from .strips import label_record, list_shown, name_txn
from .transactions import Row
from .view import Given, Seen


def draw_readers(seen: Seen) -> tuple[Reader, ...]:
    return draw_committed_reader(seen), draw_uncommitted_reader(seen)


def draw_committed_reader(seen: Seen) -> Reader:
    given = seen.list_given(READ_COMMITTED)
    note = describe_torn(seen, given) or describe_wait(seen)
    return Reader(READ_COMMITTED, _draw_given(given, seen.limits.cells), note)


def draw_uncommitted_reader(seen: Seen) -> Reader:
    given = seen.list_given(READ_UNCOMMITTED)
    note = NOTHING
    for txn in {t.name: t for _, _, t in given if t}.values():
        if txn.outcome == "ABORT":
            note = words.ABORTED_READ(txn=txn.name)
        elif not txn.outcome and not note.en:
            note = words.UNDECIDED(txn=txn.name)
    return Reader(READ_UNCOMMITTED, _draw_given(given, seen.limits.cells), note)


def _draw_given(given: Given, most: int) -> tuple[Got, ...]:
    return tuple(
        got
        for partition, batch, txn in given
        for got in _draw_batch(partition, batch, name_txn(txn), most)
    )


@keep_answers
def _draw_batch(partition: str, batch: Batch, txn: str, most: int) -> tuple[Got, ...]:
    return tuple(Got(partition, label_record(batch, i), txn) for i in list_shown(batch, most))


def describe_torn(seen: Seen, given: Given) -> Text | None:
    """In words, that a reader gets part of a committed transaction."""
    holding = {p: _name_txns(seen.rows[p]) for p in seen.partitions if seen.is_up(p)}
    shown = {(partition, txn.name) for partition, _, txn in given if txn}
    for name in (txn.name for txn in seen.list_txns()):
        missing = [p for p, held in holding.items() if name in held and (p, name) not in shown]
        if missing and any((p, name) in shown for p in seen.partitions):
            return words.TORN(txn=name, where=", ".join(sorted(missing)))
    return None


@keep_answers
def _name_txns(rows: Iterable[Row]) -> set[str]:
    return {txn.name for _, txn, _ in rows if txn}


def describe_wait(seen: Seen) -> Text:
    """In words, which transaction holds a reader up."""
    for partition in seen.partitions:
        part = seen.parts[partition]
        limit = upper_bound(part, READ_COMMITTED)
        if limit < part.hw:
            for batch, txn, _ in seen.rows[partition]:
                if batch.base == limit and txn is not None:
                    return words.WAITS(where=partition, txn=txn.name)
    return NOTHING
