"""What an order costs, counted in executions: messages, writes to disks, flushes.

Three counts. `count_prices` counts one order of `ways`, moment by moment. `count_bulk` counts a
transaction of several orders for several partitions; how that grows is a formula, and a test holds
each formula against the counts. `compare_real` compares the same scenario's counts, kind by kind,
with what a real broker was counted to do (`mqlab real NAME cost`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from ..kernel import Fact, Outcome, Text, Words, tr
from ..kernel.trace import FactKind
from ..recordings.costs import FORGOTTEN, MOMENTS, SEEN, TOLD, Costs, Spent
from .tables import in_words
from .ways import Way, join, perform

#: of a difference that has no reason
UNKNOWN = tr("the reason is unknown")
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


#: a cost whose fields are formulas: messages, writes, flushes
Formulas = tuple[Formula, Formula, Formula]


@dataclass(frozen=True, slots=True)
class Bulk:
    """m orders for n partitions. `story(n, m)`: its blocks; what the first one says does not
    count. `told`, `seen`, `forgotten`: how the cost grows until the client has its last answer,
    until each order is where a reader gets it, and until nothing is left to do. `shows`: of a
    write, whether it lets readers have something. `joined`: whether the m orders are one
    transaction. `log_of`: of a write, which log a real broker has for it; "" where it is in no
    broker, as is what its node sends. `reasons`: why a count of the real broker differs, by its
    row."""

    story: Callable[[int, int], tuple[str, str]]
    told: Formulas
    seen: Formulas
    forgotten: Formulas
    joined: bool
    shows: Callable[[Fact], bool]
    log_of: Callable[[Fact], str] = lambda fact: ""
    reasons: Mapping[str, Text] = field(default_factory=dict)


def count_prices(way: Way) -> dict[str, Price]:
    """The cost until the client has its answer, until both consumers have the order, and until
    everything is forgotten. What comes before the order (a producer's id, a subscription) does
    not count."""
    run, ends = perform(way.text)
    facts = run.trace.facts
    moments = {
        "the client is told": _told(facts),
        "consumers have it": ends[5],
        "forgotten": len(facts),
    }
    return {name: _count(facts[ends[0] : at]) for name, at in moments.items()}


def count_bulk(bulk: Bulk, partitions: int, orders: int) -> dict[str, Price]:
    """The cost until each of MOMENTS."""
    return {at: _count(facts) for at, facts in _play(bulk, partitions, orders).items()}


def _play(bulk: Bulk, partitions: int, orders: int) -> dict[str, tuple[Fact, ...]]:
    """What happens until each of MOMENTS."""
    run, ends = perform(join(bulk.story(partitions, orders)))
    facts = run.trace.facts[ends[0] :]
    shown = max(at for at, fact in enumerate(facts) if fact.kind in WRITES and bulk.shows(fact))
    return {TOLD: facts[: _told(facts)], SEEN: facts[: shown + 1], FORGOTTEN: facts}


def tabulate_prices(ways: Mapping[str, Way]) -> list[tuple[str, ...]]:
    """Way × moment as rows with a head, one order each."""
    rows = {name: count_prices(way) for name, way in ways.items()}
    moments = list(next(iter(rows.values())))
    cells = [(name, *map(str, prices.values())) for name, prices in rows.items()]
    return [("messages / writes / flushes, until", *moments), *cells]


def tabulate_bulk(bulks: Mapping[str, Bulk], partitions: int, orders: int) -> list[tuple[str, ...]]:
    """Way by way, with a head: how the cost grows with n and m, and what was counted for
    these."""
    rows: list[tuple[str, ...]] = [
        ("until", "way", "messages", "writes", "flushes", f"n={partitions}, m={orders}")
    ]
    for moment in MOMENTS:
        for name, bulk in bulks.items():
            counted = count_bulk(bulk, partitions, orders)[moment]
            rows.append((moment, name, *map(str, getattr(bulk, moment)), str(counted)))
    return rows


@dataclass(frozen=True, slots=True)
class Pair:
    """A count of the engine's broker beside the real one's. `row`: what was counted."""

    row: str
    model: int
    real: int | None

    @property
    def differs(self) -> bool:
        return self.model != self.real

    def format_real(self) -> str:
        price = "?" if self.real is None else str(self.real)
        return price + (" *" if self.differs else "")


Pairs = tuple[Pair, ...]


def compare_real(bulk: Bulk, costs: Costs, partitions: int, orders: int) -> dict[str, Pairs]:
    """Until each of MOMENTS, kind by kind: messages, writes, and flushes in one number. KeyError
    where the real one was not asked of so many."""
    cost = {(row.partitions, row.orders): row for row in costs.rows}[partitions, orders]
    spent = _count_by_kind(bulk, partitions, orders)
    return {moment: _pair(spent[moment], getattr(cost, moment)) for moment in MOMENTS}


def _pair(model: Spent, real: Spent) -> Pairs:
    kinds = ((model.messages, real.messages), (model.writes, real.writes))
    pairs = [
        Pair(row, ours.get(row, 0), theirs.get(row, 0))
        for ours, theirs in kinds
        for row in dict.fromkeys([*ours, *theirs])
    ]
    return *pairs, Pair("flushes", model.count_flushes() or 0, real.count_flushes())


def tabulate_real(
    bulks: Mapping[str, Bulk], real: Mapping[str, Costs], partitions: int, orders: int
) -> list[tuple[str, ...]]:
    """Compare what a transaction costs in the model with what real brokers were measured to spend:
    the rows of a table, with a head. KeyError where a broker was not measured with so many
    partitions and orders.

    A cost is messages, writes and flushes. For each broker come the totals until each of MOMENTS,
    then each kind of message and write until the last. A star marks a difference;
    `list_real_reasons` explains it.
    """
    rows: list[tuple[str, ...]] = [(f"n={partitions}, m={orders}", "model", "real")]
    for name, costs in real.items():
        bulk = bulks[name]
        cost = {(row.partitions, row.orders): row for row in costs.rows}[partitions, orders]
        for moment, modelled in _count_by_kind(bulk, partitions, orders).items():
            measured = getattr(cost, moment)
            star = "" if str(modelled) == str(measured) else " *"
            rows.append((f"{costs.broker}, until {moment}", str(modelled), f"{measured}{star}"))
        for pair in compare_real(bulk, costs, partitions, orders)[FORGOTTEN]:
            rows.append((f"  {in_words(pair.row)}", str(pair.model), pair.format_real()))
    return rows


def list_real_reasons(
    bulks: Mapping[str, Bulk], real: Mapping[str, Costs], partitions: int, orders: int
) -> list[str]:
    """Why a real broker's count differs, a line per row; and what was set for the count."""
    lines = []
    for name, costs in real.items():
        every = chain.from_iterable(compare_real(bulks[name], costs, partitions, orders).values())
        for pair in {pair.row: pair for pair in every if pair.differs}.values():
            why = costs.why if pair.real is None else bulks[name].reasons.get(pair.row, UNKNOWN)
            lines.append(str(Words("* {}, {}: {}")(name, in_words(pair.row), why)))
        if costs.settings:
            settings = ", ".join(f"{key}={value}" for key, value in costs.settings.items())
            lines.append(str(Words("  {} was counted with {}")(costs.broker, settings)))
    return lines


def _count_by_kind(bulk: Bulk, partitions: int, orders: int) -> dict[str, Spent]:
    """Until each of MOMENTS, kind by kind, without what is in no broker."""
    played = _play(bulk, partitions, orders)
    every = played[FORGOTTEN]
    outside = {one.node for one in every if one.kind in WRITES and not bulk.log_of(one)}
    return {
        moment: _count_facts(bulk, [one for one in facts if not {one.node, one.peer} & outside])
        for moment, facts in played.items()
    }


def _count_facts(bulk: Bulk, facts: Iterable[Fact]) -> Spent:
    messages: Counter[str] = Counter()
    writes: Counter[str] = Counter()
    flushes: Counter[str] = Counter()
    for fact in facts:
        if fact.kind in MESSAGES:
            messages[type(fact.body).__name__.removesuffix("Response").replace(
                "SendReceipt", "SendMessage")] += 1  # fmt: skip
        elif fact.kind in WRITES:
            writes[bulk.log_of(fact)] += 1
        elif fact.kind == FactKind.FLUSH:
            flushes[fact.node] += 1
    return Spent(messages, writes, flushes)


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
