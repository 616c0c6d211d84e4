"""How wide a text will be, without a browser: a still has to be laid out in Python.

Advance widths of Helvetica and Arial (per 1000), which most sans-serif faces come close
to, times a margin for the wider ones. Chinese characters are as wide as the size.
"""

from __future__ import annotations

from functools import lru_cache
from unicodedata import east_asian_width

MARGIN = 1.08
BOLD = 1.07
MONO = 0.62  # of the size, for each character

_BY_WIDTH = {
    191: "'", 222: "ijl", 260: "|", 278: " !,./:;It[]\\f", 333: "-()r`", 334: "{}",
    355: '"', 389: "*", 469: "^", 500: "ckvxyzsJ", 556: "#$0123456789abdeghnopquL?_",
    584: "+<=>~", 611: "FTZ", 667: "&ABEKPSVXY", 722: "CDHNRUw", 778: "GOQ", 833: "Mm",
    889: "%", 944: "W", 1015: "@",
}  # fmt: skip
_EM = {char: width / 1000 for width, chars in _BY_WIDTH.items() for char in chars}


@lru_cache(maxsize=20_000)
def width(text: str, size: float = 11.5, bold: bool = False, mono: bool = False) -> float:
    """The width of `text` in px at a font size in px, rather too wide than too narrow."""
    ems = 0.0
    for char in text:
        if east_asian_width(char) in "WF":
            ems += 1.0
        else:
            ems += MONO if mono else _EM.get(char, 0.62) * MARGIN
    return ems * size * (BOLD if bold and not mono else 1.0)


def fit(text: str, room: float, size: float = 11.5, bold: bool = False, mono: bool = False) -> str:
    """`text`, or as much of its beginning as fits into `room` px, ending in "…"."""
    if width(text, size, bold, mono) <= room:
        return text
    end = len(text)
    while end > 1 and width(text[:end].rstrip() + "…", size, bold, mono) > room:
        end -= 1
    return text[:end].rstrip() + "…"


def wrap(text: str, room: float, size: float = 11.5, lines: int = 2) -> list[str]:
    """`text` in at most `lines` lines of `room` px; the last one is shortened if it must be."""
    out: list[str] = []
    line = ""
    words = _words(text)
    for i, word in enumerate(words):
        if line and width((line + word).rstrip(), size) > room:
            if len(out) == lines - 1:
                return [*out, fit(line + "".join(words[i:]), room, size)]
            out.append(line.rstrip())
            line = word.lstrip()
        else:
            line += word
    return [*out, fit(line.rstrip(), room, size)] if line else out


def _words(text: str) -> list[str]:
    """Pieces between which a line may break: at blanks, and after each Chinese character."""
    out = [""]
    for char in text:
        out[-1] += char
        if char == " " or east_asian_width(char) in "WF":
            out.append("")
    return [piece for piece in out if piece]
