"""What is searched of three-phase commit: any two stop; then a connection breaks, and it splits.

No node starts again where two stop: what is asked is whether those who are left can end. A search
without timers is enough, for no node here decides by a clock."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
from ...searches import Case, Searched, without

LINE = "three_phase 'app=commit T1'"
PARTIES = ("tm", "orders", "stock")
TM = Budget(kills=1, killable=("tm",), restartable=())
TWO = Budget(kills=2, killable=("tm", "orders"), restartable=())

LESSON = Searched("three_phase", LINE, Budget(kills=2, killable=PARTIES, restartable=()))
SYSTEMS = (
    LESSON,
    Searched("three_phase, restart", LINE, Budget(kills=1, killable=PARTIES)),
    Searched(
        "three_phase, refused",
        "three_phase refuses=stock 'app=commit T1'",
        Budget(kills=2, killable=PARTIES, restartable=()),
    ),
)

FRACTURED = tr("fractured outcome (atomicity violated)")

SAFEGUARDS = (
    without("third_phase",
            tr("the coordinator commits while the others are uncertain, and they abort without it"),
            FRACTURED, LINE, "ends alike", TM),
    without("acknowledged_precommit",
            tr("the coordinator commits before anybody has heard that all have voted yes"),
            FRACTURED, LINE, "ends alike", TM),
    without("asks_before_deciding",
            tr("each decides by what it knows itself: one commits, the other aborts"), FRACTURED,
            LINE, "ends alike", TM),
    without("levels_before_commit",
            tr("the successor commits and stops; the last one is still uncertain, and aborts"),
            FRACTURED, LINE, "ends alike", TWO),
    without("obeys_the_latest",
            tr("a PreCommit of the dead coordinator arrives after its successor has aborted"),
            FRACTURED, LINE, "ends alike", TWO),
)  # fmt: skip

CLAIMS = (
    Case(
        "partition",
        tr("both sides live and take each other for dead: one commits, the other aborts"),
        tr("fractured outcome (split brain)"),
        "three_phase participants=orders 'app=commit T1' claims=survives_a_partition",
        "survives a partition",
        Budget(breaks=2),
    ),
)
