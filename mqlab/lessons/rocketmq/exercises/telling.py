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
from ...check import Exercise, Rule, Systems, expect_word, list_beliefs
from ...exercises import read_hints
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


BELIEFS = list_beliefs(
    "03 telling",
    {
        "SEND_OK says that the transaction has succeeded": lambda status, state: (
            PLACED if status == SendStatus.SEND_OK else NOT_PLACED
        ),
        "an exception means that nothing was written": _but(UNKNOW=NOT_PLACED),
        "what is not refused is placed": _but(UNKNOW=PLACED),
        "a half message that is not safe leaves the order open": lambda status, state: (
            answer(status, state) if status == SendStatus.SEND_OK else NOT_KNOWN
        ),
        "nothing is ever known": lambda status, state: NOT_KNOWN,
        "nothing is certain before the broker has heard of it": _but(COMMIT_MESSAGE=NOT_KNOWN),
        "ROLLBACK_MESSAGE is about the message only": _but(ROLLBACK_MESSAGE=NOT_KNOWN),
    },
)

TELLING = Exercise(
    name="telling",
    systems=_systems,
    unseen=_unseen,
    samples=STATES,
    beliefs=BELIEFS,
    hints=read_hints("03 telling"),
    expects=expect_word(*ANSWERS),
    right=tr("no customer is told anything untrue, even if connections break, and most are told "
             "for certain"),
)  # fmt: skip

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"telling": (TELLING, "rule")}
