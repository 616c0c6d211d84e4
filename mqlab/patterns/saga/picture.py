"""What a saga looks like, and why: how far it is, which steps are in effect, who sees what."""

from __future__ import annotations

from ...kernel import NOTHING, Got, Graph, GraphState, Reader, Snapshot, Table, Text, Words, World
from ...kernel.reasons import build_unguarded
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_records
from .claims import ORCHESTRATOR, Parties, count_all
from .roles import END, LOG, SAGA_LOG, UNDO, UNDONE

GRAPH = Words("Where {txn} is", "{txn} 进行到哪里")
HALF = Words("half of {txn} can be seen", "可以看到 {txn} 的一半")

WHYS = {
    "StartSaga": Words(
        "One order, in several local transactions, one after the other.",
        "一个订单，由多个本地事务依次完成。",
    ),
    "begun": Words(
        "After a restart one must know that there is something to finish.",
        "重启之后必须知道有事情尚未完成。",
    ),
    "Do": Words("The next step, a local transaction of its own.", "下一步，一个独立的本地事务。"),
    "done": Words(
        "It has committed: the effect is there for everybody to see.",
        "它已经提交：效果人人可见。",
    ),
    "done by saga": Words(
        "The position moves on before the next step is asked for.",
        "位置先前移，然后才请求下一步。",
    ),
    "step done": Words(
        "Done, now or before: the answer is the same.", "已完成，无论是现在还是之前：应答相同。"
    ),
    "step refused": Words(
        "It cannot be done, so what was done before must be taken back.",
        "做不到，所以之前做过的必须补偿。",
    ),
    "undo": Words("The saga turns round.", "Saga 掉头返回。"),
    "Undo": Words(
        "Not a rollback: another transaction, which makes up for the step.",
        "不是回滚：而是另一个事务，用来弥补这一步。",
    ),
    "undone": Words(
        "Made up for. A reader who has seen the step has seen it.",
        "已补偿。见过这一步的人已经见过了。",
    ),
    "undone by saga": Words("One step fewer to take back.", "需要补偿的又少一步。"),
    "UndoResponse": Words("Undone, now or before.", "已补偿，无论是现在还是之前。"),
    "end": Words("All of it is done, or all of it is taken back.", "要么全部完成，要么全部补偿。"),
    "answer ok": Words("Every step is done.", "每一步都已完成。"),
    "answer failed": Words("Every step that was done is taken back.", "做过的每一步都已补偿。"),
    "retry": Words(
        "No answer: it may have been done or not, so it is asked for again.",
        "没有应答：可能做了也可能没做，所以再次请求。",
    ),
    "late Do": Words(
        "A step that was asked for again arrives once more, perhaps after its compensation.",
        "重复请求过的步骤又一次到达，也许在它的补偿之后。",
    ),
    "stop saga": Words(
        "A half saga stays as it is, for all to see, until it is back.",
        "半个 Saga 就这样留着，人人可见，直到它恢复。",
    ),
}

