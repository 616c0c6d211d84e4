"""The style sheet: the font it brings along, what of it a picture needs, the letters of a class.

A page gets the font once (14 kB, four files in `font/`), inside its style, or in a notebook from
the first player that is drawn there: Inter for letters,
signs that few systems have, such as ▮ and ⏲, in a family of their own, because they are used
among monospaced letters too. Chinese stays the system's. A still is an `<img>`, which sees no
font of its page, and a notebook holds many: instead of 20 kB, each of its texts carries the
width that it was given (`textLength`), and whatever font is there is set to that width.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent

_FAMILIES = {
    "text-400.woff2": ("mqlab", "400"),
    "text-600.woff2": ("mqlab", "600"),
    "signs-1.woff2": ("mqlab signs", "400 600"),
    "signs-2.woff2": ("mqlab signs", "400 600"),
}
Font = tuple[float, bool, bool]
"""Size in px, bold, monospaced."""


@cache
def advances(bold: bool = False, signs: bool = False) -> dict[str, float]:
    """Character → advance width in em, of the letters or of the signs (in every weight one)."""
    table = json.loads((HERE / "font" / "advances.json").read_text("utf-8"))
    letters = "text-600.woff2" if bold else "text-400.woff2"
    names = ("signs-1.woff2", "signs-2.woff2") if signs else (letters,)
    return {char: width / 1000 for name in names for char, width in table[name]["advances"].items()}


@cache
def font_css() -> str:
    """The rules that bring the font, its files inside."""
    table = json.loads((HERE / "font" / "advances.json").read_text("utf-8"))
    return "".join(
        f'@font-face{{font-family:"{family}";font-weight:{weight};'
        f"src:url(data:font/woff2;base64,{_base64(name)}) format('woff2');"
        f"unicode-range:{_ranges(table[name]['advances'])}}}\n"
        for name, (family, weight) in _FAMILIES.items()
    )


def _base64(name: str) -> str:
    return base64.b64encode((HERE / "font" / name).read_bytes()).decode()


def _ranges(chars: str) -> str:
    """The characters as a CSS unicode-range, neighbours joined."""
    spans: list[list[int]] = []
    for code in sorted(map(ord, chars)):
        if spans and code == spans[-1][1] + 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return ",".join(f"U+{a:X}-{b:X}" if b > a else f"U+{a:X}" for a, b in spans)


@cache
def css(*more: str) -> str:
    """The rules of the player and those of the files `more`, without the font."""
    return "\n".join((HERE / name).read_text("utf-8") for name in ("player.css", *more))


def page_css(*more: str) -> str:
    """All that a page needs: the font, and the rules."""
    return f"{font_css()}\n{css(*more)}"


# --- pictures on their own ------------------------------------------------------------------


@cache
def _rules() -> tuple[tuple[str, str], ...]:
    """(selectors, declarations) of the rules for pictures, without the frame around them."""
    pictures = css().partition("/* The frame around the pictures")[0]
    plain = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", pictures, flags=re.S))
    return tuple((a.strip(), b.strip()) for a, b in re.findall(r"([^{}]+)\{([^{}]*)\}", plain))


def svg_css(body: str, own: str = "") -> str:
    """The style sheet for one SVG whose elements are `body`: of the player's rules those that an
    element can match, with only the custom properties (colours, fonts) that they use; then the
    rules `own`."""
    used = {name for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
    used |= {"mqlab", "veiled"}  # of the <svg> around them
    kept = [
        (", ".join(matching), rule)
        for selectors, rule in _rules()
        if (matching := [s for s in selectors.split(", ") if _matches(s, used)])
    ]
    # The rule `.mqlab` defines all properties; the others say which of them are needed.
    named = _named([rule for selector, rule in kept if selector != ".mqlab"] + [own])
    out = []
    for selector, rule in kept:
        lines = [line.strip() for line in rule.split(";") if line.strip()]
        wanted = [x for x in lines if not x.startswith("--") or x.partition(":")[0] in named]
        out.append(f"{selector}{{{';'.join(wanted)}}}")
    return "".join(out) + own


def _matches(selector: str, used: set[str]) -> bool:
    if "[" in selector or ":" in selector:  # a theme around it, a mouse over it: not in an image
        return False
    return set(re.findall(r"\.([\w-]+)", selector)) <= used


def _named(rules: list[str]) -> set[str]:
    """The custom properties that rules use, and those that these use."""
    root = dict(re.findall(r"(--[\w-]+): ([^;]+)", next(r for s, r in _rules() if s == ".mqlab")))
    names: set[str] = {"--sans", "--ink", "--c", "--b"}
    todo = rules + [root[name] for name in names]
    while todo:
        new = set(re.findall(r"var\((--[\w-]+)\)", todo.pop())) - names
        names |= new
        todo += [root[name] for name in new if name in root]
    return names


# --- letters --------------------------------------------------------------------------------


@cache
def font_of(classes: str) -> Font:
    """The letters of a `<text>` of these classes, read off the style sheet's own rules."""
    given = set(classes.split()) | {"mqlab"}
    size, bold, mono = 11.5, False, False
    for names, rule in _letters():
        if names <= given:
            if match := re.search(r"font-size: ([\d.]+)px", rule):
                size = float(match[1])
            if match := re.search(r"font-weight: (\d+)", rule):
                bold = int(match[1]) >= 600
            mono = mono or "font-family: var(--mono)" in rule
    return size, bold, mono


@cache
def _letters() -> tuple[tuple[frozenset[str], str], ...]:
    """The rules that say something about letters, by the classes of one element."""

    def every() -> Iterator[tuple[frozenset[str], str]]:
        for selectors, rule in _rules():
            for selector in selectors.split(", "):
                if "font-" in rule and re.fullmatch(r"\.mqlab( (text)?(\.[\w-]+)+)?", selector):
                    yield frozenset(re.findall(r"\.([\w-]+)", selector)), rule

    return tuple(every())
