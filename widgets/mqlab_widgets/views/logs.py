"""Log strips: a square for a record, a diamond for a control record, flags for frontiers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from mqlab.kernel.snapshot import Cell, Frontier, Log
from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import fit, width
from .common import RIGHT, before, colour, heading, per_trace

TITLE = Text("What is on disk, and who may read it", "磁盘上有什么，谁能读到")
PITCH, W, H = 46, 42, 32
FLAG = 16  # height of a flag, with the gap below it
COLOURS = ("f1", "f2", "f3")


@dataclass(frozen=True, slots=True)
class _Strip:
    """Where one log stands. `levels`: rows of flags; `order`: the frontiers' names."""

    y: float
    levels: int
    order: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Places:
    x: float
    slots: int
    strips: dict[str, _Strip]
    height: float


def logs(trace: Trace, step: int, lang: Lang = "en") -> Scene:
    places = _places(trace)
    scene = Scene(RIGHT, places.height)
    heading(scene, TITLE, lang)
    old = {log.name: log for log in trace.snapshot(before(trace, step)).logs}
    for log in trace.snapshot(step).logs:
        strip = places.strips[log.name]
        with scene.group(f"log:{log.name}", "log", at=(0, strip.y)):
            _strip(scene, trace, log, old.get(log.name, log), strip, places)
    return scene


@per_trace
def _places(trace: Trace) -> _Places:
    """The same places at every step: as many rows of flags as the log ever needs."""
    names: dict[str, list[str]] = {}
    crowded: set[str] = set()
    for snapshot in trace.snapshots:
        for log in snapshot.logs:
            order = names.setdefault(log.name, [])
            order += [f.name for f in log.frontiers if f.name not in order]
            if log.name not in crowded and _touching(log.frontiers):
                crowded.add(log.name)
    x = min(max((width(n, 11.5, bold=True) for n in names), default=0) + 14, 130)
    y = 24.0
    strips = {}
    for name, order in names.items():
        levels = len(order) if name in crowded else min(len(order), 1)
        strips[name] = _Strip(y, levels, tuple(order))
        y += levels * FLAG + H + 30
    return _Places(x, int((RIGHT - x - 36) // PITCH), strips, y - 8)


def _touching(frontiers: tuple[Frontier, ...]) -> bool:
    ends = sorted((f.at * PITCH, f.at * PITCH + _flag_width(f.name)) for f in frontiers)
    return any(a[1] + 4 > b[0] for a, b in pairwise(ends))


def _flag_width(name: str) -> float:
    return width(name, 10.5, bold=True) + 10


def _strip(scene: Scene, trace: Trace, log: Log, old: Log, strip: _Strip, places: _Places) -> None:
    name, top = log.name, strip.levels * FLAG
    scene.text(
        f"name:{name}", 0, top + H / 2 + 4, fit(name, places.x - 8, 11.5, bold=True), "log-name"
    )
    end = max([log.start, *(c.offset + 1 for c in log.cells)])
    first = max(0, log.start, end - places.slots) if log.cells else log.start
    room = RIGHT - places.x
    seen = frozenset(c.offset for c in old.cells)
    with scene.viewport(f"view:{name}", places.x, 0, room, top + H + 20):
        with scene.group(f"world:{name}", "scroll", at=(3 - first * PITCH, top)):
            for offset in range(end, first + places.slots):
                scene.rect(f"ghost:{name}:{offset}", offset * PITCH, 0, W, H, "ghost", rx=4)
            for cell in log.cells:
                if cell.offset >= first - 1:
                    cls = colour(trace, cell.txn)
                    scene.use(_cell(name, cell, cls, cell.offset not in seen and log is not old))
            for frontier in log.frontiers:
                rank = strip.order.index(frontier.name)
                level = rank if strip.levels > 1 else 0
                _flag(scene, name, frontier, rank, strip.levels - level, first, room)


@lru_cache(maxsize=4_096)
def _cell(log: str, cell: Cell, cls: str, fresh: bool) -> Part:
    scene = Scene()
    key = f"{log}:{cell.offset}"
    hidden = not cell.readable
    with scene.group(
        f"cell:{key}", f"cell {cls}{' fresh' if fresh else ''}", at=(cell.offset * PITCH, 0)
    ):
        if cell.kind == "control":
            if hidden:
                scene.path(f"hatch:{key}", _hatch(W, H), "hatch")
            scene.path(
                f"box:{key}",
                f"M1 {H / 2:g}L{W / 2:g} 0L{W - 1} {H / 2:g}L{W / 2:g} {H}Z",
                "diamond",
            )
            scene.text(f"text:{key}", W / 2, H / 2 + 4, fit(cell.label, 22, 11, bold=True), "on")
        else:
            scene.rect(f"box:{key}", 0.5, 0.5, W - 1, H - 1, "record", rx=4)
            if hidden:
                scene.path(f"hatch:{key}", _hatch(W, H), "hatch")
            shown = fit(cell.label, W - 6, 11.5, bold=True)
            scene.text(f"text:{key}", W / 2, H / 2 + 4, shown, "cell-text")
            if shown != cell.label:
                scene.title(f"title:{key}", cell.label)
            if cell.aborted:
                scene.line(f"struck:{key}", 5, H / 2, W - 5, H / 2, "struck")
        scene.text(f"offset:{key}", W / 2, H + 13, str(cell.offset), "offset")
    return scene.seal()


@lru_cache
def _hatch(w: float, h: float) -> str:
    """Diagonals inside a rectangle, drawn out: a pattern would need an id."""
    ends = []
    for c in range(8, int(w + h), 8):
        x1, y1 = max(1.0, c - h + 1), min(h - 1.0, c - 1)
        x2, y2 = min(w - 1.0, c - 1), max(1.0, c - w + 1)
        ends.append(f"M{x1:g} {y1:g}L{x2:g} {y2:g}")
    return "".join(ends)


def _flag(
    scene: Scene, log: str, frontier: Frontier, rank: int, up: int, first: int, room: float
) -> None:
    """A pole before the cell at the frontier; one that is out of sight waits at the edge."""
    out = frontier.at < first
    label = f"◂ {frontier.name} {frontier.at}" if out else frontier.name
    x = (first if out else frontier.at) * PITCH - 2
    wide = _flag_width(label)
    left = -wide if x - first * PITCH + wide > room - 3 else 0
    key = f"{log}:{frontier.name}"
    tone = COLOURS[min(rank, len(COLOURS) - 1)]
    with scene.group(f"flag:{key}", f"flag {tone}", at=(x, 0)):
        if not out:
            scene.line(f"pole:{key}", 0, -up * FLAG + 2, 0, H + 5, "pole")
        scene.rect(f"cloth:{key}", left, -up * FLAG, wide, 14, "cloth", rx=2)
        scene.text(f"frontier:{key}", left + wide / 2, -up * FLAG + 10.5, label, "on-flag")
