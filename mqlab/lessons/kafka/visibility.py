"""What a reader may see, as text: lab 07's tables, read off traces and logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...kafka.clients.calls import EndOffset, Lag, Poll, PositionOf
from ...kafka.log import Batch
from ...kafka.log.batch import AbortedTxn
from ...kernel import FactKind, Outcome, Trace
from ...registry.tables import columns


def readers(trace: Trace, position: int) -> None:
    """Print what each reader is given at this step, and why it waits."""
    for reader in trace.snapshot(position).readers:
        given = (f"{g.label}({g.txn})" if g.txn else g.label for g in reader.got)
        got = " ".join(given) or "nothing"
        print(f"{reader.name:<17} {got:<20} {reader.note}".rstrip())


def frontiers(trace: Trace, position: int) -> None:
    """Print each partition's log at this step with its high watermark and its LSO."""
    for log in trace.snapshot(position).logs:
        cells = " ".join(f"{c.label}@{c.offset}" for c in log.cells)
        places = " ".join(f"{f.name}={f.at}" for f in log.frontiers)
        print(f"{log.name:<11} {cells:<28} {places}".rstrip())


def lag_table(trace: Trace) -> str:
    """A line each time that a reader has polled and asked for its position, the end and its
    lag: these, and the lag that counts from the last *record* it was given."""
    rows: list[tuple[str, ...]] = [
        ("the reader is given", "position", "end", "its lag", "end − (last record + 1)")
    ]
    offsets = {c.label: c.offset for log in trace.snapshot(-1).logs for c in log.cells}
    last, row = -1, [""]
    for fact in trace:
        match fact.body:
            case Outcome(call=Poll(isolation="read_committed"), status="ok", detail=given):
                last = max([last, *(offsets.get(value, -1) for value in given.split(", "))])
                row = [given]
            case Outcome(
                call=PositionOf() | EndOffset(isolation="read_committed"), status="ok", detail=at
            ):
                row.append(at)
            case Outcome(call=Lag(), status="ok", detail=lag):
                rows.append((*row, lag, str(int(row[2]) - last - 1)))
    return columns(rows)


def list_index_steps(trace: Trace) -> str:
    """The steps around the one at which a leader notes an aborted transaction in its index:
    the marker before it, and the move of the LSO after it."""
    facts = list(trace)
    noted = next(f for f in facts if isinstance(f.body, AbortedTxn))
    same = [
        f for f in facts if f.node == noted.node and f.kind in (FactKind.APPEND, FactKind.CHANGE)
    ]
    at = same.index(noted)
    return "\n".join(f.line(width=8) for f in same[at - 1 : at + 2])


def by_hand(batches: Iterable[Batch], aborted: Sequence[tuple[int, int]]) -> list[str]:
    """What a read_committed client keeps of a fetch, from (producer id, first offset) pairs
    alone: a listed producer's records are dropped up to its abort marker
    (CompletedFetch#consumeAbortedTransactionsUpTo)."""
    dropping: set[int] = set()
    kept: list[str] = []
    waiting = sorted(aborted, key=lambda pair: pair[1])
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last:
            dropping.add(waiting.pop(0)[0])
        if batch.control == "ABORT":
            dropping.discard(batch.pid)
        elif not batch.control and not (batch.transactional and batch.pid in dropping):
            kept.append(batch.words)
    return kept
