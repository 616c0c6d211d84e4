"""Lab 06's rule: who may go on with a transaction?

`admit(known, state, busy, caller)` answers "ok", "PRODUCER_FENCED", "CONCURRENT_TRANSACTIONS"
or "INVALID_PRODUCER_ID_MAPPING". It is put into the coordinator of a legacy client and tried
with a producer alone, with its restarted twin, and with requests written by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....explore import Budget
from ....kernel import System, tr
from ...check import Belief, Exercise, expect_word
from ..systems.ruled import put_rule

Pair = tuple[int, int]
OK, FENCED, LATER, NO_SUCH = ANSWERS = (
    "ok",
    "PRODUCER_FENCED",
    "CONCURRENT_TRANSACTIONS",
    "INVALID_PRODUCER_ID_MAPPING",
)
TWIN = "producers=app:order-service,twin:order-service"
HAND = "producers=app:order-service,hand:raw"
ZOMBIE = (
    f"transaction_version=0 partitions=1 {TWIN} claims=decided_as_asked,fenced_out "
    "'app=init; begin; send orders-0 a; commit' 'twin=init; begin; send orders-0 c; commit'"
)
ALONE = (
    "asking transaction_version=0 partitions=2 'app=init; begin; send orders-0 a; flush; "
    "send orders-1 b; commit; begin; send orders-0 c; commit'"
)
BY_HAND = (
    "asking transaction_version=0 partitions=1 {} 'app=init; begin; send orders-0 a; commit' "
    "'hand={}'"
)
#: an older self, somebody who invents an epoch, another producer's id, an id nobody knows
STRANGERS = (
    "AddPartitionsToTxn orders-0 pid=0 epoch=5",
    "EndTxn commit pid=7 epoch=0 v=4",
    "EndTxn abort pid=0 epoch=0 v=4 id=payment-service",
)

OTHERS = (
    "AddPartitionsToTxn orders-0 pid=0 epoch=9",
    "EndTxn commit pid=4 epoch=2 v=4",
    "EndTxn commit pid=0 epoch=31 v=4",
)


def right(known: Pair | None, state: str, busy: bool, caller: Pair) -> str:
    """Kafka's own rule (TransactionCoordinator#endTransactionWithTV1)."""
    if known is None or known[0] != caller[0]:
        return NO_SUCH
    if known[1] != caller[1]:
        return FENCED
    return LATER if busy else OK


Rule = Callable[[Pair | None, str, bool, Pair], str]


def _but(wrong: Callable[[Pair, str, bool, Pair], str | None]) -> Rule:
    """The right rule with one belief in its place, where the id is known."""

    def rule(known: Pair | None, state: str, busy: bool, caller: Pair) -> str:
        answer = None if known is None else wrong(known, state, busy, caller)
        return answer or right(known, state, busy, caller)

    return rule


def _systems(rule: Callable[..., Any]) -> tuple[tuple[System, Budget], ...]:
    """The twin twice: first for what a zombie's requests lead to, then for every answer."""
    retry = Budget(retries=2)
    return (
        (_ruled(f"kafka {ZOMBIE}", rule), retry),
        (_ruled(ALONE, rule), retry),
        (_ruled(f"asking {ZOMBIE}", rule), retry),
        *((_ruled(BY_HAND.format(HAND, ask), rule), retry) for ask in STRANGERS),
    )


def _unseen(rule: Callable[..., Any]) -> tuple[tuple[System, Budget], ...]:
    """More of the same, with other numbers: what only grading tries."""
    return tuple((_ruled(BY_HAND.format(HAND, ask), rule), Budget(retries=2)) for ask in OTHERS)


def _ruled(line: str, rule: Callable[..., Any]) -> System:
    return put_rule(line, "admit", rule)


