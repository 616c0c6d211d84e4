"""Lab 01, how often a message arrives: what its cells import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...explore import Budget
from ...kernel import System, Text, Trace, tr, translate
from ...kernel.options import fill
from ...kernel.simulate import Timing, simulate_world
from ...patterns.delivery.claims import list_booked
from ...patterns.delivery.roles import COUNT, SKIP
from ...registry import scenario, system
from ...registry.tables import columns
from ...registry.tables import in_words as in_words
from ..check import Exercise, Systems, expect_word, list_beliefs
from ..exercises import read_hints
from ..parsons import Parsons, Piece
from ..steps import first as first
from .systems import Counting, Rule
from .systems import list_orders as list_orders
from .systems import send_all as send_all

#: promise → the options of `system delivery` that give it
PROMISES = {
    "at most once": "off=one_write,send_again commit=before",
    "at least once": "off=one_write,recognise",
    "exactly once": "",
}
CALM = Timing(call_ms=60)


def deliver(promise: str, faults: str = "", many: int = 2) -> Trace:
    """The day's first orders on their way under a promise, with the lines of a scenario as
    faults."""
    sends = ", ".join(send_all(many).split("; "))
    line = f"system delivery {PROMISES[promise]}"
    trace = scenario("\n".join((line, f"run shop: {sends}", faults)))
    return replace(trace, title=Text(promise.capitalize(), translate(promise, "cell")))


def count_orders(trace: Trace) -> dict[str, tuple[int, int]]:
    """For each order, how often it is in the queue and in the books at the end of an execution."""
    rows = trace.snapshot(-1).tables[0].rows
    return {number: (int(queue[:-1]), int(books[:-1])) for number, _, queue, books in rows}


def list_heard(trace: Trace, node: str = "shop") -> list[str]:
    """What a node does and receives in an execution, in its own order."""
    return [str(fact.text) for fact in trace if fact.node == node]


def judge(trace: Trace) -> str:
    """What became of the orders of an execution: lost, counted twice or fine."""
    faults = []
    for number, (_, books) in count_orders(trace).items():
        if books != 1:
            faults.append(f"{number} {'lost' if books == 0 else f'counted {books}×'}")
    return ", ".join(faults) or "fine"


def compare_promises(faults: Mapping[str, str]) -> str:
    """Each fault under each promise, as a plain-text table."""
    rows: Iterable[tuple[str, ...]] = (
        (name, *(judge(deliver(promise, lines)) for promise in PROMISES))
        for name, lines in faults.items()
    )
    return columns([("what happens", *PROMISES), *rows])


@dataclass(frozen=True, slots=True)
class Share:
    """Of so many `orders`, how many were lost and how many counted more than once."""

    orders: int
    lost: int
    doubled: int

    def __str__(self) -> str:
        return f"{self.lost / self.orders:4.0%} lost, {self.doubled / self.orders:4.0%} twice"


def measure_shares(
    promise: str, loss: float, slowest_ms: float = 10, seeds: int = 20, many: int = 12
) -> Share:
    """The same orders once for each seed, over links that lose and delay, each run to its end;
    nothing is killed. The shop waits 100 ms for an answer."""
    model = system(f"delivery {PROMISES[promise]} 'shop={send_all(many)}'")
    timing = Timing(slowest_ms=slowest_ms, loss=loss, call_ms=CALM.call_ms)
    lost = doubled = 0
    for seed in range(seeds):
        world = simulate_world(model, seed, timing=timing)
        times = Counter(order.number for order in list_booked(world))
        lost += many - len(times)
        doubled += sum(count > 1 for count in times.values())
    return Share(seeds * many, lost, doubled)


# ---- The exercises of lab 01: accounting's pieces in order, and the rule by which it counts

TWO = "'shop=send 580538:31678; send 580539:31073'"
THREE = "'shop=send 580538:31678; send 580540:1250; send 580539:31073'"
KILL = Budget(kills=1, killable=("accounting",))


# ---- the pieces --------------------------------------------------------------------------


def _consumes(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """Two orders, and an accounting that may be killed once at any moment."""
    return ((system(f"delivery order.consume={','.join(order)} {TWO}"), KILL),)


CONSUME = Parsons(
    name="consume",
    question=tr("Accounting has got an order. Arrange its steps so that nothing is lost and "
                "nothing is counted twice, wherever it is killed. Not every piece is needed."),
    pieces=(
        Piece("count", tr("write the amount into the books")),
        Piece("commit", tr("tell the queue the position")),
        Piece("end", tr("commit the database's transaction")),
        Piece("note", tr("write the position beside the books")),
        Piece("thank", tr("tell the shop that the order is counted"),
              tr("the shop has the queue's acknowledgement. It does not wait for accounting, and "
                 "without an answer could not tell what to do"),
              "the sender waits until the receiver is done"),
        Piece("begin", tr("begin a transaction of the database")),
    ),
    systems=_consumes,
    messages={
        "all counted": tr(
            "without any fault the books do not contain each order. Either no piece writes the "
            "amount, or it is written in a transaction that never commits",
        ),
        "counted once": tr(
            "it is killed when the amount is durable and the position is not, so the order is "
            "fetched again and counted a second time. The queue's position and the database are "
            "two "
            "writes, and so is anything outside of the transaction",
        ),
        "none lost": tr("it is killed when the position is durable and the amount is not, so the "
                        "order is never fetched again and never counted"),
    },
    right={
        ("begin", "count", "note", "end"): tr(
            "no schedule breaks a promise: amount and position become durable in one write, and "
            "the books themselves record where to continue",
        ),
        ("begin", "count", "note", "end", "commit"): tr(
            "no schedule breaks a promise. The commit only informs people who look at the queue: "
            "after a crash accounting reads its own books",
        ),
    },
)  # fmt: skip


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
BELIEFS = list_beliefs(
    "01 count",
    {
        "nothing is counted, so nothing is counted twice": lambda *_: SKIP,
        "the queue hands out each order once": lambda *_: COUNT,
        "an offset names an order": lambda position, booked, offset, *_: (
            COUNT if offset >= position else SKIP
        ),
        "handed out again means counted already": lambda *given: SKIP if given[-1] else COUNT,
        "only the last order can come again": lambda position, booked, offset, number, again: (
            SKIP if booked and booked[-1] == number else COUNT
        ),
    },
)
HINTS = read_hints("01 count")


def _build(line: str, rule: Rule) -> System:
    return fill(Counting, system(f"delivery {line}"), rules=(("count", rule),))


def _systems(rule: Rule) -> Systems:
    """Each story is there for a belief: nothing happens; accounting dies; it rewinds; the shop
    sends again to a queue that does not look."""
    return (
        (_build(TWO, rule), Budget()),
        (_build(TWO, rule), KILL),
        (_build(f"off=recognise {TWO}", rule), Budget(breaks=1)),
        (_build(f"{THREE} 'accounting=seek 0'", rule), Budget()),
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
