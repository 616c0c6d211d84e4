"""`MoneyBar`: the money panel without a trace, fed with sums while something goes on.

The same view as in a player, drawn as a small picture of its own.
"""

from __future__ import annotations

import ipywidgets as w

from mqlab.kernel.snapshot import Money
from mqlab.kernel.text import Lang, spoken

from .scene import Scene, xml
from .style import svg_css
from .views.common import RIGHT
from .views.money import BEYOND, HEIGHT, draw_money

THEMES = (
    '[data-jp-theme-light="true"] .mqlab{color-scheme:light}'
    '[data-jp-theme-light="false"] .mqlab{color-scheme:dark}'
)


class MoneyBar(w.HTML):  # type: ignore[misc]
    """Empty until `show`. What was wrong once stays red until `clear`, as in a player."""

    def __init__(self, lang: Lang | None = None) -> None:
        self._lang = lang or spoken()
        self._broken = False
        super().__init__()

    def clear(self) -> None:
        """Begin a new story."""
        self._broken, self.value = False, ""

    def show(self, now: Money) -> None:
        """Draw these sums. How it will end is not known, so the scale grows where it must."""
        self._broken = self._broken or not now.right
        scene = Scene(RIGHT, HEIGHT)
        most = max(now.due * BEYOND, now.seen, 1)
        scene.use(draw_money(now, most, self._broken, self._lang))
        label = ", ".join(node.text for node in scene.nodes if node.text)
        body = "".join(node.svg() for node in scene.nodes)
        self.value = (
            f"<style>{svg_css(body, THEMES)}</style>"
            f'<svg class="mqlab" role="img" aria-label="{xml(label)}" width="{RIGHT}" '
            f'height="{HEIGHT}" viewBox="0 0 {RIGHT} {HEIGHT}">{body}</svg>'
        )
