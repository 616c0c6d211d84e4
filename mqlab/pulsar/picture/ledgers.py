"""What the disks say: decisions in coordinators' logs, messages and markers in partitions.

A coordinator deletes the records of a transaction that has ended, but on its cursor only, so its
log still tells here what was decided. The *first* COMMITTING or ABORTING is the decision; a record
that came too late stands behind it and counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from ...kernel import (
    FAILED,
    NOTHING,
    Append,
    Effect,
    Progress,
    Reply,
    Return,
    Send,
    Stretch,
    Text,
    World,
    frozen,
    replace,
)
from ...kernel.claims import keep_last_world
from ...kernel.role import Outcome
from ..config import (
    CURSORS,
    PulsarConfig,
    name_coordinator,
    name_pending_ack_log,
    name_transaction_log,
)
from ..ledger import Cursor
from ..messages import (
    AckPosition,
    Answer,
    LedgerEntry,
    PendingAckEntry,
    TransactionMetadataEntry,
    TxnID,
)
from ..pending_ack import PendingAck
from ..states import ENDED, AckType, MarkerType, TxnStatus
from ..subscription import Subscription
from ..topic import Topic

# A Pulsar cluster as claims and pictures need it: the names, in the order in which they stand


@frozen
class Cluster:
    """`clients`: the nodes with a PulsarClient. Partitions are the config's."""

    config: PulsarConfig
    clients: tuple[str, ...] = ()

    @property
    def partitions(self) -> tuple[str, ...]:
        return self.config.partitions

    @property
    def coordinators(self) -> tuple[str, ...]:
        return tuple(name_coordinator(number) for number in range(self.config.coordinators))


DECIDED = (TxnStatus.COMMITTING, TxnStatus.ABORTING)


@frozen
class Written:
    """`begun`: every transaction that has an id, of a server the latest; `before`: how many there
    were before them. `decisions`: COMMITTING or ABORTING, by transaction; `done`: those that are
    logged as COMMITTED or ABORTED."""

    begun: tuple[TxnID, ...]
    decisions: dict[TxnID, TxnStatus] = field(default_factory=dict)
    done: dict[TxnID, TxnStatus] = field(default_factory=dict)
    before: int = 0

    def name(self, txn: TxnID | None) -> str:
        """What a picture calls it: T1, T2 … in the order in which they began, "" for none."""
        return f"T{self.before + self.begun.index(txn) + 1}" if txn in self.begun else ""

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


# ---- What each durable subscription has acknowledged of a partition: a row below its cells
#
#     filled          acknowledged for good: the cursor has it
#     outlined, T1    pending: T1 has acknowledged it and is open
#     red cross       another transaction acknowledged it too, and got a TransactionConflict
#     flag            the cursor's mark-delete, behind what is acknowledged without a gap
#
# All of it is durable: of a partition that is down, the cursor and the pending-ack log tell it.

Refused = dict[tuple[AckType, int], TxnID]


def draw_subscriptions(
    cluster: Cluster, world: World, partition: str, written: Written
) -> tuple[Progress, ...]:
    """The acknowledgements of each durable subscription of a partition, from the role or, while it
    is down, from the disk."""
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
        drawn = range(disk.log(partition).end)
        rows.append(draw_subscription(name, cursor, pending, records, written, drawn))
    return tuple(rows)


def draw_subscription(
    name: str,
    cursor: Cursor,
    pending: PendingAck,
    records: Iterable[PendingAckEntry],
    written: Written,
    drawn: range,
) -> Progress:
    """The row of a subscription below its ledger: what is acknowledged, pending in which
    transaction, or was refused (TransactionConflict). `records`: those of the pending-ack log that
    have been applied. `drawn`: the entries that are drawn; a transaction may have acknowledged some
    that nobody has sent yet."""
    done = [(0, cursor.mark_delete)] if cursor.mark_delete >= 0 else []
    for first, last in cursor.individual:
        done += [(at, at) for at in range(max(first, drawn.start), min(last + 1, drawn.stop))]
    stretches = [Stretch(first, last) for first, last in done]
    held = {position: txn for txn, acked in pending.of_txn for position in acked}
    refused = _find_refused(records, pending, held)
    if pending.cumulative is not None:
        txn, upto = pending.cumulative
        other = next((t for (kind, _), t in refused.items() if kind is AckType.CUMULATIVE), None)
        first = min(cursor.mark_delete + 1, upto.position)
        stretches.append(Stretch(first, upto.position, written.name(txn), written.name(other)))
    for at, names in _name_holders(pending, held, written).items():
        other = refused.get((AckType.INDIVIDUAL, at))
        stretches.append(Stretch(at, at, names, written.name(other)))
    seen = (s for s in stretches if s.last >= drawn.start and s.first < drawn.stop)
    cut = (replace(s, last=min(s.last, drawn.stop - 1)) for s in seen)
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
    """Acknowledgements that were refused, by transaction. Who was refused where, as long as it is
    open. An ACK is logged before it is checked, so what its transaction does not hold, or had
    acknowledged already, was refused."""
    refused: Refused = {}
    granted: set[AckPosition] = set()
    for record in records:
        if record.op != "ACK":
            refused = {at: txn for at, txn in refused.items() if txn != record.txn}
            continue
        for position in record.positions:
            if record.ack_type is AckType.CUMULATIVE:
                has = pending.cumulative is not None and pending.cumulative[0] == record.txn
            else:
                has = held.get(position) == record.txn
            if has and position not in granted:
                granted.add(position)
            else:
                refused[record.ack_type, position.position] = record.txn
    return refused


# What the chart writes beside a message, a record or a call: its line without what the row shows
# anyway. A row has the name and the colour of its transaction, so the id is left out; low
# watermarks
# and an error's explanation stand in the narration.

#: "in (0,1)", "of (0,1)", "(0,1)"; "lowWatermark=-1"; how a transaction acknowledged
KNOWN = re.compile(r"( in| of)? \(\d+,\d+\)| lowWatermark=-?\d+| (Individual|Cumulative)")


def label_effect(effect: Effect | None, txn: str) -> Text:
    """`txn`: the name of its transaction, "" for none. Nothing where the line is short enough."""
    match effect:
        case Append(entry=said) | Send(body=said) if txn:
            return Text(KNOWN.sub("", str(said)))
        case Reply(body=Answer(error=error)) if error:
            return Text(error.name)
        case Return(value=Outcome(call=call, status=status, detail=detail)) if status == FAILED:
            return Text(f"{str(call).partition(' ')[0]}: {detail}")
    return NOTHING
