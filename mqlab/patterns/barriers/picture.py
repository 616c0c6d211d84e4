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
    Table,
    Text,
    Words,
    World,
)
from ...kernel.reasons import build_unguarded
from ..picture import draw_lanes, draw_strip
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

GRAPH = Words("Where {txn} is", "{txn} 进行到哪里")
HIDDEN = Words("{txn} is pending: written, hidden", "{txn} 待提交：已写入，不可见")
LOST = Words("{txn} was given up by the store", "{txn} 被存储放弃")

WHYS = {
    "Register": Words(
        "Running, and doing nothing until it is deployed.", "已运行，但部署之前什么也不做。"
    ),
    "Reconnect": Words(
        "Whether it has stopped cannot be told: if it lives it is to register.",
        "无法判断它是否停止：如果还活着就重新注册。",
    ),
    "Fail": Words(
        "A channel broke: what was in it may be lost. The whole attempt begins again.",
        "一个通道断开：其中的内容可能丢失。整个尝试重新开始。",
    ),
    "Deploy": Words(
        "Everybody begins again from the same picture.",
        "所有任务从同一张快照重新开始。",
    ),
    "DeployResponse": Words(
        "Ready; whatever an earlier attempt sends is refused now.",
        "就绪；更早的尝试发来的一律拒绝。",
    ),
    "checkpoint": Words("Time for another picture.", "该拍下一张快照了。"),
    "Trigger": Words(
        "Only the sources are told; the barrier does the rest.", "只通知数据源；其余由屏障完成。"
    ),
    "Row": Words("A record goes down its channel.", "一条记录沿通道发送。"),
    "Barrier": Words(
        "Between two records: what is before it belongs to {txn}, what is behind it does not.",
        "位于两条记录之间：之前的属于 {txn}，之后的不属于。",
    ),
    "change Barrier": Words(
        "Its records wait, or the picture would hold some that are behind the barrier.",
        "它的记录要等待，否则快照会包含屏障之后的记录。",
    ),
    "Acknowledge": Words("This task's part of the picture.", "这个任务的那部分快照。"),
    "pending": Words(
        "Pre-commit: the output is on disk, and no reader sees it. This is the vote.",
        "预提交：输出已在磁盘上，没有读者能看到。这相当于投票。",
    ),
    "completed": Words(
        "The decision: from now on this is where a restart begins, and its output counts.",
        "决定：从此重启从这里开始，它的输出有效。",
    ),
    "Complete": Words("The sink may commit now.", "sink 现在可以提交。"),
    "committed": Words("Readers see it now.", "读者现在能看到它。"),
    "aborted": Words(
        "Newer than the restored checkpoint: it will be computed and written again.",
        "比所恢复的检查点更新：会重新计算并写入。",
    ),
    "expired": Words(
        "The store has waited long enough. It cannot know that the checkpoint is complete.",
        "存储等得够久了。它无从知道检查点已经完成。",
    ),
    "expire": Words("A transaction of the store has its own timeout.", "存储的事务有自己的超时。"),
    "late Row": Words(
        "From a channel that is gone. It will be read again, so it must not count now.",
        "来自已不存在的通道。它会被重新读取，所以现在不能计入。",
    ),
    "late Barrier": Words(
        "From a channel that is gone: it says nothing now.", "来自已不存在的通道：已经没有意义。"
    ),
}

