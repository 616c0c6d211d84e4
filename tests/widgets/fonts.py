"""Chromium with only the fonts it is given, and where the ink of each text really is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets.style import font_of
from mqlab_widgets.widths import width

SETS = {"dejavu": "DejaVu Sans", "liberation": "Liberation Sans", "cjk": "Noto Sans CJK SC"}

# Each text: its words, classes, letters, how wide it is, and the box of what is seen of it: not of
# its line, which says how high the lines of a font are, but of its ink.
TEXTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d");
  const visible = { opacityProperty: true, visibilityProperty: true };
  const measured = (el) => {
    const css = getComputedStyle(el);
    canvas.font = `${css.fontWeight} ${css.fontSize} ${css.fontFamily}`;
    const ink = canvas.measureText(el.textContent);
    const last = el.getNumberOfChars() - 1;
    const [start, end] = [el.getStartPositionOfChar(0), el.getEndPositionOfChar(last)]
      .map((point) => point.matrixTransform(el.getScreenCTM()));
    let [left, right, wide] = [start.x, end.x, end.x - start.x];
    let top = start.y - ink.actualBoundingBoxAscent;
    let bottom = start.y + ink.actualBoundingBoxDescent;
    const view = el.closest("svg");
    if (view.parentElement.closest("svg")) {  // a viewport: what it cuts off is not seen
      const [x, y, w, h] = ["x", "y", "width", "height"].map((n) => Number(view.getAttribute(n)));
      const { e, f } = view.parentElement.getScreenCTM();
      [left, right] = [Math.max(left, e + x), Math.min(right, e + x + w)];
      [top, bottom] = [Math.max(top, f + y), Math.min(bottom, f + y + h)];
    }
    return { text: el.textContent, cls: el.getAttribute("class"), wide, left, right, top,
      bottom, size: parseFloat(css.fontSize), weight: css.fontWeight, family: css.fontFamily };
  };
  return [...document.querySelectorAll("svg text")]
    .filter((el) => el.textContent.trim() && el.checkVisibility(visible))
    .map(measured).filter((t) => t.top < t.bottom && t.left < t.right);
}"""


@contextmanager
def chromium_with(launch: Callable[..., Any], fonts: str, folder: Path) -> Iterator[Any]:
    """Chromium that finds one family only; skips where that is not installed."""
    family = SETS[fonts]
    files = [Path(line.rstrip(": ")) for line in _says("fc-list", family, "file").splitlines()]
    if not files:
        pytest.skip(f"no font {family} on this machine: make setup")
    only = folder / "fonts"
    only.mkdir()
    for file in files:
        (only / file.name).symlink_to(file)
    config = folder / "fonts.conf"
    config.write_text(
        f"<fontconfig><dir>{only}</dir><cachedir>{folder / 'cache'}</cachedir></fontconfig>"
    )
    chromium = launch(env={**os.environ, "FONTCONFIG_FILE": str(config)})
    yield chromium
    chromium.close()


def _says(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def compute_width(text: dict[str, Any]) -> float:
    """The width in px that Python gives a text which Chromium drew."""
    return width(text["text"], *font_of(text["cls"]))


def find_overlaps(texts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Texts whose ink shares more than half a pixel."""
    return [
        (a["text"], b["text"])
        for i, a in enumerate(texts)
        for b in texts[i + 1 :]
        if min(a["right"], b["right"]) - max(a["left"], b["left"]) > 0.5
        and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > 0.5
    ]
