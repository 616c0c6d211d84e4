"""The steps of a run that a lab's sentence points at."""

from __future__ import annotations

from ..kernel import Trace


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
        if words in fact.line():
            return fact.index
    raise ValueError(f"no step of this run says {words!r}; print(trace.narrate()) shows them all")
