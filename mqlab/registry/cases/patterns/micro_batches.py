"""What is searched of micro-batches: driver or store is killed, a connection breaks.

One timer is one batch."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
from ...searches import Case, Searched, without

TWO = "micro_batches rows=1"
ONE = "micro_batches sources=s1 rows=1"
MORE = "micro_batches sources=s1 rows=2"


def _killed(node: str, timers: int = 1) -> Budget:
    return Budget(kills=1, killable=(node,), timers=timers, retries=1)


LESSON = Searched("micro_batches", MORE, _killed("driver", 2))
SYSTEMS = (
    LESSON,
    Searched("micro_batches, two sources", TWO, _killed("driver")),
    Searched("micro_batches, sink killed", MORE, _killed("sink", 2)),
    Searched(
        "micro_batches, power",
        ONE,
        Budget(power_cuts=1, killable=("driver", "sink"), timers=1, retries=1),
    ),
    Searched("micro_batches, break", MORE, Budget(breaks=1, timers=2, retries=2)),
    Searched(
        "micro_batches, killed twice",
        ONE,
        Budget(kills=2, killable=("driver",), timers=1, retries=2),
    ),
)

DUPLICATE = Text("duplicate", "重复")
LOST = Text("lost write", "丢失写")

SAFEGUARDS = (
    without(
        "offsets_first",
        Text(
            "killed after the sink's commit: the batch is planned again, with one more order",
            "sink 提交之后被杀：批次重新划分，多出一个订单",
        ),
        LOST,
        MORE,
        "done is written",
        _killed("driver", 2),
    ),
    without(
        "one_transaction",
        Text(
            "killed when the rows are out and the progress record is not",
            "各行已写出、进度记录还没写时被杀",
        ),
        DUPLICATE,
        ONE,
        "written once",
        _killed("driver"),
    ),
    without(
        "reads_progress",
        Text(
            "killed between the sink's commit and commits/N: the batch is written again",
            "在 sink 提交与 commits/N 之间被杀：批次又写了一次",
        ),
        DUPLICATE,
        ONE,
        "written once",
        _killed("driver"),
    ),
    without(
        "producer_fencing",
        Text(
            "a batch of the process before arrives late, in the transaction of its successor",
            "前一个进程的批次迟到，进入了后继者的事务",
        ),
        Text("zombie write", "僵尸写"),
        ONE,
        "written once",
        _killed("driver"),
    ),
    without(
        "commits_last",
        Text(
            "the batch is noted as done, and the driver is killed before the sink has it",
            "批次已记为完成，而驱动进程在 sink 得到它之前被杀",
        ),
        LOST,
        f"{ONE} claims=arrives",
        "arrives",
        _killed("driver"),
    ),
)

CLAIMS = (
    Case(
        "batch-in-doubt",
        Text(
            "the output has the batch, and the checkpoint does not know it yet",
            "输出里已有该批次，检查点还不知道",
        ),
        Text("torn read (checkpoint behind the output)", "撕裂读（检查点落后于输出）"),
        f"{ONE} claims=known_at_once",
        "known at once",
        Budget(timers=1),
    ),
)
