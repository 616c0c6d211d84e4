"""A RocketMQ world as a Snapshot: lanes, queues, tables, the graph of a half message, lights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

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
    Property,
    Reader,
    Snapshot,
    Table,
    Text,
    World,
    replace,
    tr,
)
from ...kernel.snapshot import Part, draw_part
from ...kernel.story import BROKER
from ..broker.timer import CHECK
from ..check import OP_BATCH, parse_op
from ..config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ..consumer import APPLIED
from ..group import Producers
from ..log import HALF_QUEUE, OP_QUEUE, PERSIST, Stored, offset_key
from ..messages import Message
from ..states import PREVIOUS, HalfState
from . import words
from .view import Book, Cluster, Limits, Seen, Txn, View, list_group_queues, read_world

# ---- What is no queue, as rows of text: the database, who can be asked, what waits in memory
#
# table                        made from                                    key
# database                     the database's one table                     order
# producer group               the broker's memory, by heartbeats           client
# op records in memory only    the broker's memory (5.1 and later)          place of the half
# timers                       the broker's node                            timer

DATABASE_COLUMNS = ("order", "row")
GROUP_COLUMNS = ("client", "producer group", "")
WAITING_COLUMNS = ("half @", "order")
TIMER_COLUMNS = ("timer", "after", "")
ALL = Limits()
#: the broker's timers, by the settings that they follow
SETTINGS = {
    CHECK: "transactionCheckInterval",
    OP_BATCH: "transactionOpBatchInterval",
    PERSIST: "flushConsumerOffsetInterval",
}


def draw_rows(rows: Iterable[tuple[str, str]]) -> Table:
    return Table(words.DATABASE_TABLE(), DATABASE_COLUMNS, tuple(sorted(rows)))


def draw_group(producers: Producers, limits: Limits = ALL) -> Table:
    """Every client that has sent a heartbeat; the mark is at the one whose turn is next."""
    rows = []
    for group, clients in producers.groups.items():
        next_one = clients[producers.counter % len(clients)]
        rows += [
            (client, limits.cut(group), words.ASKED_NEXT().en if client == next_one else "")
            for client in clients
        ]
    return Table(words.GROUP_TABLE(), GROUP_COLUMNS, tuple(rows[: limits.rows]))


def draw_waiting(ops: Sequence[int], book: Book, limits: Limits = ALL) -> Table:
    """Ends that are not recorded yet; a crash loses them."""
    rows = []
    for place in ops[: limits.rows]:
        txn = book.at_place(place)
        rows.append((str(place), txn.order if txn is not None else ""))
    return Table(words.WAITING_TABLE(), WAITING_COLUMNS, tuple(rows))


def draw_timers(timers: Iterable[tuple[str, int]]) -> Table:
    """The next one to run out comes first."""
    rows = tuple((name, f"{ms / 1000:g} s", SETTINGS.get(name, "")) for name, ms in timers)
    return Table(words.TIMERS_TABLE(), TIMER_COLUMNS, rows)


# ---- The states of a half message, laid out on a grid; the table is that of `states.py`
#
#     half ───────────→ committed
#       └→ asked ──┬──→ rolled back
#                  └──→ discarded
#
# Drawn are the table's edges that lead to the right: from the half to the question, and from both
# to an end. That a transaction which has ended once can still end otherwise is seen from the way it
# took.

PLACES = {
    HalfState.HALF: (0, 0),
    HalfState.ASKED: (1, 1),
    HalfState.COMMITTED: (2, 0),
    HalfState.ROLLED_BACK: (2, 1),
    HalfState.DISCARDED: (2, 2),
}
STATES = tuple(GraphState(str(s), *place) for s, place in PLACES.items())
ENDS = (HalfState.COMMITTED, HalfState.ROLLED_BACK, HalfState.DISCARDED)
EDGES = tuple(
    (str(old), str(new))
    for new, olds in PREVIOUS.items()
    for old in sorted(olds)
    if PLACES[new][0] > PLACES[old][0]
)


def draw_graph(txns: Iterable[Txn], most: int) -> Graph:
    """The way of the transaction that has not ended, else of the last one. `most`: how often one
    is asked about."""
    known = list(txns)
    if not known:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES)
    txn = next((t for t in known if t.state not in ENDS), known[-1])
    title = words.GRAPH(txn=txn.name)
    if txn.times:
        title = words.GRAPH_ASKED(txn=txn.name, times=txn.times, most=most)
    return Graph(title, STATES, EDGES, tuple(map(str, txn.path)), txn.name)


# What each consumer has made of what it got: the orders it applied, and what is odd about it


def draw_readers(seen: View) -> tuple[Reader, ...]:
    return tuple(_draw_reader(seen, name, group) for name, group in seen.cluster.consumers)


def _draw_reader(seen: View, name: str, group: str) -> Reader:
    applied = seen.world.disk(name).table(APPLIED)
    got = tuple(
        Got("applied", order, seen.book.name_order(order))
        for order, times in applied.items()
        for _ in range(times)
    )
    return Reader(name, got, _describe_consumption(seen, group, applied))


def _describe_consumption(seen: View, group: str, applied: Map[str, int]) -> Text:
    """The note beside a group's consumed messages, the most serious one that applies: applied
    twice, dead-lettered, waiting for a retry, delivered twice; empty where nothing is unusual.
    `applied`: by order, how often the group's consumers have processed its message."""
    for order, times in applied.items():
        if times > 1:
            return words.APPLIED_TWICE(order=order, times=times)
    retry, dead = list_group_queues(group)
    for queue, describe in ((dead, words.DEAD_LETTER), (retry, words.BACK)):
        waiting = [s.message.words for s in seen.read(queue)]
        not_applied = [order for order in waiting if order not in applied]
        if not_applied:
            return describe(order=not_applied[-1])
    delivered = [stored.message.words for stored in seen.list_passed(group)]
    for order in applied:
        if delivered.count(order) > 1:
            return words.CAME_TWICE(order=order, times=delivered.count(order))
    return NOTHING


