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

from ...kernel import Table, World
from ..coordinator import Coordinator
from ..pending_ack import PendingAck
from ..topic import Topic
from . import words
from .cluster import Cluster
from .ledgers import Written

TXN_COLUMNS = ("transaction", "id", "status", "participants")
BUFFER_COLUMNS = ("partition", "state", "ongoing", "aborts", "max read")
PENDING_COLUMNS = ("subscription", "pending", "by")
PRODUCER_COLUMNS = ("partition", "topic epoch", "alone", "waiting")
TIMER_COLUMNS = ("timer", "after")


def draw_transactions(coordinators: Iterable[Coordinator], written: Written) -> Table:
    """What is live; a transaction that has ended is forgotten."""
    rows = []
    for tc in coordinators:
        for meta in tc.txns.values():
            where = ", ".join("/".join(filter(None, who)) for who in meta.participants)
            rows.append((written.name(meta.txn), str(meta.txn), str(meta.status), where))
    return Table(words.TXN_TABLE(), TXN_COLUMNS, tuple(rows))


def draw_buffers(topics: list[Topic], written: Written) -> Table:
    rows = []
    for topic in topics:
        buffer = topic.buffer
        ongoing = ", ".join(f"{written.name(txn)}@{at}" for txn, at in buffer.ongoing)
        aborts = ", ".join(written.name(txn) for txn in buffer.aborts)
        shown = (str(buffer.state), ongoing, aborts, str(topic.readable))
        rows.append((topic.name, *shown))
    return Table(words.BUFFER_TABLE(), BUFFER_COLUMNS, tuple(rows))


def draw_pending(topics: list[Topic], written: Written) -> Table:
    """One by one, and the one cumulative slot: ≤ its position."""
    rows: list[tuple[str, ...]] = []
    for topic in topics:
        for name, sub in topic.subs.items():
            rows += [(f"{topic.name}/{name}", *held) for held in _list_held(sub.pending, written)]
    return Table(words.PENDING_TABLE(), PENDING_COLUMNS, tuple(rows))


def _list_held(pending: PendingAck, written: Written) -> list[tuple[str, str]]:
    held = [(", ".join(map(str, at)), written.name(txn)) for txn, at in pending.of_txn]
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
