"""Many random schedules, for systems that are too large to be searched to the end.

A walk begins at the start and takes one choice after the other, drawn from all that are possible,
faults among them, until none is left or the walk is long enough. It moves large integers as the
search does (`packed.py`), so most steps are an addition. A walk depends on its seed alone: choices
are drawn in the order of their names, and no order in which walks are taken changes those.

What a walk finds is long, and most of it has nothing to do with what went wrong. So it is shrunk:
choices are left out, many at a time, then fewer, and with them those that are then impossible, as
long as the claim still breaks (Zeller's delta debugging, 1999). In the end no single choice can be
left out; a shorter run may still exist.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, pairwise, zip_longest
from random import Random

from ..kernel.choice import parse
from ..kernel.moves import apply, initial
from ..kernel.system import Property, System
from ..kernel.text import BadValue, Words, tr
from .budget import Budget
from .moves import Stop
from .search import Search
from .verdict import Counterexample

LONGEST = 1_000  # choices of one walk
SEEDED = Words("violated: {}, in {} choices (seed {})")
WALKED = Words("tried {:,} random schedules, {:,} steps ({}){}")


@dataclass(frozen=True)
class Swarm:
    """What some walks have found. `seeds`: by claim, that of the first walk that breaks it.
    `steps`: of all walks together; `counterexamples`: by claim; `budget`: the bounds; `ended`: why
    it stopped early."""

    walks: int
    steps: int
    counterexamples: dict[str, Counterexample]
    seeds: dict[str, int]
    budget: Budget
    ended: str = field(default="", compare=False)

    def __str__(self) -> str:
        lines = [
            SEEDED(name, len(counterexample.schedule), self.seeds[name])
            for name, counterexample in self.counterexamples.items()
        ]
        why = f"; {self.ended}" if self.ended else ""
        lines.append(WALKED(self.walks, self.steps, self.budget.text, why))
        return "\n".join(map(str, lines))


def swarm(system: System, budget: Budget, seeds: Sequence[int]) -> Swarm:
    """A walk for each seed. Claims of the kind *always* are looked at in every world; of each
    that breaks, the execution of the first seed is shrunk. Ctrl-C keeps what was found.

    ValueError for a system whose messages are a set: several of its choices may be one.
    """
    walker, walked, ended = Walker(system, budget), Walked(), ""
    try:
        for seed in seeds:
            walked.add(seed, *walker.walk(seed))
    except KeyboardInterrupt:
        ended = str(tr("it was interrupted"))
    return tell_walks(system, budget, walked, ended)


@dataclass
class Walked:
    """Some walks. `broken`: by a claim's place among those of the kind *always*, the smallest seed
    whose walk breaks it, and that walk. `steps`: of all walks together."""

    walks: int = 0
    steps: int = 0
    broken: dict[int, tuple[int, tuple[str, ...]]] = field(default_factory=dict)

    def add(self, seed: int, schedule: tuple[str, ...], news: int) -> None:
        """A walk; `news` has a bit for each claim that breaks at its end."""
        self.walks += 1
        self.steps += len(schedule)
        for place in range(news.bit_length()):
            if news & 1 << place:
                self._keep(place, (seed, schedule))

    def join(self, other: Walked) -> None:
        """The walks of other seeds as well."""
        self.walks += other.walks
        self.steps += other.steps
        for place, walk in other.broken.items():
            self._keep(place, walk)

    def _keep(self, place: int, walk: tuple[int, tuple[str, ...]]) -> None:
        self.broken[place] = min(walk, self.broken.get(place, walk))


def claims_of(system: System) -> tuple[Property, ...]:
    """Those that walks look at."""
    return tuple(prop for prop in system.properties() if prop.kind == "always")


def tell_walks(system: System, budget: Budget, walked: Walked, ended: str = "") -> Swarm:
    """What some walks have found, shrunk."""
    examples, first = {}, {}
    for place, (seed, schedule) in sorted(walked.broken.items()):
        claim = claims_of(system)[place]
        short = shrink(system, claim, schedule)
        examples[claim.name] = Counterexample(system, claim.name, short, claim)
        first[claim.name] = seed
    return Swarm(walked.walks, walked.steps, examples, first, budget, ended)


class Walker:
    """Takes walks through one system; what was worked out for one is there for the next."""

    def __init__(self, system: System, budget: Budget) -> None:
        if system.network == "set":
            raise BadValue("--swarm needs a system with queues; the messages of this one are a set")
        self._search = search = Search(system, budget, claims_of(system), many=None)
        self._first = search.fields.pack(search.first_world())
        self._options: list[dict[int, list[Stop]]] = [{} for _ in search.moves.places]

    def walk(self, seed: int) -> tuple[tuple[str, ...], int]:
        """Walk at random, with choices drawn by `seed`, until a claim breaks, nothing is possible,
        or LONGEST choices are made. Returns the choices, and an integer with a bit for each claim
        that breaks in the last world (0: none)."""
        draw, world, search = Random(seed), self._first, self._search
        places, news = search.moves.places, 0
        schedule: list[int] = []
        while not news and len(schedule) < LONGEST:
            options = []
            for place, known in zip(places, self._options, strict=True):
                key = world & place.mask
                here = known.get(key)
                if here is None:
                    here = known[key] = self._sorted(place[key].steps, place[key].stops)
                options += here
            if not options:
                break
            added, choice, peers = options[draw.randrange(len(options))]
            for peer in peers:  # a client of a node that stops: what noticing it adds
                added += peer[world & peer.mask]
            world += added
            schedule.append(choice)
            # by what the claims read of the world's nodes, which has bits of its own in `world`
            news = search.judge[world & search.fields.parts]
        return tuple(str(search.moves.choices[choice]) for choice in schedule), news

    def _sorted(self, steps: Sequence[tuple[int, int]], stops: Sequence[Stop]) -> list[Stop]:
        """A place's choices in the order of their names."""
        names = self._search.moves.choices
        every = [*((added, choice, ()) for added, choice in steps), *stops]
        return sorted(every, key=lambda option: str(names[option[1]]))


