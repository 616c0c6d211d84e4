"""What a search knows: the worlds that were found, how each was reached, and what is news there.

Worlds are numbered as they are found, so those of one depth have consecutive numbers and a world's
parent a smaller one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from ..kernel.choice import parse
from ..kernel.moves import apply, initial
from ..kernel.system import Property, System
from ..kernel.world import World
from .budget import Budget, Full, resident
from .judge import Judge
from .moves import Moves
from .packed import Fields
from .verdict import Counterexample, Verdict


class Onward(Protocol):
    """What goes on with a search: by arrays in memory, on disk, or on other machines."""

    def level(self) -> Iterator[None]:
        """All worlds one choice further."""

    def worlds(self) -> Iterator[int]:
        """All worlds, in the order of their numbers."""

    def stuck(self, bit: int) -> int | None:
        """The first world from which none with this bit of news can be reached."""


class Known:
    """The worlds of a search after the choices `start`, and the verdict over them."""

    def __init__(
        self,
        system: System,
        budget: Budget,
        properties: tuple[Property, ...] | None,
        start: tuple[str, ...],
    ) -> None:
        """Prepare a search that begins after the choices `start`: nothing is found yet.
        `properties` None: those of the system. A world is kept as one integer (see `packed.py`) and
        named by its number, in the sequence in which worlds are found. A world is news for an
        *always* property that it breaks, and for any other property that holds in it."""
        self.system, self.budget, self.start = system, budget, start
        self.properties = system.properties() if properties is None else properties
        # the names of the counters that hold what was spent of the budget, such as kills so far
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
        self.found: dict[int, int] = {}  # place of a property → the first world that is news for it
        self.index: dict[int, int] = {}  # world → its number
        self.parents: Any = array("I")  # of each world: the number of the one it was found from
        self.chosen: Any = array("I")  # and the number of the choice that leads from there to it
        self.frontier: list[int] = []  # the worlds of the last complete level
        self._taken: Onward | None = None  # the search by arrays; None while there are few worlds
        self.at = 0  # the world whose choices are being looked at
        self.awaited = (1 << len(self.properties)) - 1  # a bit for each property without news yet
        # whether something must stay reachable; only then the next three are filled
        self.lasting = any(p.kind == "can_always" for p in self.properties)
        self.news: Any = array("Q")  # of each world: a bit for each property that is news in it,
        self.edges: Any = array("I")  # the worlds each world leads to, in its order,
        self.ends: Any = array("Q")  # and where those of each world end
        # place of a *can always* property → its counterexample (None: it has none), once looked for
        self._stuck_at: dict[int, int | None] = {}
        self._resident = resident()  # the process's memory at the start, in bytes

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

    def _add(self, world: int, parent: int, choice: int) -> None:
        """A world that was not met before gets the next number, and its properties are judged. Full
        where the bound on states is reached. `parent`, `choice`: the numbers of the world it was
        found from and of the choice that leads from there to it."""
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
        """The result so far: a counterexample for each property that is refuted and, once the
        search is complete, the *sometimes* properties that hold nowhere."""
        # `worlds`, by property: the first world that refutes it or, of *sometimes*, that fulfils it
        examples, missing, worlds = {}, [], self.tell_worlds()
        for prop in self.properties:
            first_world = worlds.get(prop.name)
            if prop.kind != "sometimes" and first_world is not None:
                schedule = (*self.start, *self.schedule(first_world))
                examples[prop.name] = Counterexample(self.system, prop.name, schedule, prop)
            if prop.kind == "sometimes" and first_world is None and self.complete:
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
        """Find the counterexample to a *can always* property: the first world from which no good
        world (one with this `bit` of news) can be reached; None: there is none. Good worlds are
        spread backwards along the edges, from the last world to the first, again and again until
        nothing changes: most edges lead to later worlds, so a few rounds do."""
        good = bytearray(bool(news & bit) for news in self.news)
        doubtful = [world for world in range(self.states) if not good[world]]
        while True:
            still_doubtful = []
            for world in reversed(doubtful):
                # the edges of all worlds are in one array, those of each world end at its `ends`
                first_edge = self.ends[world - 1] if world else 0
                good[world] = any(good[to] for to in self.edges[first_edge : self.ends[world]])
                if not good[world]:
                    still_doubtful.append(world)
            still_doubtful.reverse()
            if len(still_doubtful) == len(doubtful):
                return still_doubtful[0] if still_doubtful else None
            doubtful = still_doubtful

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
