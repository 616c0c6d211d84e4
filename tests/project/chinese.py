"""What a text in Chinese has in common with its English, and what it must not have.

Both say the same numbers, the same code, the same links, in as many headings, rows and items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt

CODE = re.compile(r"(?ms)^```.*?^```|(`+)(?!`)(.+?)(?<!`)\1(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
NUMBER = re.compile(r"(?<![\w.])\d[\d,.:]*\d|(?<![\w.])\d")
#: a month is a number in Chinese and a name in English
MONTH = re.compile(r"\d{1,2} 月")
CJK = "\u3400-\u9fff"
#: six words of English in a row are a sentence that nobody has translated
ENGLISH = re.compile(r"[A-Za-z][a-z'’-]*(?:,? [A-Za-z][a-z'’-]*){5,}")
#: a western sign behind a Chinese one
WESTERN = re.compile(rf"[{CJK}）」”](?:[,;!?]|[:.](?![\w/*]))")
SHAPES = {
    "headings": re.compile(r"(?m)^#{1,6} "),
    "rows of tables": re.compile(r"(?m)^\|"),
    "items of lists": re.compile(r"(?m)^ *(?:[-*]|\d+\.) "),
    "lines of code": re.compile(r"(?m)^```"),
}


def compare(english: str, chinese: str) -> Iterator[str]:
    """What is wrong with a translation, a sentence each."""
    if not re.search(f"[{CJK}]", chinese):
        yield "there is no Chinese in it"
    for what, shape in SHAPES.items():
        if (count := len(shape.findall(chinese))) != (wanted := len(shape.findall(english))):
            yield f"{count} {what}, {wanted} in English"
    pairs = ("code", list_code), ("numbers", list_numbers), ("links", LINK.findall)
    for what, listed in pairs:
        here, there = set(listed(chinese)), set(listed(english))
        if gone := there - here:
            yield f"{what} that it lacks: {sorted(gone)}"
        if new := here - there:
            yield f"{what} that the English lacks: {sorted(new)}"
    plain = without_code(chinese)
    for sentence in ENGLISH.findall(plain):
        yield f"English: {sentence[:60]}"
    yield from find_stars(chinese)
    for match in WESTERN.finditer(plain):
        yield f"a western sign in “{plain[max(0, match.start() - 8) : match.end()]}”"


def find_stars(text: str) -> Iterator[str]:
    """Stars that Markdown shows: an emphasis that ends in 。 does not close before a word."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for part in token.children or ():
            if part.type == "text" and "*" in part.content:
                yield f"a star is shown in “{part.content[:40]}”"


def list_code(text: str) -> list[str]:
    return [match[2] or match[0] for match in CODE.finditer(text)]


def list_numbers(text: str) -> list[str]:
    return [number.rstrip(".,:") for number in NUMBER.findall(MONTH.sub("", without_code(text)))]


def without_code(text: str) -> str:
    """The text without code and without where its links lead."""
    return LINK.sub("]", CODE.sub(" ", text))
