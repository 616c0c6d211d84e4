"""Which transaction is which, and what belongs to it: read off the logs, for pictures and
invariants. No role knows these numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ...kernel import World
from ..config import txn_logs
from ..coordinator import Entry
from ..log import COMMIT, Batch
from ..states import COMPLETED, TxnState


@dataclass(frozen=True, slots=True)
class Txn:
    """A transaction: `name` "T1" …, its id, the (pid, epoch) its data carries, every
    partition it ever named, the states it went through, the last one now."""

    name: str
    txn_id: str
    pid: int
    epoch: int
    partitions: frozenset[str]
    path: tuple[TxnState, ...]

    @property
    def state(self) -> TxnState:
        return self.path[-1]

    @property
    def outcome(self) -> str:
        """ "COMMIT", "ABORT" or "" while it is not decided."""
        for state in self.path:
            if state in (TxnState.PREPARE_COMMIT, TxnState.COMPLETE_COMMIT):
                return "COMMIT"
            if state in (TxnState.PREPARE_ABORT, TxnState.COMPLETE_ABORT):
                return "ABORT"
        return ""


def name_of(ids: tuple[str, ...], txn_id: str, nth: int) -> str:
    """The nth transaction (from 0) of an id. Ids take turns, so that no name ever depends
    on what happens later: with two ids T1, T3 … belong to the first, T2, T4 … to the other."""
    return f"T{ids.index(txn_id) + 1 + nth * len(ids)}"


def transactions(world: World, tc: str, ids: tuple[str, ...]) -> dict[str, list[Txn]]:
    """All transactions by id, oldest first, from `__transaction_state`."""
    out: dict[str, list[Txn]] = {txn_id: [] for txn_id in ids}
    disk = world.disk(tc)
    for log in txn_logs(disk):
        for record in disk.log(log).read(0):
            entry: Entry = record.entry
            if entry.txn_id in out:
                _continue(out[entry.txn_id], entry, ids)
    return out


def _continue(mine: list[Txn], entry: Entry, ids: tuple[str, ...]) -> None:
    if entry.state is TxnState.EMPTY:
        return
    new = not mine or mine[-1].state in COMPLETED
    if new and entry.state is not TxnState.ONGOING:
        return  # an empty abort, or its completion: nothing was ever in it
    if new:
        name = name_of(ids, entry.txn_id, len(mine))
        parts = frozenset(entry.partitions)
        mine.append(Txn(name, entry.txn_id, entry.pid, entry.epoch, parts, (entry.state,)))
        return
    txn = mine[-1]
    path = txn.path if txn.state is entry.state else (*txn.path, entry.state)
    mine[-1] = replace(txn, partitions=txn.partitions | set(entry.partitions), path=path)


def attributed(
    partition: str, log: Iterable[Batch], txns: Mapping[str, list[Txn]]
) -> list[tuple[Batch, Txn | None, str]]:
    """Every batch of a partition with its transaction and how that ended *here*:
    "COMMIT", "ABORT" or "" (open here, or none)."""
    rows: list[tuple[Batch, Txn | None, str]] = []
    open_at: dict[int, tuple[Txn | None, list[int]]] = {}
    closed: set[tuple[str, int]] = set()
    for batch in log:
        if batch.pid < 0 or not batch.transactional:
            rows.append((batch, None, COMMIT))
            continue
        txn, mine = open_at.get(batch.pid, (None, []))
        if not mine:
            txn = _candidate(partition, batch, txns, closed)
        rows.append((batch, txn, batch.control))
        if not batch.control:
            open_at[batch.pid] = (txn, [*mine, len(rows) - 1])
            continue
        for i in mine:
            rows[i] = (rows[i][0], rows[i][1], batch.control)
        open_at.pop(batch.pid, None)
        if txn is not None:
            closed.add((txn.name, txn.pid))
    return rows


def _candidate(
    partition: str, batch: Batch, txns: Mapping[str, list[Txn]], closed: set[tuple[str, int]]
) -> Txn | None:
    """The transaction that a batch begins here (or a lonely marker ends). A marker may
    carry the epoch of the data or the next one."""
    epochs = (batch.epoch - 1, batch.epoch) if batch.control else (batch.epoch,)
    matching = [
        t
        for mine in txns.values()
        for t in mine
        if t.pid == batch.pid and t.epoch in epochs and partition in t.partitions
    ]
    if batch.control:
        # A marker that is sent again comes when the next transaction may be under way.
        matching = [t for t in matching if t.outcome == batch.control] or matching
    fresh = [t for t in matching if (t.name, t.pid) not in closed]
    return next(iter(fresh or matching), None)
