"""The words of the course, in English and Chinese, one sentence each.

`glossary()` is the whole table, `glossary("lso", "半消息")` those that hold a word. The
names of the systems' own things stay as they are in every language. The terms are in
`glossary.toml` beside this file.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ...kafka.picture.words import MEANS
from ...kernel import Text, Words, tr
from ...registry.tables import columns

MEANS_HEAD = tr("what it is")


@dataclass(frozen=True, slots=True)
class Term:
    en: str
    zh: str
    means: Text

    def row(self) -> tuple[str, str, str]:
        return self.en, self.zh, str(self.means)


def read_terms() -> tuple[Term, ...]:
    """`as`, in place of a sentence: the picture has the same term under this name."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return tuple(
        Term(
            en, tr(en, "term").of("zh"), tr(means) if isinstance(means, str) else MEANS[means["as"]]
        )
        for en, means in data.items()
    )


TERMS = read_terms()


class Glossary:
    """A table of terms: HTML where it can be shown, else plain text. The whole glossary
    stays behind a fold, so that it is there without being in the way."""

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self.terms = terms

    def __len__(self) -> int:
        return len(self.terms)

    def html(self) -> str:
        rows = "".join("<tr>" + "".join(map(_cell, term.row())) + "</tr>" for term in self.terms)
        head = "".join(f"<th>{name}</th>" for name in _head())
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        if len(self.terms) < len(TERMS):
            return table
        many = Words("all {n} terms")(n=len(self.terms))
        return f"<details><summary>{many}</summary>{table}</details>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return columns([_head(), *(term.row() for term in self.terms)])


def glossary(*words: str) -> Glossary:
    """The terms that hold any of `words`; all without a word. ValueError where none does."""
    terms = tuple(term for term in TERMS if not words or _holds(term, words))
    if not terms:
        raise ValueError(f"no term holds {' or '.join(words)}; glossary() shows all of them")
    return Glossary(terms)


def _head() -> tuple[str, str, str]:
    return "English", "中文", str(MEANS_HEAD)


def _holds(term: Term, words: tuple[str, ...]) -> bool:
    return any(word.casefold() in f"{term.en} {term.zh}".casefold() for word in words)


def _cell(text: str) -> str:
    """Text is data; JupyterLab would put it to the right."""
    return f'<td style="text-align:left">{escape(text)}</td>'
