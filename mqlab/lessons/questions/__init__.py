"""What the labs ask: the questions of `Predict`, with their answers, one file a lab.

A lab says `Predict("07-first-marker", trace=torn, step=17)`. The words are here, in `07.toml`,
so that neither a notebook nor what is made of it (a page, a print) shows the answer:

    [first-marker]
    question = "What does a read_committed reader get now?"
    until = "Fetch @0"               # the step that answers: words of its line, or "now"
    shows = ["readers: committed"]   # the panel that answers, and the line of it with these words

    [[first-marker.options]]
    says = "both records: the commit has returned"
    why = "commit returns before any marker is written."

    [[first-marker.options]]
    says = "nothing: no marker is written yet"
    why = "A partition shows a transaction when its own marker is in its own log."
    right = true

`until` and `shows` may be left out: the trace then plays to its last step.
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

from mqlab.kernel import Lang, pick, spoken

KEYS = {"question", "options", "until", "shows"}
OPTION_KEYS = {"says", "why", "right"}
SAID = ("question", "says", "why")  # in the language that is spoken

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
    options = entry.get("options", [])
    unknown_keys = [
        *(entry.keys() - KEYS),
        *(key for option in options for key in option.keys() - OPTION_KEYS),
    ]
    if unknown_keys:
        raise ValueError(f"{name}: nothing is called {unknown_keys[0]!r} in a question")
    if "question" not in entry or len(options) < 2:
        raise ValueError(f"{name}: a question has a text and at least two options")
    right = [index for index, option in enumerate(options) if option.get("right")]
    if len(right) != 1 or not all(option.get("says") and option.get("why") for option in options):
        raise ValueError(f"{name}: each option says something and why; one of them is right")
    texts = pick(entry, SAID, lang)
    return Question(
        name,
        texts["question"],
        tuple(option["says"] for option in texts["options"]),
        tuple(option["why"] for option in texts["options"]),
        right[0],
        entry.get("until"),
        tuple(entry.get("shows", ())),
    )
