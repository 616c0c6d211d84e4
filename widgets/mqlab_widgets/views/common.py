"""What several panels need: a cache for each trace, colours of transactions, the step before."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Trace

from ..scene import Scene

P = ParamSpec("P")
R = TypeVar("R")

RIGHT = 332
"""Width of the panels in the right column, px: two columns stand in 790."""

ROOMY = 440
"""The same where there is so much room, as beside a diagram in a notebook's pane of 950 px. Only
panels that say more there are drawn for it too."""

TXN_COLOURS = 6
NUMBERED = re.compile(r"T([1-9][0-9]{0,8})")


def per_trace(fn: Callable[Concatenate[Trace, P], R]) -> Callable[Concatenate[Trace, P], R]:
    """Compute once for each trace and arguments, as long as the trace is alive.

    By identity: hashing a trace would hash every fact of it at every step.
    """
    kept: dict[int, tuple[weakref.ref[Trace], dict[Any, R]]] = {}

    def cached(trace: Trace, /, *args: P.args, **kwargs: P.kwargs) -> R:
        which = id(trace)
        entry = kept.get(which)
        if entry is None or entry[0]() is not trace:
            entry = kept[which] = (weakref.ref(trace, lambda _: kept.pop(which, None)), {})
        key = (args, tuple(kwargs.items()))
        if key not in entry[1]:
            entry[1][key] = fn(trace, *args, **kwargs)
        return entry[1][key]

    update_wrapper(cached, fn)
    return cached


@per_trace
def txn_classes(trace: Trace) -> dict[str, str]:
    """A CSS class for each transaction; the colours repeat. One that is called by a number has the
    colour of its number, wherever a picture of something that goes on begins; others have theirs
    in order of appearance."""
    names = dict.fromkeys(f.txn for f in trace.facts if f.txn)
    for snapshot in (trace.snapshots[0], trace.snapshots[-1]):
        names |= dict.fromkeys(c.txn for log in snapshot.logs for c in log.cells if c.txn)
    numbers = {name: int(match[1]) - 1 for name in names if (match := NUMBERED.fullmatch(name))}
    return {
        name: f"t{numbers.get(name, place) % TXN_COLOURS + 1}" for place, name in enumerate(names)
    }


def colour(trace: Trace, txn: str) -> str:
    """The class of a transaction's colour, "t0" for what belongs to none."""
    return txn_classes(trace).get(txn, "t0")


@per_trace
def _shown(trace: Trace) -> list[int]:
    """For each position the one before it at which a learner stood: folded facts are skipped."""
    out = [0]
    latest = 0
    for position, fact in enumerate(trace.facts, 1):
        out.append(latest)
        if not fact.fold:
            latest = position
    return out


def find_previous(trace: Trace, step: int) -> int:
    """The position to compare `step` with, to see what changed."""
    return _shown(trace)[step]


def draw_heading(scene: Scene, text: Text, lang: Lang) -> None:
    """The panel's title, always at the same place."""
    scene.text("heading", 0, 13, text.of(lang), "heading")