# ---- Queues as rows of cells: the half topic, the op topic, what consumers read, those set aside
#
#     half topic      a cell for each half message and each copy of it; hatched while its
#                     transaction is open
#     op topic        a diamond for each op record, with the places in the half topic that it names
#     a real queue    what consumers may read: committed messages, and ordinary ones
#     discard topic   half messages that were given up
#     retry, DLQ      what consumers could not process
#
# Two flags move in a round of the check: the place from which it reads half messages, and the place
# from which it reads op records. On a real queue each consumer group has its flag.

CHECK_CURSOR, OP_CURSOR = "check cursor", "op cursor"


def draw_log(seen: Seen, queue: str, name: str, groups: Collection[str]) -> Log:
    """`groups`: whose flags it carries. A consumer may subscribe to the half topic: then its queue
    is drawn a second time, as a consumer sees it."""
    held, book = seen.read(queue), seen.book
    if (queue, name) == (HALF_QUEUE, HALF_TOPIC):
        return draw_halves(held, book, seen.half_offset)
    if (queue, name) == (OP_QUEUE, OP_TOPIC):
        return draw_ops(held, book, seen.op_offset, seen.limits.label)
    places = (Frontier(g, seen.offsets.get(offset_key(g, queue), 0)) for g in groups)
    return draw_queue(name, held, book, tuple(places))


def _draw_log(
    name: str, cells: tuple[Cell, ...], frontiers: tuple[Frontier, ...], ends: str = ""
) -> Log:
    """A long queue is drawn from its last cells on; a flag before them is not."""
    start = cells[0].offset if cells else 0
    return Log(name, cells, tuple(f for f in frontiers if f.at >= start), start, ends)


def draw_halves(halves: list[Stored], book: Book, at: int) -> Log:
    cells = tuple(draw_half(half, book.at_place(half.queue_offset)) for half in halves)
    return _draw_log(HALF_TOPIC, cells, (Frontier(CHECK_CURSOR, at),))


def draw_half(half: Stored, txn: Txn | None) -> Cell:
    """A half message or a copy of one. Struck through: it came to nothing."""
    state = txn.state if txn is not None else HalfState.HALF
    return Cell(
        offset=half.queue_offset,
        label=label_copy(half.message),
        kind="copy" if half.message.check_times else "data",
        txn=txn.name if txn is not None else "",
        readable=state is HalfState.COMMITTED,
        aborted=state in (HalfState.ROLLED_BACK, HalfState.DISCARDED),
    )


def label_copy(message: Message) -> str:
    """Its order, and which copy it is: "A" the half itself, "A (2)" as the second check put it."""
    times = message.check_times
    return f"{message.words} ({times})" if times else message.words


def draw_ops(ops: list[Stored], book: Book, at: int, label: Callable[[str], str] = str) -> Log:
    """A record that ends several half messages has the colour of the first."""
    cells = []
    for op in ops:
        places = parse_op(op)
        txn = book.at_place(places[0]) if places else None
        name = txn.name if txn is not None else ""
        cells.append(Cell(op.queue_offset, label(",".join(map(str, places))), "control", name))
    return _draw_log(OP_TOPIC, tuple(cells), (Frontier(OP_CURSOR, at),), HALF_TOPIC)