def shrink(system: System, claim: Property, schedule: Sequence[str]) -> tuple[str, ...]:
    """Shorten a schedule that leads to a world which breaks the claim: leave out parts of it, large
    ones first, down to single choices, and repeat until no choice can be left out. Choices that are
    then no longer possible, or come after the claim is broken, are left out as well."""
    short: tuple[str, ...] = tuple(schedule)
    before: tuple[str, ...] = ()
    while short != before:
        before, size = short, len(short)
        while size:
            at = 0
            while at < len(short):
                # None: without these choices the claim is not broken
                shorter = _breaks(system, claim, (*short[:at], *short[at + size :]))
                if shorter is None:
                    at += size
                else:
                    short = shorter
            size //= 2
    return short


def _breaks(system: System, claim: Property, schedule: Sequence[str]) -> tuple[str, ...] | None:
    """The schedule up to the world in which the claim breaks, without the choices that are not
    possible where they are; None where it does not break."""
    world, done = initial(system), []
    for choice in schedule:
        try:
            world = apply(system, world, parse(choice))[-1].world
        except ValueError:
            continue
        done.append(choice)
        if not claim.holds(world):
            return tuple(done)
    return None


# ---- A search drawn as it grows: a few of its worlds, as a tree by depth -------------
#
# Nothing is kept for it while the search runs. Worlds are numbered as they are found, so those of
# one depth are together, and the children of an earlier world before those of a later one: a
# tree drawn in this order has no two edges that cross.

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
    """Choose about `most` worlds of a search, to draw it as it grows: taken in turn from all its
    levels, the last level first, with the paths to them and to the worlds that refute or reach a
    claim, which come on top. The same search gives the same sample; as it goes on, fewer are left
    of each level."""
    starts = [start for start in search.starts if start < search.states]
    levels = list(pairwise([*starts, search.states]))
    by_claim = search.tell_worlds()
    worlds: dict[int, Drawn] = {}

    def add(number: int) -> None:
        """Add a world, and those on its path from the start that are not in the sample yet."""
        while number not in worlds:
            parent, choice = search.step_to(number)
            depth = bisect(starts, number) - 1
            worlds[number] = Drawn(number, parent, depth, number - starts[depth], choice)
            number = parent

    for number in by_claim.values():
        add(number)
    limit = most + len(worlds)
    # a round has one world of each level; _spread gives those of a level, far apart
    rounds = zip_longest(*(_spread(*level) for level in reversed(levels)))
    for number in chain.from_iterable(rounds):
        if len(worlds) >= limit:
            break
        if number is not None:  # None: a level that has no further world for this round
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
