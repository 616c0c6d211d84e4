"""Phrases that came up in the English of labs and program, and that a native reader stops at.

Each has the words to use instead. A phrase that another edit brings back is found here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.sources import list_committed, relative

#: pattern, in small letters → what to write instead. None begins with `\b`: eight times slower
PHRASES = {
    r" anew\b": "again",
    r"whoever\b": "anyone who, a process that; or name the subject",
    r"(who|those who) has doubt\b|who is in doubt\b": "those in doubt",
    r"dearer\b": "more expensive",
    r"(order|payment)s? (\d+ )?over £": "for £",
    r"from [a-z]+ing over [a-z]+ing\b|from open over ": "via",
    r"dealt out\b": "assigned, reassigned",
    r"of which most (pieces )?(are|were) sold\b": "best-selling",
    r"time was over\b": "its retention time had passed",
    r"as far as to\b": "until",
    r"(tells?|told) an error\b": "returns an error",
    r"has once (written|sent|been|had)\b": "once wrote, once sent",
    r"of ipywidgets'": "ipywidgets control",
    r"searched just now\b|just now searched\b": "the search runs now",
    r"say your guess(es)?\b": "guess first",
    r"the dice\b": "at random",
    r"in so many\b": "a given share of",
    r"longer patience\b": "a longer timeout",
    r"by and by\b": "gradually, later",
    r"helps? itself\b": "decides alone",
    r"by the alphabet\b": "in alphabetical order",
    r"(lies|lie|lying) in wait\b": "waits",
    r"a new surface story\b": "another setting",
    r"from when on\b": "from which moment on",
    r"(ms|timeout|deadline)`? is over\b": "has passed",
    r"[\"“]so (it (is|was)|old clients) ": "that is so, they did that",
    r"one (pair|row|record|marker|message|number) a [a-z]": "per",
    r"what is not (true|possible|there) (is|are|has|stays)\b": "name the subject",
    r"it did not happen, and": "this call is refused: an earlier try may have counted",
    r"only its readers must wait": "an open transaction makes readers wait",
    r"holds (up|back) every reader\b(?! of)": "every read_committed consumer",
    r"durable, on the (disk|node)": "written: a power cut may take what is not flushed",
    r"exception of a commit is no abort": "does not by itself mean aborted",
    r"most were recorded\b": "the number, counted",
}

ENDINGS = {".py", ".md", ".toml", ".scn", ".js"}


def test_no_phrase_that_stops_a_reader() -> None:
    """In labs, pages, stories, and in what the program says or says about itself."""
    wrong = []
    for path in list_committed():
        if path.suffix not in ENDINGS or path == Path(__file__):
            continue
        text = re.sub(r"\n *(# |#$|\* )? *", " ", path.read_text("utf-8").lower())
        for phrase, better in PHRASES.items():
            if match := re.search(phrase, text):
                wrong.append(f"{relative(path)}: “{match[0]}”: {better}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text", ["Whoever reads it", "it does its work anew", "from OPEN over ABORTING"]
)
def test_the_list_finds_what_it_names(text: str) -> None:
    assert any(re.search(phrase, text.lower()) for phrase in PHRASES)
