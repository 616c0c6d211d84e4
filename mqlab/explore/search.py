"""Breadth first over every choice, so the first violation found is a shortest one."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from ..kernel.system import Property, System
from ..kernel.text import Words, tr
from .budget import Budget, Full
from .known import Known, Onward
from .moves import Stop
from .verdict import Verdict

if TYPE_CHECKING:
    from .shelf import Shelf

MANY = 5_000  # worlds from which it goes on by arrays, where numpy is there
#: what takes a search over: by arrays in memory, on disk, or on other machines
Further = Callable[["Search"], Onward | None]
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
    """Search all executions of a system within the bounds of `budget`, breadth first, for worlds
    that refute its properties. Returns the verdict.

    `properties` None: those of the system. `progress(states, depth)` is called now and then.
    `shelf`: a folder that keeps finished levels on disk, and from which a search goes on (it needs
    numpy). `further`: makes the search by arrays, which takes over once there are many worlds.
    Ctrl-C ends the search early, and so does its memory when it has grown by `memory` bytes; what
    was found until then is kept.
    """
    search = Search(system, budget, properties, shelf=shelf, further=further)
    return finish(search, progress, memory)


def finish(
    search: Search, progress: Callable[[int, int], None] | None = None, memory: int | None = None
) -> Verdict:
    """Go on with a search to its end, as `explore` does."""
    try:
        while search.advance(SLICE):
            if progress is not None:
                progress(search.states, search.depth)
            if memory is not None and search.memory > memory:
                search.stop(f"it has taken {memory // 1_000_000:,} MB of memory")
    except KeyboardInterrupt:
        search.stop(str(tr("it was interrupted")))
    return search.verdict()


BOUND = Words("the bound was {:,} states")


class Search(Known):
    """A search that can be advanced in slices, looked at and stopped. It begins after the choices
    `start`, which are not counted and cost nothing of the budget."""

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
        super().__init__(system, budget, properties, start)
        self._many = many if shelf is None else 1
        self._further = further or partial(take_over, shelf=shelf)
        self._running: Iterator[None] | None = self._levels()

    def advance(self, seconds: float = 0.5) -> bool:
        """Continue the search for about this many seconds; returns whether there is more to do."""
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

    def _levels(self) -> Iterator[None]:
        """Search breadth first, level by level, until there is nothing new, a bound is reached, or
        all properties are *always* ones and refuted. Yields now and then so that the caller may
        stop. Once there are many worlds, the levels are computed in arrays."""
        first = self.fields.pack(self.first_world())
        self.index[first] = 0
        self.frontier = [first]
        self._add(first, parent=0, choice=0)  # world 0, its own parent
        while True:
            # _many: from how many worlds on arrays are used; None: they are already, or never.
            # _further: makes the object that computes the further levels
            if self._many is not None and self.states >= self._many:
                self._taken, self._many = self._further(self), None
            if self.states == self.starts[-1]:  # the last level has no world
                self.complete = True
                return
            level = self._level if self._taken is None else self._taken.level
            level_size = self.states - self.starts[-1]
            self.starts.append(self.states)
            try:
                yield from level()
            except Full as full:
                self.ended = str(full) or str(BOUND(self.budget.states))
                return
            except Exception as error:  # a role's or a property's own (`at`: the world expanded)
                schedule = "; ".join((*self.start, *self.schedule(self.at))) or "the start"
                error.add_note(f"raised while every choice was looked at after: {schedule}")
                raise
            self.levels.append(level_size)
            if self._all_refuted():
                return

    def _level(self) -> Iterator[None]:
        """Find all worlds one choice further: expand each world of the frontier at each place,
        which is a node with its choices. A world is one int, with a field of bits for each node and
        each link; a choice adds a number to it. The inner loop runs a million times: what it needs
        is in local variables (`count` runs along with self.states, which `_add` raises), and what
        can be worked out once is in a `Place`. Yields nothing, now and then, so that the caller may
        stop in between."""
        frontier = self.frontier
        following: list[int] = []
        places, add, edges = self.moves.places, self._add, self.edges
        number_of, add_following = self.index.setdefault, following.append
        # `lasting`: a *can always* property is judged at the end, from all edges between worlds
        lasting, count = self.lasting, self.states
        pause = count + EVERY
        for parent, world in enumerate(frontier, count - len(frontier)):
            self.at = parent  # so that an error of a handler can say which world it was in
            for place in places:
                # all choices that the node has in this neighbourhood: its own state and its links
                group = place[world & place.mask]
                self.transitions += group.count
                moves = group.steps
                # where the node stops its clients notice: what that adds depends on their state too
                if group.stops:
                    moves = (*moves, *noticed(world, group.stops))
                for added, choice in moves:
                    new = world + added
                    # the number of the world, or `count`, the next free one, if it is new
                    number = number_of(new, count)
                    if number == count:
                        add(new, parent, choice)
                        add_following(new)
                        count += 1
                    if lasting:
                        edges.append(number)
            if lasting:  # where the edges of this world end in `edges`
                self.ends.append(len(edges))
            if count >= pause or not parent % EVERY:
                pause = count + EVERY
                yield
        self.frontier = following


def take_over(search: Search, shelf: Shelf | None) -> Onward | None:
    """The search by arrays, where numpy is installed."""
    try:
        from .levels import Levels
        from .shelved import ShelvedLevels
    except ModuleNotFoundError as missing:
        if missing.name != "numpy" or shelf is not None:
            raise
        return None
    return Levels(search) if shelf is None else ShelvedLevels(search, shelf)


def noticed(world: int, stops: tuple[Stop, ...]) -> Iterator[tuple[int, int]]:
    """The stops of a node: what each adds to the world, its peers' broken connections included, and
    the number of its choice."""
    for added, choice, peers in stops:
        for peer in peers:
            added += peer[world & peer.mask]
        yield added, choice
