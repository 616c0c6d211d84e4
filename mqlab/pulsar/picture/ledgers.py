"""What the disks say: decisions in coordinators' logs, messages and markers in partitions.

A coordinator deletes the records of a transaction that has ended, but on its cursor only, so its
log still tells here what was decided. The *first* COMMITTING or ABORTING is the decision; a record
that came too late stands behind it and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from ...kernel import World, frozen
from ...kernel.claims import keep_last_world
from ..config import name_transaction_log
from ..messages import LedgerEntry, TransactionMetadataEntry, TxnID
from ..states import ENDED, MarkerType, TxnStatus
from .cluster import Cluster

DECIDED = (TxnStatus.COMMITTING, TxnStatus.ABORTING)


@frozen
class Written:
    """`begun`: every transaction that has an id. `decisions`: COMMITTING or ABORTING, by
    transaction; `done`: those that are logged as COMMITTED or ABORTED."""

    begun: tuple[TxnID, ...]
    decisions: dict[TxnID, TxnStatus] = field(default_factory=dict)
    done: dict[TxnID, TxnStatus] = field(default_factory=dict)

    def name(self, txn: TxnID | None) -> str:
        """What a picture calls it: T1, T2 … in the order in which they began, "" for none."""
        return f"T{self.begun.index(txn) + 1}" if txn in self.begun else ""

    def has_committed(self, txn: TxnID) -> bool:
        """Whether its commit is decided."""
        return self.decisions.get(txn) is TxnStatus.COMMITTING


@keep_last_world
def read_coordinators(cluster: Cluster, world: World) -> Written:
    """What all coordinators have written."""
    written = Written(tuple(e.txn for e in _list_records(cluster, world) if e.op == "NEW"))
    for entry in _list_records(cluster, world):
        if entry.status in DECIDED:
            written.decisions.setdefault(entry.txn, entry.status)
        elif entry.status in ENDED:
            written.done.setdefault(entry.txn, entry.status)
    return written


def _list_records(cluster: Cluster, world: World) -> Iterator[TransactionMetadataEntry]:
    for number, node in enumerate(cluster.coordinators):
        yield from world.disk(node).log(name_transaction_log(number)).read(0)


def read_entries(world: World, partition: str) -> list[LedgerEntry]:
    """Everything in a partition's ledger."""
    return list(world.disk(partition).log(partition).read(0))


def list_markers(entries: list[LedgerEntry], kind: MarkerType) -> list[LedgerEntry]:
    return [entry for entry in entries if entry.marker is kind]


def has_ended(entries: list[LedgerEntry], message: LedgerEntry) -> bool:
    """Whether the transaction of this message is open no more, as the partition itself tells: a
    marker lies behind the message, or it was aborted before that."""
    return any(
        entry.base > message.base or entry.marker is MarkerType.TXN_ABORT
        for entry in entries
        if entry.marker is not None and entry.txn == message.txn
    )
