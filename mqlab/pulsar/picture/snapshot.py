"""A Pulsar world as a Snapshot: lanes, ledgers, consumers, tables, the graph of a transaction,
lights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from itertools import islice
from typing import Any

from ...kernel import (
    FAILED,
    NOTHING,
    Append,
    Cell,
    Effect,
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
    Reply,
    Return,
    Send,
    Snapshot,
    Stretch,
    Table,
    Text,
    Word,
    World,
    frozen,
    phrase_word,
    replace,
    tr,
)
from ...kernel.claims import keep_last_world
from ...kernel.role import Outcome
from ...kernel.snapshot import Part, draw_part
from ...kernel.story import BROKER
from ...kernel.text import say_both
from ..client import Client, Consumer
from ..config import (
    COORDINATOR,
    CURSORS,
    PulsarConfig,
    name_coordinator,
    name_pending_ack_log,
    name_transaction_log,
)
from ..coordinator import Coordinator, TxnMeta
from ..ledger import Cursor
from ..messages import (
    AckPosition,
    Answer,
    LedgerEntry,
    MessageId,
    PendingAckEntry,
    TransactionMetadataEntry,
    TxnID,
    name_txn,
)
from ..pending_ack import PendingAck, apply_record
from ..states import ENDED, PREVIOUS, AckType, MarkerType, TxnStatus
from ..subscription import Subscription
from ..topic import Topic
from . import words

# What the disks say: decisions in coordinators' logs, messages and markers in partitions.
#
# A coordinator deletes the records of a transaction that has ended, but on its cursor only, so its
# log still shows here what was decided. The *first* COMMITTING or ABORTING is the decision; a
# record that came too late is after it and counts for nothing.


# A Pulsar cluster as claims and pictures need it: the names, in the order in which they appear


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
    """Whether the transaction of this message is open no more, as the partition itself shows: a
    marker is after the message, or it was aborted before that."""
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
#     flag            the cursor's mark-delete, after what is acknowledged without a gap
#
# All of it is durable: of a partition that is down, the cursor and the pending-ack log show it.

Refused = dict[tuple[AckType, int], TxnID]


def draw_subscriptions(
    cluster: Cluster, world: World, partition: str, written: Written
) -> tuple[Progress, ...]:
    """Draw the acknowledgements of each durable subscription of a partition. They are read from the
    role or, while its node is down, from the cursor and the pending-ack log on its disk.
    `written`: what the coordinators have written, which gives the transactions their names."""
    topic: Topic | None = world.role(partition)
    disk = world.disk(partition)
    rows = []
    for name, cursor in disk.table(CURSORS).items():
        sub = None if topic is None else topic.subs.get(name)
        if sub is None:
            on_disk = Subscription(cluster.config, partition, name)
            pending, cursor = on_disk.replay_log(cursor, disk, disk.log(partition).end - 1)
        else:
            pending = sub.pending
        # waiting: their records are in the log, and not known to be durable yet
        not_applied = () if sub is None else tuple(w.record for w in sub.waiting)
        log = disk.log(name_pending_ack_log(partition, name)).read(0)
        records = [record for record in log if record not in not_applied]
        entries_drawn = range(disk.log(partition).end)
        refused = _find_refused(cluster.config, pending, records, entries_drawn.stop - 1)
        rows.append(draw_subscription(name, cursor, pending, refused, written, entries_drawn))
    return tuple(rows)


def draw_subscription(
    name: str,
    cursor: Cursor,
    pending: PendingAck,
    refused: Refused,
    written: Written,
    drawn: range,
) -> Progress:
    """Draw one subscription's row below its partition's entries: stretches of what is acknowledged,
    of what is pending in which transaction, and where another transaction was refused
    (TransactionConflict: `refused`). `written` names transactions; `drawn`: the entries shown."""
    spans = [(0, cursor.mark_delete)] if cursor.mark_delete >= 0 else []  # acknowledged for good
    # individual: stretches of what was acknowledged above mark-delete, after a gap
    for first, last in cursor.individual:
        spans += [(at, at) for at in range(max(first, drawn.start), min(last + 1, drawn.stop))]
    stretches = [Stretch(first, last) for first, last in spans]
    holders = {position: txn for txn, acked in pending.of_txn for position in acked}
    if pending.cumulative is not None:
        txn, upto = pending.cumulative
        loser = next((t for (kind, _), t in refused.items() if kind is AckType.CUMULATIVE), None)
        # from after what is acknowledged, but never beyond the position itself
        first = min(cursor.mark_delete + 1, upto.position)
        stretches.append(Stretch(first, upto.position, written.name(txn), written.name(loser)))
    for at, names in _name_holders(pending, holders, written).items():
        loser = refused.get((AckType.INDIVIDUAL, at))
        stretches.append(Stretch(at, at, names, written.name(loser)))
    visible = (s for s in stretches if s.last >= drawn.start and s.first < drawn.stop)
    cut_to_drawn = (replace(s, last=min(s.last, drawn.stop - 1)) for s in visible)
    return Progress(name, cursor.mark_delete + 1, tuple(cut_to_drawn))


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
    config: PulsarConfig, pending: PendingAck, records: Iterable[PendingAckEntry], lac: int
) -> Refused:
    """Find the acknowledgements that were refused, as long as their transactions are open: by kind
    (individual, cumulative) and entry, the transaction that was refused last. An ACK is written to
    the log before it is checked, so the log is replayed; `lac`: the last confirmed entry. A replay
    knows no plain acknowledgements and no rule of a learner: so what a transaction does not hold
    now (`pending`) was refused, and what it holds was granted once."""
    refused: Refused = {}
    granted: set[tuple[TxnID, AckPosition]] = set()
    held = {(txn, position) for txn, acked in pending.of_txn for position in acked}
    holder = None if pending.cumulative is None else pending.cumulative[0]
    replayed, cursor = PendingAck(), Cursor()
    for record in records:
        done = apply_record(config, replayed, cursor, record, lac)
        replayed, cursor = done.pending, done.cursor
        if record.op != "ACK":
            refused = {at: txn for at, txn in refused.items() if txn != record.txn}
            continue
        for position in record.positions:
            key, mine = (record.ack_type, position.position), (record.txn, position)
            if record.ack_type is AckType.CUMULATIVE:
                was_granted = holder == record.txn and not done.conflict
            else:
                was_granted = mine in held and not (done.conflict and mine in granted)
            if not was_granted:
                refused[key] = record.txn
                continue
            granted.add(mine)
            if refused.get(key) == record.txn:
                del refused[key]  # granted at last
    return refused


# What the chart writes beside a message, a record or a call: its line without what the row shows
# anyway. A row has the name and the colour of its transaction, so the id is left out; low
# watermarks and an error's explanation are in the narration.

#: "in (0,1)", "of (0,1)", "(0,1)"; "lowWatermark=-1"; how a transaction acknowledged
KNOWN = re.compile(r"( in| of)? \(\d+,\d+\)| lowWatermark=-?\d+| (Individual|Cumulative)")


def label_effect(effect: Effect | None, txn: str) -> Text:
    """`txn`: the name of its transaction, "" for none. Nothing where the line is short enough."""
    match effect:
        case Append(entry=said) | Send(body=said) if txn:
            own = getattr(said, "txn", None)
            return say_both(lambda: KNOWN.sub("", str(said).replace(name_txn(own), "")))
        case Reply(body=Answer(error=error)) if error:
            return Text(error.name)
        case Return(value=Outcome(call=call, status=status, detail=detail)) if status == FAILED:
            verb = str(call).partition(" ")[0]
            return say_both(lambda: f"{verb}: {phrase_word(detail)}")
    return NOTHING


# ---- What is drawn: of a lesson a world, of a server the notes of its last steps
#
# The notes are `mqlab/serve/pulsar/trace.py`.


@frozen
class Limits:
    """How much is drawn. `rows`: the first ones of a table, and of what a cell lists; None: all.
    `cut` makes a name short that a stranger chose, and shows what is unseen in it."""

    rows: int | None = None
    cut: Callable[[str], str] = str


class Seen:
    """What a picture draws, as far as all have it in common. `written`: what coordinators have
    written; `partitions`, `coordinators`: whose logs are drawn, in their order."""

    __slots__ = ()
    limits = Limits()
    written: Written
    partitions: Sequence[str]
    coordinators: Sequence[str]

    def find_role(self, name: str) -> Any:
        """None while no node has the role."""
        raise NotImplementedError

    def find_roles(self, names: Iterable[str]) -> list[Any]:
        return [role for role in map(self.find_role, names) if role is not None]

    def read(self, name: str) -> Sequence[Any]:
        """What is in the ledger of a partition, or in the log of a coordinator."""
        raise NotImplementedError

    def draw_progress(self, partition: str) -> tuple[Progress, ...]:
        """What each subscription has acknowledged."""
        raise NotImplementedError

    def list_subs(self, topic: Topic) -> list[Subscription]:
        return topic.subs.values()

    def list_live(self, tc: Coordinator) -> list[TxnMeta]:
        """The transactions that a coordinator knows."""
        return tc.txns.values()


@frozen
class View(Seen):
    cluster: Cluster
    world: World
    written: Written
    partitions: tuple[str, ...]
    coordinators: tuple[str, ...]

    def find_role(self, name: str) -> Any:
        return self.world.role(name)

    def read(self, name: str) -> list[Any]:
        log = _name_log(name) if name in self.coordinators else name
        return list(self.world.disk(name).log(log).read(0))

    def draw_progress(self, partition: str) -> tuple[Progress, ...]:
        return draw_subscriptions(self.cluster, self.world, partition, self.written)


def _name_log(coordinator: str) -> str:
    return name_transaction_log(int(coordinator.removeprefix(COORDINATOR)))


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


def draw_transactions(seen: Seen) -> Table:
    """What coordinators know; a transaction that has ended is forgotten."""
    live = (meta for tc in seen.find_roles(seen.coordinators) for meta in seen.list_live(tc))
    rows = []
    for meta in islice(live, seen.limits.rows):
        where = ", ".join("/".join(filter(None, who)) for who in meta.participants)
        rows.append((seen.written.name(meta.txn), str(meta.txn), str(meta.status), where))
    return _draw_table(seen, words.TXN_TABLE(), TXN_COLUMNS, rows)


def draw_buffers(seen: Seen) -> Table:
    written, most = seen.written, seen.limits.rows
    rows = []
    for topic in seen.find_roles(seen.partitions):
        buffer = topic.buffer
        ongoing = ", ".join(f"{written.name(txn)}@{at}" for txn, at in buffer.ongoing[:most])
        aborts = ", ".join(written.name(txn) for txn in _pick(buffer.aborts, written, most))
        rows.append((topic.name, str(buffer.state), ongoing, aborts, str(topic.readable)))
    return _draw_table(seen, words.BUFFER_TABLE(), BUFFER_COLUMNS, rows)


def _pick(txns: Map[TxnID, Any], written: Written, most: int | None) -> Iterable[TxnID]:
    """Of many, the last ones whose name is known."""
    if most is None or len(txns) <= most:
        return txns
    return [txn for txn in written.begun if txn in txns][-most:]


def draw_pending(seen: Seen) -> Table:
    """One by one, and the one cumulative acknowledgement: ≤ its position."""
    rows = (
        (f"{topic.name}/{sub.name}", *held)
        for topic in seen.find_roles(seen.partitions)
        for sub in seen.list_subs(topic)
        for held in _list_held(sub.pending, seen.written, seen.limits.rows)
    )
    return _draw_table(seen, words.PENDING_TABLE(), PENDING_COLUMNS, rows)


def _list_held(pending: PendingAck, written: Written, most: int | None) -> list[tuple[str, str]]:
    shown = pending.of_txn[:most]
    held = [(", ".join(map(str, at[:most])), written.name(txn)) for txn, at in shown]
    if pending.cumulative is not None:
        txn, position = pending.cumulative
        held.append((f"≤ {position}", written.name(txn)))
    return held


def draw_producers(seen: Seen) -> Table:
    """Of partitions that a producer wanted for itself."""
    rows = []
    for topic in seen.find_roles(seen.partitions):
        access = topic.access
        if access.epoch >= 0 or access.waiting:
            alone = access.writer if access.alone else ""
            waiting = (ask.producer for who, ask in access.waiting if who)
            epoch = str(access.epoch) if access.epoch >= 0 else ""
            rows.append((topic.name, epoch, alone, ", ".join(islice(waiting, seen.limits.rows))))
    return _draw_table(seen, words.PRODUCER_TABLE(), PRODUCER_COLUMNS, rows)


def _draw_table(
    seen: Seen, name: Text, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> Table:
    shown = islice(rows, seen.limits.rows)
    return Table(name, columns, tuple(tuple(map(seen.limits.cut, row)) for row in shown))


def draw_timers(cluster: Cluster, world: World) -> Table:
    """The next one to run out comes first."""
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


def draw_readers(seen: View) -> tuple[Reader, ...]:
    out = []
    for name in seen.cluster.clients:
        client: Client | None = seen.find_role(name)
        for consumer in client.consumers if client is not None else ():
            out.append(_draw_consumer(seen, name, consumer))
    return tuple(out)


def _draw_consumer(seen: View, name: str, consumer: Consumer) -> Reader:
    entries = seen.read(consumer.partition)
    queued = [push.message_id for push in consumer.queue]
    got = tuple(
        Got(consumer.partition, *_describe(id, entries, seen.written))
        for id in (*consumer.received, *queued)
        if id.position < len(entries)
    )
    note = words.IN_QUEUE(count=len(queued)) if queued else NOTHING
    return Reader(f"{consumer.subscription} · {name}", got, note, consumer.partition)


def _describe(id: MessageId, entries: list[LedgerEntry], written: Written) -> tuple[str, str]:
    entry = entries[id.position]
    values = entry.values if id.batch_index < 0 else entry.values[id.batch_index :][:1]
    return ",".join(map(str, values)), written.name(entry.txn)


# ---- Ledgers as rows of cells: a partition's messages and markers, and the coordinator's log
#
#     a message       hatched above maxReadPosition; struck through where its transaction was
# aborted
#     a marker        a diamond: C of a commit, A of an abort
#     a record        of a coordinator's log, in the colour of its transaction: →C and →A are the
#                     decision; diamonds C and A say that all participants have answered
#
# A partition has a flag for maxReadPosition, up to which consumers may be sent what is there.
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


def draw_partition(seen: Seen, name: str) -> Log:
    """A lesson's whole ledger, or the end of a server's: a flag before it is not
    drawn."""
    entries, topic = seen.read(name), seen.find_role(name)
    cells = tuple(draw_entry(entry, topic, seen.written) for entry in entries)
    start = entries[0].base if entries else 0
    flags: tuple[Frontier, ...] = ()
    if topic is not None and topic.readable + 1 >= start:
        flags = (Frontier(MAX_READ, topic.readable + 1, inclusive=True),)
    rows = seen.draw_progress(name)
    return Log(seen.limits.cut(name), cells, flags, start, progress=rows)


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


def draw_records(seen: Seen, coordinator: str) -> Log:
    """The coordinator's log; the last records of a server's."""
    records = seen.read(coordinator)
    cells = tuple(draw_record(record, seen.written) for record in records)
    start = records[0].base if records else 0
    return Log(_name_log(coordinator), cells, start=start)


def draw_record(record: TransactionMetadataEntry, written: Written) -> Cell:
    return Cell(record.base, Word(_label(record)), _shape(record), written.name(record.txn))


def _shape(record: TransactionMetadataEntry) -> str:
    """Square until the transaction has ended, so that its span on the lane ends there too."""
    return "control" if record.status in ENDED else "data"


def _label(record: TransactionMetadataEntry) -> str:
    return SHORT[record.op] if record.status is None else SHORT[record.status]


def draw_snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    """A lesson's, with the timers, which a server does not see."""
    written = read_coordinators(cluster, world)
    seen = View(cluster, world, written, cluster.partitions, cluster.coordinators)
    drawn = draw_seen(
        seen,
        lambda: _draw_lanes(cluster, world),
        lambda: draw_readers(seen),
        lambda: tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
    )
    timers = draw_timers(cluster, world)
    return replace(drawn, tables=(*drawn.tables, timers)) if timers.rows else drawn


