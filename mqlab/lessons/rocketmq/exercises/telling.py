"""Lab 03's rule: what may be reported to a customer when `sendMessageInTransaction` has returned?

`answer(send_status, local_state)` says "placed", "not placed" or "not known". It is put into the
order desk (`OrderDeskSystem`) and tried with an order, with a cancellation that is
refused, with a broken connection, and with a broker that lacks its second copy.
"""

from __future__ import annotations

from dataclasses import replace

from ....explore import Budget
from ....kernel import tr
from ....registry import system
from ....rocketmq.states import LocalTransactionState, SendStatus
from ...check import Belief, Exercise, Rule, Systems, expect_word
from ..asking import ANSWERS, NOT_KNOWN, NOT_PLACED, PLACED, OrderDeskSystem, answer

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
    Belief("SEND_OK says that the transaction has succeeded",
           tr("SEND_OK is the status of the half message: it is stored. It is the same when the "
              "local transaction was rolled back, and when its outcome is unknown. The other value "
              "is about the transaction"),
           lambda status, state: PLACED if status == SendStatus.SEND_OK else NOT_PLACED),
    Belief("an exception means that nothing was written",
           tr("UNKNOW is no rollback. The connection to the database broke, the row may well be "
              "there, and the check will deliver its message: this customer orders twice"),
           _but(UNKNOW=NOT_PLACED)),
    Belief("what is not refused is placed",
           tr("UNKNOW is no commit either: the statement may never have reached the database, and "
              "this customer waits for an order that does not exist"),
           _but(UNKNOW=PLACED)),
    Belief("a half message that is not safe leaves the order open",
        tr("with every status but SEND_OK the local transaction is not run at all, and the client "
           "ends with ROLLBACK by itself: there is no row, and the customer may be told so"),
        lambda status, state: answer(status, state) if status == SendStatus.SEND_OK else NOT_KNOWN),
    Belief("nothing is ever known",
           tr("it is safe to answer “not known” every time, and useless: the outcome of the local "
              "transaction is known here and now"),
           lambda status, state: NOT_KNOWN),
    Belief("nothing is certain before the broker has heard of it",
           tr("COMMIT_MESSAGE says that the row is committed, and nothing takes it back. Whether "
              "the broker has heard of it does not matter to this customer: if that news is lost, "
              "the check finds the row and delivers the message"),
           _but(COMMIT_MESSAGE=NOT_KNOWN)),
    Belief("ROLLBACK_MESSAGE is about the message only",
           tr("the service returns ROLLBACK_MESSAGE where it has refused the order or never run "
              "its local transaction: in both cases there is no row, and there will be none"),
           _but(ROLLBACK_MESSAGE=NOT_KNOWN)),
)  # fmt: skip

TELLING = Exercise(
    name="telling",
    systems=_systems,
    unseen=_unseen,
    samples=STATES,
    beliefs=BELIEFS,
    hints=(
        tr("Two values come back. Which of them comes from the broker, and what is it about? "
           "Which is your own listener's?"),
        tr("The status is about the half message, and no customer asks about that. Each of the "
           "three states of the local transaction has one honest answer."),
    ),
    expects=expect_word(*ANSWERS),
    right=tr("no customer is told anything untrue, even if connections break, and most are told "
             "for certain"),
)  # fmt: skip

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"telling": (TELLING, "rule")}
