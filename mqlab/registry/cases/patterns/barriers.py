"""What is searched of barrier snapshots: any task is killed, a channel breaks, a store gives up.

One timer is one checkpoint. Faults are searched with one source: what it takes two for is the
alignment, and that needs no fault."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
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

DUPLICATE = tr("duplicate")
LOST = tr("lost write")

SAFEGUARDS = (
    without("alignment", tr("a record after one barrier is counted before the other barrier comes"),
            tr("duplicate (inconsistent cut)"), TWO, "consistent cut", Budget(timers=1)),
    without("pre_commit",
            tr("the checkpoint is complete, and the sink is killed with its output in memory"),
            LOST, f"{ONE} claims=complete_is_written", "complete is written", _killed("sink", 1)),
    without("commit_after_checkpoint",
            tr("output of a checkpoint that never became complete is computed and written again"),
            DUPLICATE, ONE, "written once", _killed("s1")),
    without("complete_on_disk",
            tr("the job manager has forgotten a checkpoint whose output is committed"), DUPLICATE,
            ONE, "written once", _killed("jm")),
    without("recover_and_commit",
            tr("the sink is killed before it hears that the checkpoint is complete"), LOST,
            f"{ONE} claims=complete_is_written", "complete is written", _killed("sink", 1)),
    without("attempt_fencing",
            tr("a record of the attempt before arrives late and is counted twice"),
            tr("zombie write (counted twice)"), ONE, "written once", _killed("s1", 1)),
)  # fmt: skip

CLAIMS = (
    Case("seen-later", tr("the checkpoint is complete, its output is not seen yet"),
         tr("torn read (seen later)"), f"{ONE} claims=written_at_once", "written at once",
         Budget(timers=1)),
    Case("store-timeout",
         tr("the store gives up the output of a complete checkpoint before it is committed"),
         tr("lost write (transaction timeout)"), f"{ONE} expires=1 claims=complete_is_written",
         "complete is written", Budget(timers=2)),
)  # fmt: skip
