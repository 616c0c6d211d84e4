"""Phrases that came up in the English of labs and program, and that a native reader stops at.

Each has the words to use instead. A phrase that another edit brings back is found here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.catalogue import read_catalogue
from tests.project.sources import ROOT, list_committed, relative

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


DETERMINED = r"\b(an?|the|this|these|those|each|every|one|another|same|its|two|three|no) "
#: a private word → the pattern of its private use, in small letters; CONTRIBUTING.md has the public
#: words. Code (`twin`) is left out before, and so is "Story", the level of the picture
PRIVATE = {
    "run": rf"({DETERMINED}|\bshortest |\bof )runs?\b(?! (time|of the tests))",
    "kill": rf"{DETERMINED}kills?\b(?! -9)",
    "story": r"\bstor(y|ies)\b",
    "half": rf"{DETERMINED}half\b(?!-| (messages?|topic|of|an?|hour|minute|second|the)\b)"
            r"|\bhalves\b",
    "keeper": r"\bkeepers?\b",
    "twin": r"\btwins?\b",
    "light": rf"({DETERMINED}|\b(first|last|red|green) )lights?\b(?! (theme|mode|or|and|on)\b)",
    "owed": r"\bow(e|es|ed|ing)\b",
    "parked": r"\bparked\b",
    "price": r"\bat a price\b|\bprices? of (a (way|transaction|commit)|sending|exactly)\b",
    "room": rf"{DETERMINED}rooms?\b(?! (for|to|left)\b)",
    "door": r"\bdoors?\b",
    "floor": rf"({DETERMINED}|\btop |\blower )floors?\b(?! \()",
    "sitting": r"\bsittings?\b",
    "short way": r"\bshort ways?\b",
    "behind": r"(?<!lag )(?<!lags )(?<!lagging )(?<!fall )(?<!falls )(?<!far )\bbehind\b",
    "under way": r"\bunder way\b",
}
#: how many texts of each kind may still have a private word. Lower them; never raise one.
LEFT: dict[str, dict[str, int]] = {
    "labs": {
        "behind": 41, "half": 4, "owed": 1, "parked": 1, "room": 1, "story": 3, "twin": 27,
    },
    "program": {
        "light": 1, "story": 1, "twin": 4,
    },
    "pages": {
        "behind": 1, "run": 1,
    },
}  # fmt: skip
CODE = re.compile(
    r"(?s)\{\{.*?\}\}|```.*?```|``.*?``|`[^`]*`|<code>.*?</code>|\{[^{}]*\}|\bStory\b|\]\([^)]*\)"
)
TABLE = re.compile(r"(?m)^\| not \| but \|$(.*?)^$", re.DOTALL | re.MULTILINE)


def find_private(text: str) -> list[str]:
    """The private words in a text."""
    plain = CODE.sub(" … ", text).lower()
    return [word for word, pattern in PRIVATE.items() if re.search(pattern, plain)]


def list_texts() -> Iterator[tuple[str, str]]:
    """Everything that a user reads in English, with its kind: of labs, of the program, of pages."""
    for domain in ("mqlab", "labs"):
        for one in read_catalogue(domain):
            files = [name for name, _ in one.locations]
            taught = any(name.startswith(("labs/", "mqlab/lessons")) for name in files)
            kind = "labs" if taught else "program"
            yield kind, str(one.id)
    for path in list_committed():
        if path.suffix == ".md" and ".zh" not in path.name and "/zh/" not in relative(path):
            kind = "labs" if "labs/instructor" in relative(path) else "pages"
            text = TABLE.sub("", path.read_text("utf-8"))
            for paragraph in re.split(r"\n\s*\n", text):
                yield kind, paragraph


def count_private() -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for kind, text in list_texts():
        for word in find_private(text):
            found.setdefault(kind, Counter())[word] += 1
    return found


@pytest.mark.parametrize("kind", ["labs", "program", "pages"])
def test_no_private_word(kind: str) -> None:
    found = count_private().get(kind, Counter())
    more = {w: n for w, n in found.items() if n > LEFT.get(kind, {}).get(w, 0)}
    told = [f"{w}: {t[:100]}" for k, t in list_texts() if k == kind for w in find_private(t)]
    assert not more, "\n".join([str(more), *(one for one in told if one.split(":")[0] in more)])


@pytest.mark.parametrize(
    ("planted", "word"),
    [
        ("The run that refutes it", "run"), ("after the kill, nothing", "kill"),
        ("tell the story again", "story"), ("the half is gone", "half"),
        ("three markers are owed", "owed"), ("what comes behind it", "behind"),
        ("its keeper stops", "keeper"), ("the invariant's red light", "light"),
    ],
)  # fmt: skip
def test_a_planted_private_word_is_found(planted: str, word: str) -> None:
    assert find_private(planted) == [word]


def test_everyday_use_is_no_private_word() -> None:
    said = (
        "Run `mqlab run`: a test run. Kill the process with `kill -9`. A half message, half of it, "
        "half an hour. There is room for 100. A consumer lags behind. At Story level. "
        "A light theme. "
        "The order's price is £3."
    )
    assert find_private(said) == []


def test_each_private_word_has_its_public_word() -> None:
    """In the table of CONTRIBUTING."""
    table = TABLE.search((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert table
    assert [word for word in PRIVATE if word not in table[1]] == []
