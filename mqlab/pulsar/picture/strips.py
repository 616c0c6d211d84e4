"""Ledgers as strips of cells: a partition's messages and markers, and the coordinator's log.

    a message       hatched above maxReadPosition; struck through where its transaction was aborted
    a marker        a diamond: C of a commit, A of an abort
    a record        of a coordinator's log, in the colour of its transaction: →C and →A are the
                    decision; diamonds C and A say that everybody has answered

On a partition stands a flag for maxReadPosition, up to which consumers may be sent what lies there.
Each durable subscription has a row of its own (`acknowledged.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...kernel import Cell, Frontier, Log, Progress, World
from ..config import name_coordinator, name_transaction_log
from ..messages import LedgerEntry, TransactionMetadataEntry
from ..states import ENDED, MarkerType, TxnStatus
from ..topic import Topic
from .acknowledged import draw_subscriptions
from .cluster import Cluster
from .ledgers import Written, read_coordinators, read_entries

MAX_READ = "maxReadPosition"
#: records by their operation or, of an UPDATE, by the state that it enters
SHORT = {
    "NEW": "new",
    "ADD_PARTITION": "part",
    "ADD_SUBSCRIPTION": "sub",
    TxnStatus.COMMITTING: "→C",
    TxnStatus.COMMITTED: "C",
    TxnStatus.ABORTING: "→A",
    TxnStatus.ABORTED: "A",
}
SIGNS = {MarkerType.TXN_COMMIT: "C", MarkerType.TXN_ABORT: "A"}


def draw_strips(cluster: Cluster, world: World) -> tuple[Log, ...]:
    written = read_coordinators(cluster, world)
    partitions = tuple(draw_partition(cluster, world, name, written) for name in cluster.partitions)
    numbers = range(cluster.config.coordinators)
    return (*partitions, *(_draw_records(world, number, written) for number in numbers))


def draw_partition(cluster: Cluster, world: World, name: str, written: Written) -> Log:
    rows = draw_subscriptions(cluster, world, name, written)
    return draw_ledger(name, read_entries(world, name), world.role(name), written, rows)


def draw_ledger(
    name: str,
    entries: Sequence[LedgerEntry],
    topic: Topic | None,
    written: Written,
    rows: tuple[Progress, ...],
) -> Log:
    """A lesson's whole ledger, or the end of a server's: a flag that stands before it is not drawn.
    `topic`: None while nobody serves it."""
    cells = tuple(draw_entry(entry, topic, written) for entry in entries)
    start = entries[0].base if entries else 0
    flags: tuple[Frontier, ...] = ()
    if topic is not None and topic.readable + 1 >= start:
        flags = (Frontier(MAX_READ, topic.readable + 1, inclusive=True),)
    return Log(name, cells, flags, start, progress=rows)


def draw_entry(entry: LedgerEntry, topic: Topic | None, written: Written) -> Cell:
    name = written.name(entry.txn)
    if entry.marker is not None:
        return Cell(entry.base, SIGNS[entry.marker], "control", name)
    aborted = entry.txn is not None and topic is not None and entry.txn in topic.buffer.aborts
    return Cell(
        entry.base,
        ",".join(map(str, entry.values)),
        txn=name,
        readable=topic is not None and entry.base <= topic.readable and not aborted,
        aborted=aborted,
    )


def _draw_records(world: World, number: int, written: Written) -> Log:
    log = world.disk(name_coordinator(number)).log(name_transaction_log(number))
    return draw_records(number, list(log.read(0)), written)


def draw_records(number: int, records: Sequence[TransactionMetadataEntry], written: Written) -> Log:
    """Of a coordinator; the last ones of a server's."""
    cells = tuple(draw_record(record, written) for record in records)
    return Log(name_transaction_log(number), cells, start=records[0].base if records else 0)


def draw_record(record: TransactionMetadataEntry, written: Written) -> Cell:
    return Cell(record.base, _label(record), _shape(record), written.name(record.txn))


def _shape(record: TransactionMetadataEntry) -> str:
    """Square until the transaction has ended, so that its span on the lane ends there too."""
    return "control" if record.status in ENDED else "data"


def _label(record: TransactionMetadataEntry) -> str:
    return SHORT[record.op] if record.status is None else SHORT[record.status]
