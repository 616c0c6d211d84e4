"""The steps of a trace that a lab's sentence points at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..kernel import Fact, FactKind, Trace

#: whether a step of a trace is the one that is meant
Tells = Callable[[Fact], bool]


def find_red_step(trace: Trace, light: str) -> int:
    """The step from which a light is red; 0 if it stays green."""
    for fact in trace:
        lights = {one.name: one.ok for one in trace.snapshot(fact.index).lights}
        if light not in lights:
            raise ValueError(f"no light {light!r}; there are: {', '.join(lights)}")
        if not lights[light]:
            return fact.index
    return 0


def first(trace: Trace, words: str) -> int:
    """The first step whose narration holds `words`; ValueError where none does."""
    for fact in trace:
        if words in fact.line("en"):
            return fact.index
    raise ValueError(f"no step of this run says {words!r}; print(trace.narrate()) shows them all")


def is_kill(fact: Fact) -> bool:
    """Whether a process dies in this step."""
    return fact.kind is FactKind.KILL


def is_recovery(fact: Fact) -> bool:
    """Whether a process has started again in this step."""
    return fact.kind is FactKind.RECOVERY


@dataclass(frozen=True)
class At:
    """The step of this number."""

    step: int

    def __call__(self, fact: Fact) -> bool:
        return fact.index == self.step
