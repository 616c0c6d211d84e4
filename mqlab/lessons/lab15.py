"""What lab 15 shows: passages, the runs of what was marked, and the rows that labs have."""

from __future__ import annotations

import tomllib
from functools import partial
from html import escape
from typing import Any

from IPython.display import display
from ipywidgets import HTML, Dropdown
from mqlab_widgets import Player, vary

from ..registry.tables import columns
from .articles import FOLDER, PASSAGES, Passage, Sentence, split_marks
from .misconceptions import met

__all__ = [
    "CONTROL", "HALF", "PENDING", "list_rows", "met", "open_marks", "tell_others",
]  # fmt: skip

HALF, CONTROL, PENDING = (PASSAGES[name] for name in ("half", "control", "pending"))
#: letter of an article, verdict, what it says, the lab that shows it
Row = tuple[str, str, str, str]


def open_marks(passage: Passage, marks: str) -> None:
    """A menu of what was marked; each opens its run at the step that tells, below a sentence. What
    stands opens in the same way, so that one sees why. ValueError for a name that is none."""
    sentences = {name: passage.find(name) for name in split_marks(marks)}
    if not sentences:
        print("Nothing is marked yet.")
        return
    menu, words = Dropdown(options=list(sentences)), HTML()

    def tell(_: object = None) -> None:
        words.value = _tell(passage, sentences[menu.value])

    menu.observe(tell, "value")
    tell()
    show: Any = display  # IPython does not say its type
    show(words)
    vary(partial(_open, passage), mark=menu)


def _tell(passage: Passage, sentence: Sentence) -> str:
    verdict = "stands" if passage.stands(sentence) else "is refuted"
    says, tells = escape(str(sentence.says)), escape(str(sentence.tells))
    return f"<p>“{says}” <b>This {verdict}</b>: {tells}.</p>"


def _open(passage: Passage, mark: str) -> Player:
    experiment = passage.find(mark).experiment
    trace = passage.play(experiment).trace
    return Player(trace, step=experiment.step(trace), title=mark)


def list_rows() -> dict[int, Row]:
    """What articles say that is wrong, imprecise or out of date, by number."""
    data = tomllib.loads((FOLDER / "article_rows.toml").read_text("utf-8"))
    return {int(number): tuple(row) for number, row in data["rows"].items()}


def find_met() -> dict[int, str]:
    """The rows that a passage has, each with the name of its sentence."""
    return {
        row: sentence.name
        for passage in PASSAGES.values()
        for sentence in passage.sentences
        for row in sentence.rows
    }


def tell_others() -> str:
    """The rows that no passage has, with the lab that shows them."""
    here = find_met()
    rows = [
        (str(number), article, says, verdict, lab)
        for number, (article, verdict, says, lab) in list_rows().items()
        if number not in here
    ]
    return columns([("row", "in", "what is said", "verdict", "lab"), *rows])
