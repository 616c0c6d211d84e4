"""`Compare`: two to four executions side by side on one clock, in one HTML output that needs no
kernel.

Executions of different systems have no step in common. What they have in common are moments: the
orders have arrived, the first process is dead, both are started again. A comparison is given which
positions belong together; in between each execution takes its steps evenly. Two show everything.
Three or four show what came of them, without the diagram. Where another execution of the same
system differs from the first, the difference is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from typing import Any

from mqlab.kernel.text import tr
from mqlab.kernel.trace import Trace

from .payload import build
from .player import Output, Player, Theme, document, mounted, pack_twin

# Two futures side by side: from where they part, and what each has that the other has not


@dataclass(frozen=True, slots=True)
class Compared:
    """`parts`: the number of facts that both begin with; `rows`: the facts of the first, and of
    the second, that the other has not, by number."""

    parts: int
    rows: tuple[tuple[int, ...], tuple[int, ...]]


def compare(first: Trace, second: Trace) -> Compared:
    """Compare the printed lines of two traces, as a diff does: how many facts both begin with, and
    the numbers (from 1) of the later facts that only the first has, and only the second."""
    lines = [[fact.line("en") for fact in trace.facts] for trace in (first, second)]
    common = 0
    for a, b in zip(*lines, strict=False):
        if a != b:
            break
        common += 1
    later = [narration[common:] for narration in lines]
    blocks = SequenceMatcher(None, later[0], later[1], autojunk=False).get_matching_blocks()
    # For each trace the places, among its later lines, of those that the other has, too.
    shared = [
        {i for block in blocks for i in range(block[side], block[side] + block.size)}
        for side in (0, 1)
    ]
    rows = [  # facts are numbered from 1
        tuple(common + i + 1 for i in range(len(later[side])) if i not in shared[side])
        for side in (0, 1)
    ]
    return Compared(common, (rows[0], rows[1]))


def find_fork(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many choices two traces have in common at their beginning."""
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


CLOCK = tr("One clock: what is side by side happens at the same time.")
#: what there is room for in three or four columns: what came of an execution
OUTCOME = ("logs", "readers", "money", "tables")
Moment = tuple[int, ...]
#: for each position of one trace, that of another
Places = tuple[int, ...]


class Compare(Output):
    """Steps through two to four traces at once. The first has the slider. `moments`: the positions
    of all traces that are the same moment, in the traces' order. Their beginnings and ends are such
    moments. `at`: the moment at which it opens, 0 for the beginning, at the last row that is not
    folded; without it, the position of the first player. ValueError for another number of traces,
    and for a clock that goes back."""

    scripts = ("compareRuns", ("beside.js", "acts.css"))

    def __init__(
        self, players: Sequence[Player], moments: Sequence[Moment] = (), at: int | None = None
    ) -> None:
        if not 2 <= len(players) <= 4:
            raise ValueError(f"{len(players)} runs to compare: there is room for two to four")
        self.players = tuple(players)
        self.look = self.players[0].look
        ends = tuple(len(player.trace) for player in players)
        self.moments = check_moments([(0,) * len(players), *moments, ends])
        if at is not None:
            for player, step in zip(players, self.moments[at], strict=True):
                player.step = find_shown(player.trace, step)

    @cached_property
    def places(self) -> tuple[tuple[Places, Places], ...]:
        """Of each trace but the first: where it is at each position of the first, and the other
        way round."""
        first, *others = (player.trace for player in self.players)
        spreads = []
        for i, other in enumerate(others, 1):
            there = [(moment[0], moment[i]) for moment in self.moments]
            back = [(b, a) for a, b in there]
            spreads.append((spread(there, first, other), spread(back, other, first)))
        return tuple(spreads)

    @cached_property
    def payload(self) -> dict[str, Any]:
        """What the browser's module plays, as plain data: the first trace's payload, and in
        "beside" the others', each with where it is at each position of the first (`places`) and its
        differences. Three or four traces show only OUTCOME (logs, readers, money, tables), unless
        their looks name panels, the readers first, and no panel that is always in sight."""
        many = len(self.players) > 2
        panels = OUTCOME if many else None
        data = [
            build(p.trace, p.step, replace(p.look, half=True, panels=p.look.panels or panels))
            for p in self.players
        ]
        for payload in data if many else ():
            payload["panels"].sort(key=lambda panel: not panel["name"].startswith("readers"))
            for panel in payload["meta"]["panels"].values():
                panel["pinned"] = False  # all become tabs, which the traces then switch together
        words = {"differs": CLOCK.of(self.look.lang)}
        beside = [
            {"data": other, "places": places, "rows": self._differences(i)}
            for i, (other, places) in enumerate(zip(data[1:], self.places, strict=True), 1)
        ]
        return {**data[0], "beside": {"others": beside, "words": words}}

    @property
    def twin(self) -> Compare:
        """The same traces in the other language."""
        return Compare([player.twin for player in self.players], self.moments)

    def _differences(self, i: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Of the first and another trace of the same system, the rows that only one of them has."""
        first, other = self.players[0].trace, self.players[i].trace
        if first.system != other.system:
            return None
        return compare(first, other).rows

    def _at_once(self) -> tuple[Player, ...]:
        """All of them, each where the clock has it."""
        first, *others = self.players
        for player, (there, _) in zip(others, self.places, strict=True):
            player.step = there[first.step]
        return self.players

    def still_html(self) -> str:
        return "".join(player.still_html() for player in self._at_once())

    def page(self, theme: Theme = "") -> str:
        """One self-contained page: opens from disk, steps without kernel or network, and has a
        switch to the other language where the traces are not long."""
        title = " · ".join(player.title for player in self.players)
        facts = sum(len(player.trace) for player in self.players)
        still = self.still_html() + pack_twin(facts, lambda: self.twin.payload)
        body = mounted(still, self.payload, "h1", *self.scripts)
        return document(title, self.look.lang, body, theme)

    def narration(self) -> str:
        """All runs as text, one after the other."""
        return "\n\n".join(player.narration() for player in self._at_once())


def check_moments(moments: Sequence[Moment]) -> tuple[Moment, ...]:
    """A clock does not go back: ValueError where a moment is before the one before it."""
    for before, now in pairwise(moments):
        if any(a > b for a, b in zip(before, now, strict=True)):
            raise ValueError(f"moment {now} is not after {before}: a clock does not go back")
    return tuple(moments)


def spread(moments: Sequence[tuple[int, int]], one: Trace, other: Trace) -> Places:
    """For each position of one trace where the other is by then. Only rows that are shown count:
    what is folded happens together with the row before it."""
    places = [0] * (len(one) + 1)
    for (a, b), (a_end, b_end) in pairwise(moments):
        mine, theirs = list_shown(one, a, a_end), list_shown(other, b, b_end)
        done = 0
        for place in range(a + 1, a_end + 1):
            done += place in mine
            taken = len(theirs) * done // max(len(mine), 1)
            places[place] = theirs[taken - 1] if taken else b
        places[a_end] = b_end
    return tuple(places)


def find_shown(trace: Trace, step: int) -> int:
    """The last position up to `step` whose row is shown."""
    while step and trace.facts[step - 1].fold:
        step -= 1
    return step


def list_shown(trace: Trace, start: int, end: int) -> list[int]:
    """The positions after `start`, up to `end`, whose fact is not folded."""
    return [at for at in range(start + 1, end + 1) if not trace.facts[at - 1].fold]
