"""Space-time: a lane for each node, time downward, a row for each fact."""

from __future__ import annotations

from mqlab.kernel.text import Lang
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import fit, fit_apart, width
from .common import ROW, SLOTS, STAIRS, WIDE, Plan, plan
from .marks import row
from .stages import draw_stages
from .window import window

ROWS = 20  # rows that are seen where no number is given
MOST_ROWS = 34  # rows of the tallest screen; the browser shows as many as it has room for
SPARE = 3  # rows drawn above and below what is seen: they are in place when it scrolls
FOLD = 51  # px: the middle of a number of folded rows, right of a transaction's name
AIR = 6  # px between the names of two lanes
EDGE = 3  # px above the first row that is seen and below the last: numbers of folded rows


def space_time(
    trace: Trace, step: int, lang: Lang = "en", rows: int = ROWS, wide: int = WIDE
) -> Scene:
    """With folded facts left out; their number is between the rows."""
    return draw_diagram(plan(trace, lang, unfold=False, wide=wide), trace, step, lang, rows)


def space_time_all(
    trace: Trace, step: int, lang: Lang = "en", rows: int = ROWS, wide: int = WIDE
) -> Scene:
    """Every fact has a row."""
    return draw_diagram(plan(trace, lang, unfold=True, wide=wide), trace, step, lang, rows)


def draw_diagram(p: Plan, trace: Trace, step: int, lang: Lang, rows: int) -> Scene:
    """The names of the lanes and below them the viewport `view`, in which the group `world`
    scrolls. A browser crops the one and moves the other itself (see `measure_rows`)."""
    seen = min(rows, max(len(p.rows), 1)) * p.row + 2 * EDGE
    scene = Scene(p.width, p.head - EDGE + seen)
    view = window(max(p.row_of[step], 0), rows, max(len(p.rows), 1))
    with scene.viewport("view", 0, p.head - EDGE, p.width, seen):
        with scene.group("world", "scroll", at=(0, EDGE - view.start * p.row)):
            _draw_ground(scene, p, step, trace)
            _draw_rows(scene, trace, p, step, lang, view)
    if p.bar:
        draw_stages(scene, trace, step, lang, p.width)
    _draw_header(scene, trace, p, step, lang)
    return scene


def measure_rows(trace: Trace, lang: Lang, wide: int, unfold: bool) -> dict[str, float]:
    """What a browser needs to crop and scroll by itself: where the rows begin, how high each is,
    the edge above and below them, how many there are, and how many are drawn at most."""
    p = plan(trace, lang, unfold=unfold, wide=wide)
    return {"head": p.head, "row": ROW, "edge": EDGE, "count": len(p.rows), "most": MOST_ROWS}


def _draw_ground(scene: Scene, p: Plan, step: int, trace: Trace) -> None:
    """Draw what is under the rows at a `step` (a position of the slider): the band of the current
    row, or, where the step is folded, between two rows; lifelines; times when a node is down; open
    transactions, as far as `step`; and the veil over what is after it."""
    now = p.row_of[step]  # -1 before the first row
    # Whether `step` has this row; a row of the story is for all steps up to the next one.
    exact = now >= 0 and (p.rows[now] == step or p.draw_row)
    if exact:
        scene.rect("band", 0.5, now * p.row + 0.5, p.width - 1, p.row - 1, "band", rx=5)
    elif step:
        # The fact is folded: it is between two rows, and so is the band.
        scene.rect("band", 0.5, (now + 1) * p.row - 3, p.width - 1, 6, "band", rx=3)
    for lane in p.lanes:
        scene.line(f"life:{lane.name}", p.x[lane.name], 0, p.x[lane.name], p.height, "life")
    for name, first, last in p.down:
        if first <= step:
            top, end = p.y(first), p.y(min(last, step))
            scene.line(f"dead:{name}:{first}", p.x[name], top, p.x[name], end, "dead")
    for span in p.alive(now - 2 * MOST_ROWS, step):  # none that ended far above what is seen
        x = p.x[span.lane] + SLOTS[span.slot]
        w = 10 if span.slot == 0 else 6  # slot 0 is on the lane itself, the others beside it
        top = p.y(span.first)
        bottom = p.y(span.last) if step >= span.last and span.closed else (now + 1) * p.row
        scene.rect(span.key, x - w / 2, top, w, max(bottom - top, 1), f"span {span.cls}", rx=3)
    below = (now + 1) * p.row + (0 if exact or not step else 3)
    # As tall as all rows: while it slides, nothing below it may flash up. The viewport crops it.
    scene.rect("veil", 0, below, p.width, p.height + 4, "veil")


