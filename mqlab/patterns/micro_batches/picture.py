"""What micro-batches look like, and why: what has arrived, two logs, what is written and seen."""

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

WHYS = {
    "order": Words("An order arrives in topic Order, and stays."),
    "trigger": Words("Time for another batch."),
    "retry": Words("A call has failed: the batch is begun again, from its offsets."),
    "recovery driver": Words(
        "It looks at its two logs: what offsets has and commits has not is run again."
    ),
    "LatestOffset": Words("How far do the orders go by now?"),
    "LatestOffsetResponse": Words("The batch may go as far as this."),
    "offsets": Words("offsets/N: from now on {txn} has these orders, however often it is run."),
    "Fetch": Words("The orders of {txn}, by their offsets."),
    "FetchResponse": Words("The same offsets give the same orders."),
    "InitProducer": Words("Fence first: after this no earlier process can change the output."),
    "InitProducerResponse": Words("The progress record says which batch is in the output."),
    "Write": Words("The rows of {txn} and its progress record, in one transaction."),
    "WriteResponse": Words("Written; the transaction is still open."),
    "Commit": Words("All is written: end the transaction."),
    "CommitResponse": Words("Only the note in the checkpoint is missing."),
    "Fenced": Words("A newer process writes by now."),
    "pending": Words("On disk, and no reader sees it."),
    "seen": Words("Readers see it at once."),
    "committed": Words("The decision: rows and progress record are there, at the same moment."),
    "aborted": Words("Its process is gone. The batch is in doubt and will be run again."),
    "commits": Words("commits/N: {txn} is done. The sink knew it before the checkpoint did."),
    "late Write": Words(
        "From a process that is dead by now: if it counted, its rows could be in twice."
    ),
    "late Commit": Words(
        "From a process that is dead by now: it counts only if no newer one has fenced it."
    ),
}

TOLD = ("order", "offsets", "pending", "seen", "committed", "aborted", "commits")
STAGES = {
    "offsets": Stage.RESERVE,
    "pending": Stage.WRITE,
    "committed": Stage.DECIDE,
    "commits": Stage.FORGET,
}

UNGUARDED: Unguarded = {
    "offsets_first": {
        WHYS["offsets"]: Words(
            "offsets/N is written when the batch is over; an earlier run may have had other orders."
        ),
        WHYS["CommitResponse"]: Words(
            "the checkpoint knows nothing of this batch yet, not even its orders."
        ),
        WHYS["recovery driver"]: Words(
            "a batch that was running may be in neither log; it is planned again, perhaps "
            "with more orders."
        ),
    },
    "one_transaction": {
        WHYS["Write"]: Words("the rows are written by themselves, the progress record later."),
        WHYS["WriteResponse"]: Words(
            "readers see the rows already; the progress record is missing."
        ),
        WHYS["Commit"]: Words("the rows are there: now the progress record."),
        WHYS["committed"]: Words("the progress record, which comes after the rows."),
        WHYS["late Write"]: Words(
            "from a process that is dead by now; unless it is fenced, readers see its rows at once."
        ),
    },
    "reads_progress": {
        WHYS["InitProducerResponse"]: Words(
            "the progress record is in this answer, and the driver does not look at it."
        ),
        WHYS["Write"]: Words("the rows are written, even if they are in the output already."),
    },
    "producer_fencing": {
        WHYS["InitProducer"]: Words(
            "this execution gets a new epoch, but an earlier process can still change the output."
        ),
        WHYS["late Write"]: Words(
            "from a process that is dead by now, and accepted: its rows can be in twice."
        ),
        WHYS["late Commit"]: Words(
            "from a process that is dead by now, and accepted: it still decides."
        ),
    },
    "commits_last": {
        WHYS["commits"]: Words(
            "commits/N says that the batch is done, although the sink may not have it."
        ),
        WHYS["CommitResponse"]: Words("the checkpoint had this batch as done before the sink did."),
        WHYS["recovery driver"]: Words(
            "a batch that commits has is not run again, even if the sink never got it."
        ),
    },
}

WAY = ("planned", "output seen", "done")
STATES = tuple(GraphState(name, place, 0) for place, name in enumerate(WAY))
EDGES = tuple(pairwise(WAY))
SHORT = {COMMITTED: "C", ABORTED: "A"}


def draw(query: Query, world: World) -> Snapshot:
    """Draw the model's Snapshot: the partitions' orders, the driver's two logs, the sink's output,
    what a reader sees, the state of the latest batch, and what the driver holds in memory."""
    titles = [(DRIVER, Text(DRIVER), tr("runs the batches"))]
    titles += [(name, Text(name), tr("partition")) for name in query.sources]
    titles += [(SINK, Text(SINK), tr("output"))]
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
        return Graph(tr("No batch yet"), STATES, EDGES)
    steps = (
        True,
        find_progress(world.disk(SINK)) >= number,
        count_done(world.disk(DRIVER)) > number,
    )
    path = tuple(name for name, reached in zip(WAY, steps, strict=True) if reached)
    txn = name_batch(number)
    return Graph(GRAPH(txn=txn), STATES, EDGES, path, txn)


def _draw_memory(world: World) -> Table:
    driver = world.role(DRIVER)
    row = ("–", "–") if driver is None else (name_batch(driver.number), driver.stage)
    return Table(tr("What the driver holds in memory"), ("batch", "stage"), (row,))
