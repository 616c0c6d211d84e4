"""Counting what a transaction costs a real broker, in rounds that must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from .costs import Cost, Costs, Spent
from .counting import Flushes, Proxy
from .program import RealBrokerError

SIZES = ((1, 1), (2, 3), (3, 7))
ROUNDS = 3


class Priced(Protocol):
    """A running broker behind a proxy, in the words of its room."""

    proxy: Proxy
    broker: str
    settings: Mapping[str, str]

    def watch(self) -> Flushes:
        """Begin to look at its flushes."""

    def prepare(self, partitions: int, orders: int) -> None:
        """What comes before the first order and does not count: topics, clients, an id."""

    def tell(self) -> None:
        """The orders, until the client has its last answer; what would follow is held."""

    def forget(self) -> None:
        """Until nothing is left to do."""

    def writes(self) -> Counter[str]:
        """Appends to logs so far."""


def measure(
    opened: AbstractContextManager[Priced], sizes: Iterable[tuple[int, int]] = SIZES
) -> Costs:
    """Raises RealBrokerError where two rounds of one size differ in messages or appends."""
    rows, why = [], ""
    with opened as priced:
        _round(priced, 1, 1)  # connections of the broker to itself are made once
        for partitions, orders in sizes:
            rounds = [_round(priced, partitions, orders) for _ in range(ROUNDS)]
            told, forgotten = [one[0] for one in rounds], [one[1] for one in rounds]
            _check_equal(forgotten)
            rows.append(Cost(partitions, orders, take_fewest(told), take_fewest(forgotten)))
            why = rounds[-1][2]
        return Costs(priced.broker, dict(priced.settings), tuple(rows), why)


def _round(priced: Priced, partitions: int, orders: int) -> tuple[Spent, Spent, str]:
    priced.prepare(partitions, orders)
    flushes = priced.watch()
    try:
        before = priced.proxy.counts(), priced.writes()

        def spent() -> Spent:
            messages, writes = priced.proxy.counts() - before[0], priced.writes() - before[1]
            counted = flushes.counts()
            return Spent(dict(messages), dict(writes), None if counted is None else dict(counted))

        priced.tell()
        told = spent()
        priced.forget()
        return told, spent(), flushes.why
    finally:
        flushes.close()


def _check_equal(rounds: list[Spent]) -> None:
    for other in rounds[1:]:
        if (rounds[0].messages, rounds[0].writes) != (other.messages, other.writes):
            raise RealBrokerError(f"two rounds differ, count again: {rounds[0]!r} and {other!r}")


def take_fewest(rounds: list[Spent]) -> Spent:
    """What each of these has at least, name by name."""
    counted = [one.flushes for one in rounds if one.flushes is not None]
    return Spent(
        _fewest([one.messages for one in rounds]),
        _fewest([one.writes for one in rounds]),
        _fewest(counted) if len(counted) == len(rounds) else None,
    )


def _fewest(counts: list[Mapping[str, int]]) -> dict[str, int]:
    least = {name: min(one.get(name, 0) for one in counts) for name in sorted(counts[0])}
    return {name: count for name, count in least.items() if count}
