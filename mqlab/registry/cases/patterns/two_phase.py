"""What is searched of two-phase commit: anybody stops, a connection breaks, a vote is late."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
from ...searches import Case, Searched, without

LINE = "two_phase 'app=commit T1'"
PARTIES = ("tm", "orders", "stock")
REFUSED = "two_phase refuses=stock 'app=commit T1'"

LESSON = Searched("two_phase", LINE, Budget(kills=1, killable=PARTIES, retries=1))
SYSTEMS = (
    LESSON,
    Searched("two_phase, break", LINE, Budget(breaks=1, timers=1, retries=1)),
    Searched("two_phase, power", LINE, Budget(power_cuts=1, killable=PARTIES, timers=1)),
    Searched("two_phase, two stops", LINE, Budget(kills=2, killable=("tm", "orders"))),
    Searched("two_phase, refused", REFUSED, Budget(kills=1, killable=PARTIES, timers=1, retries=1)),
    Searched(
        "two_phase, stop and break", LINE, Budget(kills=1, killable=("tm",), breaks=1, retries=1)
    ),
)

FRACTURED = Text("fractured outcome (atomicity violated)", "结局分裂（违反原子性）")

SAFEGUARDS = (
    without(
        "prepared_on_disk",
        Text(
            "a participant votes yes, is killed, and has forgotten what it promised to commit",
            "参与者投了赞成票后被杀，忘记了它承诺要提交的内容",
        ),
        Text("lost write", "丢失写"),
        LINE,
        "complete",
        Budget(kills=1, killable=("orders",)),
    ),
    without(
        "unanimous",
        Text(
            "the coordinator tires of waiting and commits what a participant has refused",
            "协调者等得不耐烦，提交了某个参与者已经拒绝的事务",
        ),
        FRACTURED,
        REFUSED,
        "complete",
        Budget(timers=1),
    ),
    without(
        "decision_first",
        Text(
            "one participant has heard of a commit that the coordinator has forgotten",
            "一个参与者已得知提交，而协调者却忘记了它",
        ),
        FRACTURED,
        LINE,
        "same outcome",
        Budget(kills=1, killable=("tm",), retries=1),
    ),
    without(
        "waits_in_doubt",
        Text(
            "a participant in doubt decides alone, and does the opposite of the others",
            "存疑的参与者自行决定，结果与其他参与者相反",
        ),
        Text("fractured outcome (heuristic decision)", "结局分裂（启发式决定）"),
        LINE,
        "same outcome",
        Budget(retries=1),
    ),
    without(
        "asks_again",
        Text(
            "a vote arrives too late, and nobody tells the participant that it is over",
            "赞成票到得太晚，没有人告诉参与者事务已经结束",
        ),
        Text("hanging transaction (locks stay)", "悬挂事务（锁不释放）"),
        f"{LINE} claims=ends",
        "ends",
        Budget(breaks=1),
    ),
    without(
        "presumed_abort",
        Text(
            "a coordinator that has forgotten the transaction has no answer for who asks",
            "协调者忘记了事务，对询问者没有应答",
        ),
        Text("hanging transaction (locks stay)", "悬挂事务（锁不释放）"),
        f"{LINE} claims=ends",
        "ends",
        Budget(kills=1, killable=("tm",)),
    ),
)

CLAIMS = (
    Case(
        "blocking-window",
        Text(
            "the coordinator stops: who has voted yes can do nothing but wait",
            "协调者停止：已投赞成票的参与者除了等待别无选择",
        ),
        Text("hanging transaction (a blocked participant)", "悬挂事务（参与者被阻塞）"),
        f"{LINE} claims=never_blocked",
        "never blocked",
        Budget(kills=1, killable=("tm",)),
    ),
)
