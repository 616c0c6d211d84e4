"""What lab 15 shows: passages, the examples for what was marked, and the rows that labs have."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from IPython import get_ipython
from IPython.display import display
from ipywidgets import HTML, Dropdown
from mqlab_widgets import Player, vary

from ..kernel import NOTHING, Run, Text, Trace, Words, tr
from ..registry.tables import columns
from .check import Hinted
from .exercises import read_hints
from .experiments import Experiment, read_experiment
from .misconceptions import MISCONCEPTIONS
from .misconceptions import met as met
from .steps import At
from .verdict import NOT_WRITTEN, Verdict

# ---- The exercise of lab 15: passages of articles, in our own words, and what the engine says of
# them
#
# A learner marks the sentences that the engine will refute. What a sentence claims of its execution
# is in `articles.toml` (see `experiments.py`); whether it is true is found by playing it.

FOLDER = Path(__file__).parent


class NoSentence(ValueError):
    """A name that no sentence of a passage has. `text`: what is wrong, in both languages."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """`says`: what the article says, in our own words; `tells`: what the example shows at its
    telling step; `rows`: its rows in article_rows.toml; `belief`: the misconception's name, or
    nothing. `experiment`: the execution that tests it."""

    name: str
    says: Text
    tells: Text
    experiment: Experiment
    rows: tuple[int, ...]
    belief: str = ""

    @property
    def behind(self) -> Text:
        """The belief behind it in words: the misconception's, else its own."""
        if self.belief:
            return MISCONCEPTIONS[self.belief].belief
        return Text(f"“{self.says.en.rstrip('.')}”", f"“{self.says.zh.rstrip('。')}”")


@dataclass(frozen=True)
class Played(Verdict):
    """A verdict with the example as its story plays it, at the story's own times. `behind`: the
    belief in both languages; `misconception` is its English, which reports know. `played`: that
    example."""

    played: Trace | None = None
    behind: Text = NOTHING

    def trace(self) -> Trace | None:
        return self.played

    @property
    def stated_belief(self) -> str:
        return str(self.behind)


@dataclass(frozen=True)
class Passage(Hinted):
    """A chapter of an article. `play`: how a scenario is played, for tests. `place`, `date`: where
    and when it appeared; `about`: its subject; `sentences`: what it claims; `hints`: in order."""

    name: str
    title: str
    place: str
    date: str
    about: Text
    sentences: tuple[Sentence, ...]
    hints: tuple[Text, ...]
    play: Callable[[Experiment], Run] = Experiment.play

    def find(self, name: str) -> Sentence:
        """NoSentence where it has none of this name."""
        for one in self.sentences:
            if one.name == name:
                return one
        there = ", ".join(one.name for one in self.sentences)
        raise NoSentence(NO_SENTENCE(name=name, there=there))

    def stands(self, sentence: Sentence) -> bool:
        """Whether its example shows what it claims."""
        return sentence.experiment.stands(self.play(sentence.experiment).trace)

    def check(self, marks: object, graded: bool = False) -> Verdict:
        """Judge which sentences of the article a learner marked as wrong. Each sentence's example
        says whether it is true (`stands`). The verdict shows the first true one that was marked,
        else the first wrong one that was missed. `graded` makes no difference here."""
        if not isinstance(marks, str) or not marks.strip():
            return Verdict(False, NOT_WRITTEN)
        try:
            marked = {sentence.name for sentence in map(self.find, split_marks(marks))}
        except NoSentence as error:
            return Verdict(False, error.args[0])
        if len(marked) == len(self.sentences):  # to mark all of them is no answer
            return Played(False, ALL, THROUGHOUT.en, behind=THROUGHOUT)
        true = {sentence.name for sentence in self.sentences if self.stands(sentence)}
        for sentence in self.sentences:
            if sentence.name in marked & true:
                return self._show(sentence, Text(sentence.name), DOUBTED)
        missed = [sentence for sentence in self.sentences if sentence.name not in marked | true]
        if missed:
            return self._show(missed[0], MORE(count=len(missed)), missed[0].behind)
        return Verdict(True, RIGHT)

    def _show(self, sentence: Sentence, head: Text, belief: Text) -> Verdict:
        trace = self.play(sentence.experiment).trace
        step = At(sentence.experiment.step(trace))
        message = SHOWN(head=head, tells=sentence.tells)
        return Played(False, message, belief.en, tells=step, played=trace, behind=belief)

    def __str__(self) -> str:
        """The passage, a sentence a line after its name."""
        width = max(len(one.name) for one in self.sentences)
        lines = [f"{one.name:<{width}}  {one.says}" for one in self.sentences]
        return "\n".join([f"{self.title} · {self.place} · {self.date}", "", *lines])


