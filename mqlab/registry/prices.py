"""What an order costs, counted in runs: messages, writes to disks, flushes.

Two counts. `count_prices` counts one order of `ways`, moment by moment. `count_bulk` counts a
transaction of several orders for several partitions; how that grows is a formula, and a test holds
each formula against the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..kernel import Fact, Outcome
from ..kernel.trace import FactKind
from ..scenario import perform_in_blocks
from . import SYSTEMS
from .ways import Way, join

MESSAGES = (FactKind.SEND, FactKind.LATE, FactKind.REPLY)
WRITES = (FactKind.APPEND, FactKind.PUT, FactKind.TRUNCATE)


@dataclass(frozen=True, slots=True, order=True)
class Price:
    """What was spent up to a moment: messages of all processes (one to itself counts too), writes
    to disks, and flushes that the model waits for."""

    messages: int
    writes: int
    flushes: int

    def __str__(self) -> str:
        return f"{self.messages} / {self.writes} / {self.flushes}"


@dataclass(frozen=True, slots=True)
class Formula:
    """`fixed` + `partitions` · n + `orders` · m."""

    fixed: int
    partitions: int
    orders: int

    def at(self, partitions: int, orders: int) -> int:
        return self.fixed + self.partitions * partitions + self.orders * orders

    def __str__(self) -> str:
        parts = [(self.orders, "m"), (self.partitions, "n"), (self.fixed, "")]
        signed = [f"{abs(k) if abs(k) > 1 or not of else ''}{of}" for k, of in parts if k]
        signs = [" − " if k < 0 else " + " for k, _ in parts if k]
        return "".join(sign + word for sign, word in zip(signs, signed, strict=True))[3:] or "0"


#: a price whose fields are formulas: messages, writes, flushes
Formulas = tuple[Formula, Formula, Formula]


@dataclass(frozen=True, slots=True)
class Bulk:
    """m orders for n partitions. `story(n, m)`: its blocks; what the first one says does not
    count. `told`, `forgotten`: how the price grows until the client has its last answer, and until
    nothing is left to do. `joined`: whether the m orders are one transaction."""

    story: Callable[[int, int], tuple[str, str]]
    told: Formulas
    forgotten: Formulas
    joined: bool


def count_prices(way: Way) -> dict[str, Price]:
    """The price until the client is told, until both consumers have the order, and until
    everything is forgotten. What comes before the order (a producer's id, a subscription) does
    not count."""
    run, ends = perform_in_blocks(way.text, SYSTEMS)
    facts = run.trace.facts
    moments = {
        "the client is told": _told(facts),
        "consumers have it": ends[5],
        "forgotten": len(facts),
    }
    return {name: _count(facts[ends[0] : at]) for name, at in moments.items()}


def count_bulk(bulk: Bulk, partitions: int, orders: int) -> tuple[Price, Price]:
    """The price until the client has its last answer, and until nothing is left to do."""
    run, ends = perform_in_blocks(join(bulk.story(partitions, orders)), SYSTEMS)
    facts = run.trace.facts[ends[0] :]
    return _count(facts[: _told(facts)]), _count(facts)


def tabulate_prices(ways: Mapping[str, Way]) -> list[tuple[str, ...]]:
    """Way × moment as rows with a head, one order each."""
    rows = {name: count_prices(way) for name, way in ways.items()}
    moments = list(next(iter(rows.values())))
    cells = [(name, *map(str, prices.values())) for name, prices in rows.items()]
    return [("messages / writes / flushes, until", *moments), *cells]


def tabulate_bulk(bulks: Mapping[str, Bulk], partitions: int, orders: int) -> list[tuple[str, ...]]:
    """Way by way, with a head: how the price grows with n and m, and what was counted for
    these."""
    rows: list[tuple[str, ...]] = [
        ("until", "way", "messages", "writes", "flushes", f"n={partitions}, m={orders}")
    ]
    for place, moment in enumerate(("told", "forgotten")):
        for name, bulk in bulks.items():
            formulas = (bulk.told, bulk.forgotten)[place]
            counted = count_bulk(bulk, partitions, orders)[place]
            rows.append((moment, name, *map(str, formulas), str(counted)))
    return rows


def _told(facts: tuple[Fact, ...]) -> int:
    """The place of the application's last answer."""
    return max(
        at for at, fact in enumerate(facts) if fact.node == "app" and isinstance(fact.body, Outcome)
    )


def _count(facts: Iterable[Fact]) -> Price:
    kinds = Counter(fact.kind for fact in facts)
    return Price(
        sum(kinds[one] for one in MESSAGES),
        sum(kinds[one] for one in WRITES),
        kinds[FactKind.FLUSH],
    )
