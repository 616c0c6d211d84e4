"""The places in a run at which a node can be killed, each as a line of a scenario and in words.

A step is named by what it emits: `kill coordinator when=WriteTxnMarkers#1 after=1` strikes in the
step of the coordinator that sends its first WriteTxnMarkers, when one effect of that step is
done. A step that emits nothing has no name, and nobody outside can tell a kill in it from one
just before or after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from ..kernel import Run, Text, worded
from ..kernel.moves import Moved
from ..kernel.stops import describe_stop
from .runner import name_kind, show_kind


@worded("kill {node} when={step} after={after}")
class Kill:
    """One such place: the line that kills there, and what had been done of the step by then."""

    node: str
    step: str
    after: int
    text: Text


def find_kills(run: Run, nodes: Sequence[str] = ()) -> tuple[Kill, ...]:
    """Every place in the steps of these nodes (none named: of all), in the order of the run.
    KeyError where the system has no node of that name."""
    again, emitted = Run(run.system), Counter[tuple[str, str]]()
    kills: list[Kill] = []
    for node in nodes:
        again.world.nodes[node]
    for choice in run.choices:
        moved = [move for move in again.do(choice) if move.what == "step"]
        kinds = [kind for move in moved if (kind := name_kind(move))]
        if kinds and (not nodes or moved[0].node in nodes):
            step = f"{show_kind(kinds[0])}#{emitted[moved[0].node, kinds[0]] + 1}"
            kills += _within(run, moved, step)
        emitted.update((moved[0].node, kind) for kind in kinds)
    return tuple(kills)


def _within(run: Run, moved: list[Moved], step: str) -> Iterator[Kill]:
    """Before the first effect, and after each that changes what can be told."""
    node, name = moved[0].node, partial(run.system.name_effect, moved[0].role)
    effects = tuple(move.stage.effect for move in moved if move.stage and move.stage.effect)
    before = None
    for after in range(len(effects) + 1):
        text = describe_stop(False, effects, after, name)
        if text != before:
            yield Kill(node, step, after, text)
        before = text
