"""What is seen of a Kafka as a Snapshot: lanes, logs, what readers get, the coordinator's graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

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
    Property,
    Reader,
    Snapshot,
    Table,
    Text,
    World,
    replace,
)
from ...kernel.claims import keep_answers
from ...kernel.snapshot import Part, draw_part
from ...kernel.story import BROKER
from ..config import txn_log
from ..coordinator.entry import Entry
from ..group import GroupCoordinator
from ..group.commits import Placed, Positions
from ..group.members import describe_assignment
from ..log import ABORT, AbortedTxn, Batch, role
from ..log.role import Partition, upper_bound
from ..messages import READ_COMMITTED, READ_UNCOMMITTED, braces
from ..states import COMPLETED, PREVIOUS, TxnState
from . import words
from .view import Cluster, Given, Row, Seen, Txn, read_world

# ---- The coordinator's state graph: the transition table of `states.py`, laid out on a grid
#
#     Empty → Ongoing → PrepareCommit → CompleteCommit
#                       PrepareAbort  → CompleteAbort
#
# Only the edges that lead one column to the right are drawn: what makes a transaction begin
# again is the next transaction's business, and has a graph of its own.

PLACES = {
    TxnState.EMPTY: (0, 0),
    TxnState.ONGOING: (1, 0),
    TxnState.PREPARE_COMMIT: (2, 0),
    TxnState.COMPLETE_COMMIT: (3, 0),
    TxnState.PREPARE_ABORT: (2, 1),
    TxnState.COMPLETE_ABORT: (3, 1),
}
STATES = tuple(GraphState(str(s), *place) for s, place in PLACES.items())
EDGES = tuple(
    (str(old), str(new))
    for new, olds in PREVIOUS.items()
    for old in sorted(olds)
    if new in PLACES and old in PLACES and PLACES[new][0] == PLACES[old][0] + 1
)


def draw_graph(latest: Iterable[Txn], begun: bool) -> Graph:
    """The way of the transaction that goes on, else of the last one. `latest`: the latest
    transaction of each id, the id that matters most first; `begun`: some id is known."""
    txns = list(latest)
    if not txns:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES, (str(TxnState.EMPTY),) if begun else ())
    txn = next((t for t in txns if t.state not in COMPLETED), txns[0])
    path = (str(TxnState.EMPTY), *map(str, txn.path))
    return Graph(words.GRAPH(txn=txn.name), STATES, EDGES, path, txn.name)


# Logs as rows of cells: one an offset, markers among the data, frontiers between them


def draw_logs(seen: Seen, log: str) -> tuple[Log, ...]:
    """The leader's log, and beside it what each follower has copied of it."""
    most = seen.limits.cells
    return tuple(_draw_log(name, part, rows, most) for name, part, rows in seen.list_copies(log))


def _draw_log(name: str, part: Partition, rows: Iterable[Row], most: int) -> Log:
    limit = role.upper_bound(part, READ_COMMITTED)
    cells = tuple(
        cell
        for batch, txn, outcome in rows
        for cell in _draw_batch(batch, name_txn(txn), outcome, batch.last < limit, most)
    )
    start = cells[0].offset if cells else 0
    return Log(name, cells, (Frontier("LSO", part.read_limit), Frontier("HW", part.hw)), start)


@keep_answers
def _draw_batch(
    batch: Batch, txn: str, outcome: str, readable: bool, most: int
) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            offset=batch.base + i,
            label=batch.control[:1] or label_record(batch, i),
            kind="control" if batch.control else "data",
            txn=txn,
            readable=readable,
            aborted=outcome == ABORT and not batch.control,
        )
        for i in list_shown(batch, most)
    )


def name_txn(txn: Txn | None) -> str:
    return txn.name if txn is not None else ""


def list_shown(batch: Batch, most: int) -> range:
    """The places in a batch of its last `most` records; of all where that is 0."""
    return range(max(0, batch.count - most) if most else 0, batch.count)