def draw_seen(
    seen: Seen,
    draw_lanes: Callable[[], tuple[Lane, ...]],
    draw_readers: Callable[[], tuple[Reader, ...]],
    draw_lights: Callable[[], tuple[Light, ...]],
    part: Part = draw_part,
) -> Snapshot:
    """Draw the Snapshot of a lesson or a server from what was read of its cluster. Every part is
    made through `part(kind, name, draw)`: a server redraws only parts that have changed. How lanes,
    readers and lights (whether each invariant holds) are drawn differs between the two."""
    logs = [part("log", name, partial(draw_partition, seen, name)) for name in seen.partitions]
    logs += [part("log", name, partial(draw_records, seen, name)) for name in seen.coordinators]
    return Snapshot(
        lanes=part("lanes", "", draw_lanes),
        logs=tuple(logs),
        readers=part("readers", "", draw_readers),
        graphs=part("graphs", "", lambda: (draw_graph(seen.written),)),
        tables=tuple(_draw_tables(seen, part)),
        lights=part("lights", "", draw_lights),
    )


def _draw_tables(seen: Seen, part: Part) -> Iterator[Table]:
    """Those that are empty most of the time show when they have rows."""
    yield part("transactions", "", partial(draw_transactions, seen))
    yield part("buffers", "", partial(draw_buffers, seen))
    for what, draw in (("pending", draw_pending), ("producers", draw_producers)):
        yield from part(what, "", partial(_list_filled, draw, seen))