def draw_queue(
    name: str, messages: list[Stored], book: Book, frontiers: tuple[Frontier, ...] = ()
) -> Log:
    """A queue that consumers read; whatever is in it can be read."""
    cells = tuple(
        Cell(stored.queue_offset, stored.message.words, txn=book.name(stored.message))
        for stored in messages
    )
    return _draw_log(name, cells, frontiers)


def draw_snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    """A lesson's, with the database and the timers, which a server does not see."""
    seen = read_world(cluster, world)
    drawn = draw_seen(
        seen,
        lambda: _draw_lanes(cluster, world),
        lambda: draw_readers(seen),
        lambda: tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
        cluster.config.check_max,
    )
    rows = draw_rows(seen.rows.items())
    timers = world.nodes[cluster.config.broker].timers
    timed = draw_timers((name, ms) for _, name, ms in timers)
    return replace(drawn, tables=(rows, *drawn.tables, timed))


def draw_seen(
    seen: Seen,
    draw_lanes: Callable[[], tuple[Lane, ...]],
    draw_readers: Callable[[], tuple[Reader, ...]],
    draw_lights: Callable[[], tuple[Light, ...]],
    check_max: int,
    part: Part = draw_part,
) -> Snapshot:
    """Draw the Snapshot of a lesson or a server from what was read of its cluster. Every part is
    made through `part(kind, name, draw)`: a server redraws only parts that have changed. How lanes,
    readers and lights (whether each invariant holds) are drawn differs between the two.
    `check_max`: how often a producer is asked about a half message at most."""
    queues = seen.list_queues()  # of each the arguments of `draw_log` after `seen`
    return Snapshot(
        lanes=part("lanes", "", draw_lanes),
        logs=tuple(part("log", queue[0], partial(draw_log, seen, *queue)) for queue in queues),
        readers=part("readers", "", draw_readers),
        graphs=part("graphs", "", lambda: (draw_graph(seen.book.txns.values(), check_max),)),
        tables=tuple(_draw_tables(seen, part)),
        lights=part("lights", "", draw_lights),
    )


def _draw_lanes(cluster: Cluster, world: World) -> tuple[Lane, ...]:
    """Draw a lane for each node: producers and, beside them, the database with their rows, then
    brokers and consumers."""
    config = cluster.config
    lanes = [
        (name, Text(name), _producer_title(cluster, group)) for name, group in cluster.producers
    ]
    lanes.append((config.database, Text(config.database), words.DATABASE()))
    lanes.append((config.broker, words.BROKER(), words.MASTER()))
    if cluster.slave:
        lanes.append((config.slave, words.BROKER(), words.SLAVE()))
    if config.name_server:
        lanes.append((config.name_server, Text(config.name_server), words.NAME_SERVER()))
    lanes += [(name, Text(name), words.CONSUMER()) for name, _ in cluster.consumers]
    brokers = (config.broker, config.slave)
    return tuple(
        Lane(name, title, what, world.nodes[name].up, BROKER if name in brokers else NOTHING)
        for name, title, what in lanes
    )


def _producer_title(cluster: Cluster, group: str) -> Text:
    """Its group, by which the broker finds whom to ask."""
    return Text(group) if group else words.PRODUCER()


def _draw_tables(seen: Seen, part: Part) -> Iterator[Table]:
    """What only later releases have, or only a broker that runs, shows when it has rows."""
    if seen.broker is not None:
        producers = seen.broker.producers
        yield part("group", "", lambda: draw_group(producers, seen.limits))
    if seen.ops:
        yield part("waiting", "", lambda: draw_waiting(seen.ops, seen.book, seen.limits))


# RocketMQ's own words that a picture shows, one sentence each: the source of its tooltips

TERMS: dict[Text, Text] = {
    words.BROKER(): tr(
        "The server that stores messages; it keeps no table of transactions, only three "
        "topics that can be read side by side."
    ),
    words.DATABASE(): tr(
        "The order service's own: what the processes of a producer group share, and what "
        "outlives each of them."
    ),
    Text(HALF_TOPIC): tr(
        "Where a message is kept while its transaction is undecided; no consumer subscribes to it."
    ),
    Text(OP_TOPIC): tr(
        "Which half messages have ended, by their places in the half topic; the half messages stay."
    ),
    Text(DISCARD_TOPIC): tr(
        "Where a half message is set aside after as many checks as allowed: reported, not "
        "rolled back."
    ),
    Text(CHECK_CURSOR): tr("Where the next round of the check begins to read half messages."),
    Text(OP_CURSOR): tr("Where the next round of the check begins to read op records."),
    Text(HalfState.ASKED): tr(
        "A copy of the half message was written at the end of the half topic, and a producer of "
        "the group was asked about it."
    ),
    Text(HalfState.DISCARDED): tr(
        "Set aside after as many checks as are allowed; a commit that comes now still delivers "
        "the message."
    ),
}
