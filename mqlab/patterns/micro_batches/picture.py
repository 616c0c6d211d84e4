"""What micro-batches look like: what has arrived, the two logs, what is written and seen."""

from __future__ import annotations

from itertools import pairwise

from ...kernel import (
    NOTHING,
    Cell,
    Frontier,
    Got,
    Graph,
    GraphState,
    Log,
    Reader,
    Snapshot,
    Table,
    Text,
    World,
)
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_records
from . import words
from .claims import Query
from .config import DRIVER, SINK
from .driver import COMMITS, OFFSETS, count_done, list_planned
from .messages import name_batch
from .partition import list_orders
from .store import ABORTED, COMMITTED, LOG, PENDING, find_progress, list_outputs, list_seen

WAY = ("planned", "output seen", "done")
STATES = tuple(GraphState(name, place, 0) for place, name in enumerate(WAY))
EDGES = tuple(pairwise(WAY))
SHORT = {COMMITTED: "C", ABORTED: "A"}


def draw(query: Query, world: World) -> Snapshot:
    titles = [(DRIVER, Text(DRIVER), words.DRIVER())]
    titles += [(name, Text(name), words.PARTITION()) for name in query.sources]
    titles += [(SINK, Text(SINK), words.SINK())]
    output = read_records(world.disk(SINK), LOG)
    notes = ((OFFSETS, ()), (COMMITS, (COMMITS,)))
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            *(_draw_orders(world, name) for name in query.sources),
            *(
                draw_strip(log, read_records(world.disk(DRIVER), log), _number, decisions)
                for log, decisions in notes
            ),
            draw_strip(SINK, output, _label, (COMMITTED, ABORTED), (PENDING,)),
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
    return Reader("output", got, words.HIDDEN(txn=outputs[-1].txn) if hidden else NOTHING)


def _draw_batch(world: World) -> Graph:
    """Of the latest batch, by the driver's two logs and the store."""
    number = len(list_planned(world.disk(DRIVER))) - 1
    if number < 0:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES)
    steps = (
        True,
        find_progress(world.disk(SINK)) >= number,
        count_done(world.disk(DRIVER)) > number,
    )
    path = tuple(name for name, reached in zip(WAY, steps, strict=True) if reached)
    txn = name_batch(number)
    return Graph(words.GRAPH(txn=txn), STATES, EDGES, path, txn)


def _draw_memory(world: World) -> Table:
    driver = world.role(DRIVER)
    row = ("–", "–") if driver is None else (name_batch(driver.number), driver.stage)
    return Table(words.TABLE(), ("batch", "stage"), (row,))
