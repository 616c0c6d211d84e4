"""What is searched of TCC: a connection breaks, anybody stops, a Try comes too late."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
from ...searches import Case, Searched, without

LINE = "tcc 'app=order T1'"
LACKING = "tcc lacking=money 'app=order T1'"
NAMED = "tcc claims=nothing_stays_reserved 'app=order T1'"
PARTIES = ("tm", "stock", "money")
BREAK = Budget(breaks=1, retries=1)
STOP = Budget(kills=1, killable=("tm",), retries=1)

LESSON = Searched("tcc", LINE, Budget(breaks=2, timers=1, retries=2))
SYSTEMS = (
    LESSON,
    Searched("tcc, stop", LINE, Budget(kills=2, killable=PARTIES, retries=2)),
    Searched("tcc, stop and break", LINE, Budget(kills=1, killable=PARTIES, breaks=1, retries=2)),
    Searched("tcc, power", LINE, Budget(power_cuts=1, killable=PARTIES, timers=1, retries=1)),
    Searched("tcc, lacking", LACKING, Budget(breaks=1, kills=1, killable=PARTIES, retries=2)),
)

STUCK = Text("hanging transaction (reserved for ever)", "悬挂事务（一直被预留）")

SAFEGUARDS = (
    without(
        "begun_on_disk",
        Text(
            "the coordinator has forgotten that something is reserved, and nobody gives it back",
            "协调者忘记了有资源被预留，没有人退还",
        ),
        STUCK,
        NAMED,
        "nothing stays reserved",
        STOP,
    ),
    without(
        "decision_on_disk",
        Text(
            "one service has confirmed; the coordinator has forgotten that and cancels the other",
            "一个服务已确认，而忘记了决定的协调者取消了另一个",
        ),
        Text("fractured outcome (atomicity violated)", "结局分裂（违反原子性）"),
        LINE,
        "same end",
        STOP,
    ),
    without(
        "until_acknowledged",
        Text(
            "a Confirm is lost and not repeated",
            "一个 Confirm 丢失，而且没有重发",
        ),
        STUCK,
        NAMED,
        "nothing stays reserved",
        BREAK,
    ),
    without(
        "idempotent_confirm",
        Text(
            "an answer is lost, Confirm is sent again, and one order uses two pieces",
            "应答丢失，Confirm 重发，一个订单用掉了两份",
        ),
        Text("duplicate (used twice)", "重复（使用了两次）"),
        LINE,
        "balanced",
        BREAK,
    ),
    without(
        "idempotent_cancel",
        Text(
            "an answer is lost, Cancel is sent again, and one piece comes back twice",
            "应答丢失，Cancel 重发，一份资源被退还了两次",
        ),
        Text("duplicate (given back twice)", "重复（退还了两次）"),
        LACKING,
        "balanced",
        BREAK,
    ),
    without(
        "empty_cancel",
        Text(
            "a Cancel overtakes its Try, and gives back what nobody has reserved",
            "Cancel 赶在 Try 之前到达，退还了从未预留的资源",
        ),
        Text("fractured outcome (empty cancel)", "结局分裂（空回滚）"),
        LINE,
        "balanced",
        BREAK,
    ),
    without(
        "suspended_try",
        Text(
            "a Try arrives after its Cancel and reserves for an order that is over",
            "Try 在它的 Cancel 之后到达，为一个已结束的订单作了预留",
        ),
        Text("hanging transaction (suspended try)", "悬挂事务（悬挂的 Try）"),
        NAMED,
        "nothing stays reserved",
        BREAK,
    ),
)

CLAIMS = (
    Case(
        "half-order",
        Text(
            "confirmations arrive one by one: a reader sees half of an order",
            "确认逐个到达：读者看到半个订单",
        ),
        Text("torn read (fractured read)", "撕裂读"),
        f"{LINE} claims=whole_order",
        "whole order",
    ),
)
