"""Breadth first over every choice, so the first violation found is a shortest one."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..kernel.choice import Choice
from ..kernel.run import replay
from ..kernel.system import Property, System
from ..kernel.trace import Trace
from ..kernel.world import apply, initial
from .budget import Budget
from .intern import Interned, Ints, Spent, Table

Step = tuple[Ints, Choice]


@dataclass(frozen=True)
class Counterexample:
    """A shortest schedule that breaks a property; `trace()` is that run."""

    system: System
    property: str
    schedule: tuple[str, ...]

    def trace(self) -> Trace:
        return replay(self.system, self.schedule)


@dataclass(frozen=True)
class Verdict:
    """What a search found, with its bounds. `complete`: every schedule within the budget
    was looked at. `seconds` is left out of comparisons: it is never the same twice."""

    system: System
    budget: Budget
    states: int
    transitions: int
    complete: bool
    counterexamples: dict[str, Counterexample]
    missing: tuple[str, ...]
    seconds: float = field(compare=False)

    @property
    def ok(self) -> bool:
        return not self.counterexamples and not self.missing

    def __str__(self) -> str:
        within = f"{self.states:,} states, {self.transitions:,} transitions ({self.budget})"
        lines = [
            f"violated: {name}, in {len(found.schedule)} choices"
            for name, found in self.counterexamples.items()
        ]
        lines += [f"never reached: {name}" for name in self.missing]
        if not self.complete:
            return "\n".join([*lines, f"not exhaustive: {within}"])
        return "\n".join([*lines, f"complete within {within}"])


def explore(
    system: System,
    budget: Budget = Budget(),
    properties: tuple[Property, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Search a system. `progress(states, depth)` is called now and then.

    Ctrl-C ends the search early; what was found until then is kept.
    """
    search = _Search(system, budget, system.properties() if properties is None else properties)
    started = time.perf_counter()
    collecting = gc.isenabled()
    gc.disable()  # Nothing here makes cycles, and the collector would walk every state.
    try:
        complete = search.run(progress)
    except KeyboardInterrupt:
        complete = False
    finally:
        if collecting:
            gc.enable()
    return search.verdict(complete, time.perf_counter() - started)