def _list_filled(draw: Callable[[Seen], Table], seen: Seen) -> tuple[Table, ...]:
    table = draw(seen)
    return (table,) if table.rows else ()


def _draw_lanes(cluster: Cluster, world: World) -> tuple[Lane, ...]:
    """Draw a lane for each node: clients, coordinators, partitions; the last two are parts of the
    broker."""
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

TERMS: dict[Text, Text] = {
    words.COORDINATOR(): tr(
        "Gives out transaction ids, logs the decision and tells every participant; which "
        "coordinator it is, the first half of an id says."
    ),
    words.PARTITION(): tr(
        "Keeps the messages of a topic, its transaction buffer, and the cursor and the pending "
        "acknowledgements of each subscription."
    ),
    Text(MAX_READ): tr(
        "After the last entry that consumers may be sent: the one before the first message of "
        "the oldest open transaction."
    ),
    Text(name_transaction_log(0)): tr(
        "The coordinator's log: what transactions there are, who takes part, what was decided; "
        "no messages."
    ),
    words.BUFFER_TABLE(): tr(
        "What a partition knows of transactions; no message is in a buffer, all of them are in "
        "the topic."
    ),
    Text("ongoing"): tr("Open transactions, each with the position of its first message here."),
    Text("aborts"): tr("Aborted transactions, whose messages the dispatcher leaves out."),
    words.PENDING_TABLE(): tr(
        "What open transactions have acknowledged in a subscription: final with their commit, "
        "free again with their abort."
    ),
    Text("topic epoch"): tr(
        "How often a producer has got the topic for itself; one that knows an older epoch "
        "writes here no more."
    ),
    Text(TxnStatus.COMMITTING): tr(
        "The commit is in the log and final, whatever stops; not every participant has answered."
    ),
    Text(TxnStatus.ABORTING): tr(
        "The abort is in the log and final; not every participant has answered."
    ),
}
