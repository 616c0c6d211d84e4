"""A Pulsar world as a Snapshot: lanes, ledgers, consumers, tables, the graph of a transaction,
lights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...kernel import (
    NOTHING,
    Cell,
    Frontier,
    Got,
    Graph,
    GraphState,
    Lane,
    Light,
    Log,
    Map,
    Progress,
    Property,
    Reader,
    Snapshot,
    Table,
    Text,
    World,
    tr,
)
from ...kernel.story import BROKER
from ..client import Client, Consumer
from ..config import name_coordinator, name_transaction_log
from ..coordinator import TxnMeta
from ..messages import LedgerEntry, MessageId, TransactionMetadataEntry, TxnID
from ..pending_ack import PendingAck
from ..states import ENDED, PREVIOUS, MarkerType, TxnStatus
from ..subscription import Subscription
from ..topic import Topic
from . import words
from .ledgers import Cluster, Written, draw_subscriptions, read_coordinators, read_entries

# ---- What is no log, as rows of text -------------------------------------------------
#
# table                    made from                                       key
# transactions             the coordinators' memory                        transaction
# transaction buffers      each partition's memory                         partition
# pending acknowledgements each subscription's memory                      subscription
# producers                each partition's memory, the epoch from its disk partition
# timers                   the coordinators' nodes                         timer

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


# The states of a transaction at its coordinator, laid out on a grid; the table is that of
# `states.py`.
#
#     OPEN ──┬──→ COMMITTING ──→ COMMITTED
#            └──→ ABORTING ────→ ABORTED

PLACES = {
    TxnStatus.OPEN: (0, 0),
    TxnStatus.COMMITTING: (1, 0),
    TxnStatus.COMMITTED: (2, 0),
    TxnStatus.ABORTING: (1, 1),
    TxnStatus.ABORTED: (2, 1),
}
STATES = tuple(GraphState(str(state), *place) for state, place in PLACES.items())
EDGES = tuple(
    (str(old), str(new)) for new, olds in PREVIOUS.items() for old in sorted(olds) if old != new
)


def draw_graph(written: Written) -> Graph:
    """The way of the transaction that has not ended, else of the last one."""
    if not written.begun:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES)
    txn = next((t for t in written.begun if t not in written.done), written.begun[-1])
    path = [TxnStatus.OPEN]
    path += [way[txn] for way in (written.decisions, written.done) if txn in way]
    name = written.name(txn)
    return Graph(words.GRAPH(txn=name, id=txn), STATES, EDGES, tuple(map(str, path)), name)


# What each consumer has now: what it was sent, whether its application has received it or not, and
# what it has not acknowledged.


def draw_readers(cluster: Cluster, world: World, written: Written) -> tuple[Reader, ...]:
    out = []
    for name in cluster.clients:
        client: Client | None = world.role(name)
        for consumer in client.consumers if client is not None else ():
            out.append(_draw_consumer(world, name, consumer, written))
    return tuple(out)


def _draw_consumer(world: World, name: str, consumer: Consumer, written: Written) -> Reader:
    entries = read_entries(world, consumer.partition)
    queued = [push.message_id for push in consumer.queue]
    got = tuple(
        Got(consumer.partition, *_describe(id, entries, written))
        for id in (*consumer.received, *queued)
        if id.position < len(entries)
    )
    note = words.IN_QUEUE(count=len(queued)) if queued else NOTHING
    return Reader(f"{consumer.subscription} · {name}", got, note, consumer.partition)


def _describe(id: MessageId, entries: list[LedgerEntry], written: Written) -> tuple[str, str]:
    entry = entries[id.position]
    values = entry.values if id.batch_index < 0 else entry.values[id.batch_index :][:1]
    return ",".join(map(str, values)), written.name(entry.txn)


# ---- Ledgers as strips of cells: a partition's messages and markers, and the coordinator's log
#
#     a message       hatched above maxReadPosition; struck through where its transaction was
# aborted
#     a marker        a diamond: C of a commit, A of an abort
#     a record        of a coordinator's log, in the colour of its transaction: →C and →A are the
#                     decision; diamonds C and A say that everybody has answered
#
# On a partition stands a flag for maxReadPosition, up to which consumers may be sent what lies
# there.
# Each durable subscription has a row of its own (`draw_subscription`).

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


def draw_snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    written = read_coordinators(cluster, world)
    roles = (world.role(name) for name in cluster.partitions)
    topics = [role for role in roles if role is not None]
    return Snapshot(
        lanes=_draw_lanes(cluster, world),
        logs=draw_strips(cluster, world),
        readers=draw_readers(cluster, world, written),
        graphs=(draw_graph(written),),
        tables=_draw_tables(cluster, world, topics, written),
        lights=tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
    )


def _draw_tables(
    cluster: Cluster, world: World, topics: list[Topic], written: Written
) -> tuple[Table, ...]:
    """Those that are empty most of the time show when they have rows."""
    roles = (world.role(name) for name in cluster.coordinators)
    live = [meta for role in roles if role is not None for meta in role.txns.values()]
    subs = [(topic.name, sub) for topic in topics for sub in topic.subs.values()]
    always = (
        draw_transactions(live, written),
        draw_buffers(topics, written),
    )
    seldom = (
        draw_pending(subs, written),
        draw_producers(topics),
        draw_timers(cluster, world),
    )
    return (*always, *(table for table in seldom if table.rows))


def _draw_lanes(cluster: Cluster, world: World) -> tuple[Lane, ...]:
    """Clients, coordinators, partitions."""
    kinds = (
        (cluster.clients, words.CLIENT()),
        (cluster.coordinators, words.COORDINATOR()),
        (cluster.partitions, words.PARTITION()),
    )
    return tuple(
        Lane(
            name,
            Text(name),
            title,
            world.nodes[name].up,
            NOTHING if names is cluster.clients else BROKER,
        )
        for names, title in kinds
        for name in names
    )


# Pulsar's own words that a picture shows, one sentence each: the source of its tooltips

TERMS: tuple[tuple[Text, Text], ...] = (
    (
        words.COORDINATOR(),
        tr(
            "Gives out transaction ids, logs the decision and tells every participant; which "
            "coordinator it is, the first half of an id says."
        ),
    ),
    (
        words.PARTITION(),
        tr(
            "Keeps the messages of a topic, its transaction buffer, and the cursor and the pending "
            "acknowledgements of each subscription."
        ),
    ),
    (
        Text(MAX_READ),
        tr(
            "Behind the last entry that consumers may be sent: the one before the first message of "
            "the oldest open transaction."
        ),
    ),
    (
        Text(name_transaction_log(0)),
        tr(
            "The coordinator's log: what transactions there are, who takes part, what was decided; "
            "no messages."
        ),
    ),
    (
        words.BUFFER_TABLE(),
        tr(
            "What a partition knows of transactions; no message is in a buffer, all of them lie in "
            "the topic."
        ),
    ),
    (
        Text("ongoing"),
        tr("Open transactions, each with the position of its first message here."),
    ),
    (
        Text("aborts"),
        tr("Aborted transactions, whose messages the dispatcher leaves out."),
    ),
    (
        words.PENDING_TABLE(),
        tr(
            "What open transactions have acknowledged in a subscription: final with their commit, "
            "free again with their abort."
        ),
    ),
    (
        Text("topic epoch"),
        tr(
            "How often a producer has got the topic for itself; one that knows an older epoch "
            "writes here no more."
        ),
    ),
    (
        Text(TxnStatus.COMMITTING),
        tr(
            "The commit is in the log and stands, whatever stops; not every participant has "
            "answered."
        ),
    ),
    (
        Text(TxnStatus.ABORTING),
        tr("The abort is in the log and stands; not every participant has answered."),
    ),
)