UNGUARDED = build_unguarded(
    {
        "alignment": (
            (
                WHYS["Barrier"],
                "between two records; but some of those after it may be counted before it.",
                "位于两条记录之间；但它之后的一些记录可能在它之前就计入。",
            ),
            (
                WHYS["change Barrier"],
                "its records do not wait, so the picture may hold some that come after the "
                "barrier.",
                "它的记录不等待，所以快照可能包含屏障之后的记录。",
            ),
        ),
        "pre_commit": (
            (
                WHYS["Acknowledge"],
                "this task's part of the picture; the sink has not written its output.",
                "这个任务的那部分快照；sink 还没有写入输出。",
            ),
            (
                WHYS["completed"],
                "from now on this is where a restart begins, but its output is in memory only.",
                "从此重启从这里开始，但它的输出只在内存里。",
            ),
            (
                WHYS["Complete"],
                "the sink is to write its output only now.",
                "现在 sink 才写入输出。",
            ),
        ),
        "commit_after_checkpoint": (
            (
                WHYS["pending"],
                "the output is on disk, and is committed at once.",
                "输出已在磁盘上，并立刻提交。",
            ),
            (
                WHYS["committed"],
                "readers see it now, although its checkpoint may never be complete.",
                "读者现在能看到它，尽管它的检查点可能永远不会完成。",
            ),
            (
                WHYS["Complete"],
                "the checkpoint is complete; the sink has committed before.",
                "检查点完成；sink 早已提交。",
            ),
        ),
        "complete_on_disk": (
            (
                WHYS["Complete"],
                "the sink may commit, although the checkpoint is not on disk yet.",
                "sink 可以提交，尽管检查点还没有写入磁盘。",
            ),
            (
                WHYS["completed"],
                "this is where a restart begins, but the sink heard of it before it was written.",
                "重启从这里开始，但写下之前 sink 就已得知。",
            ),
        ),
        "recover_and_commit": (
            (
                WHYS["Deploy"],
                "everybody begins again from the same picture, and pending output of it stays "
                "pending.",
                "所有任务从同一张快照重新开始，它的待提交输出仍然待提交。",
            ),
            (
                WHYS["completed"],
                "this is where a restart begins, but after a restart nobody commits its output.",
                "重启从这里开始，但重启之后没有人提交它的输出。",
            ),
        ),
        "attempt_fencing": (
            (
                WHYS["DeployResponse"],
                "ready; what an earlier attempt sends is still accepted.",
                "就绪；更早的尝试发来的仍会被接受。",
            ),
            (
                WHYS["late Row"],
                "from a channel that is gone; it counts now, and again when it is read again.",
                "来自已不存在的通道；现在计入，重新读取时再次计入。",
            ),
            (
                WHYS["late Barrier"],
                "from a channel that is gone; it still counts.",
                "来自已不存在的通道；仍然有效。",
            ),
        ),
    }
)

PLACES = {"triggered": (0, 0), "completed": (1, 0), "output seen": (2, 0), "void": (1, 1)}
STATES = tuple(GraphState(name, *place) for name, place in PLACES.items())
EDGES = (("triggered", "completed"), ("completed", "output seen"), ("triggered", "void"))
SHORT = {COMMITTED: "C", ABORTED: "A", EXPIRED: "X"}


def draw(job: Job, world: World) -> Snapshot:
    titles = [(JM, Text(JM), Text("job manager", "作业管理器"))]
    titles += [(name, Text(name), Text("source", "数据源")) for name in job.sources]
    titles += [(SUM, Text(SUM), Text("counts", "计数")), (SINK, Text(SINK), Text("output", "输出"))]
    done = read_records(world.disk(JM), CHECKPOINTS)
    output = read_records(world.disk(SINK), OUTPUT)
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
            note = HIDDEN(txn=output.txn)
        elif output.what == EXPIRED:
            note = LOST(txn=output.txn)
    return Reader("output", got, note)


def _draw_checkpoint(world: World) -> Graph:
    """Of the latest checkpoint, by the job manager and the sink."""
    manager, latest = world.role(JM), find_latest(world.disk(JM))
    under_way = manager is not None and manager.noted is not None
    number = manager.number if manager is not None else (latest.number if latest else 0)
    if not number:
        return Graph(Text("No checkpoint yet", "还没有检查点"), STATES, EDGES)
    complete = number in {done.number for done in list_completed(world.disk(JM))}
    seen = any(o.number == number and o.what == COMMITTED for o in list_outputs(world.disk(SINK)))
    path = ["triggered"]
    if complete:
        path += ["completed", *(["output seen"] if seen else [])]
    elif not under_way:
        path.append("void")
    txn = f"cp{number}"
    return Graph(GRAPH(txn=txn), STATES, EDGES, tuple(path), txn)


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
    return Table(
        Text("What each task holds in memory", "各任务内存中的状态"),
        ("task", "attempt", "holds"),
        tuple(rows),
    )