def label_record(batch: Batch, i: int) -> str:
    """A lesson's value, or what the record calls itself; "·" where nothing is known of it. What a
    client has sent in bytes is read by a server's notes, which then know what to call it."""
    records = batch.records
    if not isinstance(records, tuple):
        return str(records.label(i)) if hasattr(records, "label") else "·"
    said = getattr(records[i], "label", records[i]) if i < len(records) else "·"
    return said if isinstance(said, str) else str(said)


# ---- What readers of either isolation level get now, and in words what is odd about it


def draw_readers(seen: Seen) -> tuple[Reader, ...]:
    return draw_committed_reader(seen), draw_uncommitted_reader(seen)


def draw_committed_reader(seen: Seen) -> Reader:
    given = seen.list_given(READ_COMMITTED)
    torn = describe_torn(seen, given)
    got, note = _draw_given(given, seen.limits.cells), torn or describe_wait(seen)
    return Reader(READ_COMMITTED, got, note, plain=words.ANY_COMMITTED(), half=torn is not None)


def draw_uncommitted_reader(seen: Seen) -> Reader:
    given = seen.list_given(READ_UNCOMMITTED)
    note = NOTHING
    for txn in {t.name: t for _, _, t in given if t}.values():
        if txn.outcome == "ABORT":
            note = words.ABORTED_READ(txn=txn.name)
        elif not txn.outcome and not note.en:
            note = words.UNDECIDED(txn=txn.name)
    got = _draw_given(given, seen.limits.cells)
    return Reader(READ_UNCOMMITTED, got, note, plain=words.ANY_READER())


def _draw_given(given: Given, most: int) -> tuple[Got, ...]:
    return tuple(
        got
        for partition, batch, txn in given
        for got in _draw_got(partition, batch, name_txn(txn), most)
    )


@keep_answers
def _draw_got(partition: str, batch: Batch, txn: str, most: int) -> tuple[Got, ...]:
    return tuple(Got(partition, label_record(batch, i), txn) for i in list_shown(batch, most))


def describe_torn(seen: Seen, given: Given) -> Text | None:
    """In words, that a reader gets part of a committed transaction."""
    holding = {p: _name_txns(seen.rows[p]) for p in seen.partitions if seen.is_up(p)}
    shown = {(partition, txn.name) for partition, _, txn in given if txn}
    for name in (txn.name for txn in seen.list_txns()):
        missing = [p for p, held in holding.items() if name in held and (p, name) not in shown]
        if missing and any((p, name) in shown for p in seen.partitions):
            return words.TORN(txn=name, where=", ".join(sorted(missing)))
    return None


@keep_answers
def _name_txns(rows: Iterable[Row]) -> set[str]:
    return {txn.name for _, txn, _ in rows if txn}


def describe_wait(seen: Seen) -> Text:
    """In words, which transaction holds a reader up."""
    for partition in seen.partitions:
        part = seen.parts[partition]
        limit = upper_bound(part, READ_COMMITTED)
        if limit < part.hw:
            for batch, txn, _ in seen.rows[partition]:
                if batch.base == limit and txn is not None:
                    return words.WAITS(where=partition, txn=txn.name)
    return NOTHING


# ---- The internal tables of Kafka, as rows of text: their columns and contents
#
# A lesson's world is small and trusted, so its tables are whole. A server keeps thousands of
# positions, under names that strangers chose: it gives `most` (rows of a kind, the last ones are
# kept) and `cut`, which makes a name short and shows what is unseen in it.
#
#     table                   made from                                   key
#     __transaction_state     the latest record of each transactional id  transactionalId
#     .txnindex               the aborted transactions of a partition     partition
#     __consumer_offsets      a group coordinator's memory                group, partition
#     groups and members      a group coordinator's memory                group

