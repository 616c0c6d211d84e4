"""What is searched of a saga: a connection breaks, anybody stops, a step cannot be done."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
from ...searches import Case, Searched, without

LINE = "saga 'app=start T1'"
REFUSED = "saga refuses=stock 'app=start T1'"
SHORT = "saga services=orders,stock"
PARTIES = ("saga", "orders", "money", "stock")
BREAK = Budget(breaks=1, retries=1)

LESSON = Searched("saga", REFUSED, Budget(kills=1, killable=PARTIES, breaks=1, retries=2))
SYSTEMS = (
    LESSON,
    Searched("saga, done", LINE, Budget(kills=1, killable=PARTIES, breaks=1, retries=2)),
    Searched("saga, breaks", REFUSED, Budget(breaks=2, retries=2)),
    Searched("saga, stops", REFUSED, Budget(kills=2, killable=PARTIES, retries=2)),
    Searched("saga, power", REFUSED, Budget(power_cuts=1, killable=PARTIES, breaks=1, retries=2)),
)

HALF = Text("fractured outcome (half for ever)", "结局分裂（永远停在一半）")

SAFEGUARDS = (
    without(
        "saga_log",
        Text(
            "the orchestrator has forgotten a saga of which one step is done",
            "编排者忘记了一个已完成一步的 Saga",
        ),
        HALF,
        f"{SHORT} claims=comes_to_an_end 'app=start T1'",
        "comes to an end",
        Budget(kills=1, killable=("saga",), retries=1),
    ),
    without(
        "compensation",
        Text(
            "the last step cannot be done, and the first one stays",
            "最后一步做不到，而第一步留了下来",
        ),
        HALF,
        f"{SHORT} refuses=stock 'app=start T1'",
        "all or nothing",
    ),
    without(
        "step_again",
        Text(
            "an answer is lost, and the orchestrator waits for it",
            "应答丢失，编排者一直等待",
        ),
        HALF,
        f"{SHORT} claims=comes_to_an_end 'app=start T1'",
        "comes to an end",
        BREAK,
    ),
    without(
        "idempotent_step",
        Text(
            "an answer is lost, the step is asked for again and done twice",
            "应答丢失，步骤重发后执行了两次",
        ),
        Text("duplicate", "重复"),
        f"{SHORT} 'app=start T1'",
        "done once",
        BREAK,
    ),
    without(
        "idempotent_undo",
        Text(
            "an answer is lost, and the same step is taken back twice",
            "应答丢失，同一步骤被补偿了两次",
        ),
        Text("duplicate (paid back twice)", "重复（退款两次）"),
        f"{SHORT} refuses=stock 'app=start T1'",
        "done once",
        BREAK,
    ),
    without(
        "undone_stays_undone",
        Text(
            "a step arrives once more after its compensation, and nobody takes it back",
            "步骤在它的补偿之后又一次到达，再没有人补偿它",
        ),
        HALF,
        f"{SHORT} refuses=stock 'app=start T1'",
        "all or nothing",
        BREAK,
    ),
)

CLAIMS = (
    Case(
        "half-saga",
        Text(
            "a step is seen before the saga is whole, and perhaps is taken back",
            "Saga 尚未完成就能看到其中一步，而它也许会被补偿",
        ),
        Text("dirty read (P1)", "脏读（P1）"),
        f"{LINE} claims=isolated",
        "isolated",
    ),
)
