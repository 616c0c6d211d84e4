"""One step as an SVG of its own, and the trace in words: what a reader sees where no script runs.

The layout is the player's, computed in Python. The style travels inside: an `<img>` sees
no CSS of its page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from mqlab.kernel.text import Lang, Words
from mqlab.kernel.trace import Trace

from .payload import WINDOW, WORDS, Look, chip, facts, is_told, list_levels
from .scene import Scene, xml
from .style import svg_css
from .views import PANELS, find_told
from .views.common import say_words
from .widths import fit, width, wrap

EDGE, GUTTER, TOP = 24, 38, 62
LINE_SIZE, WHY_SIZE, WHY_LINES = 11.5, 11.5, 3
Size = tuple[float, float]

IN_WORDS = {
    True: Words("The steps in words, 1 line"),
    False: Words("The steps in words, {n} lines"),
}


def still(
    trace: Trace,
    step: int,
    look: Look,
    future: bool = True,
    theme: str = "",
    room: Mapping[str, Size] = MappingProxyType({}),
) -> str:
    """Draw one position of a trace as an SVG document of its own: head, panels in two columns,
    slider and caption. `future`: with the rows to come, faint; `theme`: "light" or "dark", whatever
    the reader's own is, "" for that; `room`: the least size (px) of each panel, by its name without
    a variant, so that frames of a film are alike."""
    drawn = [
        (PANELS[name].side, scene, _larger(room.get(_drop_variant(name)), scene))
        for name, scene in _draw_panels(trace, step, look)
    ]
    # Without panels a column takes back the gutter beside it.
    left = max((size[0] for side, _, size in drawn if side == "left"), default=-GUTTER)
    right = max((size[0] for side, _, size in drawn if side == "right"), default=-GUTTER)
    total = max(EDGE + left + GUTTER + right + EDGE, 640)
    pictures, bottom = _draw_columns(drawn, left)
    frame = Scene()
    _draw_head(frame, trace, step, look, total)
    # with `room` it is a frame of a film, and all are equally high
    height = _draw_foot(frame, trace, step, look, total, bottom, always=bool(room))
    body = pictures + "".join(node.svg() for node in frame.nodes)
    name = "mqlab" if future else "mqlab veiled"
    rules = _STILL_CSS + (f".mqlab{{color-scheme:{theme}}}" if theme else "")
    paper = f'<rect class="paper" width="{total:g}" height="{height:g}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" '
        f'width="{total * look.scale:g}" height="{height * look.scale:g}" '
        f'viewBox="0 0 {total:g} {height:g}" role="img" '
        f'aria-label="{xml(caption(trace, step, look))}"><style>{svg_css(body, rules)}</style>'
        f"{paper}{body}</svg>"
    )


def stills(trace: Trace, steps: Sequence[int], look: Look, theme: str = "") -> Iterator[str]:
    """Stills of several positions, in which every panel keeps its place: the frames of a film.
    What is to come is hidden."""
    room: dict[str, Size] = {}
    for step in steps:
        for name, scene in _draw_panels(trace, step, look):
            room[_drop_variant(name)] = _larger(room.get(_drop_variant(name)), scene)
    for step in steps:
        yield still(trace, step, look, False, theme, room)


def _draw_panels(trace: Trace, step: int, look: Look) -> list[tuple[str, Scene]]:
    """The panels of one position, each drawn."""
    trace = say_words(trace, look.lang)
    unfold = bool(step) and trace.facts[step - 1].fold
    level = look.level if look.level in list_levels(trace) else "protocol"
    shown = [name for name in look.names(trace) if level in look.find_levels(name)]
    names = _choose_variants(shown, unfold)
    return [(name, PANELS[name].view(trace, step, lang=look.lang)) for name in names]


def _drop_variant(name: str) -> str:
    """A panel's name without its variant."""
    return name.partition("/")[0]


def _larger(size: Size | None, scene: Scene) -> Size:
    width, height = size or (0, 0)
    return max(width, scene.width), max(height, scene.height)


