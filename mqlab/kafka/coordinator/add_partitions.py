"""AddPartitionsToTxn: the coordinator must know where it will owe markers.

A legacy client asks before it first writes to a partition. With transaction.version 2 the
partition's leader asks on the client's behalf, with the first Produce (KIP-890 part 2).
For legacy clients the leader only *verifies* that the client has asked (part 1): that is
what keeps a late batch from opening a transaction that nobody will ever end.

Sources: TransactionCoordinator#handleAddPartitionsToTransaction,
#handleVerifyPartitionsInTransaction (Kafka 4.3).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from ...kernel import Caller, Effects, Reply
from ..errors import Error
from ..messages import AddPartitionsToTxn, AddPartitionsToTxnResponse
from ..states import PREPARED, TxnState
from .entry import Entry

if TYPE_CHECKING:
    from ...kernel import Disk
    from . import Coordinator

Result = tuple["Coordinator", Effects]


def handle(
    tc: Coordinator, ask: AddPartitionsToTxn, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    error = tc.check_add(ask)
    if error or ask.verify_only:
        return tc, (Reply(caller, AddPartitionsToTxnResponse(error)),)
    entry: Entry = tc.entries[ask.txn_id]
    added = tuple(sorted({*entry.partitions, *ask.partitions}))
    ongoing = entry.state is TxnState.ONGOING
    if ongoing and added == entry.partitions:
        # Known already: no record, so nothing to wait for.
        return tc, (Reply(caller, AddPartitionsToTxnResponse()),)
    new = entry.enter(
        TxnState.ONGOING,
        tc.config.transaction_version,
        partitions=added,
        # The clock of the timeout starts here, not at the client's begin.
        start_ms=entry.start_ms if ongoing else at_ms,
        client_version=2 if ask.implicit else 0,
    )
    return tc.write(new, disk, at_ms, caller, AddPartitionsToTxnResponse())


def _holds(entry: Entry, partition: str) -> bool:
    """Whether it is part of the transaction; its partitions are in order."""
    place = bisect_left(entry.partitions, partition)
    return entry.partitions[place : place + 1] == (partition,)


def check_request(tc: Coordinator, ask: AddPartitionsToTxn) -> Error:
    """The first check that fails, in the order of the real coordinator."""
    if not ask.txn_id:
        return Error.INVALID_REQUEST
    entry: Entry | None = tc.entries.get(ask.txn_id)
    if entry is None:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if not ask.verify_only and (tc.busy(ask.txn_id) or entry.state in PREPARED):
        # First of all: until the end is complete, nobody knows which epoch will be right.
        return Error.CONCURRENT_TRANSACTIONS
    if entry.pid != ask.pid:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if entry.epoch != ask.epoch and "epoch_fencing" in tc.config.on:
        return Error.PRODUCER_FENCED
    if ask.verify_only:
        if entry.state in PREPARED:
            return Error.CONCURRENT_TRANSACTIONS
        inside = all(_holds(entry, partition) for partition in ask.partitions)
        return Error.NONE if inside else Error.TRANSACTION_ABORTABLE
    return Error.NONE
