"""What is searched of micro-batches: driver or store is killed, a connection breaks.

One timer is one batch."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
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
    Searched("micro_batches, power", ONE,
             Budget(power_cuts=1, killable=("driver", "sink"), timers=1, retries=1)),
    Searched("micro_batches, break", MORE, Budget(breaks=1, timers=2, retries=2)),
    Searched("micro_batches, killed twice", ONE,
             Budget(kills=2, killable=("driver",), timers=1, retries=2)),
)  # fmt: skip

DUPLICATE = tr("duplicate")
LOST = tr("lost write")

SAFEGUARDS = (
    without("offsets_first",
            tr("killed after the sink's commit: the batch is planned again, with one more order"),
            LOST, MORE, "done is written", _killed("driver", 2)),
    without("one_transaction", tr("killed when the rows are out and the progress record is not"),
            DUPLICATE, ONE, "written once", _killed("driver")),
    without("reads_progress",
            tr("killed between the sink's commit and commits/N: the batch is written again"),
            DUPLICATE, ONE, "written once", _killed("driver")),
    without("producer_fencing",
            tr("a batch of the process before arrives late, in the transaction of its successor"),
            tr("zombie write"), ONE, "written once", _killed("driver")),
    without("commits_last",
            tr("the batch is noted as done, and the driver is killed before the sink has it"), LOST,
            f"{ONE} claims=arrives", "arrives", _killed("driver")),
)  # fmt: skip

CLAIMS = (
    Case(
        "batch-in-doubt",
        tr("the output has the batch, and the checkpoint does not know it yet"),
        tr("torn read (checkpoint older than the output)"),
        f"{ONE} claims=known_at_once",
        "known at once",
        Budget(timers=1),
    ),
)
