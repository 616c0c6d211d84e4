"""What the labs ask: the questions of `Predict`, with their answers, one file a lab.

A lab says `Predict("07-first-marker", trace=torn, step=17)`. The words are here, in `07.toml`,
so that neither a notebook nor what is made of it (a page, a print) shows the answer:

    [first-marker]
    until = "Fetch @0"               # the step that answers: words of its line, or "now"
    shows = ["readers: committed"]   # the panel that answers, and the line of it with these words
    asks = '''
    What does a read_committed reader get now?

    - both records: the commit has returned
        commit returns before any marker is written.
    + nothing: no marker is written yet
        A partition shows a transaction when its own marker is in its own log.
    '''

`+` is the right option, `-` a wrong one; below it stands why. The file has no blanks before the
question and the options. `until` and `shows` may be left out: the trace then plays to its last
step.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from mqlab.kernel import Lang, spoken, tr

KEYS = {"asks", "until", "shows"}
#: the call in a notebook's cell: the name, and what was kept of an answer
CALL = re.compile(
    r"""\bPredict\(\s*(["'])(?P<name>[0-9a-z-]{1,60})\1"""
    r"(?:\s*,\s*chosen=(?P<chosen>\d{1,2})(?!\d))?(?P<revealed>\s*,\s*revealed=True)?"
)


@dataclass(frozen=True, slots=True)
class Question:
    """`options` in the order they are offered, an explanation for each; `answer` is the index of
    the right one. `until` and `shows` are what `Predict` takes under these names."""

    name: str
    text: str
    options: tuple[str, ...]
    explanations: tuple[str, ...]
    answer: int
    until: int | str | None = None
    shows: tuple[str, ...] = ()


def find_question(name: str, lang: Lang | None = None) -> Question:
    """The question "07-first-marker" in a language, by default the one that is spoken; ValueError
    where there is none of this name."""
    questions = load_questions(name.partition("-")[0], lang or spoken())
    if name not in questions:
        near = get_close_matches(name, questions, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no question {name!r}; {guess}there are: {', '.join(questions)}")
    return questions[name]


@cache
def load_questions(lab: str, lang: Lang = "en") -> Mapping[str, Question]:
    """The questions of the lab with this number, by their names, in the file's order."""
    file = files(__name__).joinpath(f"{lab}.toml")
    if not (lab.isalnum() and file.is_file()):
        raise ValueError(f"no lab {lab!r} asks anything; a question's name is “07-first-marker”")
    return read_questions(lab, file.read_text("utf-8"), lang)


def read_questions(lab: str, text: str, lang: Lang = "en") -> dict[str, Question]:
    """The questions in a file's text; ValueError says which one is not in the form."""
    return {
        f"{lab}-{name}": _question(f"{lab}-{name}", given, lang)
        for name, given in tomllib.loads(text).items()
    }


def _question(name: str, entry: dict[str, Any], lang: Lang) -> Question:
    """Make a question of its TOML entry, in one language. Raises ValueError for an unknown key, a
    missing text, fewer than two options, or where not exactly one option is right."""
    if unknown := sorted(entry.keys() - KEYS):
        raise ValueError(f"{name}: nothing is called {unknown[0]!r} in a question")
    text, *options = re.split(r"^(?=[-+] )", entry.get("asks", ""), flags=re.MULTILINE)
    if not text.strip() or len(options) < 2:
        raise ValueError(f"{name}: a question has a text and at least two options")
    right = [place for place, option in enumerate(options) if option.startswith("+")]
    says, why = zip(*(option[2:].split("\n", 1) for option in options), strict=True)
    if len(right) != 1 or not all(map(str.strip, (*says, *why))):
        raise ValueError(f"{name}: each option says something and why; one of them is right")

    def say(text: str) -> str:
        """A text of several lines as one, in the language."""
        return tr(" ".join(text.split())).of(lang)

    return Question(
        name, say(text), tuple(map(say, says)), tuple(map(say, why)), right[0],
        entry.get("until"), tuple(entry.get("shows", ())),
    )  # fmt: skip
