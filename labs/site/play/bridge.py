"""In the browser's Python: the notebook's widgets, told and shown by a page instead of JupyterLab.

A widget takes three things of its surroundings: traits that are sent when they are set, messages
that are heard, and a place for its output. A page has the first two, so `anywidget`, `traitlets`
and IPython's display are these few lines here, and playground and explorer are the lab's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

Send = Callable[[str, Any], None]
#: name of a trait and its value, to the page; the worker puts its own here
out: list[Send] = []


class Trait:
    """A value that is sent to the page whenever it is set."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def tag(self, **_: Any) -> Trait:
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, widget: Any, owner: type | None = None) -> Any:
        return self if widget is None else widget.__dict__.get(self.name, self.value)

    def __set__(self, widget: Any, value: Any) -> None:
        widget.__dict__[self.name] = value
        widget.tell(self.name)


class AnyWidget:
    """What a widget is built on: traits go out together, and messages come in."""

    def __init__(self, **traits: Any) -> None:
        self._hearers: list[Callable[..., None]] = []
        self._unsent: list[str] | None = None
        for name, value in traits.items():
            setattr(self, name, value)

    def on_msg(self, act: Callable[..., None]) -> None:
        self._hearers.append(act)

    def hear(self, message: dict[str, Any]) -> None:
        for act in self._hearers:
            act(self, message, [])

    def tell(self, name: str) -> None:
        if self._unsent is not None:
            self._unsent.append(name)
        else:
            for send in out:
                send(name, getattr(self, name))

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        self._unsent = []
        try:
            yield
        finally:
            names, self._unsent = dict.fromkeys(self._unsent), None
            for name in names:
                self.tell(name)


def _module(name: str, **parts: Any) -> None:
    module = ModuleType(name)
    module.__dict__.update(parts)
    sys.modules[name] = module


def _nothing(*_: Any, **__: Any) -> None:
    """A page has no cells: nothing is printed into one, and none is running."""


_module("traitlets", Bytes=Trait, Dict=lambda: Trait({}))
_module("anywidget", AnyWidget=AnyWidget)
_module("IPython", get_ipython=_nothing)
_module("IPython.display", display=_nothing, update_display=_nothing)
