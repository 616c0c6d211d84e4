"""Contrast of the colours in the style sheet: 4.5 : 1 for text, 3 : 1 for lines, both themes."""

from __future__ import annotations

import re

import pytest
from mqlab_widgets.style import css

TXNS = [f"t{i}" for i in range(7)]
TEXT = [
    *((name, "ground") for name in ("ink", "muted", "bad", "good", "accent", *TXNS)),
    *((name, "band") for name in ("ink", "muted", "bad", *TXNS)),
    *((name, "soft") for name in ("ink", "muted", "bad", "good")),
    *(("ink", f"b{i}") for i in range(7)),
    *(("ground", name) for name in ("f1", "f2", "f3", "good", "bad", *TXNS)),
]
LINES = [(name, "ground") for name in ("line", "f1", "f2", "f3", "accent", "good", "bad", *TXNS)]


def colours(theme: int) -> dict[str, str]:
    pairs = re.findall(r"--(\w[\w-]*): light-dark\((#\w{6}), (#\w{6})\)", css())
    return {name: pair[theme] for name, *pair in pairs}


def luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, two: str) -> float:
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("pairs, least", [(TEXT, 4.5), (LINES, 3.0)], ids=["text", "lines"])
def test_contrast(theme: int, pairs: list[tuple[str, str]], least: float) -> None:
    known = colours(theme)
    weak = {
        f"{a} on {b}": round(found, 2)
        for a, b in pairs
        if (found := contrast(known[a], known[b])) < least
    }
    assert not weak
