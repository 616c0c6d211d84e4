"""What each durable subscription has acknowledged of a partition: a row below the strip.

    filled          acknowledged for good: the cursor has it
    outlined, T1    pending: T1 has acknowledged it and is open
    red cross       another transaction acknowledged it too, and got a TransactionConflict
    flag            the cursor's mark-delete, behind what is acknowledged without a gap

All of it is durable: of a partition that is down, the cursor and the pending-ack log tell it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...kernel import Progress, Stretch, World, replace
from ..config import CURSORS, name_pending_ack_log
from ..ledger import Cursor
from ..messages import AckPosition, PendingAckEntry, TxnID
from ..pending_ack import PendingAck
from ..states import AckType
from ..subscription import Subscription
from ..topic import Topic
from .cluster import Cluster
from .ledgers import Written

Refused = dict[tuple[AckType, int], TxnID]


def draw_subscriptions(
    cluster: Cluster, world: World, partition: str, written: Written
) -> tuple[Progress, ...]:
    topic: Topic | None = world.role(partition)
    disk = world.disk(partition)
    rows = []
    for name, cursor in disk.table(CURSORS).items():
        sub = None if topic is None else topic.subs.get(name)
        if sub is None:
            begun = Subscription(cluster.config, partition, name)
            pending, cursor = begun.replay_log(cursor, disk, disk.log(partition).end - 1)
        else:
            pending = sub.pending
        waiting = () if sub is None else tuple(w.record for w in sub.waiting)  # not applied yet
        log = disk.log(name_pending_ack_log(partition, name)).read(0)
        records = [record for record in log if record not in waiting]
        strip = range(disk.log(partition).end)
        rows.append(draw_subscription(name, cursor, pending, records, written, strip))
    return tuple(rows)


def draw_subscription(
    name: str,
    cursor: Cursor,
    pending: PendingAck,
    records: Iterable[PendingAckEntry],
    written: Written,
    strip: range,
) -> Progress:
    """`records`: those of the pending-ack log that have been applied. `strip`: the entries that are
    drawn; a transaction may have acknowledged some that nobody has sent yet."""
    done = [(0, cursor.mark_delete)] if cursor.mark_delete >= 0 else []
    for first, last in cursor.individual:
        done += [(at, at) for at in range(max(first, strip.start), min(last + 1, strip.stop))]
    stretches = [Stretch(first, last) for first, last in done]
    held = {position: txn for txn, acked in pending.of_txn for position in acked}
    refused = _find_refused(records, pending, held)
    if pending.slot is not None:
        txn, upto = pending.slot
        other = next((t for (kind, _), t in refused.items() if kind is AckType.CUMULATIVE), None)
        first = min(cursor.mark_delete + 1, upto.position)
        stretches.append(Stretch(first, upto.position, written.name(txn), written.name(other)))
    for at, names in _name_holders(pending, held, written).items():
        other = refused.get((AckType.INDIVIDUAL, at))
        stretches.append(Stretch(at, at, names, written.name(other)))
    seen = (s for s in stretches if s.last >= strip.start and s.first < strip.stop)
    cut = (replace(s, last=min(s.last, strip.stop - 1)) for s in seen)
    return Progress(name, cursor.mark_delete + 1, tuple(cut))


def _name_holders(
    pending: PendingAck, held: dict[AckPosition, TxnID], written: Written
) -> dict[int, str]:
    """Who holds an entry; messages of one batch may be held by several."""
    holders: dict[int, dict[str, None]] = {}
    for position, txn in held.items():
        if pending.is_pending(position):
            holders.setdefault(position.position, {})[written.name(txn)] = None
    return {at: ",".join(names) for at, names in holders.items()}


def _find_refused(
    records: Iterable[PendingAckEntry], pending: PendingAck, held: dict[AckPosition, TxnID]
) -> Refused:
    """Who was refused where, as long as it is open. An ACK is logged before it is checked, so what
    its transaction does not hold, or had acknowledged already, was refused."""
    refused: Refused = {}
    granted: set[AckPosition] = set()
    for record in records:
        if record.op != "ACK":
            refused = {at: txn for at, txn in refused.items() if txn != record.txn}
            continue
        for position in record.positions:
            if record.ack_type is AckType.CUMULATIVE:
                has = pending.slot is not None and pending.slot[0] == record.txn
            else:
                has = held.get(position) == record.txn
            if has and position not in granted:
                granted.add(position)
            else:
                refused[record.ack_type, position.position] = record.txn
    return refused