class _Search:
    def __init__(self, system: System, budget: Budget, properties: tuple[Property, ...]) -> None:
        self.system, self.budget = system, budget
        self.interned = Interned(system)
        self.always = [p for p in properties if p.kind == "always"]
        self.sometimes = [p for p in properties if p.kind == "sometimes"]
        self.can_always = [p for p in properties if p.kind == "can_always"]
        self.index: dict[Ints, int] = {}
        self.parents: list[tuple[int, Choice | None]] = []
        self.before: list[list[int]] = []
        self.good: dict[str, list[int]] = {p.name: [] for p in self.can_always}
        self.transitions = 0
        self.broken: dict[str, int] = {}
        self.reached: set[str] = set()
        self._held: dict[tuple[str, Ints], bool] = {}
        self._parts = Table()
        self._part: dict[tuple[object, int, int], int] = {}
        self._spending: dict[tuple[int, int], int] = {}

    def run(self, progress: Callable[[int, int], None] | None) -> bool:
        frontier = [self.interned.pack(initial(self.system), (0, 0, 0, 0))]
        self._add(frontier[0], -1, None)
        depth = 0
        while frontier:
            following: list[Ints] = []
            for state in frontier:
                me = self.index[state]
                for new, choice in self._successors(state):
                    self.transitions += 1
                    if new not in self.index:
                        if len(self.index) >= self.budget.states:
                            return False
                        self._add(new, me, choice)
                        following.append(new)
                    if self.can_always:
                        self.before[self.index[new]].append(me)
            frontier, depth = following, depth + 1
            if progress is not None:
                progress(len(self.index), depth)
            if self._done():
                return False
        return True

    def _done(self) -> bool:
        """Every claim is refuted: there is nothing left to look for."""
        return (
            bool(self.always)
            and len(self.broken) == len(self.always)
            and not self.sometimes
            and not self.can_always
        )

    def _add(self, state: Ints, parent: int, choice: Choice | None) -> None:
        me = self.index[state] = len(self.index)
        self.parents.append((parent, choice))
        if self.can_always:
            self.before.append([])
        for prop in self.always:
            if prop.name not in self.broken and not self._holds(prop, state):
                self.broken[prop.name] = me
        for prop in self.sometimes:
            if prop.name not in self.reached and self._holds(prop, state):
                self.reached.add(prop.name)
        for prop in self.can_always:
            if self._holds(prop, state):
                self.good[prop.name].append(me)

    def _holds(self, prop: Property, state: Ints) -> bool:
        """Remembered by the parts of the nodes that the property reads."""
        places = range(self.interned.first_wire - 1)
        key = (prop.name, tuple([self._reads(prop, place, state[place]) for place in places]))
        held = self._held.get(key)
        if held is None:
            held = prop.holds(self.interned.unpack(state, wires=False))
            self._held[key] = held
        return held

    def _reads(self, prop: Property, place: int, node: int) -> int:
        """A number for the part of a node that a property reads."""
        key = (prop.reads, place, node)
        part = self._part.get(key)
        if part is None:
            value = self.interned.node_values.values[node]
            part = self._parts.id((place, prop.reads(self.interned.names[place], value)))
            self._part[key] = part
        return part

    # -- successors ----------------------------------------------------------------------

    def _successors(self, state: Ints) -> Iterator[Step]:
        inter = self.interned
        spent: Spent = inter.spent.values[state[inter.first_wire - 1]]
        killing = spent[0] < self.budget.kills
        cutting = spent[1] < self.budget.power_cuts
        for slot in range(inter.first_wire, len(state)):
            if state[slot]:
                yield from self._deliveries(state, slot, killing, cutting)
        for place in range(inter.first_wire - 1):
            for kind in inter.own(state[place]):
                timed = kind == "fire"
                if timed and spent[3] >= self.budget.timers:
                    continue
                base = self._spend(state, 3) if timed else state
                steps = inter.own_step(place, state[place], kind)
                choice = Choice(kind, inter.names[place])
                yield inter.after(base, place, steps[-1]), choice
                yield from self._stops(base, place, steps, choice, killing, cutting)
        yield from self._faults(state, spent, killing, cutting)

    def _deliveries(self, state: Ints, slot: int, killing: bool, cutting: bool) -> Iterator[Step]:
        inter = self.interned
        place = inter.target(slot)
        if not inter.up(state[place]):
            return
        kind, client, server, conn = inter.wires.values[slot - inter.first_wire]
        name = "request" if kind == "q" else "response"
        many = 1 if inter.consumes else len(inter.queues.values[state[slot]])
        for index in range(many):
            steps = inter.delivered(state, slot, index)
            choice = Choice(name, client, server, conn, index)
            yield inter.after(state, place, steps[-1], slot, index), choice
            yield from self._stops(state, place, steps, choice, killing, cutting, slot)

    def _stops(
        self,
        state: Ints,
        place: int,
        steps: list,  # type: ignore[type-arg]
        choice: Choice,
        killing: bool,
        cutting: bool,
        slot: int = 0,
    ) -> Iterator[Step]:
        """The node stops after some but not all effects of a step. (After none or all of
        them it stops between two steps: that is a fault of its own.)"""
        if not (killing or cutting) or not self._killable(self.interned.names[place]):
            return
        for done in range(1, len(steps) - 1):
            partial = self.interned.after(state, place, steps[done], slot)
            for how, allowed in (("kill", killing), ("power", cutting)):
                if allowed:
                    stop = Choice(how, self.interned.names[place])
                    yield self._slow(partial, stop, spend=how), choice.stopped(done, how)

    def _killable(self, name: str) -> bool:
        return self.budget.killable is None or name in self.budget.killable

    def _faults(self, state: Ints, spent: Spent, killing: bool, cutting: bool) -> Iterator[Step]:
        inter = self.interned
        for place, name in enumerate(inter.names):
            if not inter.up(state[place]):
                restart = Choice("restart", name)
                yield self._slow(state, restart), restart
                continue
            for how, allowed in (("kill", killing), ("power", cutting)):
                if allowed and self._killable(name):
                    stop = Choice(how, name)
                    yield self._slow(state, stop, spend=how), stop
            if spent[2] < self.budget.breaks:
                for a, b in inter.node_values.values[state[place]].conns:
                    broken = Choice("break", a, b)
                    yield self._slow(state, broken, spend="break"), broken

    def _slow(self, state: Ints, choice: Choice, spend: str = "") -> Ints:
        """A fault, done on the whole world: rare enough not to be worth a memo."""
        inter = self.interned
        if spend:
            state = self._spend(state, {"kill": 0, "power": 1, "break": 2}[spend])
        spent = inter.spent.values[state[inter.first_wire - 1]]
        moved = apply(self.system, inter.unpack(state), choice)
        return inter.pack(moved[-1].world, spent)

    def _spend(self, state: Ints, what: int) -> Ints:
        slot = self.interned.first_wire - 1
        key = (state[slot], what)
        new = self._spending.get(key)
        if new is None:
            counts = list(self.interned.spent.values[state[slot]])
            counts[what] += 1
            new = self._spending[key] = self.interned.spent.id(tuple(counts))
        return (*state[:slot], new, *state[slot + 1 :])

    # -- the verdict ---------------------------------------------------------------------

    def verdict(self, complete: bool, seconds: float) -> Verdict:
        found = {name: self._example(name, at) for name, at in self.broken.items()}
        if complete:
            for prop in self.can_always:
                stuck = self._stuck(self.good[prop.name])
                if stuck is not None:
                    found[prop.name] = self._example(prop.name, stuck)
        missing = [p.name for p in self.sometimes if complete and p.name not in self.reached]
        return Verdict(
            self.system,
            self.budget,
            len(self.index),
            self.transitions,
            complete,
            found,
            tuple(missing),
            seconds,
        )

    def _stuck(self, good: list[int]) -> int | None:
        """The first state from which none of the good states can be reached."""
        reaches = bytearray(len(self.index))
        todo = list(good)
        for state in todo:
            reaches[state] = 1
        while todo:
            for earlier in self.before[todo.pop()]:
                if not reaches[earlier]:
                    reaches[earlier] = 1
                    todo.append(earlier)
        at = reaches.find(0)
        return at if at >= 0 else None

    def _example(self, name: str, at: int) -> Counterexample:
        schedule: list[str] = []
        while at >= 0:
            parent, choice = self.parents[at]
            if choice is not None:
                schedule.append(str(choice))
            at = parent
        return Counterexample(self.system, name, tuple(reversed(schedule)))
