"""Stills of a run as PNG and GIF. Chromium draws them, as it draws the page."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from mqlab_widgets.style import font_css

from . import doctor
from .errors import UserError

if TYPE_CHECKING:
    from playwright.sync_api import Page

Theme = Literal["light", "dark"]

MOST_FRAMES, MOST_PIXELS = 150, 2_000
COLOURS = 255  # of a GIF, and one for what stays as it was
PACE_MS, LETTER_MS, LAST_MS = 900, 22, 4_000
"""How long a frame of a GIF is seen: the sentence of its step is to be read, the last one too."""


@contextmanager
def open_studio(theme: Theme) -> Iterator[Page]:
    """A page in Chromium with the pictures' letters; UserError says what is missing."""
    needs = {"chromium": doctor.chromium, "driver": doctor.driver}
    for name, title, _, todo, _ in doctor.PROBES:
        if name in needs and not needs[name]():
            todo = todo.partition("; ")[2]
            raise UserError(
                f"a .png or .gif needs {title}, which is missing here; {todo}; .svg and .html "
                "need nothing"
            )
    from playwright.sync_api import sync_playwright

    root = hasattr(os, "geteuid") and os.geteuid() == 0
    args = ["--no-sandbox"] if root else []  # Chromium's sandbox refuses to run as root
    with sync_playwright() as session:
        browser = session.chromium.launch(executable_path=doctor.chromium(), args=args)
        page = browser.new_page(color_scheme=theme)
        page.set_content(
            f"<!doctype html><style>{font_css()}body{{margin:0}}svg{{display:block}}</style><body>"
        )
        page.evaluate("document.fonts.ready")
        yield page
        browser.close()


def photograph(page: Page, svg: str) -> bytes:
    """One still as a PNG."""
    width, height = size_of(svg)
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("(svg) => { document.body.innerHTML = svg; return document.fonts.ready; }", svg)
    return page.screenshot()


SLIDE = (1920, 1080)
"""Width and height in pixels."""

BARE = (
    ".lecture :is(.controls, .count, .tabs, .top button) { display: none !important; }"
    ".lecture .caption { min-height: 0 !important; }"
)
"""A slide has nothing to press, and no caption but its own."""


def photograph_slide(page: Page, lecture: str) -> bytes:
    """The page of a lecture, as it opens, as a slide of 16:9."""
    width, height = SLIDE
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(reduced_motion="reduce")
    page.set_content(lecture)
    page.wait_for_selector(".lecture[data-step]")
    page.add_style_tag(content=BARE)
    page.evaluate("() => { dispatchEvent(new Event('resize')); return document.fonts.ready; }")
    page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    return page.screenshot()


def size_of(svg: str) -> tuple[int, int]:
    """Width and height of a still in whole pixels."""
    size = re.search(r' width="([\d.]+)" height="([\d.]+)"', svg)
    assert size, "a still has a size"
    return math.ceil(float(size[1])), math.ceil(float(size[2]))


def film(page: Page, stills: Sequence[str], times_ms: Sequence[int]) -> bytes:
    """Stills of one size as a GIF; each is seen as long as its time says."""
    return gif_of([photograph(page, svg) for svg in stills], times_ms)


def gif_of(shots: Sequence[bytes], times_ms: Sequence[int]) -> bytes:
    """Screenshots, each a PNG of the same size, as a GIF that begins again when it has ended. All
    frames have one palette, the most frequent colours, so what stays keeps its colour."""
    from PIL import Image

    def read(shot: bytes) -> Image.Image:
        """With the six upper bits of each colour, by which Pillow looks it up in a palette."""
        return Image.open(BytesIO(shot)).convert("RGB").point(lambda part: part & 0xFC)

    counts: Counter[Any] = Counter()
    for picture in map(read, shots):
        colours = picture.getcolors(picture.width * picture.height) or ()
        counts.update({colour: pixels for pixels, colour in colours})
    parts = [part for colour, _ in counts.most_common(COLOURS) for part in colour]
    palette = Image.new("P", (1, 1))
    palette.putpalette(parts)
    frames = [read(shot).quantize(palette=palette, dither=Image.Dither.NONE) for shot in shots]
    for frame in frames:
        frame.putpalette([part | part >> 6 for part in parts])  # white is white again
    out = BytesIO()
    times = [time // 10 * 10 for time in times_ms]  # a GIF counts in hundredths of a second
    frames[0].save(
        out, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=False
    )
    return out.getvalue()
