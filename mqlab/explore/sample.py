"""A search drawn as it grows: a few of its worlds, as a tree by depth.

Nothing is kept for it while the search runs. Worlds are numbered as they are found, so those of
one depth stand together, and the children of an earlier world before those of a later one: a
tree drawn in this order has no two edges that cross.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count, pairwise, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .search import Search

MOST = 300  # worlds of a sample, beside those that lead to what was found
WIDEST = 24  # worlds of one depth that are chosen; others are on the way to later ones


@dataclass(frozen=True, slots=True)
class Drawn:
    """A world of the sample. `rank`: its place among the `sizes[depth]` worlds of its depth;
    `choice`: what leads to it from its parent, "" for the first world, whose parent is itself."""

    number: int
    parent: int
    depth: int
    rank: int
    choice: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Worlds by number, each with its parent; `sizes`: how many there really are by depth, so
    far; `found`: by claim, the world that refutes it or in which it is reached."""

    sizes: tuple[int, ...]
    worlds: dict[int, Drawn]
    found: dict[str, int]

    def schedule(self, number: int) -> tuple[str, ...]:
        """The choices that lead to a world of the sample."""
        choices = []
        while number:
            choices.append(self.worlds[number].choice)
            number = self.worlds[number].parent
        return tuple(reversed(choices))


def take_sample(search: Search, most: int = MOST) -> Sample:
    """Worlds of every depth, spread over it, and the ways to them and to what was found. The
    same search gives the same sample; what a longer one adds thins it."""
    starts = [start for start in search.starts if start < search.states]
    levels = list(pairwise([*starts, search.states]))
    by_claim = search.tell_worlds()
    worlds: dict[int, Drawn] = {}

    def add(number: int) -> None:
        """With its way, as far as that is not in the sample."""
        while number not in worlds:
            parent, choice = search.step_to(number)
            depth = bisect(starts, number) - 1
            worlds[number] = Drawn(number, parent, depth, number - starts[depth], choice)
            number = parent

    for number in by_claim.values():
        add(number)
    enough = most + len(worlds)
    rounds = zip_longest(*(_spread(*level) for level in reversed(levels)))
    for number in chain.from_iterable(rounds):
        if len(worlds) >= enough:
            break
        if number is not None:
            add(number)
    sizes = tuple(end - start for start, end in levels)
    return Sample(sizes, dict(sorted(worlds.items())), by_claim)


def _spread(start: int, end: int) -> Iterator[int]:
    """Numbers from `start` up to `end`, the first few of them already far apart: the middle,
    the quarters, the eighths … (van der Corput's sequence), so that fewer are some of more."""
    seen: set[int] = set()
    for i in count(1):
        place, part, rest = 0.0, 0.5, i
        while rest:
            rest, bit = divmod(rest, 2)
            place += bit * part
            part /= 2
        seen.add(number := start + int(place * (end - start)))
        yield number
        if len(seen) == min(end - start, WIDEST):
            return
