"""How wide a text is, without a browser: a still has to be laid out in Python.

Exact for what the font holds that travels with the pictures (see style.py). Chinese is the
system's and as wide as the size; monospaced letters are the system's too, and no common one is
wider than 0.602 of the size. For what is in none of these the widest guess is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from unicodedata import category, east_asian_width

from .style import advances

MONO = 0.602
UNKNOWN = 0.9  # a letter of another script
EMOJI = 1.4

NOT_FIRST = "，。、；：！？）》」』”’…"
NOT_LAST = "（《「『"
"""Signs that no line begins with, and that no line ends with."""

NARROWEST = 0.2
"""Of the size: no text of ours has more characters than its room divided by this."""


@lru_cache(maxsize=10_000)
def _em(char: str, bold: bool, mono: bool) -> float:
    """The advance of a character in em."""
    signs = advances(signs=True)
    if char in signs:
        return signs[char]
    if east_asian_width(char) in "WF":
        return EMOJI if char > "\U0001f000" and category(char) == "So" else 1.0
    if category(char) in ("Mn", "Me", "Cf"):
        return 0.0
    return MONO if mono else advances(bold).get(char, UNKNOWN)


@lru_cache(maxsize=20_000)
def width(text: str, size: float = 11.5, bold: bool = False, mono: bool = False) -> float:
    """The width of `text` in px at a font size in px."""
    return sum(_em(char, bold, mono) for char in text) * size


def fit(text: str, room: float, size: float = 11.5, bold: bool = False, mono: bool = False) -> str:
    """`text`, or as much of its beginning as fits into `room` px, one character at least, and "…".

    Looks only at as many characters as can fit, since the text may be a stranger's transactional
    id.
    """
    most = _count_most(room, size)
    if len(text) <= most and width(text, size, bold, mono) <= room:
        return text
    left = room / size - _em("…", bold, mono)  # in em
    end = 0
    for char in text[:most]:
        left -= _em(char, bold, mono)
        if left < 0:
            break
        end += 1
    return text[: max(end, 1)].rstrip() + "…"


def fit_apart(
    names: Iterable[str], room: float, size: float = 11.5, bold: bool = False, mono: bool = False
) -> dict[str, str]:
    """Shorten names to `room` px so that no two of them look the same; returns the shortened by the
    whole ones. What does not fit loses its middle; where names stay alike however the rest is
    divided between beginning and end, it loses its end, and a number takes its place."""
    names = tuple(dict.fromkeys(names))
    for share in (0.5, 0.3, 0.7, 0.0, 0.15, 0.85, 1.0):  # of the room, for the beginning
        out = {name: _without_middle(name, room, size, bold, mono, share) for name in names}
        if len(set(out.values())) == len(names):
            return out
    return {
        name: name
        if width(name, size, bold, mono) <= room
        else fit(name, room - width(str(i), size, bold, mono), size, bold, mono) + str(i)
        for i, name in enumerate(names, 1)
    }


def _without_middle(
    text: str, room: float, size: float, bold: bool, mono: bool, share: float
) -> str:
    """`share`: how much of the room is for the beginning."""
    most = _count_most(room, size)
    if len(text) <= most and width(text, size, bold, mono) <= room:
        return text
    left = room - width("…", size, bold, mono)
    head = _count_fitting(text[:most], left * share, size, bold, mono)
    left -= width(text[:head], size, bold, mono)
    tail = _count_fitting(text[: -most - 1 : -1], left, size, bold, mono)
    return f"{text[:head]}…{text[len(text) - tail :]}"


def _count_fitting(chars: str, room: float, size: float, bold: bool, mono: bool) -> int:
    """How many of the first characters fit."""
    used = 0.0
    for count, char in enumerate(chars):
        used += _em(char, bold, mono) * size
        if used > room:
            return count
    return len(chars)


def wrap(
    text: str, room: float, size: float = 11.5, lines: int = 2, bold: bool = False
) -> list[str]:
    """Break `text` into at most `lines` lines of `room` px; the last one is shortened if the rest
    does not fit, and so is a word that is wider than a line. No line for an empty text."""
    out: list[str] = []
    line = ""
    words = _split_words(text[: _count_most(room, size) * lines])
    for i, word in enumerate(words):
        if line and width((line + word).rstrip(), size, bold) > room:
            if len(out) == lines - 1:  # this line is the last one that is allowed
                return [*out, fit(line + "".join(words[i:]), room, size, bold)]
            out.append(fit(line.rstrip(), room, size, bold))
            line = word.lstrip()
        else:
            line += word
    return [*out, fit(line.rstrip(), room, size, bold)] if line else out


def halve(text: str, room: float, size: float, bold: bool = False) -> list[str]:
    """Break `text` into two lines of at most `room` px, if any two fit: after a comma, else between
    words, else within one (`_`, `/`, camelCase), and then as equal as possible. Where no two fit,
    the first line does if it can. One line where nothing can be parted, or where the text is far
    too long."""
    if len(text) > 2 * _count_most(room, size):
        return [text]
    words = [re.split("(?<=[_/])|(?<=[a-z])(?=[A-Z])", word) for word in _split_words(text)]
    pieces = [piece for word in words for piece in word if piece]
    pairs = [("".join(pieces[:i]), "".join(pieces[i:])) for i in range(1, len(pieces))]

    def rank(pair: tuple[str, str]) -> tuple[bool, float, int, float]:
        """How bad a break is: does the first line not fit, by how much the second does not, where
        it breaks (0 after a comma, 1 between words, 2 within one), the wider line's width."""
        first, second = (width(line.rstrip(), size, bold) for line in pair)
        place = 2 if re.search("[a-z_/]$", pair[0]) else pair[0].rstrip()[-1] not in ",，"
        return first > room, max(second - room, 0), place, max(first, second)

    return [line.rstrip() for line in min(pairs, key=rank, default=(text,))]


def _count_most(room: float, size: float) -> int:
    """More characters than this are not looked at."""
    return int(max(room, 0) / (size * NARROWEST)) + 2


def _split_words(text: str) -> list[str]:
    """Pieces between which a line may break: at blanks, and after each Chinese character where no
    sign is torn off its word."""
    out = [""]
    for char in text:
        if char in NOT_FIRST and len(out) > 1 and not out[-1]:
            out.pop()
        out[-1] += char
        if char == " " or (east_asian_width(char) in "WF" and char not in NOT_LAST):
            out.append("")
    return [piece for piece in out if piece]
