"""What barrier snapshots look like: what is read, noted, written and seen."""

from __future__ import annotations

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
from .claims import Job
from .config import JM, SINK, SUM
from .manager import LOG as CHECKPOINTS
from .manager import find_latest, list_completed
from .sink import ABORTED, COMMITTED, EXPIRED, LOG, PENDING, list_outputs
from .source import Source

PLACES = {"triggered": (0, 0), "completed": (1, 0), "output seen": (2, 0), "void": (1, 1)}
STATES = tuple(GraphState(name, *place) for name, place in PLACES.items())
EDGES = (("triggered", "completed"), ("completed", "output seen"), ("triggered", "void"))
SHORT = {COMMITTED: "C", ABORTED: "A", EXPIRED: "X"}


def draw(job: Job, world: World) -> Snapshot:
    titles = [(JM, Text(JM), words.MANAGER())]
    titles += [(name, Text(name), words.SOURCE()) for name in job.sources]
    titles += [(SUM, Text(SUM), words.OPERATOR()), (SINK, Text(SINK), words.SINK())]
    done = read_records(world.disk(JM), CHECKPOINTS)
    output = read_records(world.disk(SINK), LOG)
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            *(_draw_input(job, world, name) for name in job.sources),
            draw_strip(JM, done, _number, ("completed",)),
            draw_strip(SINK, output, _label, (COMMITTED, ABORTED, EXPIRED), (PENDING,)),
        ),
        readers=(_draw_reader(world),),
        graphs=(_draw_checkpoint(world),),
        tables=(_draw_memory(job, world),),
    )


def _number(record: Record) -> str:
    return record.txn


def _label(record: Record) -> str:
    return record.more.strip("{}") if record.what == PENDING else SHORT[record.what]


def _draw_input(job: Job, world: World, name: str) -> Log:
    """The records of a source: how far it has read, and where a restart would begin."""
    source = world.role(name)
    read = source.offset if isinstance(source, Source) else 0
    latest = find_latest(world.disk(JM))
    noted = dict(latest.states).get(name, 0) if latest else 0
    cells = tuple(Cell(at, row) for at, row in enumerate(job.list_rows(name)))
    return Log(name, cells, (Frontier("read", read), Frontier("noted", noted)))


def _draw_reader(world: World) -> Reader:
    outputs = list_outputs(world.disk(SINK))
    got = tuple(Got(SINK, v, o.txn) for o in outputs if o.what == COMMITTED for v in o.values)
    note = NOTHING
    for output in outputs:
        if output.what == PENDING:
            note = words.HIDDEN(txn=output.txn)
        elif output.what == EXPIRED:
            note = words.LOST(txn=output.txn)
    return Reader("output", got, note)


def _draw_checkpoint(world: World) -> Graph:
    """Of the latest checkpoint, by the job manager and the sink."""
    manager, latest = world.role(JM), find_latest(world.disk(JM))
    under_way = manager is not None and manager.noted is not None
    number = manager.number if manager is not None else (latest.number if latest else 0)
    if not number:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES)
    complete = number in {done.number for done in list_completed(world.disk(JM))}
    seen = any(o.number == number and o.what == COMMITTED for o in list_outputs(world.disk(SINK)))
    path = ["triggered"]
    if complete:
        path += ["completed", *(["output seen"] if seen else [])]
    elif not under_way:
        path.append("void")
    txn = f"cp{number}"
    return Graph(words.GRAPH(txn=txn), STATES, EDGES, tuple(path), txn)


def _draw_memory(job: Job, world: World) -> Table:
    rows = []
    for name in (*job.sources, SUM, SINK):
        role = world.role(name)
        if role is None:
            rows.append((name, "–", "–"))
            continue
        holds = {SUM: "count", SINK: "values"}.get(name, "offset")
        value = getattr(role, holds)
        held = f"{holds} {len(value) if isinstance(value, tuple) else value}"
        rows.append((name, str(role.attempt), held))
    return Table(words.TABLE(), ("task", "attempt", "holds"), tuple(rows))