_STILL_CSS = (
    ".mqlab .paper{fill:var(--ground)}"
    ".mqlab .chip{fill:var(--soft)}.mqlab .chip-text{fill:var(--muted);"
    "text-anchor:middle}.mqlab .rail{stroke:var(--rule);stroke-width:4;stroke-linecap:round}"
    ".mqlab .done{stroke:var(--accent);stroke-width:4;stroke-linecap:round}"
    ".mqlab .tick{stroke:var(--accent);stroke-width:1.5}.mqlab .crashed{stroke:var(--bad);"
    "stroke-width:3}.mqlab .knob{fill:var(--ground);stroke:var(--accent);stroke-width:3}"
    ".mqlab.veiled .future,.mqlab.veiled .tick,.mqlab.veiled .crashed{visibility:hidden}"
    ".mqlab.veiled .veil{fill-opacity:1}"
    ".mqlab text.why{fill:var(--muted)}"
)


def caption(trace: Trace, step: int, look: Look) -> str:
    """The picture in words: title, place, the narrated line and why."""
    title, lang = look.heading(trace), look.lang
    if not step:
        return f"{title}: {WORDS['start'].of(lang)}" if title else WORDS["start"].of(lang)
    if is_told(trace, look):
        at = find_told(trace, step)
        told = trace.facts[at - 1].story.of(lang) if at else WORDS["start"].of(lang)
        return ". ".join(part.rstrip(".") for part in (title, told) if part)
    fact = trace.facts[step - 1]
    parts = [title, f"{_say_place(trace, step, lang)}: {fact.line(lang)}", fact.why.of(lang)]
    return ". ".join(part.rstrip(".") for part in parts if part)


def narrated(trace: Trace, step: int, lang: Lang, future: bool = True) -> list[str]:
    """The trace, one fact a line; the current one is marked. Without `future`: as far as it."""
    lines = trace.narrate(lang).splitlines()[: None if future else step]
    return [f"{'▶' if i == step else ' '} {line}" for i, line in enumerate(lines, 1)]


