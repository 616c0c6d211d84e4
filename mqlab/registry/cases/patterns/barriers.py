"""What is searched of barrier snapshots: any task is killed, a channel breaks, a store gives up.

One timer is one checkpoint. Faults are searched with one source: what it takes two for is the
alignment, and that needs no fault."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
from ...searches import Case, Searched, without

TWO = "barriers rows=1"
ONE = "barriers sources=s1 rows=1"


def _killed(node: str, timers: int = 2) -> Budget:
    return Budget(kills=1, killable=(node,), timers=timers)


LESSON = Searched("barriers", TWO, Budget(timers=2))
SYSTEMS = (
    LESSON,
    *(
        Searched(f"barriers, {node} killed", ONE, _killed(node))
        for node in ("sink", "sum", "s1", "jm")
    ),
    Searched("barriers, power", ONE, Budget(power_cuts=1, killable=("sink", "jm"), timers=1)),
    Searched("barriers, break", "barriers sources=s1 rows=2", Budget(breaks=1, timers=1)),
    Searched("barriers, two sources, jm killed", TWO, _killed("jm", 1)),
)

DUPLICATE = Text("duplicate", "重复")
LOST = Text("lost write", "丢失写")

SAFEGUARDS = (
    without(
        "alignment",
        Text(
            "a record behind one barrier is counted before the other barrier comes",
            "一个屏障之后的记录，在另一个屏障到来之前就被计入",
        ),
        Text("duplicate (inconsistent cut)", "重复（不一致的割）"),
        TWO,
        "consistent cut",
        Budget(timers=1),
    ),
    without(
        "pre_commit",
        Text(
            "the checkpoint is complete, and the sink is killed with its output in memory",
            "检查点已完成，而 sink 被杀时输出还在内存里",
        ),
        LOST,
        f"{ONE} claims=complete_is_written",
        "complete is written",
        _killed("sink", 1),
    ),
    without(
        "commit_after_checkpoint",
        Text(
            "output of a checkpoint that never became complete is computed and written again",
            "未能完成的检查点的输出被重新计算，又写了一次",
        ),
        DUPLICATE,
        ONE,
        "written once",
        _killed("s1"),
    ),
    without(
        "complete_on_disk",
        Text(
            "the job manager has forgotten a checkpoint whose output is committed",
            "作业管理器忘记了一个输出已提交的检查点",
        ),
        DUPLICATE,
        ONE,
        "written once",
        _killed("jm"),
    ),
    without(
        "recover_and_commit",
        Text(
            "the sink is killed before it hears that the checkpoint is complete",
            "sink 在得知检查点完成之前被杀",
        ),
        LOST,
        f"{ONE} claims=complete_is_written",
        "complete is written",
        _killed("sink", 1),
    ),
    without(
        "attempt_fencing",
        Text(
            "a record of the attempt before arrives late and is counted twice",
            "上一次尝试的记录迟到，被计入两次",
        ),
        Text("zombie write (counted twice)", "僵尸写（计入两次）"),
        ONE,
        "written once",
        _killed("s1", 1),
    ),
)

CLAIMS = (
    Case(
        "seen-later",
        Text(
            "the checkpoint is complete, its output is not seen yet",
            "检查点已完成，它的输出还看不到",
        ),
        Text("torn read (seen later)", "撕裂读（稍后才看到）"),
        f"{ONE} claims=written_at_once",
        "written at once",
        Budget(timers=1),
    ),
    Case(
        "store-timeout",
        Text(
            "the store gives up the output of a complete checkpoint before it is committed",
            "存储在提交之前放弃了已完成检查点的输出",
        ),
        Text("lost write (transaction timeout)", "丢失写（事务超时）"),
        f"{ONE} expires=1 claims=complete_is_written",
        "complete is written",
        Budget(timers=2),
    ),
)
