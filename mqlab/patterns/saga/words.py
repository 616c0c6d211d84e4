"""What pictures and narrations of a saga say, in both languages."""

from __future__ import annotations

from ...kernel import Text, Words

TITLE = Text("Saga with compensation", "带补偿的 Saga")
ORCHESTRATOR = Words("orchestrator", "编排者")
SERVICE = Words("service", "服务")
APPLICATION = Words("application", "应用")
GRAPH = Words("Where {txn} is", "{txn} 进行到哪里")
GRAPH_IDLE = Words("No saga yet", "还没有 Saga")
TABLE = Words("What is in effect", "哪些步骤有效")
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

DONE_ONCE = Words("no step is done or undone twice", "没有步骤被执行或补偿两次")
ALL_OR_NOTHING = Words(
    "a saga that is over is done everywhere or nowhere", "结束的 Saga 要么处处完成，要么处处无效"
)
AS_TOLD = Words(
    "what the application was told is what is in effect", "应用得到的应答与实际效果一致"
)
ENDS = Words("every saga can still come to an end", "每个 Saga 最终都能结束")
ENDS_WELL = Words("a saga can be done everywhere", "Saga 可以处处完成")
ISOLATED = Words("nobody sees half of a saga", "没有人看到半个 Saga")
