"""What pictures and narrations of micro-batches say, in both languages."""

from __future__ import annotations

from ...kernel import Text, Words

TITLE = Text("Micro-batches", "微批")
DRIVER = Words("runs the batches", "运行各批次")
PARTITION = Words("partition", "分区")
SINK = Words("output", "输出")
GRAPH = Words("Where {txn} is", "{txn} 进行到哪里")
GRAPH_IDLE = Words("No batch yet", "还没有批次")
TABLE = Words("What the driver holds in memory", "驱动进程内存中的状态")
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

WRITTEN_ONCE = Words("no order is in the output twice", "没有订单在输出中出现两次")
DONE_WRITTEN = Words("a batch that is done is in the output", "已完成的批次都在输出中")
ARRIVES = Words(
    "a batch that is planned can still be in the output", "已划分的批次最终都能在输出中"
)
COMMITS = Words("a batch can be committed", "批次可以被提交")
KNOWN = Words(
    "the checkpoint knows every batch that is in the output", "输出中的每个批次，检查点都知道"
)
