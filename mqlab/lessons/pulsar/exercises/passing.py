"""Lab 10's pieces: what a worker does that passes an order on, in which order.

`receive`, `begin`, `send`, `ack`, `plain` and `commit` are calls of Pulsar's client. Every order of
them is tried (`systems/passing.py`) with a worker that may be killed anywhere, and with a timeout
that may fire at any moment.
"""

from __future__ import annotations

from ....explore import Budget
from ....kernel import System, tr
from ....registry import system
from ...parsons import Parsons, Piece
from ..systems.passing import PIECES

LINE = "passing pieces={} 'shop=send orders-0 580538'"
FAULTS = (Budget(kills=1, killable=("worker",)), Budget(timers=1))


def _systems(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    line = LINE.format(",".join(key for key in order if key in PIECES))
    return tuple((system(line), budget) for budget in FAULTS)


DISTRACTORS = (
    Piece(
        "note",
        tr("note in the client which orders are not acknowledged yet"),
        tr(
            "the client need not remember anything: what is delivered, pending and acknowledged "
            "stands in the broker, in the cursor and in a log of pending acks, and outlives the "
            "client"
        ),
        "32 unacknowledged state lives in the client",
    ),
    Piece(
        "init",
        tr("take over a transactional id, which fences an older worker"),
        tr(
            "that is Kafka. A Pulsar transaction has no name with which you could fence it: the "
            "conflict over the message stops an older worker here. The sends to a topic can be "
            "fenced if a producer asks for it, but a commit cannot"
        ),
        "a name fences an older worker",
    ),
    Piece(
        "offset",
        tr("send the position behind the order to the transaction"),
        tr(
            "that is Kafka, where a position stands for everything before it. Pulsar's "
            "transaction takes the messages themselves, each by its id and in any order"
        ),
        "acknowledgements go in order",
    ),
)

PASSING = Parsons(
    name="passing",
    question=tr(
        "Put what the worker does into order, so that each order's income counts once, wherever it "
        "is killed. You do not need every piece."
    ),
    pieces=(
        Piece("commit", tr("commit the transaction")),
        DISTRACTORS[0],
        Piece("send", tr("send the order's income in the transaction")),
        Piece(
            "plain",
            tr("acknowledge the order, without the transaction"),
        ),
        DISTRACTORS[1],
        Piece(
            "receive",
            tr("receive an order; if none is there, the work is done"),
        ),
        DISTRACTORS[2],
        Piece("ack", tr("acknowledge the order in the transaction")),
        Piece("begin", tr("begin a transaction")),
    ),
    systems=_systems,
    messages={
        "done": tr(
            "the order is never done: a piece is missing, or a call comes where the client refuses "
            "it. What belongs to a transaction stands between its begin and its commit"
        ),
        "passed on": tr(
            "the order is done with, and its income does not count. A plain acknowledgement waits "
            "for no commit: it is applied at once, and no abort takes it back"
        ),
        "counted once": tr(
            "the income is committed and the order is not acknowledged yet: the worker is killed "
            "in between, the order comes again and its income counts twice. Both belong in one "
            "transaction"
        ),
    },
    right={
        ("receive", "begin", "send", "ack", "commit"): tr(
            "wherever the worker is killed, the order's income counts once. Sending and "
            "acknowledging may change places: neither counts before the commit"
        ),
    },
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"passing": (PASSING, "value")}
