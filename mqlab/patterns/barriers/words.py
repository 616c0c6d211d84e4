"""What pictures and narrations of barrier snapshots say, in both languages."""

from __future__ import annotations

from ...kernel import Text, Words

TITLE = Text("Barrier snapshots", "屏障快照")
MANAGER = Words("job manager", "作业管理器")
SOURCE = Words("source", "数据源")
OPERATOR = Words("counts", "计数")
SINK = Words("output", "输出")
GRAPH = Words("Where {txn} is", "{txn} 进行到哪里")
GRAPH_IDLE = Words("No checkpoint yet", "还没有检查点")
TABLE = Words("What each task holds in memory", "各任务内存中的状态")
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
        "Everybody begins again from the same picture: {txn}.",
        "所有任务从同一张快照重新开始：{txn}。",
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

CONSISTENT_CUT = Words(
    "a complete checkpoint has counted exactly what is before its barriers",
    "完成的检查点恰好计入屏障之前的记录",
)
WRITTEN_ONCE = Words("no record is in the output twice", "没有记录在输出中出现两次")
COMPLETED_FIRST = Words(
    "only output of a complete checkpoint is committed", "只有完成的检查点的输出才被提交"
)
ARRIVES = Words(
    "what is before a complete checkpoint can still be in the output",
    "完成的检查点之前的记录最终都在输出中",
)
COMMITS = Words("output can be committed", "输出可以被提交")
AT_ONCE = Words(
    "what is before a complete checkpoint is in the output at once",
    "完成的检查点之前的记录立刻出现在输出中",
)