STATE_COLUMNS = ("transactionalId", "pid", "epoch", "state", "partitions")
INDEX_COLUMNS = ("partition", "pid", "firstOffset", "lastOffset", "LSO")
POSITION_COLUMNS = ("group", "partition", "offset", "")
MEMBER_COLUMNS = ("group", "state", "generation", "member", "reads")

Cells = tuple[str, ...]
Cut = Callable[[str], str]
T = TypeVar("T")


def draw_states(entries: Iterable[Entry], cut: Cut = str) -> Table:
    """`__transaction_state` as its compaction leaves it. `entries`: the latest of each
    transactional id; a Dead one is a tombstone, and no row."""
    living = (e for e in entries if e.state is not TxnState.DEAD)
    rows = tuple(
        (cut(e.txn_id), str(e.pid), str(e.epoch), str(e.state), cut(braces(e.partitions)))
        for e in sorted(living, key=lambda e: e.txn_id)
    )
    return Table(words.STATE_TABLE(), STATE_COLUMNS, rows)


def draw_index(aborted: Iterable[tuple[str, AbortedTxn]]) -> Table:
    """`.txnindex`, from (partition, aborted transaction) in the order of their logs."""
    rows = tuple(
        (partition, str(a.pid), str(a.first_offset), str(a.last_offset), str(a.lso))
        for partition, a in aborted
    )
    return Table(words.INDEX_TABLE(), INDEX_COLUMNS, rows)


def draw_positions(gc: GroupCoordinator | None, most: int = 0, cut: Cut = str) -> Table:
    """What a group coordinator has counted, then what is pending in each open transaction; no
    rows while no node has the role. `most`: of what has counted, and of each transaction; 0:
    all."""
    rows: list[Cells] = []
    if gc is not None:
        rows += [
            (cut(group), cut(partition), str(placed.position.offset), "")
            for group, partition, placed in _last(_each(gc.committed), most)
        ]
        rows += [
            (cut(group), cut(partition), str(placed.position.offset), f"pending, producerId {pid}")
            for pid, mine in gc.pending.items()
            for group, partition, placed in _last(_each(mine), most)
        ]
    return Table(words.OFFSETS_TABLE(), POSITION_COLUMNS, tuple(rows))


def _each(positions: Positions) -> list[tuple[str, str, Placed]]:
    """(group, partition, position) of all of them, in order."""
    return [(g, p, placed) for g, mine in positions.items() for p, placed in mine.items()]


def draw_members(gc: GroupCoordinator | None, most: int = 0, cut: Cut = str) -> Table:
    """The table of consumer groups: a row for each member, with the group's state and generation
    and what the member reads; of a group that all have left, one row without a member. `most`: how
    many groups are shown, and of each how many members, the last ones (0: all); `cut` shortens a
    name."""
    groups = _last(gc.groups.values() if gc is not None else [], most)
    rows = [
        (
            cut(g.name),
            str(g.state),
            str(g.generation),
            cut(m.id),
            cut(describe_assignment(m.assignment)),
        )
        for g in groups
        for m in _last(g.members.values(), most)
    ]
    rows += [
        (cut(g.name), str(g.state), str(g.generation), "", "")
        for g in groups
        if g.generation and not g.members
    ]
    return Table(words.MEMBERS_TABLE(), MEMBER_COLUMNS, tuple(rows))


def _last(items: Sequence[T], most: int) -> Sequence[T]:
    return items[-most:] if most else items


def draw_snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    """A lesson's. What is empty for ever in most of them, an index, shows when it has rows."""
    seen = read_world(cluster, world)
    drawn = draw_seen(
        seen,
        lambda: _draw_lanes(cluster, world),
        lambda: tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
    )
    index = draw_index(seen.list_aborted())
    tables = (*drawn.tables[:1], *([index] if index.rows else []), *drawn.tables[1:])
    if not cluster.ids:
        return replace(drawn, graphs=(), tables=tables[1:])
    return replace(drawn, tables=tables)


