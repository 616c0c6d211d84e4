"""A Kafka world as a Snapshot: lanes, logs, what readers get, the coordinator's graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..kernel import (
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
)
from ..storage import Batch
from . import words
from .config import KafkaConfig, txn_log
from .consumer import readable
from .coordinator import Entry
from .group import GroupCoordinator
from .leader import Leader, fetch, index_of
from .messages import READ_COMMITTED, READ_UNCOMMITTED, Fetch, braces
from .partition import Partition
from .states import COMPLETED, PREVIOUS, TxnState
from .transactions import Txn, attributed, transactions

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


@dataclass(frozen=True, slots=True)
class Cluster:
    """The names a picture needs: node names by their part, and the ids in a fixed order."""

    config: KafkaConfig
    producers: tuple[tuple[str, str], ...]
    partitions: tuple[str, ...]
    readers: tuple[str, ...]
    groups: tuple[str, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(txn_id for _, txn_id in self.producers if txn_id))


@dataclass(frozen=True, slots=True)
class View:
    """A world, read once: every partition's batches with their transactions."""

    cluster: Cluster
    world: World
    txns: dict[str, list[Txn]]
    rows: dict[str, list[tuple[Batch, Txn | None, str]]]
    parts: dict[str, Partition]

    def got(self, partition: str, isolation: str) -> list[tuple[Batch, Txn | None]]:
        """What a reader from offset 0 gets from one partition, by the broker's cut and the
        client's filter. From a node that is down nobody gets anything."""
        if not self.world.nodes[partition].up:
            return []
        part = self.parts[partition]
        ask = Fetch(0, isolation, max_bytes=1 << 40)
        said = fetch.answer(part, partition, ask, self.world.disk(partition))
        batches, _ = readable(said.batches, said.aborted, 0)
        owner = {batch.base: txn for batch, txn, _ in self.rows[partition]}
        return [(batch, owner[batch.base]) for batch in batches]

    def all_txns(self) -> Iterator[Txn]:
        for mine in self.txns.values():
            yield from mine


def view(cluster: Cluster, world: World) -> View:
    txns = transactions(world, cluster.config.coordinator, cluster.ids)
    rows, parts = {}, {}
    for name in (*cluster.partitions, *cluster.groups):
        log = world.disk(name).log(name)
        rows[name] = attributed(name, log.read(0), txns)
        role = world.role(name)
        if isinstance(role, Leader | GroupCoordinator):
            parts[name] = role.part
        else:  # its node is down: what it would know after a restart
            parts[name] = Partition.replayed(cluster.config, log.read(0), log.end)[0]
    return View(cluster, world, txns, rows, parts)


def snapshot(cluster: Cluster, world: World, properties: tuple[Property, ...]) -> Snapshot:
    seen = view(cluster, world)
    return Snapshot(
        lanes=lanes(cluster, world),
        logs=tuple(strip(seen, name) for name in (*cluster.partitions, *cluster.groups)),
        readers=(committed_reader(seen), uncommitted_reader(seen)),
        graphs=(graph(seen),) if cluster.ids else (),
        tables=tables(seen),
        lights=tuple(Light(p.name, p.sentence, p.holds(world)) for p in properties),
    )


def lanes(cluster: Cluster, world: World) -> tuple[Lane, ...]:
    tc = cluster.config.coordinator
    logs = ", ".join(sorted({txn_log(i, cluster.config).rsplit("-", 1)[1] for i in cluster.ids}))
    named: list[tuple[str, Text, Text]] = [
        _producer_lane(cluster, name, txn_id) for name, txn_id in cluster.producers
    ]
    if cluster.ids:
        subtitle = Text(words.TXN_LOG().en + f" {logs}", words.TXN_LOG().zh + f" {logs}")
        named.append((tc, words.COORDINATOR(), subtitle))
    named += [(p, Text(p), words.LEADER()) for p in cluster.partitions]
    named += [(g, words.GROUP(), Text(g)) for g in cluster.groups]
    named += [(r, Text(r), words.READER()) for r in cluster.readers]
    return tuple(Lane(name, title, sub, world.nodes[name].up) for name, title, sub in named)


def _producer_lane(cluster: Cluster, name: str, txn_id: str) -> tuple[str, Text, Text]:
    """Called by its transactional id; two instances with one id by their own names."""
    twins = sum(other == txn_id for _, other in cluster.producers) > 1
    if txn_id and twins:
        return name, Text(name), Text(txn_id)
    return name, Text(txn_id or name), words.PRODUCER()


def strip(seen: View, partition: str) -> Log:
    part = seen.parts[partition]
    limit = fetch.limit(part, READ_COMMITTED)
    cells = []
    for batch, txn, outcome in seen.rows[partition]:
        for i in range(batch.count):
            label = batch.control[:1] or _label(batch, i)
            cells.append(
                Cell(
                    offset=batch.base + i,
                    label=label,
                    kind="control" if batch.control else "data",
                    txn=txn.name if txn else "",
                    readable=batch.base + i < limit,
                    aborted=outcome == "ABORT" and not batch.control,
                )
            )
    return Log(partition, tuple(cells), (Frontier("LSO", part.lso), Frontier("HW", part.hw)))


