"""A bar of six: how far the latest transaction has come, the same for every broker and model."""

from __future__ import annotations

from functools import lru_cache

from mqlab.kernel.story import STAGE_NAMES
from mqlab.kernel.text import Lang
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import fit, width
from .common import colour, per_trace

BOX, SIZE, GAP = 17, 11, 3
NAME = 24  # px: the transaction's name, left of the bar

Reached = tuple[str, str, tuple[str, ...]]
"""A transaction, the stage it is in, and all that it has been in."""


@per_trace
def _find_reached(trace: Trace) -> list[Reached]:
    """For each position; ("", "", ()) before the first transaction."""
    out: list[Reached] = [("", "", ())]
    been: dict[str, tuple[str, ...]] = {}
    for fact in trace.facts:
        if not fact.stage:
            out.append(out[-1])
            continue
        been[fact.txn] = tuple(dict.fromkeys((*been.get(fact.txn, ()), fact.stage)))
        out.append((fact.txn, fact.stage, been[fact.txn]))
    return out


def draw_stages(scene: Scene, trace: Trace, step: int, lang: Lang, wide: float) -> None:
    """At the top of a diagram that is so `wide`."""
    txn, now, been = _find_reached(trace)[step]
    scene.use(_draw(txn, colour(trace, txn), now, been, lang, wide))


@lru_cache(maxsize=512)
def _draw(txn: str, cls: str, now: str, been: tuple[str, ...], lang: Lang, wide: float) -> Part:
    """Draw the six stages of a transaction as a row of boxes, `wide` px in all: those it has `been`
    in, the one in which it is `now`, those to come. `cls`: the transaction's colour. Before the
    first transaction `txn`, `now` and `been` are empty, and all stages are to come."""
    scene = Scene()
    scene.text("stage-of", 0, BOX / 2 + 4, fit(txn, NAME - 2, 10.5, bold=True), f"stage-of {cls}")
    names = {stage: text.of(lang) for stage, text in STAGE_NAMES.items()}
    room = wide - NAME - 1 - GAP * (len(names) - 1)
    spare = (room - sum(width(name, SIZE) for name in names.values())) / len(names)
    x = float(NAME)
    for stage, name in names.items():
        box = width(name, SIZE) + spare
        state = "here" if stage == now else "been" if stage in been else ""
        tone = f"{state} {cls}".strip() if state else ""
        scene.rect(f"stage:{stage}", x + 0.5, 0.5, box - 1, BOX - 1, f"state {tone}".strip(), rx=4)
        fitted = fit(name, box - 2, SIZE, bold=state == "here")
        text_class = f"state-name {state}".strip()
        scene.text(f"stage-name:{stage}", x + box / 2, BOX / 2 + 4, fitted, text_class)
        x += box + GAP
    return scene.seal()