def draw_seen(
    seen: Seen,
    draw_lanes: Callable[[], tuple[Lane, ...]],
    draw_lights: Callable[[], tuple[Light, ...]],
    part: Part = draw_part,
) -> Snapshot:
    """Draw the Snapshot of a lesson or a server from what was read of its cluster. Every part is
    made through `part(kind, name, draw)`: a server redraws only parts that have changed. How lanes
    and lights (whether each invariant holds) are drawn differs between the two."""
    names = (*seen.partitions, *seen.groups)
    logs = [part("log", name, partial(draw_logs, seen, name)) for name in names]
    return Snapshot(
        lanes=part("lanes", "", draw_lanes),
        logs=tuple(log for copies in logs for log in copies),
        readers=part("readers", "", partial(draw_readers, seen)),
        graphs=part("graphs", "", partial(_draw_graphs, seen)),
        tables=tuple(_draw_tables(seen, part)),
        lights=part("lights", "", draw_lights),
    )


def _draw_lanes(cluster: Cluster, world: World) -> tuple[Lane, ...]:
    """Draw a lane for each node of the cluster: its name, below it what it is (a producer, a
    leader, …), and, of a broker's node, that it is a part of the broker."""
    roles: list[tuple[str, Text]] = [
        (name, _producer(cluster, name, txn_id)) for name, txn_id in cluster.producers
    ]
    if cluster.ids:  # transactional ids: without any, the coordinator has nothing to do
        roles += _copies(cluster, world, cluster.config.coordinator, _txn_logs(cluster))
    for partition in cluster.partitions:
        roles += _copies(cluster, world, partition, words.LEADER())
    for group in cluster.groups:
        roles += _copies(cluster, world, group, words.GROUP())
    roles += [(reader, words.READER()) for reader in cluster.readers]
    roles += [(admin, words.ADMIN()) for admin in cluster.admins]
    if cluster.replicas > 1:
        roles.append(("controller", words.CONTROLLER()))
    clients = {*dict(cluster.producers), *cluster.readers, *cluster.admins}
    return tuple(
        Lane(name, Text(name), what, world.nodes[name].up, NOTHING if name in clients else BROKER)
        for name, what in roles
    )


def _copies(cluster: Cluster, world: World, name: str, leads: Text) -> list[tuple[str, Text]]:
    """The nodes that hold a log; `leads`: what the one is that leads it."""
    leader = cluster.leader(world, name)
    return [(n, leads if n == leader else words.FOLLOWER()) for n in cluster.copies(name)]


def _txn_logs(cluster: Cluster) -> Text:
    logs = ", ".join(sorted({txn_log(i, cluster.config).rsplit("-", 1)[1] for i in cluster.ids}))
    return words.TXN_LOGS(logs=logs)


def _producer(cluster: Cluster, name: str, txn_id: str) -> Text:
    """Its transactional id, where it has one that is not its name."""
    if txn_id and txn_id != name:
        return Text(txn_id)
    return (words.WORKER if name in cluster.workers else words.PRODUCER)()


def _draw_graphs(seen: Seen) -> tuple[Graph, ...]:
    """Where the transaction is that goes on."""
    return (draw_graph(seen.list_latest(), begun=bool(seen.list_entries())),)


def _draw_tables(seen: Seen, part: Part) -> Iterator[Table]:
    """The members of a group show when there are some."""
    yield part("states", "", lambda: draw_states(seen.list_entries(), seen.limits.cut))
    for name in seen.groups:
        yield part("positions", name, partial(_draw, draw_positions, seen, name))
    for name in seen.groups:
        yield from part("members", name, partial(_list_members, seen, name))


def _list_members(seen: Seen, group: str) -> list[Table]:
    return [table for table in (_draw(draw_members, seen, group),) if table.rows]


def _draw(draw: Callable[..., Table], seen: Seen, group: str) -> Table:
    return draw(seen.find_coordinator(group), seen.limits.rows, seen.limits.cut)
