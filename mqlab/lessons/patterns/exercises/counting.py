"""The exercises of lab 01: accounting's pieces in order, and the rule by which it counts."""

from __future__ import annotations

from typing import Any

from ....explore import Budget
from ....kernel import System, tr
from ....patterns.delivery.roles import COUNT, SKIP
from ....registry import system
from ...check import Belief, Exercise, Systems, expect_word
from ...parsons import Parsons, Piece
from ...roles import become
from ..systems import Counting, Rule

TWO = "'shop=send 580538:31678; send 580539:31073'"
KILL = Budget(kills=1, killable=("accounting",))


# ---- the pieces --------------------------------------------------------------------------


def _consumes(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """Two orders, and an accounting that may be killed once at any moment."""
    return ((system(f"delivery order.consume={','.join(order)} {TWO}"), KILL),)


CONSUME = Parsons(
    name="consume",
    question=tr(
        "Accounting has been handed an order. Put what it does into an order in which nothing is "
        "lost and nothing is counted twice, wherever it is killed. Not every piece is needed."
    ),
    pieces=(
        Piece("count", tr("write the amount into the books")),
        Piece("commit", tr("tell the queue the position")),
        Piece("end", tr("commit the database's transaction")),
        Piece("note", tr("write the position beside the books")),
        Piece(
            "thank",
            tr("tell the shop that the order is counted"),
            tr(
                "the shop has its answer: the queue has it. The shop does not wait for accounting, "
                "and would not know what to do when it hears nothing"
            ),
            "the sender waits until the receiver is done",
        ),
        Piece("begin", tr("begin a transaction of the database")),
    ),
    systems=_consumes,
    messages={
        "all counted": tr(
            "without any fault the books do not hold each order. Either no piece writes the "
            "amount, "
            "or it is written in a transaction that never commits"
        ),
        "counted once": tr(
            "it is killed when the amount is durable and the position is not, so the order is "
            "fetched again and counted a second time. The queue's position and the database are "
            "two "
            "writes, and so is anything outside of the transaction"
        ),
        "none lost": tr(
            "it is killed when the position is durable and the amount is not, so nobody fetches "
            "the "
            "order again and it is never counted"
        ),
    },
    right={
        ("begin", "count", "note", "end"): tr(
            "no schedule breaks a promise: amount and position become durable in one write, and "
            "the "
            "books themselves say where to go on"
        ),
        ("begin", "count", "note", "end", "commit"): tr(
            "no schedule breaks a promise. The commit only informs people who look at the queue: "
            "after a crash accounting asks its own books"
        ),
    },
)


# ---- the rule ----------------------------------------------------------------------------

#: (position, numbers in the books, offset, number, again): where the beliefs answer differently
SAMPLES: tuple[tuple[Any, ...], ...] = (
    (0, (), 0, "580538", False),
    (1, ("580538",), 0, "580538", True),
    (1, ("580538",), 1, "580538", False),
    (2, ("580538", "580539"), 2, "580538", False),
    (0, (), 0, "580538", True),
    (1, ("580538",), 1, "580539", False),
    (1, ("580538",), 1, "580539", True),
)
BELIEFS = (
    Belief(
        "nothing is counted, so nothing is counted twice",
        tr("skipping everything doubles nothing, and no order ever gets into the books"),
        lambda position, booked, offset, number, again: SKIP,
    ),
    Belief(
        "the queue hands out each order once",
        tr(
            "what comes twice is counted twice. The queue hands out an offset as often as it is "
            "asked for, and the same order may lie at two offsets"
        ),
        lambda position, booked, offset, number, again: COUNT,
    ),
    Belief(
        "an offset names an order",
        tr(
            "an offset says where a message lies, not which order it is. The shop sent this order "
            "twice and the queue wrote it twice: two offsets, one number"
        ),
        lambda position, booked, offset, number, again: COUNT if offset >= position else SKIP,
    ),
    Belief(
        "handed out again means counted already",
        tr(
            "“again” says that the queue has handed it out before. Accounting died with it in its "
            "hands and had written nothing: skipped now, it is lost"
        ),
        lambda position, booked, offset, number, again: SKIP if again else COUNT,
    ),
    Belief(
        "only the last order can come again",
        tr("more than the last one may come again: after a rewind all of them do"),
        lambda position, booked, offset, number, again: (
            SKIP if booked and booked[-1] == number else COUNT
        ),
    ),
)
HINTS = (
    tr(
        "Two messages may be one order. What is then the same in both, and never the same in two "
        "different orders? It is neither the place nor the time of a message."
    ),
    tr("The shop gives each order a number, and gives no number twice. One comparison is enough."),
)


def _build(line: str, rule: Rule) -> System:
    return become(system(f"delivery {line}"), Counting, rules=(("count", rule),))


def _systems(rule: Rule) -> Systems:
    """Each story is there for a belief: nothing happens; accounting dies; it rewinds; the shop
    sends again to a queue that does not look."""
    return (
        (_build(TWO, rule), Budget()),
        (_build(TWO, rule), KILL),
        (_build(f"off=recognise {TWO}", rule), Budget(breaks=1)),
        (_build(f"{TWO} 'accounting=seek 0'", rule), Budget()),
    )


def _unseen(rule: Rule) -> Systems:
    """Other numbers, and more than one thing at once."""
    twins = "'shop=send 580701:1250; send 580702:1250'"
    return (
        (_build(f"{twins} 'accounting=seek 0; seek 0'", rule), Budget()),
        (_build(f"off=recognise {twins} 'accounting=seek 0'", rule), Budget(timers=1)),
    )


COUNTING = Exercise(
    name="count",
    systems=_systems,
    samples=SAMPLES,
    beliefs=BELIEFS,
    hints=HINTS,
    expects=expect_word(COUNT, SKIP),
    unseen=_unseen,
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"consume": (CONSUME, "value"), "count": (COUNTING, "rule")}
