"""Lab 03's rule: what may a customer be told when `sendMessageInTransaction` has returned?

`answer(send_status, local_state)` says "placed", "not placed" or "not known". It is put into the
order desk (`lessons/rocketmq/desk.py`) and tried with an order, with a cancellation that is
refused, with a broken connection, and with a broker that lacks its second copy.
"""

from __future__ import annotations

from dataclasses import replace

from ....explore import Budget
from ....kernel import Text
from ....registry import system
from ....rocketmq.states import LocalTransactionState, SendStatus
from ...check import Belief, Exercise, Rule, Systems, expect_word
from ..desk import ANSWERS, NOT_KNOWN, NOT_PLACED, PLACED, OrderDeskSystem, answer

ORDER = "order_desk persist_ms=0 'app=send-in-transaction orders-0 580538'"
REFUSED = "order_desk persist_ms=0 'app=send-in-transaction orders-0 C580597'"
ONE_COPY = "order_desk release=4.9 in_sync=2 persist_ms=0 'app=send-in-transaction orders-0 580538'"
LATER = (
    "order_desk persist_ms=0 'app=send-in-transaction orders-0 580539; "
    "send-in-transaction orders-0 C580604'"
)
COMMIT, ROLLBACK, UNKNOWN = LocalTransactionState
#: what a call can return: with any other status the local transaction is not run
STATES = (
    *((str(SendStatus.SEND_OK), str(state)) for state in LocalTransactionState),
    *((str(status), str(ROLLBACK)) for status in SendStatus if status != SendStatus.SEND_OK),
)


def _but(**other: str) -> Rule:
    """The right rule with another answer to a local state."""
    return lambda status, state: other.get(state, answer(status, state))


def _systems(rule: Rule) -> Systems:
    return (
        (_desk(ORDER, rule), Budget()),
        (_desk(REFUSED, rule), Budget()),
        (_desk(ONE_COPY, rule), Budget()),
        (_desk(ORDER, rule), Budget(breaks=1)),
    )


def _unseen(rule: Rule) -> Systems:
    return ((_desk(LATER, rule), Budget(breaks=1)),)


def _desk(line: str, rule: Rule) -> OrderDeskSystem:
    desk = system(line)
    assert isinstance(desk, OrderDeskSystem)
    return replace(desk, answer=rule)


BELIEFS = (
    Belief(
        "SEND_OK says that the transaction has succeeded",
        Text(
            "SEND_OK is the status of the half message: it is stored. It is the same when the "
            "local transaction was rolled back, and when nobody knows what became of it. The other "
            "word is the transaction's",
            "SEND_OK 是半消息的状态：它已存好。本地事务回滚了、或结果不明时，它同样是 SEND_OK。"
            "另一个词才属于事务",
        ),
        lambda status, state: PLACED if status == SendStatus.SEND_OK else NOT_PLACED,
    ),
    Belief(
        "an exception means that nothing was written",
        Text(
            "UNKNOW is no rollback. The connection to the database broke, the row may well be "
            "there, and the check will deliver its message: this customer orders twice",
            "UNKNOW 不是回滚。与数据库的连接断了，行很可能已经写入，回查会投递它的消息：这位顾客会再下"
            "一次单",
        ),
        _but(UNKNOW=NOT_PLACED),
    ),
    Belief(
        "what is not refused is placed",
        Text(
            "UNKNOW is no commit either: the statement may never have reached the database, and "
            "this customer waits for an order that nobody has",
            "UNKNOW 也不是提交：语句可能根本没有到达数据库，这位顾客在等一个谁也没有的订单",
        ),
        _but(UNKNOW=PLACED),
    ),
    Belief(
        "a half that is not safe leaves the order open",
        Text(
            "with every status but SEND_OK the local transaction is not run at all, and the client "
            "ends with ROLLBACK by itself: there is no row, and the customer may be told so",
            "只要状态不是 SEND_OK，本地事务根本不会执行，客户端自己以 ROLLBACK 结束：没有行，可以如实"
            "告诉顾客",
        ),
        lambda status, state: answer(status, state) if status == SendStatus.SEND_OK else NOT_KNOWN,
    ),
    Belief(
        "nothing is ever known",
        Text(
            "it is safe to say “not known” to everybody, and useless: what the local transaction "
            "came to is known here and now",
            "对谁都说“不知道”当然安全，但毫无用处：本地事务的结果此刻就知道",
        ),
        lambda status, state: NOT_KNOWN,
    ),
    Belief(
        "ROLLBACK_MESSAGE is about the message only",
        Text(
            "the service says ROLLBACK_MESSAGE where it has refused the order or never run its "
            "local transaction: in both cases there is no row, and there will be none",
            "服务只在拒绝订单或根本没有执行本地事务时才得到 ROLLBACK_MESSAGE：两种情况都没有行，以后也"
            "不会有",
        ),
        _but(ROLLBACK_MESSAGE=NOT_KNOWN),
    ),
)

TELLING = Exercise(
    name="telling",
    systems=_systems,
    unseen=_unseen,
    samples=STATES,
    beliefs=BELIEFS,
    hints=(
        Text(
            "Two words come back. Which of them is the broker's, and about what? Which is your "
            "own listener's?",
            "返回了两个词。哪一个是 broker 的，说的是什么？哪一个是你自己的监听器的？",
        ),
        Text(
            "The status is about the half message, and no customer asks about that. Each of the "
            "three states of the local transaction has one honest answer.",
            "状态说的是半消息，没有顾客关心它。本地事务的三种状态各有一个诚实的回答。",
        ),
    ),
    expects=expect_word(*ANSWERS),
    right=Text(
        "no customer is told anything untrue, even if connections break, and most are told for "
        "certain",
        "无论哪里出错，没有顾客得到与事实不符的回答，而多数人得到的是确定的回答",
    ),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"telling": (TELLING, "rule")}
