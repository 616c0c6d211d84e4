"""Which transaction is which, and what belongs to it: read off records, for pictures and
invariants. No role knows these numbers.

**Two rules for one name.** A lesson knows its transactional ids in advance, and its ids take
turns: with two ids T1, T3 … are the first's and T2, T4 … the other's (`name_by_turn`). So a
name never depends on what happens later, nor on an order between the logs of two ids, which
a world does not keep; a search may therefore compare worlds by what they say of T2. A server
does not know who will come, and has an order: its transactions are numbered as they begin
(`name_by_beginning`). No rule serves both, since the one needs to know how many ids there
will be and the other who was first. They agree where there is one id, and where two begin
their transactions in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from ...kernel import Disk, frozen
from ..config import txn_logs
from ..coordinator import Entry
from ..log import COMMIT, Batch
from ..states import COMPLETED, TxnState


@frozen
class Txn:
    """A transaction: `name` "T1" …, its id, the (pid, epoch) its data carries, every
    partition it ever named, the states it went through, the last one now. `current`: the
    (pid, epoch) in its latest record, another than its data's once somebody was fenced."""

    name: str
    txn_id: str
    pid: int
    epoch: int
    partitions: frozenset[str]
    path: tuple[TxnState, ...]
    current: tuple[int, int]

    @property
    def fenced(self) -> bool:
        """Whether nobody may add to it any more with the epoch of its data: a newer instance
        has come, or (transaction.version 2, new client) its end has raised the epoch."""
        return self.current != (self.pid, self.epoch)

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


Row = tuple[Batch, Txn | None, str]


# ---- numbers ---------------------------------------------------------------------------


def name_by_turn(ids: tuple[str, ...], txn_id: str, nth: int) -> str:
    """The nth transaction (from 0) of an id, where all ids are known: they take turns."""
    return f"T{ids.index(txn_id) + 1 + nth * len(ids)}"


def name_by_beginning(begun: int) -> str:
    """The transaction that begins when so many have begun before it, whosever they are."""
    return f"T{begun + 1}"


# ---- from records to transactions ------------------------------------------------------


def read_transactions(disk: Disk, ids: tuple[str, ...]) -> dict[str, list[Txn]]:
    """All transactions by id, oldest first, from `__transaction_state`."""
    out: dict[str, list[Txn]] = {txn_id: [] for txn_id in ids}
    for log in txn_logs(disk):
        for record in disk.log(log).read(0):
            entry: Entry = record.entry
            mine = out.get(entry.txn_id)
            if mine is not None:
                add_record(mine, entry, partial(name_by_turn, ids, entry.txn_id, len(mine)))
    return out


def add_record(mine: list[Txn], entry: Entry, name: Callable[[], str]) -> None:
    """Take the next record of an id into account: `mine`, its transactions, oldest first, is
    changed in place. `name` is asked for one where the record begins a transaction."""
    if entry.state is TxnState.EMPTY:
        return
    current = (entry.pid, entry.epoch)
    if not mine or mine[-1].state in COMPLETED:
        if entry.state is TxnState.ONGOING:
            parts = frozenset(entry.partitions)
            mine.append(Txn(name(), entry.txn_id, *current, parts, (entry.state,), current))
        return  # else an empty abort, its completion, a tombstone: nothing was ever in it
    txn, state = mine[-1], entry.state
    path = txn.path if txn.state is state else (*txn.path, state)
    parts = txn.partitions.union(entry.partitions)
    mine[-1] = Txn(txn.name, txn.txn_id, txn.pid, txn.epoch, parts, path, current)


# ---- whose is it -----------------------------------------------------------------------


def find_last(mine: Sequence[Txn], epoch: int = -1) -> str:
    """The name of an id's latest transaction, of this producer epoch where there is one: what
    a zombie says is about its own transaction. "" where there is none."""
    fitting = [t for t in mine if t.epoch == epoch] or mine
    return fitting[-1].name if fitting else ""


def find_current(mine: Sequence[Txn], epoch: int, next_name: str, begins: bool = False) -> str:
    """The name of the transaction that a message of this epoch belongs to: a late one to an
    older transaction, one that arrives before the coordinator knows of it to the next.

    `begins`: it may begin a transaction of the same epoch, as a legacy client's
    AddPartitionsToTxn does, whose epoch stays. Its data never does: it leaves only when the
    coordinator has answered, so data of an epoch that is known is late, however late."""
    fitting = [t for t in mine if t.epoch == epoch]
    if not fitting:
        return next_name
    txn = fitting[-1]
    over = txn.state in COMPLETED and txn is mine[-1] and not txn.fenced
    return next_name if begins and over else txn.name


class Strip:
    """A log's batches in order, each with its transaction and how that ended *here*: "COMMIT",
    "ABORT" or "" (open here, or none). `rows`: by base offset."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self.open: dict[int, tuple[Txn | None, list[int]]] = {}  # by producer id

    def add(self, batch: Batch, find: Callable[[Batch], Txn | None]) -> Txn | None:
        """The next batch; its transaction. `find` is asked for one that nothing is open of here."""
        if batch.pid < 0 or not batch.transactional:
            self.rows[batch.base] = (batch, None, COMMIT)
            return None
        txn, mine = self.open.get(batch.pid, (None, []))
        if not mine:
            txn = find(batch)
        self.rows[batch.base] = (batch, txn, batch.control)
        if not batch.control:
            mine.append(batch.base)
            self.open[batch.pid] = (txn, mine)
            return txn
        for base in mine:
            if base in self.rows:
                self.rows[base] = (*self.rows[base][:2], batch.control)
        self.open.pop(batch.pid, None)
        return txn


def attribute_batches(
    partition: str, log: Iterable[Batch], txns: Mapping[str, list[Txn]]
) -> list[Row]:
    """Every batch of a whole partition with its transaction and how that ended here."""
    strip, here = Strip(), _by_epoch(partition, txns)
    closed: set[tuple[str, int]] = set()
    for batch in log:
        txn = strip.add(batch, lambda batch: _candidate(batch, here, closed))
        if batch.control and txn is not None:
            closed.add((txn.name, txn.pid))
    return list(strip.rows.values())


def _by_epoch(partition: str, txns: Mapping[str, list[Txn]]) -> dict[tuple[int, int], list[Txn]]:
    """The transactions that know of a partition, by producer id and epoch, oldest first."""
    by_epoch: dict[tuple[int, int], list[Txn]] = {}
    for mine in txns.values():
        for txn in mine:
            if partition in txn.partitions:
                by_epoch.setdefault((txn.pid, txn.epoch), []).append(txn)
    return by_epoch


def _candidate(
    batch: Batch, here: Mapping[tuple[int, int], list[Txn]], closed: set[tuple[str, int]]
) -> Txn | None:
    """The transaction that a batch begins here (or a lonely marker ends). A marker may
    carry the epoch of the data or the next one."""
    epochs = (batch.epoch - 1, batch.epoch) if batch.control else (batch.epoch,)
    matching = [txn for epoch in epochs for txn in here.get((batch.pid, epoch), ())]
    if batch.control:
        # A marker that is sent again comes when the next transaction may be under way.
        matching = [t for t in matching if t.outcome == batch.control] or matching
    fresh = [t for t in matching if (t.name, t.pid) not in closed]
    return next(iter(fresh or matching), None)