BELIEFS = (
    Belief(
        "the transactional id is enough",
        tr(
            "the transactional id names the application, not the instance. The one that was "
            "replaced has the same id, and only the epoch tells the two apart: with this rule "
            "it goes on with its successor's transaction"
        ),
        lambda known, state, busy, caller: LATER if busy else OK if known else NO_SUCH,
    ),
    Belief(
        "the epoch is the partition's affair",
        tr(
            "leaders check the epoch of records, but ending a transaction writes none: the old "
            "self's EndTxn would commit what its successor has only half written"
        ),
        _but(
            lambda known, state, busy, caller: (
                None if known[0] != caller[0] else LATER if busy else OK
            )
        ),
    ),
    Belief(
        "only smaller epochs are refused",
        tr(
            "at the coordinator the epoch must be the same, not just no smaller. It gives epochs "
            "out itself: a larger one was never given to anybody"
        ),
        _but(
            lambda known, state, busy, caller: (
                (LATER if busy else OK) if known[0] == caller[0] and caller[1] > known[1] else None
            )
        ),
    ),
    Belief(
        "the epoch is enough",
        tr("epochs are counted for each producer id: epoch 0 of another id is another producer"),
        _but(
            lambda known, state, busy, caller: (
                FENCED if known[1] != caller[1] else LATER if busy else OK
            )
        ),
    ),
    Belief(
        "every refusal is final",
        tr(
            "CONCURRENT_TRANSACTIONS means: ask again in a moment. While the markers of the "
            "last transaction are under way its healthy producer would be told that it is "
            "fenced, and shut down"
        ),
        lambda known, state, busy, caller: FENCED if busy else right(known, state, busy, caller),
    ),
    Belief(
        "every refusal is for now",
        tr(
            "an instance that was replaced is never let in again. Told to ask again, it does so "
            "for ever, and nobody learns that it is a zombie"
        ),
        lambda known, state, busy, caller: OK if right(known, state, busy, caller) == OK else LATER,
    ),
    Belief(
        "nothing is under way until it is decided",
        tr(
            "`busy` is also true while an Ongoing or Complete record is being written: an id has "
            "one transition under way at most, whichever it is"
        ),
        _but(
            lambda known, state, busy, caller: (
                OK if known == caller and busy and not state.startswith("Prepare") else None
            )
        ),
    ),
    Belief(
        "an open transaction is busy",
        tr("Ongoing is when its own producer must come in: to add a partition, and to end it"),
        _but(lambda known, state, busy, caller: LATER if state == "Ongoing" else None),
    ),
    Belief(
        "every refusal is a fence",
        tr(
            "PRODUCER_FENCED tells that a newer instance exists. Of another producer id, or of "
            "an id nobody knows (it expires after seven days), there is none: "
            "INVALID_PRODUCER_ID_MAPPING"
        ),
        lambda known, state, busy, caller: right(known, state, busy, caller).replace(
            NO_SUCH, FENCED
        ),
    ),
    Belief(
        "nobody is let in",
        tr("it is safe to let nobody in, and useless: somebody must be able to commit"),
        lambda known, state, busy, caller: LATER,
    ),
)

_PAIRS = (((0, 2), (0, 2)), ((0, 2), (0, 0)), ((0, 2), (0, 5)), ((3, 1), (7, 1)), ((3, 1), (7, 0)))
_STATES = (
    ("Empty", False),
    ("Empty", True),
    ("Ongoing", False),
    ("Ongoing", True),
    ("PrepareCommit", True),
    ("CompleteAbort", False),
)
SAMPLES = (
    *((known, state, busy, caller) for known, caller in _PAIRS for state, busy in _STATES),
    (None, "", False, (0, 0)),
)

ADMIT = Exercise(
    name="admit",
    systems=_systems,
    unseen=_unseen,
    samples=SAMPLES,
    beliefs=BELIEFS,
    hints=(
        tr(
            "Three questions: is the producer id the right one? Is the epoch the latest? Is "
            "something being written just now? The first two are about identity, and no waiting "
            "helps."
        ),
        tr(
            "A producer whose id is wrong has been forgotten; one whose epoch is not the "
            "latest, smaller *or larger*, was replaced or never was. Only a producer that is "
            "right in both may be told to wait. One of the inputs is not needed."
        ),
    ),
    expects=expect_word(*ANSWERS),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"admit": (ADMIT, "rule")}
