"""The goal of a playground: a claim that a learner tries to break, and the search for a shortest
execution that does.

The search begins where the playground begins and allows what the learner's own execution contains
(as many kills, power cuts, broken connections and timers), so its shortest execution is never
longer. It runs a little at a time between whatever else the kernel is asked.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from difflib import get_close_matches
from typing import Protocol

from mqlab.explore import Budget, Search
from mqlab.kernel import Play, Property, System, parse
from mqlab.kernel.text import Lang, Text, Words, tr
from mqlab.kernel.trace import Trace

SLICE_S = 0.03  # of searching, between two things that the kernel is asked
STATES = 400_000  # then a search is given up: a few seconds

GOAL = Words("Your goal: break “{claim}”.")
SO_FAR = {True: Words("1 choice so far."), False: Words("{n} choices so far.")}
BROKEN = Words("You broke “{claim}” in {n} choices.")
UNKNOWN = tr("Is there a shorter run?")
LOOKING = Words("Looking for a shorter run: {states} states so far …")
SHORTER = Words("The shortest has {n} (allowed: {bounds}).")
SHORTEST = Words("No example is shorter (allowed: {bounds}).")
GIVEN_UP = Words(
    "No execution of up to {n} choices breaks it (allowed: {bounds}); longer ones were not all "
    "tried."
)

Choices = tuple[str, ...]


class Watched(Protocol):
    """What a goal needs of a play."""

    system: System
    start: Choices

    @property
    def choices(self) -> Choices: ...
    @property
    def trace(self) -> Trace: ...


def find_claim(system: System, goal: str | Property) -> Property:
    """The property that a goal names; in a name `_` is a space. ValueError for a property of the
    kind "sometimes", which no single run can break, and, with the most similar name, where the
    system has no other of that name."""
    if isinstance(goal, Property):
        claim = goal
    else:
        known = {claim.name: claim for claim in system.properties() if claim.kind != "sometimes"}
        name = goal.replace("_", " ")
        if name not in known:
            near = get_close_matches(name, known, 1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(
                f"goal={goal!r}: the system has no such claim; {guess}it has {', '.join(known)} "
                "(a system line may name more: `claims=whole_read`)"
            )
        claim = known[name]
    if claim.kind == "sometimes":  # true if any execution has such a state: one cannot refute it
        raise ValueError(f"goal={claim.name!r} is no claim that a run can break")
    return claim


def list_faults(choices: Choices) -> Budget:
    """What an execution contains, as the bounds of a search."""
    parsed = [parse(choice) for choice in choices]
    kinds = Counter(choice.kind for choice in parsed)
    inside = Counter(choice.how for choice in parsed if choice.stop >= 0)
    return Budget(
        kills=kinds["kill"] + inside["kill"],
        power_cuts=kinds["power"] + inside["power"],
        breaks=kinds["break"] + kinds["lose"],
        timers=kinds["fire"],
        states=STATES,
    )


class Goal:
    """`begin`: the choices that the play was given, which do not count. `found`: the learner's
    choices up to the one that broke the claim, none so far. `shortest`: those of a shorter
    execution, () where none is shorter than the learner's, None while that is not known."""

    def __init__(self, play: Watched, goal: str | Property) -> None:
        self.play = play
        self.begin = play.start
        self.claim = find_claim(play.system, goal)
        #: whether it may be broken for a moment, and is kept after all
        self.lasting = self.claim.kind == "can_always"
        self.found: Choices = ()
        self.shortest: Choices | None = None
        self._search: Search | None = None
        self._given_up = 0
        self._told = False  # whether the shortest execution was shown: she finds no more after that

    def find_red(self, trace: Trace) -> int:
        """The fact at which the first light turns red, after the choices that were given, and
        stays red where it could turn green again; 0 where it does not."""
        given = len(self.begin) if trace.choices[: len(self.begin)] == self.begin else 0
        first = bisect_right(trace.facts, given, key=lambda fact: fact.step)
        ok = [not shown.lights or shown.lights[0].ok for shown in trace.snapshots[first:]]
        turns = [first + at for at in range(1, len(ok)) if ok[at - 1] and not ok[at]]
        if self.lasting:
            turns = turns[-1:] if not ok[-1] else []
        return turns[0] if turns else 0

    def _may_come_right(self, choices: Choices) -> bool:
        """Whether a claim that is broken for now is kept when everything has happened that may
        without a fault and without a timer."""
        later = Play(self.play.system, choices)
        later.watch(self.claim)
        later.go_on()
        return later.trace.snapshots[-1].lights[0].ok

    def notice(self) -> int:
        """Look whether the learner's execution now breaks the claim, in fewer choices than before;
        if so, begin a search for a still shorter one. Returns the number of the fact that broke it;
        0 where there is nothing new, and always once the shortest one was shown to her."""
        trace = self.play.trace
        red = self.find_red(trace)
        if not red or self._told:
            return 0
        given = len(self.begin)
        own_choices = trace.choices[given : trace.facts[red - 1].step]
        if trace.choices[:given] != self.begin or not own_choices:
            return 0  # another execution, or broken by the given choices alone
        if self.lasting:  # broken only if it stays so, whatever happens now without a fault
            # that it stays broken is known only after the last choice, so all of them count
            own_choices = trace.choices[given:]
            if self._may_come_right(trace.choices):
                return 0
        if self.found and len(own_choices) >= len(self.found):
            return 0
        self.found, self.shortest, self._given_up = own_choices, None, 0
        self._search = Search(self.play.system, list_faults(own_choices), (self.claim,), self.begin)
        return red

    def search(self, tell: Callable[[], None]) -> None:
        """Search beside whatever else the kernel does, and call `tell` when there is news; where
        nothing could run beside it, the search waits for `find_shortest`."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        search = self._search
        if search is not None:
            self._task = loop.create_task(self._beside(search, tell))

    async def _beside(self, search: Search, tell: Callable[[], None]) -> None:
        slices = 0
        while self._search is search and self._advance(search):
            slices += 1
            if not slices % 10:
                tell()
            await asyncio.sleep(0)
        tell()

    def find_shortest(self) -> Choices:
        """Search to the end: the choices of a shortest execution, the learner's own where none is
        shorter."""
        while self._search is not None and self._advance(self._search):
            pass
        return self.shortest or self.found

    def _advance(self, search: Search) -> bool:
        """Search a little longer for an execution shorter than the learner's; whether to go on.
        When it ends, `shortest` is set, to () where none is shorter; or `_given_up`, the depth
        reached, where the bounds of the search ended it first."""
        more = search.advance(SLICE_S)
        # Whether a claim stays broken is known only when all states were searched.
        # By claim, the first state that breaks it.
        broken_in = search.tell_worlds() if search.complete or not self.lasting else {}
        state = broken_in.get(self.claim.name)
        if state is not None:
            schedule = search.schedule(state)
            self.shortest = schedule if len(schedule) < len(self.found) else ()
        elif search.complete or (not self.lasting and search.depth >= len(self.found) - 1):
            self.shortest = ()  # every shorter run was searched
        elif not more:
            self._given_up = search.depth
        if self.shortest is None and more:
            return True
        search.stop()
        self._search = None
        return False

    def show(self) -> Choices:
        """The shortest execution, which the learner wants to see: from now on she finds no more."""
        self._told = True
        return (*self.begin, *(self.shortest or self.found))

    @property
    def offers(self) -> bool:
        """Whether there is a shorter run to show."""
        return bool(self.shortest) and not self._told

    def tell(self, lang: Lang) -> str:
        """Where the learner is, in a sentence or two."""
        claim, n = self.claim.sentence.of(lang), len(self.found)
        if not n:
            given = self.play.choices[: len(self.begin)] == self.begin
            done = len(self.play.choices) - given * len(self.begin)
            return _join(lang, GOAL(claim=claim), SO_FAR[done == 1](n=done))
        return _join(lang, BROKEN(claim=claim, n=n), self._compare())

    def _compare(self) -> Text:
        bounds = list_faults(self.found).text
        if self._search is not None:
            states = self._search.states
            return LOOKING(states=f"{states:,}") if states > 1 else UNKNOWN
        if self._given_up:
            return GIVEN_UP(n=self._given_up, bounds=bounds)
        return (
            SHORTER(n=len(self.shortest), bounds=bounds)
            if self.shortest
            else SHORTEST(bounds=bounds)
        )


def _join(lang: Lang, *texts: Text) -> str:
    return (" " if lang == "en" else "").join(text.of(lang) for text in texts)