ALL = tr("all are marked, which says nothing: some of them are right")
RIGHT = tr("the engine refutes these, and the others are right")
THROUGHOUT = tr("an article is wrong throughout")
DOUBTED = tr("what an article says is wrong")
MORE = Words("the engine refutes {count} more of them; this example refutes one")
SHOWN = Words("{head}: {tells}")
NO_SENTENCE = Words("no sentence is called {name}; there are: {there}")
HINTS = read_hints("15 passage")


def split_marks(marks: str) -> list[str]:
    """The names in an answer, which commas or blanks divide."""
    return [name for name in re.split(r"[\s,]+", marks) if name]


def read_passages() -> dict[str, Passage]:
    """The passages of `articles.toml`, by their names."""
    data = tomllib.loads((FOLDER / "articles.toml").read_text("utf-8"))
    return {
        name: Passage(
            name, one["title"], one["place"], one["date"], tr(one["about"]),
            tuple(_sentence(key, given) for key, given in one["sentences"].items()), HINTS,
        )
        for name, one in data.items()
    }  # fmt: skip


def _sentence(name: str, given: Mapping[str, Any]) -> Sentence:
    says, tells = tr(given["says"]), tr(given["tells"])
    rows, belief = tuple(given["rows"]), given.get("belief", "")
    return Sentence(name, says, tells, read_experiment(given), rows, belief)


PASSAGES = read_passages()

# ---- what the lab shows ---------------------------------------------------------------

HALF, CONTROL, PENDING = (PASSAGES[name] for name in ("half", "control", "pending"))
UNMARKED = tr("Nothing is marked yet.")
THESE = Words("these marks are locked, and only they are opened: {marks}")
STANDS, REFUTED = tr("This is right"), tr("This is refuted")
TOLD = Words("“{says}” <b>{verdict}</b>: {tells}.")
#: what is in article_rows.toml, and above the table of it
VERDICTS = {"wrong": tr("wrong"), "imprecise": tr("imprecise"), "out of date": tr("out of date")}
HEAD = (
    tr("row"), tr("in"), tr("what is said"),
    tr("verdict"), tr("lab"),
)  # fmt: skip
#: the marks of each passage whose verdicts were shown
_LOCKED: dict[str, str] = {}
#: letters of articles, verdict, what they say, the lab that shows it
Row = tuple[str, str, str, str]


def open_marks(passage: Passage, marks: str, locked: str = "") -> None:
    """Show a menu of the sentences that the learner has marked as wrong; each opens its example, at
    the step that shows whether the sentence is wrong, below an explanation. Where none or all are
    marked, or one is unknown, only say so.

    The first marks are locked: those of this passage that are marked later are not opened, in this
    kernel or in a later one, for which the cell keeps them as `locked`.
    """
    try:
        sentences = {name: passage.find(name) for name in split_marks(marks)}
        marked = set(sentences)
        if locked_names := split_marks(locked or _LOCKED.get(passage.name, "")):
            sentences = {name: passage.find(name) for name in locked_names}
    except NoSentence as error:
        return print(f"{error}.")
    if not sentences:
        return print(UNMARKED)
    if len(sentences) == len(passage.sentences):  # to mark all of them is no answer
        return print(f"{ALL}.")
    _LOCKED[passage.name] = ", ".join(sentences)
    if not locked:
        _write_lock(_LOCKED[passage.name])
    if sentences.keys() != marked:
        print(f"{THESE(marks=_LOCKED[passage.name])}.")
    menu, caption = Dropdown(options=list(sentences)), HTML()

    def show_words(_: object = None) -> None:
        caption.value = _describe(passage, sentences[menu.value])

    menu.observe(show_words, "value")
    show_words()
    show: Any = display  # IPython does not say its type
    show(caption)
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
        int(number): (letters, verdict, tr(says).of(), lab)
        for number, (letters, verdict, says, lab) in data.items()
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


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {
    "passage half": (PASSAGES["half"], "value"),
    "passage control": (PASSAGES["control"], "value"),
    "passage pending": (PASSAGES["pending"], "value"),
}
