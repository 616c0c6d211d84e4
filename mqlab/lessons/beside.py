"""Two systems that live through the same thing, side by side on one clock.

Each is a scenario in blocks (dashes and a blank line between them), as many in the one as in the
other: the end of a block is a moment that both have in common, whatever it took each to get there.
"""

from __future__ import annotations

from mqlab_widgets import Pair, Player

from ..kernel import Trace
from ..kernel.text import Lang
from ..registry import SYSTEMS, with_evidence
from ..scenario import perform_in_blocks


def put_beside(one: str, other: str, at: int = 0, lang: Lang = "en") -> Pair:
    """`at`: after how many blocks the picture opens, at the last row that is not folded. A run is
    headed by its first comment. Raises ValueError where one story has more blocks than the
    other."""
    runs = [perform_in_blocks(text, SYSTEMS) for text in (one, other)]
    (_, first), (_, second) = runs
    if len(first) != len(second):
        raise ValueError(
            f"{len(first)} blocks beside {len(second)}: a block of the one is a block of the other"
        )
    moments = [(0, 0), *zip(first, second, strict=True)]
    left, right = (
        Player(with_evidence(run.trace, ""), step=find_shown(run.trace, step), lang=lang)
        for (run, _), step in zip(runs, moments[at], strict=True)
    )
    return Pair(left, right, moments)


def find_shown(trace: Trace, step: int) -> int:
    """The last position up to `step` whose row is shown."""
    while step and trace.facts[step - 1].fold:
        step -= 1
    return step
