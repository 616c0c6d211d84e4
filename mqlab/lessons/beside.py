"""Two to four systems that live through the same thing, side by side on one clock.

Each is a scenario in blocks (dashes and a blank line between them), as many in one as in the
others: the end of a block is a moment that all have in common, whatever it took each to get there.
"""

from __future__ import annotations

from mqlab_widgets import Compare, Player

from ..kernel.text import Lang
from ..registry import SYSTEMS, with_evidence
from ..scenario import perform_in_blocks


def put_beside(
    *stories: str, at: int = 0, lang: Lang | None = None, level: str = "everything"
) -> Compare:
    """`at`: after how many blocks the picture opens, at the last row that is not folded; `level`:
    at which it is found. A trace is headed by its first comment. Raises ValueError where one story
    has more blocks than the others."""
    runs, ends = zip(*(perform_in_blocks(text, SYSTEMS) for text in stories), strict=True)
    counts = [len(one) for one in ends]
    if len(set(counts)) > 1:
        raise ValueError(
            f"{' beside '.join(map(str, counts))} blocks: a block of one is a block of the others"
        )
    players = [Player(with_evidence(run.trace, ""), step=0, lang=lang, level=level) for run in runs]
    return Compare(players, list(zip(*ends, strict=True)), at)
