"""Measuring servers side by side: they take turns, so that what else the machine does meets them
alike. Figures depend on the machine; compare medians of one run, not runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

#: name → what measures it at an address
Figures = Mapping[str, Callable[[str], float]]


def measure_in_turns(figures: Figures, *addresses: str, rounds: int = 3) -> dict[str, list[float]]:
    """Each figure at each address, medians of `rounds`."""
    found = {}
    for name, figure in figures.items():
        rows = [[figure(address) for address in addresses] for _ in range(rounds)]
        found[name] = [median(row) for row in zip(*rows, strict=True)]
    return found
