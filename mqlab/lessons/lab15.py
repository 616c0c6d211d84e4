"""What lab 15 shows: passages, the runs of what was marked, and the rows that labs have."""

from __future__ import annotations

import re
import tomllib
from functools import partial
from html import escape
from typing import Any

from IPython import get_ipython
from IPython.display import display
from ipywidgets import HTML, Dropdown
from mqlab_widgets import Player, vary

from ..kernel import Words, tr
from ..registry.tables import columns
from .articles import ALL, FOLDER, PASSAGES, NoSentence, Passage, Sentence, split_marks
from .misconceptions import met as met

HALF, CONTROL, PENDING = (PASSAGES[name] for name in ("half", "control", "pending"))
UNMARKED = tr("Nothing is marked yet.")
THESE = Words("these marks are locked, and no others are opened: {marks}")
STANDS, REFUTED = tr("This stands"), tr("This is refuted")
TOLD = Words("“{says}” <b>{verdict}</b>: {tells}.")
#: what stands in article_rows.toml, and above the table of it
VERDICTS = {
    "wrong": tr("wrong"),
    "imprecise": tr("imprecise"),
    "out of date": tr("out of date"),
}
HEAD = (
    tr("row"), tr("in"), tr("what is said"),
    tr("verdict"), tr("lab"),
)  # fmt: skip
#: the marks of each passage whose verdicts were shown
_LOCKED: dict[str, str] = {}
#: letter of an article, verdict, what it says, the lab that shows it
Row = tuple[str, str, str, str]


def open_marks(passage: Passage, marks: str, locked: str = "") -> None:
    """A menu of what was marked; each opens its run at the step that tells, below a sentence. What
    stands opens in the same way, so that one sees why. The first marks are locked: the others of
    this passage are not opened, in this kernel or in a later one, for which the cell keeps them
    as `locked`."""
    try:
        sentences = {name: passage.find(name) for name in split_marks(marks)}
        marked = set(sentences)
        if kept := split_marks(locked or _LOCKED.get(passage.name, "")):
            sentences = {name: passage.find(name) for name in kept}
    except NoSentence as error:
        return print(f"{error}.")
    if not sentences:
        return print(UNMARKED)
    if len(sentences) == len(passage.sentences):
        return print(f"{ALL}.")
    _LOCKED[passage.name] = ", ".join(sentences)
    if not locked:
        _write_lock(_LOCKED[passage.name])
    if sentences.keys() != marked:
        print(f"{THESE(marks=_LOCKED[passage.name])}.")
    menu, words = Dropdown(options=list(sentences)), HTML()

    def show_words(_: object = None) -> None:
        words.value = _describe(passage, sentences[menu.value])

    menu.observe(show_words, "value")
    show_words()
    show: Any = display  # IPython does not say its type
    show(words)
    vary(partial(_open, passage), mark=menu)


def _write_lock(marks: str) -> None:
    """Put the locked marks into the cell that is being run, where there is one."""
    shell = get_ipython()
    if not hasattr(shell, "get_parent"):
        return
    code = shell.get_parent().get("content", {}).get("code", "")
    call = re.search(r"open_marks\([^()]*(?=\))", code)
    if call is not None:
        text = f'{call[0]}, locked="{marks}"'
        shell.set_next_input(code[: call.start()] + text + code[call.end() :], replace=True)


def _describe(passage: Passage, sentence: Sentence) -> str:
    verdict = STANDS if passage.stands(sentence) else REFUTED
    says, tells = escape(str(sentence.says)), escape(str(sentence.tells))
    return f"<p>{TOLD(says=says, verdict=verdict, tells=tells)}</p>"


def _open(passage: Passage, mark: str) -> Player:
    experiment = passage.find(mark).experiment
    trace = passage.play(experiment).trace
    return Player(trace, step=experiment.step(trace), title=mark)


def list_rows() -> dict[int, Row]:
    """What articles say that is wrong, imprecise or out of date, by number, in the language that
    is spoken."""
    data = tomllib.loads((FOLDER / "article_rows.toml").read_text("utf-8"))
    return {
        int(number): (row["in"], row["verdict"], tr(row["says"]).of(), row["lab"])
        for number, row in data["rows"].items()
    }


def find_met() -> dict[int, str]:
    """The rows that a passage has, each with the name of its sentence."""
    return {
        row: sentence.name
        for passage in PASSAGES.values()
        for sentence in passage.sentences
        for row in sentence.rows
    }


def tabulate_others() -> str:
    """The rows that no passage has, with the lab that shows them."""
    here = find_met()
    rows = [
        (str(number), article, says, str(VERDICTS[verdict]), lab)
        for number, (article, verdict, says, lab) in list_rows().items()
        if number not in here
    ]
    return columns([tuple(map(str, HEAD)), *rows])
