"""Counting what a transaction costs a real broker, in rounds that must agree."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType

from mqlab.real.program import RealBrokerError
from mqlab.recordings.costs import FORGOTTEN, MOMENTS, Cost, Costs, Spent

from .counting import PATIENCE_S, Flushes, Proxy

SIZES = ((1, 1), (2, 3), (3, 7))
ROUNDS = 3
#: how topics are called whose writes count
PREFIX = "cost"
QUIET_S = 1.0
PAUSE_S = 0.02
NOBODY = "no reader has seen the orders"


class Priced(ABC):
    """A running broker behind a proxy; its package says how it is asked. `settings`: what
    differs from the other recordings' settings."""

    def __init__(
        self, proxy: Proxy, broker: str, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.proxy, self.broker, self.settings = proxy, broker, settings
        self._round = 0

    def prepare(self, partitions: int, orders: int) -> None:
        """What comes before the first order and does not count: topics, clients, an id."""
        self.close()
        self._round += 1
        self.open(f"{PREFIX}{self._round}.", partitions)
        self.settle()

    def settle(self) -> None:
        """Until nothing has been written or said for a while."""
        seen = None
        while seen != (now := (self.writes(), self.proxy.counts())):
            seen = now
            time.sleep(QUIET_S)

    def wait_for_reader(self, count: Callable[[], int], orders: int) -> None:
        """Until `count` finds so many. Raises TimeoutError where it never does."""
        deadline = time.monotonic() + PATIENCE_S
        while count() < orders:
            if time.monotonic() > deadline:
                raise TimeoutError(NOBODY)
            time.sleep(PAUSE_S)

    @abstractmethod
    def watch(self) -> Flushes:
        """Begin to look at its flushes."""

    @abstractmethod
    def open(self, prefix: str, partitions: int) -> None:
        """Topics, whose names begin so, and clients."""

    @abstractmethod
    def perform(self, partitions: int, orders: int) -> Iterator[str]:
        """The orders: each of MOMENTS when it has come, while what would follow is held."""

    @abstractmethod
    def writes(self) -> Counter[str]:
        """Appends to logs so far."""

    @abstractmethod
    def close(self) -> None:
        """What `open` has opened, if it has."""


def measure(
    opened: AbstractContextManager[Priced], sizes: Iterable[tuple[int, int]] = SIZES
) -> Costs:
    """Raises RealBrokerError where two rounds of one size differ in messages or appends."""
    rows, why = [], ""
    with opened as priced:
        _round(priced, 1, 1)  # connections of the broker to itself are made once
        for partitions, orders in sizes:
            rounds = [_round(priced, partitions, orders) for _ in range(ROUNDS)]
            _check_equal([spent[FORGOTTEN] for spent, _ in rounds])
            least = {at: take_fewest([spent[at] for spent, _ in rounds]) for at in MOMENTS}
            rows.append(Cost(partitions, orders, **least))
            why = rounds[-1][1]
        return Costs(priced.broker, dict(priced.settings), tuple(rows), why)


def _round(priced: Priced, partitions: int, orders: int) -> tuple[dict[str, Spent], str]:
    priced.prepare(partitions, orders)
    flushes = priced.watch()
    try:
        before = priced.proxy.counts(), priced.writes()

        def spent() -> Spent:
            messages, writes = priced.proxy.counts() - before[0], priced.writes() - before[1]
            counted = flushes.counts()
            return Spent(dict(messages), dict(writes), None if counted is None else dict(counted))

        return {at: spent() for at in priced.perform(partitions, orders)}, flushes.why
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
