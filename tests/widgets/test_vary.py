"""`vary`: what is chosen in ipywidgets' menus is what is played, and the picture is replaced."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter
from ipywidgets import Checkbox
from mqlab_widgets import Player, trials, vary

from .sample import sample


class Shown:
    """Stands for IPython's display: what was shown, and what replaced it."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def __call__(self, what: Any, display_id: bool = False) -> Shown:
        self.all.append(what)
        return self

    def update(self, what: Any) -> None:
        self.all.append(what)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    shown = Shown()
    monkeypatch.setattr(trials, "display", shown)
    return shown


def play(off: str, slow: bool) -> str:
    if off == "<lso>":
        raise ValueError("no <lso> here")
    return f"{off or 'all on'}, {'slow' if slow else 'fast'}"


def test_a_choice_replaces_the_picture_below_the_menus(shown: Shown) -> None:
    vary(play, off=[("everything", ""), ("lso is off", "lso")], slow=Checkbox())
    form, first = shown.all
    assert first == "all on, fast"
    menu, box = form.children
    assert [menu.description, box.description] == ["off", "slow"]
    menu.value = "lso"
    box.value = True
    assert shown.all[2:] == ["lso, fast", "lso, slow"]


def test_a_player_takes_the_place_of_another_at_once(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is replaced has to be one output, in a notebook too."""
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=True))
    vary(lambda step: Player(sample(), step=step), step=[3, 4])
    shown.all[0].children[0].value = 4
    for step, picture in zip((3, 4), shown.all[1:], strict=True):
        given, _ = DisplayFormatter().format(picture)
        assert given["text/plain"] == Player(sample(), step=step).narration()


def test_what_is_not_possible_says_why_and_is_escaped(shown: Shown) -> None:
    vary(play, off=["", "<lso>"], slow=False)
    shown.all[0].children[0].value = "<lso>"
    refusal = shown.all[-1]
    assert str(refusal) == "This combination is not possible: no <lso> here"
    assert "no &lt;lso&gt; here" in refusal._repr_html_()


def test_what_is_no_menu_is_refused(shown: Shown) -> None:
    with pytest.raises(ValueError, match="give at least one menu"):
        vary(play)
    with pytest.raises(ValueError, match="off: None is no menu; give a list of"):
        vary(play, off=None)
    assert not shown.all
