"""Phrases that came up in the English of labs and pages, and that a native reader stops at.

Each has the words to use instead. A phrase that another edit brings back is found here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.sources import list_committed, relative

#: pattern → what to write instead
PHRASES = {
    r"\banew\b": "again",
    r"\bwhoever\b": "anyone who, a process that; or name the subject",
    r"\b(who|those who) has doubt\b|\bwho is in doubt\b": "those in doubt",
    r"\bdearer\b": "more expensive",
    r"\b(order|payment)s? (\d+ )?over £": "for £",
    r"\bfrom [A-Z_]{4,} over [A-Z_]{4,}": "via",
    r"\bdealt out\b": "assigned, reassigned",
    r"\bof which most (pieces )?(are|were) sold\b": "best-selling",
    r"\btime was over\b": "its retention time had passed",
    r"\bas far as to\b": "until",
    r"\b(tells?|told) an error\b": "returns an error",
    r"\bhas once (written|sent|been|had)\b": "once wrote, once sent",
    r"\bof ipywidgets'": "ipywidgets control",
    r"\bsearched just now\b|\bjust now searched\b": "the search runs now",
    r"\bsay your guess(es)?\b": "guess first",
    r"\bthe dice\b": "at random",
    r"\bone in so many\b|\bin so many\b": "a given share of",
    r"\blonger patience\b": "a longer timeout",
    r"\bby and by\b": "gradually, later",
    r"\bhelps? itself\b": "decides alone",
    r"\bby the alphabet\b": "in alphabetical order",
    r"\b(lies|lie|lying) in wait\b": "waits",
    r"\ba new surface story\b": "another setting",
    r"\bfrom when on\b": "from which moment on",
    r"(ms|timeout|deadline)`? is over\b": "has passed",
    r"[\"“]So (it (is|was)|old clients) ": "that is so, they did that",
    r"\bone (pair|row|record|marker|message|number) a [a-z]": "per",
    r"\bwhat is not (true|possible|there) (is|are|has|stays)\b": "name the subject",
}

READ = re.compile(
    "labs/(source|instructor)/|mqlab/lessons/questions/|mqlab/lessons/[a-z]+/exercises/"
)
PAGES = [
    path
    for path in list_committed()
    if path.suffix in {".py", ".md", ".toml"} and READ.match(relative(path))
]


@pytest.mark.parametrize("path", PAGES, ids=[relative(path) for path in PAGES])
def test_no_phrase_that_stops_a_reader(path: Path) -> None:
    text = re.sub(r"\n#? ?", " ", path.read_text("utf-8"))
    wrong = [
        f"“{match[0]}”: {better}"
        for phrase, better in PHRASES.items()
        for match in re.finditer(phrase, text, re.IGNORECASE)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text", ["Whoever reads it", "it does its work anew", "from OPEN over ABORTING"]
)
def test_the_list_finds_what_it_names(text: str) -> None:
    assert any(re.search(phrase, text, re.IGNORECASE) for phrase in PHRASES)
