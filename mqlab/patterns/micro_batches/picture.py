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
from ...kernel.reasons import build_unguarded
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
        "From a process that is dead by now: it counts only if no newer one has fenced it.",
        "来自已死的进程：只有还没被更新的进程隔离，它才算数。",
    ),
}

UNGUARDED = build_unguarded(
    {
        "offsets_first": (
            (
                WHYS["offsets"],
                "offsets/N is written when the batch is over; an earlier run may have had other "
                "orders.",
                "批次结束时才写 offsets/N；先前那次运行的订单可能不同。",
            ),
            (
                WHYS["CommitResponse"],
                "the checkpoint knows nothing of this batch yet, not even its orders.",
                "检查点还完全不知道这个批次，连它有哪些订单都不知道。",
            ),
            (
                WHYS["recovery driver"],
                "a batch that was running may be in neither log; it is planned again, perhaps "
                "with more orders.",
                "正在运行的批次可能两个日志里都没有；会重新划分，订单也许更多。",
            ),
        ),
        "one_transaction": (
            (
                WHYS["Write"],
                "the rows are written by themselves, the progress record later.",
                "各行单独写入，进度记录在后。",
            ),
            (
                WHYS["WriteResponse"],
                "readers see the rows already; the progress record is missing.",
                "读者已能看到各行；还缺进度记录。",
            ),
            (
                WHYS["Commit"],
                "the rows are there: now the progress record.",
                "各行已在：现在写进度记录。",
            ),
            (
                WHYS["committed"],
                "the progress record, which comes after the rows.",
                "进度记录，在各行之后。",
            ),
            (
                WHYS["late Write"],
                "from a process that is dead by now; unless it is fenced, readers see its rows "
                "at once.",
                "来自已死的进程；除非已被隔离，读者立刻能看到它的行。",
            ),
        ),
        "reads_progress": (
            (
                WHYS["InitProducerResponse"],
                "the progress record is in this answer, and the driver does not look at it.",
                "应答里有进度记录，但驱动进程不看它。",
            ),
            (
                WHYS["Write"],
                "the rows are written, even if they are in the output already.",
                "写入各行，即使它们已经在输出中。",
            ),
        ),
        "producer_fencing": (
            (
                WHYS["InitProducer"],
                "this run gets a new epoch, but an earlier process can still change the output.",
                "这次运行得到新的 epoch，但更早的进程仍能改变输出。",
            ),
            (
                WHYS["late Write"],
                "from a process that is dead by now, and accepted: its rows can be in twice.",
                "来自已死的进程，却被接受：它的行可能写入两次。",
            ),
            (
                WHYS["late Commit"],
                "from a process that is dead by now, and accepted: it still decides.",
                "来自已死的进程，却被接受：它仍能决定。",
            ),
        ),
        "commits_last": (
            (
                WHYS["commits"],
                "commits/N says that the batch is done, although the sink may not have it.",
                "commits/N 说批次已完成，尽管 sink 里可能还没有。",
            ),
            (
                WHYS["CommitResponse"],
                "the checkpoint had this batch as done before the sink did.",
                "检查点比 sink 更早把这个批次记为完成。",
            ),
            (
                WHYS["recovery driver"],
                "a batch that commits has is not run again, even if the sink never got it.",
                "commits 里有的批次不再运行，即使 sink 从未得到它。",
            ),
        ),
    }
)

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