def folded_words(trace: Trace, step: int, look: Look, future: bool = True) -> str:
    """The trace in words, opened by a click: HTML that needs no script. Of a long one, the part
    around the step."""
    lines = narrated(trace, step, look.lang, future)
    if not lines:
        return ""
    first = max(0, min(step - WINDOW // 2, len(lines) - WINDOW))
    shown = lines[first : first + WINDOW]
    before = ["  …"] if first else []
    after = ["  …"] if first + WINDOW < len(lines) else []
    summary = IN_WORDS[len(lines) == 1](n=len(lines)).of(look.lang)
    text = xml("\n".join([*before, *shown, *after]))
    return f"<details><summary>{xml(summary)}</summary><pre>{text}</pre></details>"


def _choose_variants(names: list[str], unfold: bool) -> list[str]:
    """Of the variants of each panel, the one to show: an image has all the room that it wants."""
    order = ("story", "all", "") if unfold else ("story", "wide", "")
    variants = {tuple(name.partition("/")[::2]) for name in names}
    bases = dict.fromkeys(_drop_variant(name) for name in names)
    chosen = [(base, next(v for v in order if (base, v) in variants)) for base in bases]
    return ["/".join(filter(None, pair)) for pair in chosen]


def _say_place(trace: Trace, step: int, lang: Lang) -> str:
    place = WORDS["place"].of(lang)
    return place.format(n=trace.facts[step - 1].index if step else 0, of=trace.facts[-1].index)


def _draw_columns(drawn: list[tuple[str, Scene, Size]], left: float) -> tuple[str, float]:
    """The panels below each other in their columns, and where the longer column ends."""
    ends = {"left": float(TOP), "right": float(TOP)}
    x = {"left": float(EDGE), "right": EDGE + left + GUTTER}
    out = []
    for side, panel, size in drawn:
        inner = "".join(node.svg() for node in panel.nodes)
        out.append(f'<g transform="translate({x[side]:g},{ends[side]:g})">{inner}</g>')
        ends[side] += size[1] + 14
    return "".join(out), max(ends.values())


def _draw_head(scene: Scene, trace: Trace, step: int, look: Look, total: float) -> None:
    """Draw the head of a still, `total` px wide: the title; at the right the step's number and how
    many steps are folded; and chips (small labels) for the system and the step's evidence, each
    shortened to fit. A story has neither number nor chips, and a `look` that is `calm`, with few
    panels, has no chips."""
    title, lang = look.heading(trace), look.lang
    place = _say_place(trace, step, lang) if len(trace) else ""
    folded = sum(f.fold for f in trace.facts)
    if is_told(trace, look):
        place = ""
    elif folded:
        place += " · " + WORDS["folded"].of(lang).format(n=folded)
    scene.text("place", total - EDGE, 33, place, "note end")
    room = total - 2 * EDGE - width(place, 11) - 30
    wide = width(title, 19, bold=True)
    if wide > room:  # two small lines are as tall as one
        lines = wrap(title, room, 13, bold=True)
        wide = max(width(line, 13, bold=True) for line in lines)
        for i, line in enumerate(lines):
            y = 24 + 17 * i if len(lines) > 1 else 34
            scene.text(f"title{i}", EDGE, y, line, "title long")
    else:
        scene.text("title", EDGE, 34, title, "title")
    x = EDGE + wide + (20 if title else 0)
    chips = [] if look.calm or is_told(trace, look) else [trace.label.of(lang) or trace.system]
    if step and chips:
        chips.append(WORDS["evidence"].of(lang) + chip(trace.facts[step - 1], lang))
    reserved = width(chips[-1], 11) + 32 if step and chips else 0  # the step's chip stays whole
    for i, text in enumerate(chips):
        text = fit(text, min(300, EDGE + room - x - 24 - (0 if i else reserved)), 11)
        wide = width(text, 11) + 24
        if len(text) > 4:  # of a shorter one nothing could be read
            scene.rect(f"chip{i}", x, 19, wide, 19, "chip", rx=9.5)
            scene.text(f"chip-text{i}", x + wide / 2, 32, text, "chip-text")
            x += wide + 8
    scene.line("top-rule", EDGE, 50, total - EDGE, 50, "rule")


def _draw_foot(
    scene: Scene, trace: Trace, step: int, look: Look, total: float, y: float, always: bool
) -> float:
    """Draw what is below the panels of a still, `total` px wide, from `y` on: the slider with its
    marks, and the step's line and reason; of a story its sentence, and how the money has changed.
    Returns the still's height, which has room for the longest reason if `always`, else for this
    one."""
    scene.line("bottom-rule", EDGE, y, total - EDGE, y, "rule")
    start, end, middle = EDGE + 8, total * 0.42, y + 27  # of the slider
    unit = (end - start) / max(len(trace), 1)
    scene.line("rail", start, middle, end, middle, "rail")
    scene.line("done", start, middle, start + step * unit, middle, "done")
    lang, story = look.lang, is_told(trace, look)
    entries = facts(trace, lang)
    for i, entry in enumerate(entries, 1):
        if story and "story" not in entry:
            continue
        # In a long trace only crashes and broken invariants: more marks would run together.
        if entry["mark"] == "crash" or (entry["mark"] and len(trace) <= 150):
            crash = entry["mark"] == "crash"
            x, up = start + i * unit, 7 if crash else 5
            scene.line(f"tick{i}", x, middle - up, x, middle + up, "crashed" if crash else "tick")
    scene.circle("knob", start + step * unit, middle, 7.5, "knob")
    number = find_told(trace, step) if story else step
    entry = entries[number - 1] if number else {}  # before the first step there is none
    said = entry.get("story" if story else "line", WORDS["start"].of(lang))
    x, room = end + 40, total - EDGE - end - 40
    why = entry.get("money", "") if story else entry.get("why", "")
    lines = wrap(why, room, WHY_SIZE, WHY_LINES)
    # A story says first what happens; elsewhere the name of the fact follows what it means.
    why_y, said_y = (42, 24) if story or not lines else (24, 24 + 16 * len(lines))
    if story:
        scene.text("said", x, y + said_y, fit(said, room, WHY_SIZE, bold=True), "strong")
    else:
        scene.text("said", x, y + said_y, fit(said, room, LINE_SIZE, mono=True), "said")
    for i, line in enumerate(lines):
        scene.text(f"why{i}", x, y + why_y + i * 16, line, "why" if story else "")
    return y + 46 + max(len(lines), WHY_LINES if always else 1) * 16
