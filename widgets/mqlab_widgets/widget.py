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
from IPython import get_ipython
from IPython.display import display, update_display

from mqlab.kernel.text import Lang, Text

from .player import read_modules
from .style import page_css

NO_EMPTY_WIDGET = (
    "<style>.jp-OutputArea-child:has([data-still]) + .jp-OutputArea-child:not(:has(.mqlab))"
    "{display:none}</style>"
)


def say(text: str | Text, lang: Lang) -> str:
    """A plain string is said as it is in every language."""
    return text.of(lang) if isinstance(text, Text) else text


def find_running_cell() -> str:
    """The id of the notebook's cell that is being run; empty where it is unknown."""
    shell = get_ipython()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    return str(parent.get("metadata", {}).get("cellId", ""))


def join_modules(*names: str) -> str:
    """One self-contained module: the player's file, what the widgets share, then the files
    `names`, which may use the names of all before; the last says what is rendered."""
    return read_modules("widget.js", *names)


#: of a trait that `tell` in widget.js sends: no echo may undo what the reader did since
SET_BY_READER = {"sync": True, "echo_update": False, "by_reader": True}


class PictureWidget(anywidget.AnyWidget):
    """`payload` is what the player plays; `ui` describes everything around it."""

    _css: Path | str = page_css()
    payload = traitlets.Bytes(b"").tag(sync=True)
    ui = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        self._name = secrets.token_hex(6)
        self._is_shown = False
        super().__init__(**traits)

    def take(self, traits: dict[str, Any]) -> None:
        """Set what the reader has set in the browser; it is not sent back. Raises TraitError."""
        names = self.trait_names(by_reader=True)
        self.set_state({name: value for name, value in traits.items() if name in names})

    def still_html(self) -> str:
        """What is shown where the widget cannot be."""
        raise NotImplementedError

    def narration(self) -> str:
        """The same as plain text."""
        raise NotImplementedError

    def summary(self) -> str:
        """What is printed where neither widget nor still can be: on paper nothing is folded."""
        return self.narration()

    def still_output(self) -> dict[str, str]:
        """The output before the widget, and what hides the widget's own where it never came to
        life: "model not found" says nothing to a reader of yesterday's notebook."""
        still = f'<div data-still="{self._name}">{self.still_html()}</div>{NO_EMPTY_WIDGET}'
        return {"text/html": still, "text/plain": self.summary()}

    def keep_still(self) -> None:
        """What stays in the notebook is the still of now."""
        if self._is_shown:
            keep: Any = update_display  # IPython does not say its type
            keep(self.still_output(), raw=True, display_id=self._name)

    def _ipython_display_(self) -> None:
        show: Any = display  # IPython does not say its type
        show(self.still_output(), raw=True, display_id=self._name)
        self._is_shown = True
        bundle = self._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data:
            show({**data, "text/plain": f"{type(self).__name__}()"}, raw=True)

    def __repr__(self) -> str:
        return self.narration()
