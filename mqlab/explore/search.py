"""Breadth first over every choice, so the first violation found is a shortest one."""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Callable, Iterator
from itertools import islice

from ..kernel.system import Property, System
from ..kernel.world import initial
from .budget import Budget
from .judge import Judge
from .memory import resident
from .moves import Heard, Moves
from .packed import Fields
from .verdict import Counterexample, Verdict

EVERY = 2_000  # states between two looks at the clock


def explore(
    system: System,
    budget: Budget = Budget(),
    properties: tuple[Property, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Search a system. `progress(states, depth)` is called now and then.

    Ctrl-C ends the search early; what was found until then is kept.
    """
    search = Search(system, budget, properties)
    try:
        while search.advance():
            if progress is not None:
                progress(search.states, search.depth)
    except KeyboardInterrupt:
        search.stop()
    return search.verdict()


class Search:
    """A search that can be advanced in slices, looked at and stopped.

    Worlds are numbered as they are found, so those of one depth have consecutive numbers
    and a world's parent a smaller one.
    """

    def __init__(
        self,
        system: System,
        budget: Budget = Budget(),
        properties: tuple[Property, ...] | None = None,
    ) -> None:
        self.system, self.budget = system, budget
        self.properties = system.properties() if properties is None else properties
        names = dict.fromkeys(
            name for spec in system.nodes() for name in budget.counters(spec.name).values()
        )
        counters = {name: budget.first(name) for name in names}
        self._judge = Judge(self.properties)
        self.fields = self._judge.fields = Fields(system, self._judge.read, counters)
        self.moves = Moves(system, budget, self.fields)
        self.levels: list[int] = []  # worlds by depth, as far as the search is through
        self.starts = [0]  # the first world of each depth, also of the one that is being found
        self.transitions = 0
        self.seconds = 0.0
        self.complete = False
        self.found: dict[int, int] = {}  # property → the first world that is news
        self._index: dict[int, int] = {}
        self._parents = array("I")
        self._choices = array("I")
        self._at = 0  # the world whose choices are being looked at
        self._awaited = (1 << len(self.properties)) - 1
        self._lasting = any(p.kind == "can_always" for p in self.properties)
        self._news, self._edges, self._ends = array("Q"), array("I"), array("Q")
        self._stuck_at: dict[int, int | None] = {}
        self._resident = resident()
        self._running: Iterator[None] | None = self._levels()

    @property
    def states(self) -> int:
        return len(self._parents)

    @property
    def depth(self) -> int:
        return len(self.levels)

    def worlds(self) -> Iterator[int]:
        """All worlds found so far, in the order of their numbers (`fields.unpack` opens one)."""
        return islice(self._index, self.states)

    def advance(self, seconds: float = 0.5) -> bool:
        """Go on for about so long; whether there is more to do."""
        if self._running is None:
            return False
        started = time.perf_counter()
        collecting = gc.isenabled()
        gc.disable()  # Nothing here makes cycles, and the collector would walk everything.
        try:
            for _ in self._running:
                if time.perf_counter() - started >= seconds:
                    return True
            self._running = None
            return False
        finally:
            self.seconds += time.perf_counter() - started
            if collecting:
                gc.enable()

    def stop(self) -> None:
        """Look no further; what was found stays."""
        self._running = None

    def _levels(self) -> Iterator[None]:
        frontier = [self.fields.pack(initial(self.system))]
        self._index[frontier[0]] = 0
        self._add(frontier[0], 0, 0)
        while frontier:
            self.starts.append(self.states)
            following: list[int] = []
            try:
                yield from self._level(frontier, following)
            except _Full:
                return
            except Exception as error:
                done = "; ".join(self.schedule(self._at)) or "the start"
                error.add_note(f"raised while every choice was looked at after: {done}")
                raise
            self.levels.append(len(frontier))
            frontier = following
            if self._all_refuted():
                return
        self.complete = True

    def _level(self, frontier: list[int], following: list[int]) -> Iterator[None]:
        """All worlds one choice further. Every line of the inner loop is paid for a million
        times; so what it needs is in local variables, and it does nothing that could have
        been worked out once in a `Place`."""
        places, add, edges = self.moves.places, self._add, self._edges
        known, later = self._index.setdefault, following.append
        lasting, count = self._lasting, self.states
        for me, world in enumerate(frontier, count - len(frontier)):
            self._at = me
            for place in places:
                group = place[world & place.mask]
                self.transitions += group.count
                moves = group.steps
                if group.stops:
                    moves = (*moves, *_noticed(world, group.stops))
                for added, choice in moves:
                    new = world + added
                    at = known(new, count)
                    if at == count:
                        add(new, me, choice)
                        later(new)
                        count += 1
                    if lasting:
                        edges.append(at)
            if lasting:
                self._ends.append(len(edges))
            if not me % EVERY:
                yield

    def _add(self, world: int, parent: int, choice: int) -> None:
        """A world that was not met before gets the next number."""
        number = len(self._parents)
        if number >= self.budget.states:
            raise _Full
        self._parents.append(parent)
        self._choices.append(choice)
        news = self._judge[world & self.fields.parts]
        if self._lasting:
            self._news.append(news)
        if news & self._awaited:
            for i in range(len(self.properties)):
                if news & self._awaited & 1 << i:
                    self.found[i] = number
                    self._awaited ^= 1 << i

    def _all_refuted(self) -> bool:
        """Every claim is refuted: there is nothing left to look for."""
        kinds = {prop.kind for prop in self.properties}
        return kinds == {"always"} and not self._awaited

    # -- the verdict ---------------------------------------------------------------------

    def tell_worlds(self) -> dict[str, int]:
        """By claim: the first world that refutes it, or in which what must be reachable is."""
        out = {}
        for i, prop in enumerate(self.properties):
            at = self.found.get(i)
            if prop.kind == "can_always":
                at = self._first_stuck(i) if self.complete else None
            if at is not None:
                out[prop.name] = at
        return out

    def verdict(self) -> Verdict:
        """What was found so far."""
        examples, missing, told = {}, [], self.tell_worlds()
        for prop in self.properties:
            at = told.get(prop.name)
            if prop.kind != "sometimes" and at is not None:
                schedule = self.schedule(at)
                examples[prop.name] = Counterexample(self.system, prop.name, schedule, prop)
            if prop.kind == "sometimes" and at is None and self.complete:
                missing.append(prop.name)
        return Verdict(
            self.system,
            self.budget,
            self.states,
            self.transitions,
            self.complete,
            examples,
            tuple(missing),
            self.seconds,
            max(0, resident() - self._resident),
        )

    def _first_stuck(self, place: int) -> int | None:
        """Worked out once, when the search is complete."""
        if place not in self._stuck_at:
            self._stuck_at[place] = self._stuck(1 << place)
        return self._stuck_at[place]

    def _stuck(self, bit: int) -> int | None:
        """The first world from which none of the good ones can be reached. From the last
        world to the first, and again while that helps: most edges lead to later worlds, so a
        few rounds do, and nothing has to be kept but the edges as they were found."""
        good = bytearray(bool(news & bit) for news in self._news)
        doubtful = [world for world in range(self.states) if not good[world]]
        while True:
            rest = []
            for world in reversed(doubtful):
                start = self._ends[world - 1] if world else 0
                good[world] = any(good[to] for to in self._edges[start : self._ends[world]])
                if not good[world]:
                    rest.append(world)
            rest.reverse()
            if len(rest) == len(doubtful):
                return rest[0] if rest else None
            doubtful = rest

    def choices(self, place: int) -> int | None:
        """In how many choices the property at this place was first news; None: not yet."""
        at = self.found.get(place)
        return None if at is None else len(self.schedule(at))

    def schedule(self, at: int) -> tuple[str, ...]:
        """A shortest way to the world with this number."""
        schedule = []
        while at:
            at, choice = self.step_to(at)
            schedule.append(choice)
        return tuple(reversed(schedule))

    def step_to(self, world: int) -> tuple[int, str]:
        """The world before the one with this number, and the choice that leads from there to
        it; of the first world itself and no choice."""
        choice = self.moves.choices[self._choices[world]] if world else ""
        return self._parents[world], str(choice)


class _Full(Exception):
    """There are more worlds than the budget wants to look at."""


def _noticed(world: int, stops: tuple[Heard, ...]) -> Iterator[tuple[int, int]]:
    """The stops of a node, each with what its clients' hearing of it adds."""
    for added, choice, hearers in stops:
        for hearer in hearers:
            added += hearer[world & hearer.mask]
        yield added, choice
