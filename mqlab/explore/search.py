"""Breadth first over every choice, so the first violation found is a shortest one."""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..kernel.choice import parse
from ..kernel.moves import apply, initial
from ..kernel.system import Property, System
from ..kernel.world import World
from .budget import Budget, Full
from .judge import Judge
from .memory import resident
from .moves import Heard, Moves
from .packed import Fields
from .verdict import Counterexample, Verdict

if TYPE_CHECKING:
    from .levels import Levels
    from .shelf import Shelf

MANY = 5_000  # worlds from which it goes on by arrays, where numpy is there
#: what takes a search over: by arrays in memory, on disk, or on other machines
Further = Callable[["Search"], "Levels | None"]
EVERY = 2_000  # states between two looks at the clock
SLICE = 0.1  # seconds between two looks at the memory


def explore(
    system: System,
    budget: Budget = Budget(),
    properties: tuple[Property, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
    memory: int | None = None,
    shelf: Shelf | None = None,
    further: Further | None = None,
) -> Verdict:
    """Search a system. `progress(states, depth)` is called now and then. `shelf`: where finished
    levels are kept on disk, and where a search goes on that has some there (it needs numpy).
    `further`: what goes on with it once there are many worlds.

    Ctrl-C ends the search early, and so does its memory when it has grown by `memory` bytes;
    what was found until then is kept.
    """
    search = Search(system, budget, properties, shelf=shelf, further=further)
    return finish(search, progress, memory)


def finish(
    search: Search,
    progress: Callable[[int, int], None] | None = None,
    memory: int | None = None,
) -> Verdict:
    """Go on with a search to its end, as `explore` does."""
    try:
        while search.advance(SLICE):
            if progress is not None:
                progress(search.states, search.depth)
            if memory is not None and search.memory > memory:
                search.stop(f"it has taken {memory // 1_000_000:,} MB of memory")
    except KeyboardInterrupt:
        search.stop("it was interrupted")
    return search.verdict()


class Search:
    """A search that can be advanced in slices, looked at and stopped.

    Worlds are numbered as they are found, so those of one depth have consecutive numbers
    and a world's parent a smaller one. It begins after the choices `start`, which are not counted
    and cost nothing of the budget.
    """

    def __init__(
        self,
        system: System,
        budget: Budget = Budget(),
        properties: tuple[Property, ...] | None = None,
        start: tuple[str, ...] = (),
        many: int | None = MANY,
        shelf: Shelf | None = None,
        further: Further | None = None,
    ) -> None:
        self.system, self.budget, self.start = system, budget, start
        self.properties = system.properties() if properties is None else properties
        names = dict.fromkeys(
            name for spec in system.nodes() for name in budget.counters(spec.name).values()
        )
        counters = {name: budget.first(name) for name in names}
        self.judge = Judge(self.properties)
        self.fields = self.judge.fields = Fields(system, self.judge.read, counters)
        self.moves = Moves(system, budget, self.fields)
        self.levels: list[int] = []  # worlds by depth, as far as the search is through
        self.starts = [0]  # the first world of each depth, also of the one that is being found
        self.transitions = 0
        self.seconds = 0.0
        self.complete = False
        self.ended = ""  # why, where it is not complete
        self.found: dict[int, int] = {}  # property → the first world that is news
        self.index: dict[int, int] = {}
        self.parents: Any = array("I")
        self.chosen: Any = array("I")
        self._frontier: list[int] = []
        self._taken: Levels | None = None  # the search by arrays, from `many` worlds on
        self._many = many if shelf is None else 1
        self._further = further or partial(take_over, shelf=shelf)
        self.at = 0  # the world whose choices are being looked at
        self.awaited = (1 << len(self.properties)) - 1
        self.lasting = any(p.kind == "can_always" for p in self.properties)
        self.news: Any = array("Q")  # only where something must stay reachable:
        self.edges: Any = array("I")  # the worlds each world leads to, in its order,
        self.ends: Any = array("Q")  # and where those of each world end
        self._stuck_at: dict[int, int | None] = {}
        self._resident = resident()
        self._running: Iterator[None] | None = self._levels()

    @property
    def states(self) -> int:
        return len(self.parents)

    @property
    def by_arrays(self) -> bool:
        """Whether it goes on by arrays (`levels.py`) by now."""
        return self._taken is not None

    @property
    def depth(self) -> int:
        return len(self.levels)

    def worlds(self) -> Iterator[int]:
        """All worlds found so far, in the order of their numbers (`fields.unpack` opens one)."""
        return islice(self.index if self._taken is None else self._taken.worlds(), self.states)

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

    def stop(self, why: str = "") -> None:
        """Look no further; what was found stays."""
        self._running, self.ended = None, why

    @property
    def memory(self) -> int:
        """Bytes by which this process has grown since the search began."""
        return max(0, resident() - self._resident)

    def first_world(self) -> World:
        """Where it begins: after the choices `start`."""
        world = initial(self.system)
        for choice in self.start:
            world = apply(self.system, world, parse(choice))[-1].world
        return world

    def _levels(self) -> Iterator[None]:
        first = self.fields.pack(self.first_world())
        self.index[first] = 0
        self._frontier = [first]
        self._add(first, 0, 0)
        while True:
            if self._many is not None and self.states >= self._many:
                self._taken, self._many = self._further(self), None
            if self.states == self.starts[-1]:
                self.complete = True
                return
            level = self._level if self._taken is None else self._taken.level
            size = self.states - self.starts[-1]
            self.starts.append(self.states)
            try:
                yield from level()
            except Full as full:
                self.ended = str(full) or f"{self.budget.states:,} states were the bound"
                return
            except Exception as error:
                done = "; ".join((*self.start, *self.schedule(self.at))) or "the start"
                error.add_note(f"raised while every choice was looked at after: {done}")
                raise
            self.levels.append(size)
            if self._all_refuted():
                return

    def _level(self) -> Iterator[None]:
        """All worlds one choice further. Every line of the inner loop is paid for a million
        times; so what it needs is in local variables, and it does nothing that could have
        been worked out once in a `Place`."""
        frontier = self._frontier
        following: list[int] = []
        places, add, edges = self.moves.places, self._add, self.edges
        known, later = self.index.setdefault, following.append
        lasting, count = self.lasting, self.states
        pause = count + EVERY
        for me, world in enumerate(frontier, count - len(frontier)):
            self.at = me
            for place in places:
                group = place[world & place.mask]
                self.transitions += group.count
                moves = group.steps
                if group.stops:
                    moves = (*moves, *noticed(world, group.stops))
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
                self.ends.append(len(edges))
            if count >= pause or not me % EVERY:
                pause = count + EVERY
                yield
        self._frontier = following

    def _add(self, world: int, parent: int, choice: int) -> None:
        """A world that was not met before gets the next number."""
        number = len(self.parents)
        if number >= self.budget.states:
            raise Full
        self.parents.append(parent)
        self.chosen.append(choice)
        news = self.judge[world & self.fields.parts]
        if self.lasting:
            self.news.append(news)
        if news & self.awaited:
            for i in range(len(self.properties)):
                if news & self.awaited & 1 << i:
                    self.tell(i, number)

    def tell(self, place: int, world: int) -> None:
        """The property at this place is news in this world, and was in none before."""
        self.found[place] = world
        self.awaited ^= 1 << place

    def _all_refuted(self) -> bool:
        """Every claim is refuted: there is nothing left to look for."""
        kinds = {prop.kind for prop in self.properties}
        return kinds == {"always"} and not self.awaited

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
        examples, missing, worlds = {}, [], self.tell_worlds()
        for prop in self.properties:
            at = worlds.get(prop.name)
            if prop.kind != "sometimes" and at is not None:
                schedule = (*self.start, *self.schedule(at))
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
            self.memory,
            self.ended,
        )

    def _first_stuck(self, place: int) -> int | None:
        """Worked out once, when the search is complete."""
        if place not in self._stuck_at:
            find = self._stuck if self._taken is None else self._taken.stuck
            self._stuck_at[place] = find(1 << place)
        return self._stuck_at[place]

    def _stuck(self, bit: int) -> int | None:
        """The first world from which none of the good ones can be reached. From the last
        world to the first, and again while that helps: most edges lead to later worlds, so a
        few rounds do, and nothing has to be kept but the edges as they were found."""
        good = bytearray(bool(news & bit) for news in self.news)
        doubtful = [world for world in range(self.states) if not good[world]]
        while True:
            rest = []
            for world in reversed(doubtful):
                start = self.ends[world - 1] if world else 0
                good[world] = any(good[to] for to in self.edges[start : self.ends[world]])
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
        """A shortest way to the world with this number, from where the search began."""
        schedule = []
        while at:
            at, choice = self.step_to(at)
            schedule.append(choice)
        return tuple(reversed(schedule))

    def step_to(self, world: int) -> tuple[int, str]:
        """The world before the one with this number, and the choice that leads from there to
        it; of the first world itself and no choice."""
        choice = self.moves.choices[self.chosen[world]] if world else ""
        return self.parents[world], str(choice)


def take_over(search: Search, shelf: Shelf | None) -> Levels | None:
    """The search by arrays, where numpy is installed."""
    try:
        from .levels import Levels
        from .shelved import ShelvedLevels
    except ModuleNotFoundError as missing:
        if missing.name != "numpy" or shelf is not None:
            raise
        return None
    return Levels(search) if shelf is None else ShelvedLevels(search, shelf)


def noticed(world: int, stops: tuple[Heard, ...]) -> Iterator[tuple[int, int]]:
    """The stops of a node, each with what its clients' hearing of it adds."""
    for added, choice, hearers in stops:
        for hearer in hearers:
            added += hearer[world & hearer.mask]
        yield added, choice
