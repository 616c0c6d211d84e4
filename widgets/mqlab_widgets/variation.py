"""Switches for a story: ipywidgets choose what varies, and the picture follows.

    def play(off, kill):
        return Player(scenario(f"system charges\noff {off}\n{kill}\n{CALLS}"))

    vary(play, off=list_safeguards("charges"), kill=list_kills(CALLS, "coordinator"))

`play` is any function that gives something to display, and a menu is whatever ipywidgets'
`interact` takes: pairs of words and values, a widget, a range. Unlike `interact`, the picture is
an output of its own: it stays in the saved notebook, and the focus stays in the menu.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import ipywidgets as w
from IPython.display import display

SNUG = {"description_width": "initial"}
IN_A_ROW = w.Layout(flex_flow="row wrap", grid_gap="0 16px", width="100%")


@dataclass(frozen=True)
class _Refusal:
    """What stands in place of a picture."""

    why: str

    def __str__(self) -> str:
        return f"This combination is not possible: {self.why}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>"


def vary(play: Callable[..., Any], **menus: Any) -> None:
    """Show a menu for each argument of `play`, and below what it gives for the values chosen. A
    combination that is not possible says why instead."""
    if not menus:
        raise ValueError("give at least one menu: vary(play, off=list_safeguards('kafka'))")
    boxes = {name: _make_menu(name, menu) for name, menu in menus.items()}
    form = w.HBox(list(boxes.values()), layout=IN_A_ROW)
    form.add_class("mqlab-vary")
    show: Any = display  # IPython does not say its type
    show(form)
    shown = show(_play(play, boxes), display_id=True)

    def follow(_: object) -> None:
        shown.update(_play(play, boxes))

    for box in boxes.values():
        box.observe(follow, "value")


def _make_menu(name: str, menu: Any) -> Any:
    widget = w.interactive.widget_from_abbrev(menu)
    if widget is None:
        raise ValueError(f"{name}: {menu!r} is no menu; give a list of (words, value)")
    widget.description = name
    widget.style = SNUG
    widget.layout = w.Layout(width="auto", max_width="100%")
    return widget


def _play(play: Callable[..., Any], boxes: dict[str, Any]) -> Any:
    try:
        return play(**{name: box.value for name, box in boxes.items()})
    except ValueError as error:
        return _Refusal(str(error))
