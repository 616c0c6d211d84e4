"""The figure of the page “What one sees”: a picture of the engine, a number at each sign."""

from __future__ import annotations

import re

from mqlab_widgets import Player

from ..places import SCENARIOS
from ..registry import SYSTEMS
from ..scenario import load

STORY, STEP, PANELS = "kafka/torn-read", 50, ("space-time", "logs", "readers")
#: the text beside which a number is, which of those there are, and how far from where it is
#: anchored, right and down (pixels)
MARKS = (
    ("coordinator", 0, 46, -4), ("EndTxn commit", 0, 100, -4),
    ("PrepareCommit {orders-0, orders-1}", 0, 216, -4), ("ok", -1, 20, -4),
    ("killed: 1 of 2 markers had left", 0, 178, -4), ("WriteTxnMarkers (late)", 0, 142, -4),
    ("HW=3 LSO=1", 0, 92, -4), ("T1", -6, 52, -4), ("+1", 2, 20, -4), ("LSO", 0, -28, 0),
    ("HW", 0, 26, 0), ("x", 0, 13, -10), ("C", 0, 14, -12), ("read_committed", -1, -14, -5),
)  # fmt: skip
BADGE = (
    '<g><circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="#a84300"/><text x="{x:.1f}" y="{line:.1f}" '
    'fill="#fff" text-anchor="middle" style="font:600 12px sans-serif">{number}</text></g>'
)


def draw_figure() -> str:
    """Draw a step of a scenario as an SVG, with a numbered disc at each text of MARKS, which the
    page's list explains. ValueError where the picture has no such text any more, IndexError where
    it has too few of them."""
    trace = load(SCENARIOS / f"{STORY}.scn", SYSTEMS).run.trace
    svg = Player(trace, step=STEP, panels=list(PANELS)).svg()
    for number, (words, index, right, down) in enumerate(MARKS, 1):
        # Every place of the text; `index` says which one is meant.
        places = [
            *re.finditer(rf'<text x="([-.\d]+)" y="([-.\d]+)"[^>]*>{re.escape(words)}</text>', svg)
        ]
        if not places:
            raise ValueError(f"the picture has no “{words}”: correct MARKS")
        text = places[index]
        x, y = float(text[1]) + right, float(text[2]) + down
        badge = BADGE.format(x=x, y=y, line=y + 4, number=number)
        svg = svg[: text.end()] + badge + svg[text.end() :]
    return svg


if __name__ == "__main__":
    print(draw_figure(), end="")
