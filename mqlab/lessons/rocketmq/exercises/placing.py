"""A listener: take an order, and say later what became of it. Lab 04 asks for more (`answering`),
and lab 03 for another `execute` (`keeping`).

An order is an invoice of the shop. One whose number begins with C is a cancellation, which comes
in by another way: the service refuses it.
"""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
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
        tr("it is safe to refuse every order, and useless: somebody must be able to order"),
        lambda ways: ways.calm.state is ROLLBACK and not _has_row(ways),
    ),
    ListenerBelief(
        "ROLLBACK undoes the row",
        tr(
            "ROLLBACK_MESSAGE is about the message alone: the row was committed by its own "
            "statement, and nobody takes it back"
        ),
        lambda ways: ways.calm.state is ROLLBACK and _has_row(ways),
    ),
    ListenerBelief(
        "RocketMQ writes the row",
        tr(
            "COMMIT_MESSAGE delivers the message, and nothing else. The row is written by this "
            "function, with `db.put`, or by nobody"
        ),
        lambda ways: not _has_row(ways),
    ),
    ListenerBelief(
        "an exception means that nothing was written",
        tr(
            "the connection broke after the statement was committed and before its answer came: "
            "the row is there, and ROLLBACK_MESSAGE takes its message away. An exception means "
            "UNKNOW: do not catch it, and the check will look the row up"
        ),
        lambda ways: _is_lost(ways, ROLLBACK),
    ),
    ListenerBelief(
        "an exception can be passed over",
        tr(
            "the connection may also break before the statement arrives: then there is no row, "
            "and COMMIT_MESSAGE delivers a message about nothing. Where the outcome is unknown, "
            "say UNKNOW"
        ),
        lambda ways: _is_lost(ways, COMMIT),
    ),
    ListenerBelief(
        "the process that is asked remembers",
        tr(
            "what the process noted in `memory` died with it, and its twin has never heard of the "
            "order. The process that is asked can look into `db`, and nowhere else"
        ),
        lambda ways: (
            ways.elsewhere.recalled and ways.elsewhere.state is not ways.same_process.state
        ),
    ),
    ListenerBelief(
        "no row means no",
        tr(
            "no row is no proof that there will be none: the check may come while `execute` is "
            "still at work, and ROLLBACK_MESSAGE then ends a half whose row follows. Not there "
            "yet: UNKNOW, and the broker asks again"
        ),
        lambda ways: ways.without_row.state is ROLLBACK,
    ),
    ListenerBelief(
        "a check may say COMMIT without looking",
        tr(
            "the process may have died before its row was written. COMMIT_MESSAGE without having "
            "looked delivers a message about an order that does not exist"
        ),
        lambda ways: ways.without_row.state is COMMIT,
    ),
    ListenerBelief(
        "the check need not decide",
        tr(
            "the row is there, and the process that wrote it is dead. If the check does not say "
            "COMMIT_MESSAGE now, nobody ever will: the half is parked in the end"
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
        tr(
            "Two things are known only here: that the order is refused, and that its row was "
            "written. All that is not known yet is UNKNOW. Where could an answer stand so that "
            "the twin finds it as well?"
        ),
        tr(
            "A row that is there proves a COMMIT_MESSAGE, and a refused order proves a "
            "ROLLBACK_MESSAGE. Everything else, an exception too, proves nothing."
        ),
    ),
    unseen=(
        (ALONE.format("580539"), Budget(kills=1, breaks=1, timers=1, killable=("app",))),
        (TWIN.format("580540").replace("check_max=2", "check_max=3"), Budget(timers=3)),
    ),
    refuses=CANCELLATION,
)
