"""Space-time: a lane for each node, time downward, a row for each fact."""

from __future__ import annotations

from mqlab.kernel.text import Lang
from mqlab.kernel.trace import Trace

from ..scene import Scene
from ..widths import fit
from .marks import row
from .plan import HEAD, ROW, SLOTS, Plan, plan
from .window import window

VIEW = 20  # rows that are seen
SPARE = 3  # rows drawn above and below what is seen: they are in place when it scrolls


def space_time(trace: Trace, step: int, lang: Lang = "en") -> Scene:
    """With folded facts left out; their number stands between the rows."""
    return _draw(trace, step, lang, unfold=False)


def space_time_all(trace: Trace, step: int, lang: Lang = "en") -> Scene:
    """Every fact has a row."""
    return _draw(trace, step, lang, unfold=True)


def _draw(trace: Trace, step: int, lang: Lang, unfold: bool) -> Scene:
    p = plan(trace, lang, unfold)
    seen = min(VIEW, max(len(p.rows), 1)) * ROW
    scene = Scene(p.width, HEAD + seen + 4)
    view = window(max(p.row_of[step], 0), VIEW, max(len(p.rows), 1))
    with scene.viewport("view", 0, HEAD, p.width, seen + 2):
        with scene.group("world", "scroll", at=(0, -view.start * ROW)):
            _ground(scene, p, step, trace)
            _rows(scene, trace, p, step, lang, view)
    _header(scene, trace, p, step, lang)
    return scene


def _ground(scene: Scene, p: Plan, step: int, trace: Trace) -> None:
    """The band of the current row, lifelines, open transactions."""
    now = p.row_of[step]
    exact = now >= 0 and p.rows[now] == step
    if exact:
        scene.rect("band", 0.5, now * ROW + 0.5, p.width - 1, ROW - 1, "band", rx=5)
    elif step:
        # The fact is folded: it stands between two rows, and so does the band.
        scene.rect("band", 0.5, (now + 1) * ROW - 3, p.width - 1, 6, "band", rx=3)
    for lane in p.lanes:
        scene.line(f"life:{lane.name}", p.x[lane.name], 0, p.x[lane.name], p.height, "life")
    for name, first, last in p.down:
        if first <= step:
            top, end = p.y(first), p.y(min(last, step))
            scene.line(f"dead:{name}:{first}", p.x[name], top, p.x[name], end, "dead")
    for span in p.alive(now - 2 * VIEW, step):
        x = p.x[span.lane] + SLOTS[span.slot]
        w = 10 if span.slot == 0 else 6
        top = p.y(span.first)
        bottom = p.y(span.last) if step >= span.last and span.closed else (now + 1) * ROW
        scene.rect(span.key, x - w / 2, top, w, max(bottom - top, 1), f"span {span.cls}", rx=3)
    below = (now + 1) * ROW + (0 if exact else 3)
    scene.rect("veil", 0, below, p.width, max(p.height - below, 0) + 4, "veil")


def _rows(scene: Scene, trace: Trace, p: Plan, step: int, lang: Lang, view: range) -> None:
    for r in range(max(view.start - SPARE, 0), min(view.stop + SPARE, len(p.rows))):
        position = p.rows[r]
        part = p.drawn.get(position)
        if part is None:
            part = p.drawn[position] = row(trace.facts[position - 1], position, p, lang)
        cls = "row now" if position == step else "row past" if position < step else "row future"
        scene.group_of(f"row:{position}", part, cls, at=(0, r * ROW))
        hidden = position - (p.rows[r - 1] if r else 0) - 1
        if hidden and (r == 0 or r not in (view.start, view.stop)):  # there it would be cut
            scene.text(
                f"fold:{position}",
                40,
                r * ROW + 3,
                f"+{hidden}",
                "fold future" if position > step else "fold",
            )


def _header(scene: Scene, trace: Trace, p: Plan, step: int, lang: Lang) -> None:
    """Names of the lanes: they stay when the rows scroll, and turn red while a node is down."""
    up = {lane.name: lane.up for lane in trace.snapshot(step).lanes}
    pitch = p.x[p.lanes[1].name] - p.x[p.lanes[0].name] if len(p.lanes) > 1 else 140
    for lane in p.lanes:
        cls = "lane" if up.get(lane.name, True) else "lane bad"
        x = p.x[lane.name]
        title = fit(lane.title.of(lang), pitch - 6, 12, bold=True)
        scene.text(f"lane:{lane.name}", x, 17, title, cls)
        subtitle = fit(lane.subtitle.of(lang), pitch - 6, 10.5)
        if subtitle:
            scene.text(f"sub:{lane.name}", x, 32, subtitle, "sub mid")