def _label(batch: Batch, i: int) -> str:
    records = batch.records
    return str(records[i]) if isinstance(records, tuple) and i < len(records) else "·"


def committed_reader(seen: View) -> Reader:
    got = {p: seen.got(p, READ_COMMITTED) for p in seen.cluster.partitions}
    return Reader(READ_COMMITTED, _given(got), torn(seen, got) or waiting(seen))


def uncommitted_reader(seen: View) -> Reader:
    got = {p: seen.got(p, READ_UNCOMMITTED) for p in seen.cluster.partitions}
    note = NOTHING
    for txn in {t.name: t for rows in got.values() for _, t in rows if t}.values():
        if txn.outcome == "ABORT":
            note = words.ABORTED_READ(txn=txn.name)
        elif not txn.outcome and not note.en:
            note = words.UNDECIDED(txn=txn.name)
    return Reader(READ_UNCOMMITTED, _given(got), note)


def _given(got: dict[str, list[tuple[Batch, Txn | None]]]) -> tuple[Got, ...]:
    return tuple(
        Got(p, _label(batch, i), txn.name if txn else "")
        for p, batches in got.items()
        for batch, txn in batches
        for i in range(batch.count)
    )


def torn(seen: View, got: dict[str, list[tuple[Batch, Txn | None]]]) -> Text | None:
    """In words, that a reader gets part of a committed transaction."""
    for txn in seen.all_txns():
        holding = {
            p
            for p in seen.cluster.partitions
            for _, t, _ in seen.rows[p]
            if t and t.name == txn.name and seen.world.nodes[p].up
        }
        shown = {p for p, rows in got.items() for _, t in rows if t and t.name == txn.name}
        if shown and holding - shown:
            return words.TORN(txn=txn.name, where=", ".join(sorted(holding - shown)))
    return None


def waiting(seen: View) -> Text:
    """In words, which transaction holds a reader up."""
    for partition in seen.cluster.partitions:
        part = seen.parts[partition]
        if part.lso < part.hw:
            for batch, txn, _ in seen.rows[partition]:
                if batch.base == part.lso and txn is not None:
                    return words.WAITS(where=partition, txn=txn.name)
    return NOTHING


def graph(seen: View) -> Graph:
    """The state graph of the transaction that is going on, else of the last one."""
    latest = [mine[-1] for mine in seen.txns.values() if mine]
    if not latest:
        begun = bool(_latest_entries(seen))
        return Graph(words.GRAPH_IDLE(), STATES, EDGES, (str(TxnState.EMPTY),) if begun else ())
    txn = next((t for t in latest if t.state not in COMPLETED), latest[0])
    path = (str(TxnState.EMPTY), *map(str, txn.path))
    return Graph(words.GRAPH(txn=txn.name), STATES, EDGES, path, txn.name)


def _latest_entries(seen: View) -> list[Entry]:
    """`__transaction_state` as its compaction leaves it: the latest record of each key."""
    disk = seen.world.disk(seen.cluster.config.coordinator)
    latest: dict[str, Entry] = {}
    for log in disk.logs("__transaction_state-"):
        for record in disk.log(log).read(0):
            latest[record.entry.txn_id] = record.entry
    return [latest[key] for key in sorted(latest)]


def tables(seen: View) -> tuple[Table, ...]:
    out = []
    if seen.cluster.ids:
        rows = tuple(
            (e.txn_id, str(e.pid), str(e.epoch), str(e.state), braces(e.partitions))
            for e in _latest_entries(seen)
        )
        columns = ("transactionalId", "producerId", "epoch", "state", "partitions")
        out.append(Table(words.STATE_TABLE(), columns, rows))
    index = tuple(
        (p, str(a.pid), str(a.first_offset), str(a.last_offset), str(a.lso))
        for p in seen.cluster.partitions
        for a in seen.world.disk(p).log(index_of(p)).read(0)
    )
    if index:
        columns = ("partition", "producerId", "firstOffset", "lastOffset", "LSO")
        out.append(Table(words.INDEX_TABLE(), columns, index))
    out += [_offsets_table(seen, g) for g in seen.cluster.groups]
    return tuple(out)


def _offsets_table(seen: View, name: str) -> Table:
    role = seen.world.role(name)
    rows: tuple[tuple[str, ...], ...] = ()
    if isinstance(role, GroupCoordinator):
        rows = tuple(
            (group, partition, str(placed.position.offset), "")
            for (group, partition), placed in role.committed.items()
        ) + tuple(
            (key[0], key[1], str(placed.position.offset), f"pending, producerId {pid}")
            for pid, mine in role.pending.items()
            for key, placed in mine
        )
    return Table(words.OFFSETS_TABLE(), ("group", "partition", "offset", ""), rows)
