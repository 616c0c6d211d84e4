"""The first client connects: the log is read, and what it leaves undone is gone on with.

    OPEN         its deadline is watched again, the one it had from the start
    COMMITTING   it is committed again, to every participant
    ABORTING     it is aborted again
    COMMITTED …  its records should have been deleted: they are now

A record that was too late when it was written, and that a kill kept from being deleted, is too late
again, and deleted now: it is compared with the state that it expected, as it was the first time.

Ids go on with the last one in the log, whether its transaction is known or not.

Source: MLTransactionLogImpl#replayAsync, MLTransactionMetadataStore#init,
TransactionRecoverTrackerImpl, MLTransactionSequenceIdGenerator (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Disk, Effects, Map, Put, replace
from ..config import CURSORS, TRANSACTION_CURSOR
from ..ledger import Cursor
from ..messages import TransactionMetadataEntry, TxnID
from ..states import ENDED, StoreState, TxnStatus
from . import ending, timing
from .meta import TxnMeta

if TYPE_CHECKING:
    from . import Coordinator

Result = tuple["Coordinator", Effects]


def load(tc: Coordinator, disk: Disk, at_ms: int) -> Result:
    log = disk.log(tc.log)
    kept: Cursor = disk.table(CURSORS).get(TRANSACTION_CURSOR, Cursor())
    last = next((entry.max_local_txn_id for entry in log.read(log.end - 1)), -1)
    entries = [entry for entry in log.read(0) if not kept.is_deleted(entry.base)]
    txns, useless = replay(entries)
    if "replay_log" not in tc.config.on:
        txns, useless = Map(), ()
    cursor = kept.delete(useless)
    new = replace(tc, state=StoreState.READY, sequence=last, txns=txns, cursor=cursor)
    effects: Effects = (Put(CURSORS, TRANSACTION_CURSOR, cursor),) if useless else ()
    for meta in txns.values():
        if meta.status is TxnStatus.OPEN:
            new, more = timing.track(new, meta, disk, at_ms)
        else:
            new, more = ending.tell_participants(new, meta, None, disk)
        effects = (*effects, *more)
    return new, effects


def replay(
    entries: list[TransactionMetadataEntry],
) -> tuple[Map[TxnID, TxnMeta], tuple[int, ...]]:
    """The transactions that are live after these records, and the records that nobody needs."""
    txns: Map[TxnID, TxnMeta] = Map()
    useless: tuple[int, ...] = ()
    for entry in entries:
        meta = txns.get(entry.txn)
        if entry.op == "NEW":
            meta = TxnMeta(entry.txn, timeout_ms=entry.timeout_ms, start_ms=entry.start_ms)
            txns = txns.set(entry.txn, replace(meta, records=(entry.base,)))
        elif meta is None:
            useless = (*useless, entry.base)
        elif entry.status in ENDED:
            txns = txns.remove(entry.txn)
            useless = (*useless, *meta.records, entry.base)
        elif meta.accepts(entry):
            txns = txns.set(entry.txn, meta.apply(entry))
        else:
            useless = (*useless, entry.base)
    return txns, useless
