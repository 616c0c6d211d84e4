"""What is no log, as rows of text.

table                    made from                                       key
transactions             the coordinators' memory                        transaction
transaction buffers      each partition's memory                         partition
pending acknowledgements each subscription's memory                      subscription
producers                each partition's memory, the epoch from its disk partition
timers                   the coordinators' nodes                         timer
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...kernel import Map, Table, World
from ..coordinator import TxnMeta
from ..messages import TxnID
from ..pending_ack import PendingAck
from ..subscription import Subscription
from ..topic import Topic
from . import words
from .cluster import Cluster
from .ledgers import Written

TXN_COLUMNS = ("transaction", "id", "status", "participants")
BUFFER_COLUMNS = ("partition", "state", "ongoing", "aborts", "max read")
PENDING_COLUMNS = ("subscription", "pending", "by")
PRODUCER_COLUMNS = ("partition", "topic epoch", "alone", "waiting")
TIMER_COLUMNS = ("timer", "after")


def draw_transactions(live: Iterable[TxnMeta], written: Written) -> Table:
    """`live`: what coordinators know; a transaction that has ended is forgotten."""
    rows = []
    for meta in live:
        where = ", ".join("/".join(filter(None, who)) for who in meta.participants)
        rows.append((written.name(meta.txn), str(meta.txn), str(meta.status), where))
    return Table(words.TXN_TABLE(), TXN_COLUMNS, tuple(rows))


def draw_buffers(topics: list[Topic], written: Written, most: int | None = None) -> Table:
    """`most`: of open and of aborted transactions that are named; None: all."""
    rows = []
    for topic in topics:
        buffer = topic.buffer
        ongoing = ", ".join(f"{written.name(txn)}@{at}" for txn, at in buffer.ongoing[:most])
        aborts = ", ".join(written.name(txn) for txn in _pick(buffer.aborts, written, most))
        shown = (str(buffer.state), ongoing, aborts, str(topic.readable))
        rows.append((topic.name, *shown))
    return Table(words.BUFFER_TABLE(), BUFFER_COLUMNS, tuple(rows))


def _pick(txns: Map[TxnID, Any], written: Written, most: int | None) -> Iterable[TxnID]:
    """Of many, the last ones whose name is known."""
    if most is None or len(txns) <= most:
        return txns
    return [txn for txn in written.begun if txn in txns][-most:]


def draw_pending(
    subs: Iterable[tuple[str, Subscription]], written: Written, most: int | None = None
) -> Table:
    """One by one, and the one cumulative slot: ≤ its position. `subs`: with the names of their
    topics; `most`: rows of each, and messages of a row; None: all."""
    rows: list[tuple[str, ...]] = []
    for topic, sub in subs:
        held = _list_held(sub.pending, written, most)
        rows += [(f"{topic}/{sub.name}", *row) for row in held]
    return Table(words.PENDING_TABLE(), PENDING_COLUMNS, tuple(rows))


def _list_held(pending: PendingAck, written: Written, most: int | None) -> list[tuple[str, str]]:
    shown = pending.of_txn[:most]
    held = [(", ".join(map(str, at[:most])), written.name(txn)) for txn, at in shown]
    if pending.slot is not None:
        txn, position = pending.slot
        held.append((f"≤ {position}", written.name(txn)))
    return held


def draw_producers(topics: list[Topic]) -> Table:
    """Of partitions that somebody wanted for himself."""
    rows = []
    for topic in topics:
        access = topic.access
        if access.epoch >= 0 or access.waiting:
            alone = access.writer if access.alone else ""
            waiting = ", ".join(ask.producer for who, ask in access.waiting if who)
            epoch = str(access.epoch) if access.epoch >= 0 else ""
            rows.append((topic.name, epoch, alone, waiting))
    return Table(words.PRODUCER_TABLE(), PRODUCER_COLUMNS, tuple(rows))


def draw_timers(cluster: Cluster, world: World) -> Table:
    """The next one to run out stands first."""
    rows = tuple(
        (name, f"{ms / 1000:g} s")
        for node in cluster.coordinators
        for _, name, ms in world.nodes[node].timers
    )
    return Table(words.TIMERS_TABLE(), TIMER_COLUMNS, rows)
