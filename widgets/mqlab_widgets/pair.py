"""`Pair`: two systems side by side on one clock, in one HTML output that plays without a kernel.

Two runs of different systems have no step in common. What they have in common are moments: the
orders have arrived, the first process is dead, both are started again. A pair is told which
position of the one belongs to which of the other; in between each takes its steps evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from mqlab.kernel.text import Text
from mqlab.kernel.trace import Trace

from .payload import build
from .player import Player, Theme, document, mounted

CLOCK = Text(
    "One clock: what stands side by side happens at the same time. Click a row of either run.",
    "同一个时钟：并排的内容同时发生。可以点击任意一边的行。",
)
FILES = ("beside.js", "acts.css")
Moment = tuple[int, int]


class Pair:
    """Steps through two runs at once. `first` has the slider; `moments`: positions of the first and
    of the second that are the same moment. Their beginnings and their ends are."""

    def __init__(self, first: Player, second: Player, moments: Sequence[Moment] = ()) -> None:
        ends = len(first.trace), len(second.trace)
        self.first, self.second = first, second
        self.moments = check_moments([(0, 0), *moments, ends])

    @cached_property
    def places(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """For each position of the first the position of the second, and the other way round."""
        back = [(b, a) for a, b in self.moments]
        one, other = self.first.trace, self.second.trace
        return spread(self.moments, one, other), spread(back, other, one)

    @cached_property
    def payload(self) -> dict[str, Any]:
        """What the module plays: the first run, and beside it the second."""
        words = {"differs": CLOCK.of(self.first.look.lang)}
        first, second = (
            build(player.trace, player.step, replace(player.look, half=True))
            for player in (self.first, self.second)
        )
        return {**first, "beside": {"other": second, "places": self.places, "words": words}}

    def _at_once(self) -> tuple[Player, Player]:
        """Both, the second where the clock has it."""
        self.second.step = self.places[0][self.first.step]
        return self.first, self.second

    def still_html(self) -> str:
        return "".join(player.still_html() for player in self._at_once())

    def html(self, heading: str = "div") -> str:
        return mounted(self.still_html(), self.payload, heading, "pair", FILES)

    def page(self, theme: Theme = "") -> str:
        """One self-contained page: opens from disk, steps without kernel or network."""
        title = f"{self.first.title} · {self.second.title}"
        return document(title, self.first.look.lang, self.html("h1"), theme)

    def narration(self) -> str:
        """Both runs as text, one after the other."""
        return "\n\n".join(player.narration() for player in self._at_once())

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.narration()}

    def __repr__(self) -> str:
        return self.narration()


def check_moments(moments: Sequence[Moment]) -> tuple[Moment, ...]:
    """A clock does not go back: ValueError where a moment is before the one before it."""
    for before, now in pairwise(moments):
        if now[0] < before[0] or now[1] < before[1]:
            raise ValueError(f"moment {now} is not after {before}: a clock does not go back")
    return tuple(moments)


def spread(moments: Sequence[Moment], one: Trace, other: Trace) -> tuple[int, ...]:
    """For each position of one run where the other is by then. Only rows that are shown count: what
    is folded happens together with the row before it."""
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


def list_shown(trace: Trace, start: int, end: int) -> list[int]:
    """The positions after `start`, up to `end`, whose fact is not folded."""
    return [at for at in range(start + 1, end + 1) if not trace.facts[at - 1].fold]
