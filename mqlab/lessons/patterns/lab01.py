"""Lab 01, how often a message arrives: what its cells import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ...kernel import Text, Trace, translate
from ...kernel.simulate import Timing, simulate_world
from ...patterns.delivery.claims import list_booked
from ...registry import scenario, system
from ...registry.tables import columns
from ...registry.tables import in_words as in_words
from ..steps import first as first
from .exercises.counting import CONSUME as CONSUME
from .exercises.counting import COUNTING as COUNTING
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
    """For each order, how often it is in the queue and in the books at the end of a run."""
    rows = trace.snapshot(-1).tables[0].rows
    return {number: (int(queue[:-1]), int(books[:-1])) for number, _, queue, books in rows}


def list_heard(trace: Trace, node: str = "shop") -> list[str]:
    """What somebody does and is told in a run, in its own order."""
    return [fact.text.en for fact in trace if fact.node == node]


def judge(trace: Trace) -> str:
    """What became of the orders of a run: lost, counted twice or fine."""
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
