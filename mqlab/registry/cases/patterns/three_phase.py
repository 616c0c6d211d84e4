"""What is searched of three-phase commit: any two stop; then a connection breaks, and it splits.

Nobody starts again where two stop: what is asked is whether those who are left can end. A search
without timers is enough, for nobody here decides by a clock."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
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

FRACTURED = Text("fractured outcome (atomicity violated)", "结局分裂（违反原子性）")

SAFEGUARDS = (
    without(
        "third_phase",
        Text(
            "the coordinator commits while the others are uncertain, and they abort without it",
            "协调者在其他各方仍不确定时提交，而它们在它停止后中止",
        ),
        FRACTURED,
        LINE,
        "ends alike",
        TM,
    ),
    without(
        "acknowledged_precommit",
        Text(
            "the coordinator commits before anybody has heard that all have voted yes",
            "协调者在任何一方得知全体赞成之前就提交",
        ),
        FRACTURED,
        LINE,
        "ends alike",
        TM,
    ),
    without(
        "asks_before_deciding",
        Text(
            "each decides by what it knows itself: one commits, the other aborts",
            "各自按自己所知作决定：一方提交，另一方中止",
        ),
        FRACTURED,
        LINE,
        "ends alike",
        TM,
    ),
    without(
        "levels_before_commit",
        Text(
            "the successor commits and stops; the last one is still uncertain, and aborts",
            "接管者提交后停止；最后一方仍不确定，于是中止",
        ),
        FRACTURED,
        LINE,
        "ends alike",
        TWO,
    ),
    without(
        "obeys_the_latest",
        Text(
            "a PreCommit of the dead coordinator arrives after its successor has aborted",
            "接管者已经中止之后，已停止的协调者的 PreCommit 才到达",
        ),
        FRACTURED,
        LINE,
        "ends alike",
        TWO,
    ),
)

CLAIMS = (
    Case(
        "partition",
        Text(
            "both sides live and take each other for dead: one commits, the other aborts",
            "双方都活着，却都以为对方已停止：一方提交，另一方中止",
        ),
        Text("fractured outcome (split brain)", "结局分裂（脑裂）"),
        "three_phase participants=orders 'app=commit T1' claims=survives_a_partition",
        "survives a partition",
        Budget(breaks=2),
    ),
)
