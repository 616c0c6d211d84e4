"""Lab 11: Flink's order of the steps beside Spark's, on one clock, with the same crash.

Both jobs read the same two orders, and in both the process dies that writes to the store: Flink's
sink task, Spark's driver. Each step towards the output is a moment of its own, so the two stand
side by side at each: nothing written, written but hidden, decided.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqlab_widgets import Compare

from ...registry.tables import table
from ...registry.ways import join
from ..beside import put_beside

NOTHING, HIDDEN, DECIDED = "before anything is written", "written, not decided", "decided"
#: what may die when, in the order of the steps: what is held back on the left and on the right
MOMENTS = {
    NOTHING: ("sum→sink Barrier#1", "driver→sink Write#1"),
    HIDDEN: ("sink→jm Acknowledge#1", "driver→sink Commit#1"),
    DECIDED: ("jm→sink Complete#1", "driver→sink ⇒Commit#1"),
}
RULE = "as they are"
EARLY = "Flink's commits at the barrier, Spark's does not read its progress"
#: what is switched off on the left and on the right
COMMIT_RULES = {RULE: ("", ""), EARLY: ("off commit_after_checkpoint", "off reads_progress")}

#: one order before the barrier, one behind it; in the other job, one before the batch, one after
BARRIERS = """# As in Flink
#zh 像 Flink 那样
system barriers sources=s1 rows=2
{off}
hold jm→s1 Deploy#1
do jm>s1
do s1.
do s1>sum
do sum>sink
---

do fire jm
do jm>s1
"""
BATCHES = """# As in Spark
#zh 像 Spark 那样
system micro_batches sources=s1 rows=2
{off}
do s1.
---

do fire driver
do driver>s1
do driver<s1
"""


def play_both(killed: str = DECIDED, sinks: str = RULE) -> Compare:
    """Both jobs, `killed` at one of the MOMENTS and started again; it opens just before the kill.
    `sinks`: one of COMMIT_RULES."""
    held = list(MOMENTS)[: list(MOMENTS).index(killed) + 1]
    left, right = COMMIT_RULES[sinks]
    return put_beside(
        _write_story(
            BARRIERS.format(off=left), [MOMENTS[m][0] for m in held], "sink", "fire jm checkpoint"
        ),
        _write_story(
            BATCHES.format(off=right),
            [MOMENTS[m][1] for m in held],
            "driver",
            "fire driver trigger",
        ),
        at=1 + len(held),
    )


def compare_outputs(sinks: str) -> str:
    """As a table: what stands in the output of both in the end, for each moment of the kill."""
    rows = []
    for killed in MOMENTS:
        pair = play_both(killed, sinks)
        ends = (player.trace.snapshot(-1).readers[0].got for player in pair.players)
        rows.append((killed, *(" ".join(got.label for got in end) for end in ends)))
    return table("killed | output of Flink's job | of Spark's", rows)


def _write_story(begin: str, held: Sequence[str], dies: str, again: str) -> str:
    """Up to the last of what is held back, one by one; then the kill, the restart, and the next
    checkpoint or batch."""
    first = [begin + "\n".join(f"hold {message}" for message in held)]
    steps = [f"release {message}" for message in held[:-1]]
    rest = [f"kill {dies}", f"restart {dies}", again]
    return join([*first, *steps, *rest])
