"""A listener: take an order, and say later what became of it. Lab 04 asks for more (`answering`),
and lab 03 for another `execute` (`keeping`).

An order is an invoice of the shop. One whose number begins with C is a cancellation, which comes
in by another way: the service refuses it.
"""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
from ....rocketmq.states import LocalTransactionState
from .listener import ListenerBelief, ListenerExercise, Ways

COMMIT, ROLLBACK, UNKNOWN = LocalTransactionState
ORDER = "580538"
CANCELLATION = "C580597"
TWIN = (
    "order_service producers=app:order-service,twin:order-service early=on timeout_ms=0 "
    "persist_ms=0 check_max=2 'app=send-in-transaction orders-0 {}'"
)
ALONE = "order_service timeout_ms=0 persist_ms=0 check_max=2 'app=send-in-transaction orders-0 {}'"
#: each is searched to the end within a second
FAULTS = (
    Budget(timers=2),
    Budget(kills=1, timers=1, killable=("app",)),
    Budget(breaks=1, timers=1),
)


def _has_row(ways: Ways) -> bool:
    return len(ways.calm.rows) > 0


def _is_lost(ways: Ways, state: LocalTransactionState) -> bool:
    return any(way.state is state for way in ways.lost)


BELIEFS = (
    ListenerBelief(
        "nobody is let in",
        Text(
            "it is safe to refuse every order, and useless: somebody must be able to order",
            "拒绝所有订单当然安全，但毫无用处：总得有人能下单",
        ),
        lambda ways: ways.calm.state is ROLLBACK and not _has_row(ways),
    ),
    ListenerBelief(
        "ROLLBACK undoes the row",
        Text(
            "ROLLBACK_MESSAGE is about the message alone: the row was committed by its own "
            "statement, and nobody takes it back",
            "ROLLBACK_MESSAGE 只针对消息：行已由它自己的语句提交，没有谁会撤回它",
        ),
        lambda ways: ways.calm.state is ROLLBACK and _has_row(ways),
    ),
    ListenerBelief(
        "RocketMQ writes the row",
        Text(
            "COMMIT_MESSAGE delivers the message, and nothing else. The row is written by this "
            "function, with `db.put`, or by nobody",
            "COMMIT_MESSAGE 只会投递消息，别的什么都不做。行要由这个函数用 `db.put` 写入，否则没人写",
        ),
        lambda ways: not _has_row(ways),
    ),
    ListenerBelief(
        "an exception means that nothing was written",
        Text(
            "the connection broke after the statement was committed and before its answer came: "
            "the row is there, and ROLLBACK_MESSAGE takes its message away. An exception means "
            "UNKNOW: do not catch it, and the check will look the row up",
            "连接断在语句提交之后、应答到达之前：行已经在了，ROLLBACK_MESSAGE 却取消了它的消息。"
            "异常意味着 UNKNOW：让它抛出，回查时再去查行",
        ),
        lambda ways: _is_lost(ways, ROLLBACK),
    ),
    ListenerBelief(
        "an exception can be passed over",
        Text(
            "the connection may also break before the statement arrives: then there is no row, "
            "and COMMIT_MESSAGE delivers a message about nothing. Where the outcome is unknown, "
            "say UNKNOW",
            "连接也可能在语句到达之前断开：那就没有行，而 COMMIT_MESSAGE 投递了一条没有依据的消息。"
            "结果未知时，就说 UNKNOW",
        ),
        lambda ways: _is_lost(ways, COMMIT),
    ),
    ListenerBelief(
        "the process that is asked remembers",
        Text(
            "what the process noted in `memory` died with it, and its twin has never heard of the "
            "order. The process that is asked can look into `db`, and nowhere else",
            "进程记在 `memory` 里的东西随它一起消失，另一个进程从未听说过这个订单。被问到的人只能去查 "
            "`db`",
        ),
        lambda ways: (
            ways.elsewhere.recalled and ways.elsewhere.state is not ways.same_process.state
        ),
    ),
    ListenerBelief(
        "no row means no",
        Text(
            "no row is no proof that there will be none: the check may come while `execute` is "
            "still at work, and ROLLBACK_MESSAGE then ends a half whose row follows. Not there "
            "yet: UNKNOW, and the broker asks again",
            "没有行，并不证明以后也不会有：回查可能在 `execute` 还在工作时到来，ROLLBACK_MESSAGE 就结束了"
            "一条随后会有行的半消息。还没有：答 UNKNOW，broker 会再问",
        ),
        lambda ways: ways.without_row.state is ROLLBACK,
    ),
    ListenerBelief(
        "a check may say COMMIT without looking",
        Text(
            "the process may have died before its row was written. COMMIT_MESSAGE without having "
            "looked delivers a message about an order that does not exist",
            "进程可能在写行之前就死了。不查就答 COMMIT_MESSAGE，会投递一条并不存在的订单的消息",
        ),
        lambda ways: ways.without_row.state is COMMIT,
    ),
    ListenerBelief(
        "the check need not decide",
        Text(
            "the row is there, and the process that wrote it is dead. If the check does not say "
            "COMMIT_MESSAGE now, nobody ever will: the half is parked in the end",
            "行已经在了，而写它的进程已死。如果回查现在不说 COMMIT_MESSAGE，就再也没人说了：半消息最终被"
            "转存",
        ),
        lambda ways: ways.elsewhere.state is not COMMIT,
    ),
)

LISTENER = ListenerExercise(
    name="listener",
    order=ORDER,
    tried=tuple((TWIN.format(ORDER), budget) for budget in FAULTS),
    beliefs=BELIEFS,
    hints=(
        Text(
            "Two things are known only here: that the order is refused, and that its row was "
            "written. All that is not known yet is UNKNOW. Where could an answer stand so that "
            "the twin finds it as well?",
            "只有这里知道两件事：订单被拒绝，以及它的行已写入。还不知道的一律是 UNKNOW。答案放在哪里，"
            "另一个进程也能找到？",
        ),
        Text(
            "A row that is there proves a COMMIT_MESSAGE, and a refused order proves a "
            "ROLLBACK_MESSAGE. Everything else, an exception too, proves nothing.",
            "行在，就证明可以答 COMMIT_MESSAGE；订单被拒绝，就证明可以答 ROLLBACK_MESSAGE。其他一切（异常也是）什么也证明不了。",
        ),
    ),
    unseen=(
        (ALONE.format("580539"), Budget(kills=1, breaks=1, timers=1, killable=("app",))),
        (TWIN.format("580540").replace("check_max=2", "check_max=3"), Budget(timers=3)),
    ),
    refuses=CANCELLATION,
)
