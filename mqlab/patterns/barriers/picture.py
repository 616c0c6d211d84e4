"""What barrier snapshots look like, and why: what is read, noted, written and seen."""

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
    Stage,
    Table,
    Text,
    Words,
    World,
    tr,
)
from ...kernel.reasons import Unguarded
from ..picture import draw_lanes, draw_log
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

WHYS = {
    "Register": Words("Running, and doing nothing until it is deployed."),
    "Reconnect": Words("Whether it has stopped cannot be told: if it lives it is to register."),
    "Fail": Words("A channel broke: what was in it may be lost. The whole attempt begins again."),
    "Deploy": Words("Everybody begins again from the same picture."),
    "DeployResponse": Words("Ready; whatever an earlier attempt sends is refused now."),
    "checkpoint": Words("Time for another picture."),
    "Trigger": Words("Only the sources are told; the barrier does the rest."),
    "Row": Words("A record goes down its channel."),
    "Barrier": Words(
        "Between two records: what is before it belongs to {txn}, what is after it does not."
    ),
    "change Barrier": Words(
        "Its records wait, or the picture would hold some that come after the barrier."
    ),
    "Acknowledge": Words("This task's part of the picture."),
    "pending": Words("Pre-commit: the output is on disk, and no reader sees it. This is the vote."),
    "completed": Words(
        "The decision: from now on this is where a restart begins, and its output counts."
    ),
    "Complete": Words("The sink may commit now."),
    "committed": Words("Readers see it now."),
    "aborted": Words("Newer than the restored checkpoint: it will be computed and written again."),
    "expired": Words(
        "The store has waited long enough. It cannot know that the checkpoint is complete."
    ),
    "expire": Words("A transaction of the store has its own timeout."),
    "late Row": Words(
        "From a channel that is gone. It will be read again, so it must not count now."
    ),
    "late Barrier": Words("From a channel that is gone: it says nothing now."),
}

TOLD = ("pending", "completed", "committed", "aborted", "expired", "Deploy")
STAGES = {
    "Trigger": Stage.RESERVE,
    "pending": Stage.WRITE,
    "completed": Stage.DECIDE,
    "Complete": Stage.PUBLISH,
    "committed": Stage.SHOW,
    "aborted": Stage.SHOW,
}

UNGUARDED: Unguarded = {
    "alignment": {
        WHYS["Barrier"]: Words(
            "between two records; but some of those after it may be counted before it."
        ),
        WHYS["change Barrier"]: Words(
            "its records do not wait, so the picture may hold some that come after the barrier."
        ),
    },
    "pre_commit": {
        WHYS["Acknowledge"]: Words(
            "this task's part of the picture; the sink has not written its output."
        ),
        WHYS["completed"]: Words(
            "from now on this is where a restart begins, but its output is in memory only."
        ),
        WHYS["Complete"]: Words("the sink is to write its output only now."),
    },
    "commit_after_checkpoint": {
        WHYS["pending"]: Words("the output is on disk, and is committed at once."),
        WHYS["committed"]: Words(
            "readers see it now, although its checkpoint may never be complete."
        ),
        WHYS["Complete"]: Words("the checkpoint is complete; the sink has committed before."),
    },
    "complete_on_disk": {
        WHYS["Complete"]: Words("the sink may commit, although the checkpoint is not on disk yet."),
        WHYS["completed"]: Words(
            "this is where a restart begins, but the sink heard of it before it was written."
        ),
    },
    "recover_and_commit": {
        WHYS["Deploy"]: Words(
            "everybody begins again from the same picture, and pending output of it stays pending."
        ),
        WHYS["completed"]: Words(
            "this is where a restart begins, but after a restart nobody commits its output."
        ),
    },
    "attempt_fencing": {
        WHYS["DeployResponse"]: Words("ready; what an earlier attempt sends is still accepted."),
        WHYS["late Row"]: Words(
            "from a channel that is gone; it counts now, and again when it is read again."
        ),
        WHYS["late Barrier"]: Words("from a channel that is gone; it still counts."),
    },
}

PLACES = {"triggered": (0, 0), "completed": (1, 0), "output seen": (2, 0), "void": (1, 1)}
STATES = tuple(GraphState(name, *place) for name, place in PLACES.items())
EDGES = (("triggered", "completed"), ("completed", "output seen"), ("triggered", "void"))
SHORT = {COMMITTED: "C", ABORTED: "A", EXPIRED: "X"}


def draw(job: Job, world: World) -> Snapshot:
    """Draw the model's Snapshot: the job manager's complete checkpoints, the sources' input, the
    sink's output, what a reader sees, the state of the latest checkpoint, and what each task holds
    in memory."""
    titles = [(JM, Text(JM), tr("job manager"))]
    titles += [(name, Text(name), tr("source")) for name in job.sources]
    titles += [(SUM, Text(SUM), tr("counts")), (SINK, Text(SINK), tr("output"))]
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
        return Graph(tr("No checkpoint yet"), STATES, EDGES)
    complete = number in {done.number for done in list_completed(world.disk(JM))}
    seen = any(o.number == number and o.what == COMMITTED for o in list_outputs(world.disk(SINK)))
    path = ["triggered"]
    if complete:
        path += ["completed", *(["output seen"] if seen else [])]
    elif not is_in_flight:
        path.append("void")
    txn = f"cp{number}"
    return Graph(GRAPH(txn=txn), STATES, EDGES, tuple(path), txn)


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
