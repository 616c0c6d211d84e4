"""What `mqlab view` and `mqlab open` share: an execution as a page, a picture, a film or data."""

from __future__ import annotations

import argparse
import math
import os
import re
import webbrowser
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mqlab_widgets.style import font_css

from ..kernel import Fact, Trace
from ..kernel.text import Words, say_cause, tr
from . import doctor
from .errors import UserError, as_user_error
from .language import add_flag, add_language, tell

if TYPE_CHECKING:
    from mqlab_widgets import Player
    from mqlab_widgets.lecture import Lecture
    from playwright.sync_api import Page


KINDS = {
    ".html": tr("a page that steps through it"),
    ".svg": tr("one step, as vector graphics"),
    ".png": tr("one step, as pixels"),
    ".gif": tr("all steps, as a film"),
    ".json": tr("the trace, as data"),
}
FACTS, KIND = Words("{} facts"), Words("{}: {}")


def list_kinds() -> str:
    return str(tr("; ")).join(str(KIND(kind, what)) for kind, what in KINDS.items())


def add_picture_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of commands that draw a trace: which file to write, what of the trace it
    shows, how large and in which colours."""
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=list_kinds())
    parser.add_argument(
        "--step", metavar="N", help="the step to show; for a .gif the steps, as in 12-40"
    )
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=float,
        help="how long a .gif plays (default: as long as reading takes)",
    )
    parser.add_argument(
        "--panels", metavar="A,B", help="show only these panels, such as space-time,logs,readers"
    )
    parser.add_argument(
        "--level", choices=("story", "protocol", "everything"), default="everything",
        help="how much is shown: what people notice (story); messages, states and logs "
            "(protocol); or everything",
    )  # fmt: skip
    parser.add_argument(
        "--scale", type=float, metavar="X", help="size, for example 1.5 for larger letters"
    )
    add_language(parser)
    parser.add_argument(
        "--theme",
        choices=("light", "dark"),
        help="colours (default: as the reader's browser has them)",
    )
    add_flag(
        parser,
        "--present",
        help="a page for a lecture: as large as the screen, with later steps hidden; Page "
        "Down plays a scene, b or . turns the screen black, f goes full screen. As a "
        ".png: a slide of 1920×1080, at the most telling step unless --step names one",
    )
    add_flag(parser, "--no-browser", help="do not open the page")


def write_picture(
    trace: Trace, args: argparse.Namespace, default: Path, lecture: Lecture, shown: bool
) -> int:
    """Write a trace as the kind of file that --output ends in, and print its name and size. Without
    --output it is `default`, a page, which the browser opens if it is to be `shown` and
    --no-browser is not given. `lecture`: the story and the captions of a page or a slide of
    --present. Returns the exit code 0; UserError for an ending that is no kind (or none of
    --present), for a scenario that cannot be drawn, and where the file cannot be written."""
    out = args.output or default
    if args.present and out.suffix not in (".html", ".png"):
        raise UserError("--present makes a page or a slide: end {} in .html or .png", out)
    if out.suffix not in KINDS:
        raise UserError("cannot write {}: its ending says what it becomes ({})", out, list_kinds())
    try:
        summary = _write(trace, args, out, lecture)
    except ValueError as error:
        raise UserError("this scenario cannot be drawn: {}", error) from error
    except OSError as error:
        raise UserError("cannot write {}: {}", out, say_cause(error)) from error
    _show(out, summary, args, shown)
    return 0


def write_comparison(
    traces: Sequence[Trace], moments: Sequence[tuple[int, ...]], args: argparse.Namespace
) -> int:
    """Write a page on which several traces play side by side, and let the browser open it, unless
    --output or --no-browser is given. `moments`: for each block of the scenarios, the step at which
    it ends in each trace. Returns the exit code 0."""
    from mqlab_widgets import Compare

    out = args.output or Path("compare.html")
    if args.present or out.suffix != ".html":
        raise UserError("--compare makes a page: end its name in .html, and leave out --present")
    step = _read_step(args.step, traces[0]) if args.step else 0  # of the first trace only
    # Where the others are when it opens follows from the moments.
    players = [_player(trace, args, 0 if i else step) for i, trace in enumerate(traces)]
    try:
        out.write_text(Compare(players, moments).page(args.theme or ""), "utf-8")
    except ValueError as error:
        raise UserError(f"{error}") from error
    except OSError as error:
        raise UserError("cannot write {}: {}", out, say_cause(error)) from error
    _show(out, str(Words("{} scenarios")(len(traces))), args, shown=True)
    return 0


def _show(out: Path, summary: str, args: argparse.Namespace, shown: bool) -> None:
    """Say what was written, and open it where no name was given."""
    tell("wrote {} ({:.0f} kB, {})", out, out.stat().st_size / 1000, summary)
    if shown and args.output is None and not args.no_browser:
        address = out.resolve().as_uri()
        if not webbrowser.open(address):
            tell("next: open {} in a browser", address)


def _write(trace: Trace, args: argparse.Namespace, out: Path, lecture: Lecture) -> str:
    """Write the trace to `out` as its ending says (KINDS); return what is printed of it, such as
    "12 facts" or "step 3 of 12". `lecture`: the captions of a page of --present."""
    if out.suffix == ".json":
        trace.save(out)
        return str(FACTS(len(trace)))
    if out.suffix == ".gif":
        return _write_film(trace, args, out)
    # without --step: a page's beginning, a picture's end, the most telling step for a slide
    step = _read_step(args.step, trace) if args.step else _choose_step(trace, out, args.present)
    if out.suffix == ".png":
        theme: Literal["light", "dark"] = args.theme or "light"
        player = _player(trace, args, step, default_scale=1 if args.present else 2)
        with open_studio(theme) as page:
            png = (
                photograph_slide(page, lecture.page(player, theme))
                if args.present
                else photograph(page, player.svg())
            )
        out.write_bytes(png)
    else:
        player = _player(trace, args, step)
        if args.present:
            # "": a page has the theme of its reader's browser
            out.write_text(lecture.page(player, args.theme or ""), "utf-8")
        else:
            player.save(out, args.theme or "")
    steps = len(trace)
    return str(FACTS(steps) if out.suffix == ".html" else Words("step {} of {}")(step, steps))


def _choose_step(trace: Trace, out: Path, present: bool) -> int:
    """A page begins at the beginning, a picture shows the end, a slide what tells most."""
    if out.suffix == ".html":
        return 0
    if not present:
        return len(trace)
    from mqlab_widgets.lecture import find_telling

    return find_telling(trace)


def _player(trace: Trace, args: argparse.Namespace, step: int, default_scale: float = 1) -> Player:
    """UserError for panels and scales that there are not."""
    from mqlab_widgets import Player

    scale = default_scale if args.scale is None else args.scale
    panels = args.panels.split(",") if args.panels else None
    with as_user_error(ValueError):
        return Player(
            trace, step=step, lang=args.lang, scale=scale, panels=panels, level=args.level
        )


def _read_step(text: str, trace: Trace) -> int:
    if not text.isdecimal() or int(text) > len(trace):
        raise UserError("--step {}: expected a step from 0 to {}", text, len(trace))
    return int(text)


# --- films -------------------------------------------------------------------------------


def _write_film(trace: Trace, args: argparse.Namespace, out: Path) -> str:
    """Write the steps of --step to `out` as a GIF, a frame for each that is seen at --level: with a
    sentence at the level story, else unfolded. Returns how many frames it has, in words; UserError
    for too many frames, or for too wide ones."""
    from mqlab_widgets.still import stills

    def is_seen(fact: Fact) -> bool:
        return bool(fact.story.en) if args.level == "story" else not fact.fold

    # Step n is after fact n - 1; step 0, before all facts, is always seen.
    steps = [n for n in _read_range(args.step, trace) if not n or is_seen(trace.facts[n - 1])]
    if len(steps) > MOST_FRAMES:
        raise UserError(
            "a .gif holds at most {} steps, not {}: name some with --step {}-{}, or write a .html",
            MOST_FRAMES,
            len(steps),
            steps[0],
            steps[MOST_FRAMES - 1],
        )
    look = _player(trace, args, steps[-1]).look  # panels, level and scale, the same at each step
    svgs = list(stills(trace, steps, look, args.theme or "light"))
    width, _ = size_of(svgs[0])
    if width > MOST_PIXELS:
        fitting_scale = int(look.scale * MOST_PIXELS / width * 10) / 10  # rounded down to tenths
        raise UserError(
            "--scale {:g} makes {} pixels, and a .gif holds at most {}: use --scale "
            "{:g}, or fewer --panels",
            look.scale,
            width,
            MOST_PIXELS,
            fitting_scale,
        )
    with open_studio(args.theme or "light") as page:
        times = [_choose_time_ms(trace, step, steps) for step in steps]
        if args.seconds:  # keep their proportions, so that they sum up to it
            times = [round(time * args.seconds * 1000 / sum(times)) for time in times]
        out.write_bytes(film(page, svgs, times))
    return str(Words("{} frames")(len(steps)))


def _read_range(text: str | None, trace: Trace) -> range:
    """The steps of a film: all, or those from `A-B`."""
    first, dash, last = (text or f"0-{len(trace)}").partition("-")
    if not dash or not first.isdecimal() or not last.isdecimal():
        raise UserError(
            "--step {}: a .gif shows several steps, as in --step 3-{}", text, len(trace)
        )
    if not int(first) <= int(last) <= len(trace):
        raise UserError(
            "--step {}: expected two steps from 0 to {}, the smaller first", text, len(trace)
        )
    return range(int(first), int(last) + 1)


def _choose_time_ms(trace: Trace, step: int, steps: list[int]) -> int:
    """How long a frame is seen: as long as it takes to read its sentence."""

    fact = trace.facts[step - 1] if step else None
    letters = len(fact.why.en or fact.story.en) if fact else 0
    return PACE_MS + LETTER_MS * letters + (LAST_MS if step == steps[-1] else 0)


# ---- Stills of a trace as PNG and GIF. Chromium draws them, as it draws the page --------

Theme = Literal["light", "dark"]

MOST_FRAMES, MOST_PIXELS = 150, 2_000
COLOURS = 255  # of a GIF, and one for what stays as it was
PACE_MS, LETTER_MS, LAST_MS = 900, 22, 4_000
"""How long a frame of a GIF is seen: the sentence of its step is to be read, the last one too."""


@contextmanager
def open_studio(theme: Theme) -> Iterator[Page]:
    """An empty page of Chromium, with the pictures' fonts, in which to photograph or print; the
    browser ends with the `with`. UserError where Chromium or its driver is missing."""
    needs = {"chromium": doctor.chromium, "driver": doctor.driver}
    for name, title, _, todo, _ in doctor.PROBES:
        if name in needs and not needs[name]():
            raise UserError(
                "a .png, .gif or .pdf needs {}, which is missing here: {}; or write a "
                ".svg or .html",
                title,
                todo,
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
    """Join screenshots, each a PNG of the same size, into the bytes of a GIF that plays in a loop;
    each is seen as many ms as `times_ms` says. All frames have one palette, their most frequent
    colours, so that what does not move keeps its colour."""
    from PIL import Image

    def read(shot: bytes) -> Image.Image:
        """Keep the six upper bits of red, green and blue: Pillow compares no more in a palette."""
        return Image.open(BytesIO(shot)).convert("RGB").point(lambda channel: channel & 0xFC)

    counts: Counter[Any] = Counter()
    for picture in map(read, shots):
        colours = picture.getcolors(picture.width * picture.height) or ()
        counts.update({colour: pixels for pixels, colour in colours})
    # Pillow's form of a palette: red, green and blue of each colour in a row.
    channels = [channel for colour, _ in counts.most_common(COLOURS) for channel in colour]
    palette = Image.new("P", (1, 1))
    palette.putpalette(channels)
    frames = [read(shot).quantize(palette=palette, dither=Image.Dither.NONE) for shot in shots]
    for frame in frames:
        # Fill the two lower bits from the upper ones: white (0xFC) is white (0xFF) again.
        frame.putpalette([channel | channel >> 6 for channel in channels])
    out = BytesIO()
    times = [time // 10 * 10 for time in times_ms]  # a GIF counts in hundredths of a second
    frames[0].save(
        out, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=False
    )
    return out.getvalue()
