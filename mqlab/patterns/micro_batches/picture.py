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
    Table,
    Text,
    Words,
    World,
)
from ..picture import draw_lanes, draw_strip
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

GRAPH = Words("Where {txn} is", "{txn} 进行到哪里")
HIDDEN = Words("{txn} is in an open transaction: hidden", "{txn} 在未结束的事务里：不可见")

WHYS = {
    "order": Words(
        "An order arrives in topic Order, and stays.", "一个订单到达主题，并保留在那里。"
    ),
    "trigger": Words("Time for another batch.", "该运行下一个批次了。"),
    "retry": Words(
        "A call has failed: the batch is begun again, from its offsets.",
        "有一次调用失败：按位点重新开始这个批次。",
    ),
    "recovery driver": Words(
        "It looks at its two logs: what offsets has and commits has not is run again.",
        "它查看两个日志：offsets 里有而 commits 里没有的批次会再次运行。",
    ),
    "LatestOffset": Words("How far do the orders go by now?", "订单到哪里了？"),
    "LatestOffsetResponse": Words("The batch may go as far as this.", "这个批次最远到这里。"),
    "offsets": Words(
        "offsets/N: from now on {txn} has these orders, however often it is run.",
        "offsets/N：从此 {txn} 就由这些订单组成，无论运行多少次。",
    ),
    "Fetch": Words("The orders of {txn}, by their offsets.", "按位点读取 {txn} 的订单。"),
    "FetchResponse": Words("The same offsets give the same orders.", "同样的位点得到同样的订单。"),
    "InitProducer": Words(
        "Fence first: after this no earlier process can change the output.",
        "先隔离：此后更早的进程不能再改变输出。",
    ),
    "InitProducerResponse": Words(
        "The progress record says which batch is in the output.", "进度记录说明哪个批次已在输出中。"
    ),
    "Write": Words(
        "The rows of {txn} and its progress record, in one transaction.",
        "{txn} 的各行与它的进度记录，在同一个事务里。",
    ),
    "WriteResponse": Words("Written; the transaction is still open.", "已写入；事务还没有结束。"),
    "Commit": Words("All is written: end the transaction.", "全部写完：结束事务。"),
    "CommitResponse": Words("Only the note in the checkpoint is missing.", "只缺检查点里的记录。"),
    "Fenced": Words("A newer process writes by now.", "现在由更新的进程写入。"),
    "pending": Words("On disk, and no reader sees it.", "已在磁盘上，没有读者能看到。"),
    "seen": Words("Readers see it at once.", "读者立刻能看到。"),
    "committed": Words(
        "The decision: rows and progress record are there, at the same moment.",
        "决定：各行与进度记录在同一时刻生效。",
    ),
    "aborted": Words(
        "Its process is gone. The batch is in doubt and will be run again.",
        "写它的进程已不在。这个批次未确定，会再次运行。",
    ),
    "commits": Words(
        "commits/N: {txn} is done. The sink knew it before the checkpoint did.",
        "commits/N：{txn} 完成。sink 比检查点更早知道。",
    ),
    "late Write": Words(
        "From a process that is dead by now: if it counted, its rows could be in twice.",
        "来自已死的进程：如果算数，这些行可能写入两次。",
    ),
    "late Commit": Words(
        "From a process that is dead by now: it no longer decides.",
        "来自已死的进程：它不再有决定权。",
    ),
}

WAY = ("planned", "output seen", "done")
STATES = tuple(GraphState(name, place, 0) for place, name in enumerate(WAY))
EDGES = tuple(pairwise(WAY))
SHORT = {COMMITTED: "C", ABORTED: "A"}


def draw(query: Query, world: World) -> Snapshot:
    titles = [(DRIVER, Text(DRIVER), Text("runs the batches", "运行各批次"))]
    titles += [(name, Text(name), Text("partition", "分区")) for name in query.sources]
    titles += [(SINK, Text(SINK), Text("output", "输出"))]
    output = read_records(world.disk(SINK), OUTPUT)
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
    return Reader("output", got, HIDDEN(txn=outputs[-1].txn) if hidden else NOTHING)


def _draw_batch(world: World) -> Graph:
    """Of the latest batch, by the driver's two logs and the store."""
    number = len(list_planned(world.disk(DRIVER))) - 1
    if number < 0:
        return Graph(Text("No batch yet", "还没有批次"), STATES, EDGES)
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
    return Table(
        Text("What the driver holds in memory", "驱动进程内存中的状态"), ("batch", "stage"), (row,)
    )
