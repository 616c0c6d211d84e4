"""A system that a learner's file is searched in."""

from __future__ import annotations

from dataclasses import dataclass

from ...explore import Budget


@dataclass(frozen=True)
class Trial:
    """`name`: what it is about; `line`: its system, without the broker's name; `budget`: what may
    happen in it, and how often; `dropped`: claims that are not asked in it."""

    name: str
    line: str
    budget: Budget = Budget()
    dropped: tuple[str, ...] = ()
