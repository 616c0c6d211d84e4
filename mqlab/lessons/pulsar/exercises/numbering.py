"""Lab 09's id: which one does a client's next transaction get?

`next_id(ids, coordinators)` is given the ids of all transactions that one client has begun, each as
one whole number of 128 bits. Its answer is held against the id under which a coordinator wrote the
next transaction down.

A client takes the coordinators in turn, from number 1 on
(TransactionCoordinatorClientImpl#nextHandler), and each coordinator counts its own transactions
from 0 (MLTransactionSequenceIdGenerator; 4.2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....kernel import Run, Text, tr
from ....kernel.trace import FactKind
from ....pulsar import PulsarSystem
from ....pulsar.messages import TransactionMetadataEntry
from ...against_runs import AgainstRuns, Moment
from ...check import Belief

STORY = "system pulsar coordinators={many}\nrun app: {calls}"
HALF = 64


def look(run: Run) -> list[Moment]:
    """After each transaction but the last: the ids so far, and the one that comes next."""
    assert isinstance(run.system, PulsarSystem)
    many = run.system.coordinators
    moments: list[Moment] = []
    ids: tuple[int, ...] = ()
    for fact in run.facts:
        record = fact.body
        if fact.kind is FactKind.APPEND and isinstance(record, TransactionMetadataEntry):
            whole = record.txn.most << HALF | record.txn.least
            if ids:
                moments.append(Moment((ids, many), whole, fact.index))
            ids = (*ids, whole)
    return moments


def _begin(coordinators: int, many: int) -> str:
    calls = ", ".join(f"new-transaction t{n}" for n in range(many))
    return STORY.format(many=coordinators, calls=calls)


FORM = tr("return an id as one whole number, such as 5 << 64 | 7 for (5,7)")


def _expected(answer: Any) -> Text | None:
    whole = isinstance(answer, int) and not isinstance(answer, bool)
    return None if whole else FORM


def _count(
    read: Callable[[int], int], write: Callable[[int, int], int]
) -> Callable[[tuple[int, ...], int], int]:
    """The next id by a layout: `read` takes the coordinator out of an id, `write` puts both
    numbers in."""

    def rule(ids: tuple[int, ...], coordinators: int) -> int:
        turn = (read(ids[-1]) + 1) % coordinators
        return write(turn, sum(read(one) == turn for one in ids))

    return rule


def _read_upper(txn: int) -> int:
    return txn >> HALF


def _read_top(txn: int) -> int:
    return txn >> 112


def _read_lower(txn: int) -> int:
    return txn & (1 << HALF) - 1


next_id = _count(_read_upper, lambda turn, count: turn << HALF | count)


def _keep_to_one(ids: tuple[int, ...], coordinators: int) -> int:
    return ids[-1] + 1


def _count_all(ids: tuple[int, ...], coordinators: int) -> int:
    return next_id(ids, coordinators) >> HALF << HALF | len(ids)


def _never_begin_again(ids: tuple[int, ...], coordinators: int) -> int:
    turn = _read_upper(ids[-1]) + 1
    return turn << HALF | sum(_read_upper(one) == turn for one in ids)


def _count_nothing(ids: tuple[int, ...], coordinators: int) -> int:
    return next_id(ids, coordinators) >> HALF << HALF


BELIEFS = (
    Belief(
        "the top 16 bits are the coordinator",
        tr(
            "the design said 16 bits, and the articles repeat it. The implementation took 64: the "
            "top 16 bits are 0 in the id of every coordinator"
        ),
        _count(_read_top, lambda turn, count: turn << 112 | count),
    ),
    Belief(
        "the lower half is the coordinator",
        tr(
            "the lower 64 bits count the transactions of one coordinator, and the upper 64 bits "
            "name it"
        ),
        _count(_read_lower, lambda turn, count: count << HALF | turn),
    ),
    Belief(
        "a client keeps to one coordinator",
        tr(
            "a client does not stay with a coordinator: each new transaction goes to the next one, "
            "and after the last one to number 0"
        ),
        _keep_to_one,
    ),
    Belief(
        "all coordinators count together",
        tr("coordinators do not know each other's count: each numbers its own transactions"),
        _count_all,
    ),
    Belief(
        "there is always one more coordinator",
        tr(
            "coordinators are numbered from 0 to one less than there are. After the last one a "
            "client goes on with number 0"
        ),
        _never_begin_again,
    ),
    Belief(
        "an id names the coordinator only",
        tr(
            "two transactions of one coordinator would have the same id here: the second half "
            "counts the transactions of that coordinator"
        ),
        _count_nothing,
    ),
)

NUMBERING = AgainstRuns(
    stories=(_begin(3, 8), _begin(1, 3)),
    unseen=(_begin(16, 20),),
    look=look,
    beliefs=BELIEFS,
    hints=(
        tr(
            "Two numbers make an id. Whose turn is it after the last id? And how many of the ids "
            "so far are from that coordinator?"
        ),
        tr(
            "The upper 64 bits of an id are the coordinator, so a shift takes them out and puts "
            "them in. After the last coordinator the first one has its turn again."
        ),
    ),
    expects=_expected,
    right=tr("each transaction was written down under just this id"),
    other=tr(
        "this transaction was written down under another id: see whose turn it was, and how many "
        "transactions that coordinator had begun"
    ),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"numbering": (NUMBERING, "rule")}
