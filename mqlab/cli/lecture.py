"""`mqlab lecture`: one slot of 90 minutes, ready to hold."""

from __future__ import annotations

import argparse
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UserError
from .language import add_language, tell
from .pictures import BARE, SLIDE, open_studio
from .site import add_page_arguments, show_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

HELP = "write a 90-minute lecture: slides with scenes and votes, speaker's notes, a handout"
ROWS = 6  # of a story: after so many a slide, so that each sentence is on one
SLIDER = ".lecture input[type=range]"
TO_STEP = "(el, step) => { el.value = step; el.dispatchEvent(new Event('input')); }"
READY = "() => new Promise((done) => document.fonts.ready.then(() => setTimeout(done, 150)))"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_page_arguments(parser, ".cache/lecture")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    status = show_page(args, "lecture/index.html")
    folder = args.output / ("lecture" if args.lang == "en" else f"{args.lang}/lecture")
    try:
        pages = write_slides(folder, folder / "slides.pdf")
        tell("wrote {}: {} slides", folder / "slides.pdf", pages)
    except UserError as error:
        tell("no slides as a PDF: {}", error)
    return status


def write_slides(folder: Path, out: Path) -> int:
    """The pages of a lecture as a PDF: the votes, the answers, and each trace, a story after every
    few of its sentences and a protocol at each of its captions; how many."""
    width, height = SLIDE
    with open_studio("light") as page:
        page.set_viewport_size({"width": width, "height": height})
        shots = [b64encode(shot).decode() for shot in _photograph(page, folder)]
        images = "".join(f"<img src='data:image/png;base64,{shot}'>" for shot in shots)
        style = f"img {{ display: block; width: {width}px; height: {height}px; break-after: page }}"
        page.set_content(f"<style>body {{ margin: 0 }} {style}</style>{images}")
        out.write_bytes(page.pdf(width=f"{width}px", height=f"{height}px", print_background=True))
    return len(shots)


def _photograph(page: Page, folder: Path) -> Iterator[bytes]:
    from ..site.stories import list_pages, read_scenes

    for name, scene, kind in list_pages(read_scenes()[1]):
        page.goto((folder / name).resolve().as_uri())
        page.add_style_tag(content=f"{BARE} .vote .screen {{ display: none }}")
        cuts = {"story": scene.told[::-ROWS][::-1], "protocol": scene.cuts}.get(kind, ((0, ""),))
        page.evaluate("() => dispatchEvent(new Event('resize'))")  # the controls are gone
        for end, _ in cuts:
            if end:
                page.locator(SLIDER).evaluate(TO_STEP, end)
            page.evaluate(READY)
            yield page.screenshot()