def _draw_rows(scene: Scene, trace: Trace, p: Plan, step: int, lang: Lang, view: range) -> None:
    for r in range(max(view.start - SPARE, 0), min(view.stop + SPARE, len(p.rows))):
        position = p.rows[r]
        when = "now" if position == step else "past" if position < step else "future"
        part = p.placed.get((r, when))
        if part is None:
            part = p.placed[r, when] = _draw_row(trace, p, r, when, lang)
        scene.use(part)


def _draw_row(trace: Trace, p: Plan, r: int, when: str, lang: Lang) -> Part:
    """A row at its place, and before it how many facts are folded away."""
    scene = Scene()
    position = p.rows[r]
    part = (p.draw_row or row)(trace, position, p, lang)
    scene.group_of(f"row:{position}", part, f"row {when}", at=(0, r * p.row))
    if p.draw_row:
        return scene.seal()
    hidden = position - (p.rows[r - 1] if r else 0) - 1
    if hidden:
        cls = "fold future" if when == "future" else "fold"
        scene.text(f"fold:{position}", FOLD, r * ROW + 5.5, f"+{hidden}", cls)
    return scene.seal()


def _draw_header(scene: Scene, trace: Trace, p: Plan, step: int, lang: Lang) -> None:
    """Names of the lanes: they stay when the rows scroll, and turn red while a node is down."""
    down = frozenset(lane.name for lane in trace.snapshot(step).lanes if not lane.up)
    if down not in p.heads:
        p.heads[down] = _draw_names(p, down, lang)
    with scene.group("heads", at=(0, p.top)):
        scene.use(p.heads[down])


def _fit_whole(what: str, room: float) -> str:
    """What a lane is; where it does not fit, without what follows the first comma."""
    if width(what, 10.5) > room:
        what = what.partition(", ")[0].partition("，")[0]
    return fit(what, room, 10.5)


def _draw_names(p: Plan, down: frozenset[str], lang: Lang) -> Part:
    """Draw the lanes' titles, side by side or (`p.stairs`) alternately at two heights, and below
    them what each lane is; shortened where they would touch, red for the nodes in `down`."""
    scene = Scene()
    titles = [lane.title.of(lang) for lane in p.lanes]
    kinds = [lane.subtitle.of(lang) for lane in p.lanes]
    # (left, right) of each, in px. Of titles at two heights the next at the same is two lanes away.
    title_rooms = _find_rooms(p, [width(title, 12, bold=True) for title in titles], 1 + p.stairs)
    kind_rooms = _find_rooms(p, [width(what, 10.5) for what in kinds], 1)
    for i, lane in enumerate(p.lanes):
        cls = "lane bad" if lane.name in down else "lane"
        x, lower = p.x[lane.name], p.stairs * (i % 2) * STAIRS
        name, what = titles[i], kinds[i]
        with scene.group(f"head:{lane.name}"):
            title = fit_apart(titles, title_rooms[i][1] - title_rooms[i][0], 12, bold=True)[name]
            middle = _middle(x, width(title, 12, bold=True), title_rooms[i])
            scene.text(f"lane:{lane.name}", middle, 13 + lower, title, cls)
            subtitle = _fit_whole(what, kind_rooms[i][1] - kind_rooms[i][0])
            # Below titles at two heights there is no room to tell what a shortened one means.
            if subtitle and (subtitle == what or not p.stairs):
                middle, y = _middle(x, width(subtitle, 10.5), kind_rooms[i]), 27 + STAIRS * p.stairs
                scene.text(f"sub:{lane.name}", middle, y, subtitle, "sub mid")
            if (title, subtitle) != (name, what):
                scene.title(f"full:{lane.name}", f"{name} · {what}" if what else name)
    return scene.seal()


def _middle(x: float, wide: float, room: tuple[float, float]) -> float:
    """The middle of a text over its lane, or beside it where its room ends."""
    return round(max(room[0] + wide / 2, min(x, room[1] - wide / 2)), 1)


def _find_rooms(p: Plan, wide: list[float], step: int) -> list[tuple[float, float]]:
    """From where to where a text over each lane may be, every `step`-th at one height: what its
    neighbours leave of their shares is its own too, as far as the picture's edges."""
    share = (p.spacing * step - AIR) / 2
    halves = [min(w / 2, share) for w in wide]
    at = [p.x[lane.name] for lane in p.lanes]
    rooms = []
    for i in range(len(at)):
        left = at[i - step] + halves[i - step] + AIR if i >= step else 0
        right = at[i + step] - halves[i + step] - AIR if i + step < len(at) else p.width
        rooms.append((left, right))
    return rooms
