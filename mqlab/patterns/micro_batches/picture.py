"""What micro-batches look like, and why: what has arrived, two logs, what is written and seen."""

from __future__ import annotations

from itertools import compress, pairwise

from ...kernel import (
    NOTHING,
    Cell,
    Frontier,
    Got,
    Graph,
    Log,
    Reader,
    Snapshot,
    Table,
    Words,
    World,
    replace,
    tr,
)
from ..picture import draw_lanes, draw_log, place_states
from ..records import Record, read_records
from .claims import Query
from .roles import (
    ABORTED,
    COMMITS,
    COMMITTED,
    DRIVER,
    OFFSETS,
    OUTPUT,
    PENDING,
    SINK,
    count_done,
    find_progress,
    list_orders,
    list_outputs,
    list_planned,
    list_seen,
    name_batch,
)

GRAPH = Words("Where {txn} is")
HIDDEN = Words("{txn} is in an open transaction: hidden")


WAY = ("planned", "output seen", "done")
PLACES = {name: (place, 0) for place, name in enumerate(WAY)}
IDLE = Graph(tr("No batch yet"), place_states(PLACES), tuple(pairwise(WAY)))
SHORT = {COMMITTED: "C", ABORTED: "A"}


def draw(query: Query, world: World) -> Snapshot:
    """Draw the model's Snapshot: the partitions' orders, the driver's two logs, the sink's output,
    what a reader sees, the state of the latest batch, and what the driver holds in memory."""
    partitions = ((name, tr("partition")) for name in query.sources)
    titles = [(DRIVER, tr("runs the batches")), *partitions, (SINK, tr("output"))]
    output = read_records(world.disk(SINK), OUTPUT)
    # each log with its kinds of record that are drawn as decisions
    driver_logs = ((OFFSETS, ()), (COMMITS, (COMMITS,)))
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            *(_draw_orders(world, name) for name in query.sources),
            *(
                draw_log(log, read_records(world.disk(DRIVER), log), _number, control=decisions)
                for log, decisions in driver_logs
            ),
            draw_log(SINK, output, _label, control=(COMMITTED, ABORTED), hidden=(PENDING,)),
        ),
        readers=(_draw_reader(world),),
        graphs=(_draw_batch(world),),
        tables=(_draw_memory(world),),
    )


def _number(record: Record) -> str:
    return record.txn.removeprefix("mb")


def _label(record: Record) -> str:
    return SHORT.get(record.what) or record.more.strip("{}")


def _draw_orders(world: World, name: str) -> Log:
    """What has arrived in a partition: how far it is planned, and how far it is done."""
    disk = world.disk(DRIVER)
    planned = list_planned(disk)
    ends = [dict(batch.ends).get(name, 0) for batch in planned]
    done = ends[: count_done(disk)]
    cells = tuple(Cell(at, order) for at, order in enumerate(list_orders(world.disk(name))))
    frontiers = (
        Frontier("offsets", max(ends, default=0)),
        Frontier("commits", max(done, default=0)),
    )
    return Log(name, cells, frontiers)


def _draw_reader(world: World) -> Reader:
    outputs = list_outputs(world.disk(SINK))
    got = tuple(Got(SINK, row, batch) for row, batch in list_seen(world.disk(SINK)))
    hidden = outputs and outputs[-1].what == PENDING
    return Reader("output", got, HIDDEN(txn=outputs[-1].txn) if hidden else NOTHING)


def _draw_batch(world: World) -> Graph:
    """Of the latest batch, by the driver's two logs and the store."""
    number = len(list_planned(world.disk(DRIVER))) - 1
    if number < 0:
        return IDLE
    is_seen = find_progress(world.disk(SINK)) >= number
    is_done = count_done(world.disk(DRIVER)) > number
    txn = name_batch(number)
    path = tuple(compress(WAY, (True, is_seen, is_done)))
    return replace(IDLE, title=GRAPH(txn=txn), path=path, txn=txn)


def _draw_memory(world: World) -> Table:
    driver = world.role(DRIVER)
    row = ("–", "–") if driver is None else (name_batch(driver.number), driver.stage)
    return Table(tr("What the driver holds in memory"), ("batch", "stage"), (row,))