UNGUARDED = build_unguarded(
    {
        "saga_log": (
            (
                WHYS["Do"],
                "the next step is requested, and nothing is written: a restart forgets the saga.",
                "请求下一步，但什么也没有写下：一重启就忘了这个 Saga。",
            ),
            (
                WHYS["stop saga"],
                "a half saga stays as it is for ever: after the restart the orchestrator knows "
                "nothing of it.",
                "半个 Saga 永远停在那里：重启之后编排者不知道它的存在。",
            ),
        ),
        "compensation": (
            (
                WHYS["step refused"],
                "it cannot be done, and what was done before stays.",
                "做不到，而之前做过的保持原样。",
            ),
            (
                WHYS["end"],
                "the saga is over, even if only a part of it is done.",
                "Saga 结束了，即使只完成了一部分。",
            ),
            (
                WHYS["answer failed"],
                "the saga has failed, and the steps that were done stay in effect.",
                "Saga 失败，而做过的步骤仍然有效。",
            ),
        ),
        "step_again": (
            (
                WHYS["Do"],
                "the next step is requested once, and never again if the connection breaks.",
                "下一步只请求一次；连接断开后不会再请求。",
            ),
            (
                WHYS["Undo"],
                "the compensation is requested once, and never again if the connection breaks.",
                "补偿只请求一次；连接断开后不会再请求。",
            ),
            (
                WHYS["late Do"],
                "the connection has broken, so the answer to this step will reach nobody.",
                "连接已断开，所以这一步的应答不会有人收到。",
            ),
        ),
        "idempotent_step": (
            (
                WHYS["done"],
                "the step is carried out, even if it was carried out before.",
                "执行这一步，即使以前已经执行过。",
            ),
            (
                WHYS["step done"],
                "the step was carried out for this request, whatever was there before.",
                "为这次请求执行了这一步，不管以前有没有执行过。",
            ),
        ),
        "idempotent_undo": (
            (
                WHYS["undone"],
                "the compensation is carried out, even if it was carried out before.",
                "执行补偿，即使以前已经补偿过。",
            ),
            (
                WHYS["UndoResponse"],
                "the step was undone for this request, whatever was there before.",
                "为这次请求执行了补偿，不管以前有没有补偿过。",
            ),
        ),
        "undone_stays_undone": (
            (
                WHYS["done"],
                "the step is in effect, even if it was undone before.",
                "这一步已生效，即使以前补偿过。",
            ),
            (
                WHYS["late Do"],
                "the step is done even if its compensation has been here before it.",
                "即使它的补偿已经先到，这一步也会执行。",
            ),
            (
                WHYS["end"],
                "all of it is done, or all of it is undone; but a late request can still do a "
                "step again.",
                "要么全部完成，要么全部补偿；但迟到的请求仍可能再执行某一步。",
            ),
            (
                WHYS["answer failed"],
                "every step that was done is undone, but a late request can still do one again.",
                "做过的每一步都已补偿，但迟到的请求仍可能再执行某一步。",
            ),
        ),
    }
)

STATES = (
    GraphState("forward", 0, 0),
    GraphState("done", 1, 0),
    GraphState("back", 0, 1),
    GraphState("compensated", 1, 1),
)
EDGES = (("forward", "done"), ("forward", "back"), ("back", "compensated"))


def draw(parties: Parties, world: World) -> Snapshot:
    titles = [("app", Text("app"), Text("application", "应用"))]
    titles.append((ORCHESTRATOR, Text(ORCHESTRATOR), Text("orchestrator", "编排者")))
    titles += [(name, Text(name), Text("service", "服务")) for name in parties.services]
    log = list(read_records(world.disk(ORCHESTRATOR), SAGA_LOG))
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            draw_strip(ORCHESTRATOR, log, _label, (END,)),
            *(
                draw_strip(name, read_records(world.disk(name), LOG), _label, (UNDONE,))
                for name in parties.services
            ),
        ),
        readers=(_draw_reader(parties, world),),
        graphs=(_draw_way(log),),
        tables=(_draw_effects(parties, world),),
    )


def _label(record: Record) -> str:
    return "U" if record.what == UNDONE else record.what


def _draw_way(log: list[Record]) -> Graph:
    """Of the latest saga."""
    if not log:
        return Graph(Text("No saga yet", "还没有 Saga"), STATES, EDGES)
    txn = log[-1].txn
    records = [record.what for record in log if record.txn == txn]
    path = ["forward", *(["back"] if UNDO in records else [])]
    if END in records:
        path.append("compensated" if UNDO in records else "done")
    return Graph(GRAPH(txn=txn), STATES, EDGES, tuple(path), txn)


def _draw_effects(parties: Parties, world: World) -> Table:
    rows = (
        (txn, *(str(count) for count in counts))
        for txn, counts in count_all(parties, world).items()
    )
    return Table(Text("What is in effect", "哪些步骤有效"), ("", *parties.services), tuple(rows))


def _draw_reader(parties: Parties, world: World) -> Reader:
    """Who reads every service sees each step that is in effect there."""
    counts = count_all(parties, world)
    got = tuple(
        Got(name, txn, txn)
        for place, name in enumerate(parties.services)
        for txn, effects in counts.items()
        if effects[place] > 0
    )
    half = ", ".join(txn for txn, effects in counts.items() if len({*effects}) > 1)
    return Reader("orders", got, HALF(txn=half) if half else NOTHING)
