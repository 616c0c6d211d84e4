"""A system that a learner's file is searched in, or run in."""

from __future__ import annotations

from dataclasses import dataclass

from ...explore import Budget


@dataclass(frozen=True)
class Timed:
    """Runs in simulated time in place of a search, one from each of `seeds`: to `until_ms`, while
    an application makes its next call within `call_ms`. The node of the learner's file is killed
    at each time of `kills` (milliseconds), and starts again `DOWN_MS` later."""

    until_ms: int
    seeds: int = 1
    call_ms: float = 1
    kills: tuple[int, ...] = ()


DOWN_MS = 40


@dataclass(frozen=True)
class Trial:
    """`name`: what it is about; `line`: its system, without the broker's name; `budget`: what may
    happen in it, and how often; `dropped`: claims that are not asked in it; `timed`: how it is
    run, where it is not searched."""

    name: str
    line: str
    budget: Budget = Budget()
    dropped: tuple[str, ...] = ()
    timed: Timed | None = None
