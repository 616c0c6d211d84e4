"""What lab 15 shows: passages, the runs of what was marked, and the rows that labs have."""

from __future__ import annotations

import tomllib
from functools import partial

from mqlab_widgets import Player, vary

from ..registry.tables import columns
from .articles import FOLDER, PASSAGES, Passage, split_marks
from .misconceptions import met

__all__ = [
    "CONTROL", "HALF", "PENDING", "list_rows", "met", "open_marks", "tell_others",
]  # fmt: skip

HALF, CONTROL, PENDING = (PASSAGES[name] for name in ("half", "control", "pending"))
#: letter of an article, verdict, what it says, the lab that shows it
Row = tuple[str, str, str, str]


def open_marks(passage: Passage, marks: str) -> None:
    """A menu of what was marked; each opens its run at the step that tells, with a sentence. For
    the player: what stands is shown in the same way, so that one sees why."""
    names = split_marks(marks)
    if not names:
        print("Nothing is marked yet.")
        return
    vary(partial(_open, passage), mark=names)


def _open(passage: Passage, mark: str) -> Player:
    """ValueError where the passage has no such sentence."""
    sentence = passage.find(mark)
    trace = passage.play(sentence.experiment).trace
    verdict = "stands" if sentence.experiment.stands(trace) else "is refuted"
    title = f"{mark} {verdict}: {sentence.tells}"
    return Player(trace, step=sentence.experiment.step(trace), title=title)


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
