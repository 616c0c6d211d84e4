"""What barrier snapshots look like, and why: what is read, noted, written and seen."""

from __future__ import annotations

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
from .claims import Job
from .roles import (
    ABORTED,
    CHECKPOINTS,
    COMMITTED,
    EXPIRED,
    JM,
    OUTPUT,
    PENDING,
    SINK,
    SUM,
    Source,
    find_latest,
    list_completed,
    list_outputs,
)

GRAPH = Words("Where {txn} is")
HIDDEN = Words("{txn} is pending: written, hidden")
LOST = Words("{txn} was given up by the store")


PLACES = {"triggered": (0, 0), "completed": (1, 0), "output seen": (2, 0), "void": (1, 1)}
EDGES = (("triggered", "completed"), ("completed", "output seen"), ("triggered", "void"))
IDLE = Graph(tr("No checkpoint yet"), place_states(PLACES), EDGES)
SHORT = {COMMITTED: "C", ABORTED: "A", EXPIRED: "X"}


def draw(job: Job, world: World) -> Snapshot:
    """Draw the model's Snapshot: the job manager's complete checkpoints, the sources' input, the
    sink's output, what a reader sees, the state of the latest checkpoint, and what each task holds
    in memory."""
    titles = [(JM, tr("job manager")), *((name, tr("source")) for name in job.sources)]
    titles += [(SUM, tr("counts")), (SINK, tr("output"))]
    checkpoints = read_records(world.disk(JM), CHECKPOINTS)
    output = read_records(world.disk(SINK), OUTPUT)
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            *(_draw_input(job, world, name) for name in job.sources),
            draw_log(JM, checkpoints, _number, control=("completed",)),
            # no reader sees records of the kind PENDING
            draw_log(SINK, output, _label, (COMMITTED, ABORTED, EXPIRED), hidden=(PENDING,)),
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
            note = HIDDEN(txn=output.txn)
        elif output.what == EXPIRED:
            note = LOST(txn=output.txn)
    return Reader("output", got, note)


def _draw_checkpoint(world: World) -> Graph:
    """Draw the state machine of the latest checkpoint that was triggered: completed and then seen
    by readers, or void because its attempt ended first. While the job manager is down only complete
    checkpoints are known, so the latest of these is drawn."""
    # `manager` is None while the job manager is down; `latest`: the latest complete checkpoint
    manager, latest = world.role(JM), find_latest(world.disk(JM))
    is_in_flight = manager is not None and manager.noted is not None
    # of the checkpoint that is drawn, triggered or complete; 0: there was none yet
    number = manager.number if manager is not None else (latest.number if latest else 0)
    if not number:
        return IDLE
    complete = number in {done.number for done in list_completed(world.disk(JM))}
    seen = any(o.number == number and o.what == COMMITTED for o in list_outputs(world.disk(SINK)))
    path = ["triggered"]
    if complete:
        path += ["completed", *(["output seen"] if seen else [])]
    elif not is_in_flight:
        path.append("void")
    txn = f"cp{number}"
    return replace(IDLE, title=GRAPH(txn=txn), path=tuple(path), txn=txn)


def _draw_memory(job: Job, world: World) -> Table:
    """What each task holds in memory: an offset, a count or values; a dash while it is down."""
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
    return Table(tr("What each task holds in memory"), ("task", "attempt", "holds"), tuple(rows))
