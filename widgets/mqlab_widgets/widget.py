"""What the widgets share: the player's module as anywidget, preceded by a still.

A widget shows nothing where no kernel runs, so each display is two outputs: a still, which
stays in the file, and the widget, which hides the still as soon as it is alive.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from IPython.display import display

from mqlab.kernel.text import Lang, Text

from .payload import HERE
from .style import page_css


def say(text: str | Text, lang: Lang) -> str:
    """A plain string is said as it is in every language."""
    return text.of(lang) if isinstance(text, Text) else text


def join_modules(name: str) -> str:
    """One self-contained module: the player's file, what the widgets share, then `name`, which
    may use the names of both and says what is rendered."""
    return "\n".join((HERE / file).read_text("utf-8") for file in ("player.js", "widget.js", name))


class PictureWidget(anywidget.AnyWidget):
    """`payload` is what the player plays; `ui` describes everything around it."""

    _css: Path | str = page_css()
    payload = traitlets.Bytes(b"").tag(sync=True)
    ui = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        self._name = secrets.token_hex(6)
        super().__init__(**traits)

    def still_html(self) -> str:
        """What stands where the widget cannot."""
        raise NotImplementedError

    def narration(self) -> str:
        """The same as plain text."""
        raise NotImplementedError

    def _ipython_display_(self) -> None:
        show: Any = display  # IPython does not say its type
        still = f'<div data-still="{self._name}">{self.still_html()}</div>'
        show({"text/html": still, "text/plain": self.narration()}, raw=True)
        bundle = self._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data:
            show({**data, "text/plain": f"{type(self).__name__}()"}, raw=True)

    def __repr__(self) -> str:
        return self.narration()
