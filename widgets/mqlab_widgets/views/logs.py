"""Logs as rows of cells: a square for a record, a diamond for a control record, flags for
frontiers; below them a row for each reader whose place is known (`progress.py`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from mqlab.kernel.snapshot import Cell, Frontier, Log
from mqlab.kernel.text import Lang, tr
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import fit, fit_apart, width
from . import progress
from .common import RIGHT, ROOMY, colour, draw_heading, find_previous, per_trace

TITLE = tr("What is on disk, and who may read it")
H, GAP = 24, 4  # height of a cell, gap between two
NARROW, WIDE = 38, 68  # a cell is as wide as the labels of its trace want, within these
BEHIND = 36  # px right of the cells, for a flag
BESIDE = 100  # a longer name of a log is above its cells
MOST_LINES, LINE = 3, 12  # of a name beside its cells, and px from one to the next
YIELDED = 84  # so much is left of one that is cut anyway, where labels are then whole
ABOVE = 16  # px: a name above its cells
FLAG = 16  # height of a flag, with the gap below it
COLOURS = ("f1", "f2", "f3")


@dataclass(frozen=True, slots=True)
class _LogRow:
    """Where one log is. `x`: where its cells begin; `w`: width of a cell; `above`: the space for
    its name above; `flags`: the space for its flags; `order`: the frontiers' names; `readers`:
    those of its rows."""

    y: float
    x: float
    w: int
    above: float
    flags: int
    order: tuple[str, ...]
    readers: tuple[str, ...]

    @property
    def spacing(self) -> int:
        return self.w + GAP

    @property
    def top(self) -> float:
        """Where the cells begin, downward."""
        return self.above + self.flags

    @property
    def height(self) -> float:
        """With the offsets below the cells and the rows below those."""
        return self.top + H + 17 + len(self.readers) * progress.ROW_SPACING


@dataclass(frozen=True, slots=True)
class _Places:
    """`room`: width of the panel."""

    room: int
    rows: dict[str, _LogRow]
    height: float
    names: dict[str, str]  # as they fit

    def count_slots(self, row: _LogRow) -> int:
        """How many cells are seen; right of them a flag has room."""
        return int((self.room - row.x - BEHIND) // row.spacing)

    def list_widths(self) -> list[int]:
        return [row.w for row in self.rows.values()]


def logs(trace: Trace, step: int, lang: Lang = "en", room: int = RIGHT) -> Scene:
    return _draw(trace, step, lang, room, small=False)


def logs_small(trace: Trace, step: int, lang: Lang = "en") -> Scene:
    """Where space is short even long names are beside their cells, cut off."""
    return _draw(trace, step, lang, RIGHT, small=True)


def has_long_names(trace: Trace) -> bool:
    """If names are above their cells where there is space."""
    return any(row.above for row in _lay_out(trace, RIGHT, False).rows.values())


def has_long_logs(trace: Trace) -> bool:
    """If something is cut where room is short and not where there is more: a name, a label, or
    records that are out of sight."""
    short, roomy = (_lay_out(trace, room, False) for room in (RIGHT, ROOMY))
    if (short.names, short.list_widths()) != (roomy.names, roomy.list_widths()):
        return True
    most = _count_most(_list_versions(trace))
    slots = {name: [p.count_slots(p.rows[name]) for p in (short, roomy)] for name in most}
    return any(slots[name][0] < count <= slots[name][1] for name, count in most.items())


def _draw(trace: Trace, step: int, lang: Lang, room: int, small: bool) -> Scene:
    places = _lay_out(trace, room, small)
    scene = Scene(room, places.height)
    draw_heading(scene, TITLE, lang)
    old = {log.name: log for log in trace.snapshot(find_previous(trace, step)).logs}
    for log in trace.snapshot(step).logs:
        row = places.rows[log.name]
        part = _draw_log(trace, log, old.get(log.name, log), room, small)
        scene.group_of(f"log:{log.name}", part, "log", at=(0, row.y))
    return scene


@per_trace
def _list_versions(trace: Trace) -> tuple[Log, ...]:
    """All that the logs ever are, in order."""
    return tuple(dict.fromkeys(log for snapshot in trace.snapshots for log in snapshot.logs))


@per_trace
def _lay_out(trace: Trace, room: int, small: bool) -> _Places:
    """Lay out all logs of a trace in a panel `room` px wide, the same at every step: each log with
    a row for its flags, if it ever has any, one for each reader that it ever has, and cells as wide
    as its longest label, if there is room. `small`: names beside the cells, even long ones."""
    logs = _list_versions(trace)
    # By log, the names that it ever has, in order of appearance (a dict is an ordered set).
    flags: dict[str, dict[str, None]] = {}
    readers: dict[str, dict[str, None]] = {}
    for log in logs:
        flags.setdefault(log.name, {}).update(dict.fromkeys(f.name for f in log.frontiers))
        readers.setdefault(log.name, {}).update(dict.fromkeys(p.name for p in log.progress))
    y = 22.0  # the top of the next log, in px
    rows = {}
    begins = _find_begins(readers, small)  # x of the cells, and the height of a name above them
    beside = max((x for x, _ in begins.values()), default=0)  # px that names take from the cells
    wanted, widths = _want_widths(logs), _choose_widths(logs, room - beside)
    # A name is cut anyway: cut more, where labels are then whole. 12: px between name and cells.
    if beside >= BESIDE + 12:
        more = _choose_widths(logs, room - YIELDED - 12)
        if any(widths[name] < wanted[name] <= more[name] for name in widths):
            begins = {name: (min(x, YIELDED + 12), above) for name, (x, above) in begins.items()}
            widths = more
    for name, (x, above) in begins.items():
        high = FLAG if flags[name] else 0
        order = tuple(flags[name])
        rows[name] = _LogRow(y, x, widths[name], above, high, order, tuple(readers[name]))
        y += rows[name].height + (8 if readers[name] else 4)  # px between two logs
    name_room = min((room if row.above else row.x - 12 for row in rows.values()), default=0)
    # below the last log less space is needed than between two
    return _Places(room, rows, y - 5, fit_apart(rows, name_room, 11.5, bold=True))


def _count_places(log: Log) -> int:
    return log.cells[-1].offset + 1 - log.start if log.cells else 0


def _count_most(logs: tuple[Log, ...]) -> dict[str, int]:
    """How many places each log ever has."""
    most: dict[str, int] = {}
    for log in logs:
        most[log.name] = max(most.get(log.name, 0), _count_places(log))
    return most


def _want_widths(logs: tuple[Log, ...]) -> dict[str, int]:
    """For each log the width of a cell that has room for each of its labels."""
    wanted: dict[str, int] = {}
    for log in logs:
        labels = {c.label for c in log.cells if c.kind != "control"}
        widest = max((width(label, 11.5, bold=True) for label in labels), default=0)
        wanted[log.name] = max(ceil(widest) + 6, NARROW, wanted.get(log.name, 0))
    return wanted


def _choose_widths(logs: tuple[Log, ...], room: float) -> dict[str, int]:
    """The cells of a log are as wide as its labels want, if so wide ones have room for the most
    that it ever has, or for as many as there are of the usual ones."""
    most, chosen = _count_most(logs), {}
    for name, wanted in _want_widths(logs).items():
        seen = max(min(most[name], (room - BEHIND) // (WIDE + GAP)), 1)
        chosen[name] = int(min(wanted, max(WIDE, (room - BEHIND) / seen - GAP)))
    return chosen


def _find_begins(
    readers: dict[str, dict[str, None]], small: bool
) -> dict[str, tuple[float, float]]:
    """For each log the left edge of its cells (px) and the height for its name above them (0: the
    name is beside them). `readers`: by log, the names of its readers' rows; `small`: every name is
    beside. One name of a log that is too long for the left margin puts all names above; but
    readers' names need the margin, and where there are any, short names of logs are in it as
    well."""
    wide = {name: width(name, 11.5, bold=True) for name in readers}
    longest = max(wide.values(), default=0)
    rows = [progress.measure_name(reader) for row in readers.values() for reader in row]
    if small or longest <= BESIDE:
        return dict.fromkeys(readers, (min(max([longest, *rows]), BESIDE) + 12, 0))
    if not rows:
        return dict.fromkeys(readers, (0, ABOVE))
    # The margin is as wide as the longest name in it: of a reader, or a short one of a log.
    beside = min(max(w for w in [*wide.values(), *rows] if w <= BESIDE or w in rows), BESIDE) + 12
    return {
        name: (
            beside if wide[name] <= BESIDE or readers[name] else 0,
            ABOVE * (wide[name] > BESIDE),
        )
        for name in readers
    }


def flag_colours(trace: Trace) -> dict[str, str]:
    """The class of each frontier's flag, by its name."""
    orders = [row.order for row in _lay_out(trace, RIGHT, False).rows.values()]
    return {name: _colour(rank) for order in orders for rank, name in enumerate(order)}


def _colour(rank: int) -> str:
    return COLOURS[min(rank, len(COLOURS) - 1)]


def _flag_width(name: str, way: str | None) -> float:
    return width(name, 10.5, bold=True) + 10 + (_way_width(way) if way else 0)


def _way_width(way: str) -> float:
    return width(way, 10.5, bold=True) + 5


@per_trace
def _draw_log(trace: Trace, log: Log, before: Log, panel_width: int, small: bool) -> Part:
    """Draw a log: its name, the last records that there is room for, its flags and its readers'
    rows. Records that the log did not have when it was as `before` are marked, and a flag that has
    moved since says from where to where. `small`: the panel is a narrow one. Cached: few steps
    change a log."""
    scene, places = Scene(), _lay_out(trace, panel_width, small)
    row = places.rows[log.name]
    name, top, spacing = log.name, row.top, row.spacing
    room, slots = panel_width - row.x, places.count_slots(row)
    if row.above:
        scene.text(f"name:{name}", 0, 11, fit(name, panel_width, 11.5, bold=True), "log-name")
    else:
        lines = _fold_name(name, row.x - 12)
        # In too many lines, or where readers' rows need the space: one line, shortened.
        if len(lines) > MOST_LINES or row.readers or not _fits(lines, row.x - 12):
            lines = [places.names[name]]
        y = top + H / 2 + 4 - LINE * (len(lines) - 1) / 2
        for i, line in enumerate(lines):  # keys: name:LOG, name:LOG:1 …
            scene.text(f"name:{name}" + f":{i}" * (i > 0), 0, y + i * LINE, line, "log-name")
        if lines != [name]:
            scene.title(f"full:{name}", name)
    end = max([log.start, *(c.offset + 1 for c in log.cells)])  # the next offset
    first = max(0, log.start, end - slots) if log.cells else log.start  # the first one in sight
    old_offsets = frozenset(c.offset for c in before.cells)
    below = H + 17  # of the cells' top: where the rows begin
    progress.draw_names(scene, log, row.readers, row.x, top + below)
    with scene.viewport(f"view:{name}", row.x, 0, room, row.height):
        # In this group an offset times `spacing` is its x. 3 px: for a flag before the first cell.
        with scene.group(f"world:{name}", "scroll", at=(3 - first * spacing, top)):
            for offset in range(end, first + slots):  # empty places
                scene.rect(f"ghost:{name}:{offset}", offset * spacing, 0, row.w, H, "ghost", rx=4)
            for cell in log.cells:
                if cell.offset >= first - 1:  # one more, which moves out of sight
                    cls = f"cell {colour(trace, cell.txn)}"
                    if cell.kind == "copy":
                        cls += " copy"
                    if cell.offset not in old_offsets:
                        cls += " fresh"
                    part = _cell(name, cell, row.w)
                    at = (cell.offset * spacing, 0)
                    scene.group_of(f"cell:{name}:{cell.offset}", part, cls, at=at)
            moved = _tell_moves(log, before)
            lefts = _place_flags(log.frontiers, moved, first, room, spacing)
            for frontier in log.frontiers:
                rank = row.order.index(frontier.name)  # which chooses the colour
                left, move = lefts[frontier.name], moved.get(frontier.name, "")
                _flag(scene, name, frontier, move, rank, first, left, spacing)
            for reader in log.progress:
                y = below + row.readers.index(reader.name) * progress.ROW_SPACING
                progress.draw_progress(scene, trace, log, reader, y, first, row.w, spacing)
    return scene.seal()


def _fits(lines: list[str], room: float) -> bool:
    return all(width(line, 11.5, bold=True) <= room for line in lines)


def _fold_name(name: str, room: float) -> list[str]:
    """A name as it is, or in lines that end after its underscores. None of them is cut, so one
    may be wider than `room`."""
    lines = [name]
    if width(name, 11.5, bold=True) > room:
        lines = [""]
        for word in re.findall("_*[^_]+_*", name):
            if lines[-1] and width(lines[-1] + word, 11.5, bold=True) > room:
                lines.append("")
            lines[-1] += word
    return lines


def _tell_moves(log: Log, old: Log) -> dict[str, str]:
    """From where to where the frontiers have moved since before, as each of them counts."""
    before = {frontier.name: frontier.at for frontier in old.frontiers}
    return {
        now.name: f"{before[now.name] - now.inclusive} → {now.at - now.inclusive}"
        for now in log.frontiers
        if before.get(now.name, now.at) != now.at
    }


def _place_flags(
    frontiers: tuple[Frontier, ...], moved: dict[str, str], first: int, room: float, spacing: int
) -> dict[str, float]:
    """Place the flags of a log's frontiers. A flag is a vertical line at the frontier's offset (the
    pole) and a rectangle with its name (the cloth). Returns, by frontier's name, how far from its
    pole its cloth begins, in px: right of the pole; left of it where the next pole is close and
    there is room; moved on where it would touch another cloth or the row's end. `moved`: what a
    flag also says, such as "3 → 5", by name; `first`: the first offset in sight, where earlier
    poles are put; `room`: px of the row, from the first cell in sight; `spacing`: px from one cell
    to the next."""
    poles = sorted((max(f.at, first), f.at, i, f.name) for i, f in enumerate(frontiers))
    wide = [_flag_width(_flag_text(frontiers[i], first), moved.get(name)) for *_, i, name in poles]
    pole_x = [(offset - first) * spacing for offset, *_ in poles]
    left: list[float] = []
    end = 0.0  # where the next cloth may begin: 2 px after the one before it
    for i, x in enumerate(pole_x):  # from left to right
        close = i + 1 < len(poles) and x + wide[i] + 2 > pole_x[i + 1]
        # One at the left overlaps its pole by the pole's width, 1.5 px.
        begin = x - wide[i] + 1.5 if close and x - wide[i] >= end else max(x, end)
        left.append(begin)
        end = begin + wide[i] + 2
    limit = room - 6  # px that stay free at the end of the row
    for i in reversed(range(len(poles))):  # what is beyond the row's end is pushed back into it
        left[i] = min(left[i], limit - wide[i])
        limit = left[i] - 2
    return {name: left[i] - pole_x[i] for i, (*_, name) in enumerate(poles)}


def _flag_text(frontier: Frontier, first: int) -> str:
    """One that is out of sight waits at the edge and says where it is."""
    if frontier.at >= first:
        return frontier.name
    return f"◂ {frontier.name} {frontier.at - frontier.inclusive}"


@lru_cache(maxsize=4_096)
def _cell(log: str, cell: Cell, w: int) -> Part:
    """Draw a cell of a log, `w` px wide: a record as a square with its label, a control record as a
    diamond, the offset below. What readers of committed data may not see yet is hatched, an aborted
    record struck through. `log`: the log's name, which is in the keys of what is drawn."""
    scene = Scene()
    key, middle = f"{log}:{cell.offset}", w / 2
    if cell.kind == "control":
        if not cell.readable:
            scene.path(f"hatch:{key}", _hatch(w, H), "hatch")
        shape = f"M{middle - 18:g} {H / 2:g}l18-{H / 2:g}l18 {H / 2:g}l-18 {H / 2:g}z"
        scene.path(f"box:{key}", shape, "diamond")
        scene.text(f"text:{key}", middle, H / 2 + 4, fit(cell.label, 22, 11, bold=True), "on")
    else:
        scene.rect(f"box:{key}", 0.5, 0.5, w - 1, H - 1, "record", rx=4)
        if not cell.readable:
            scene.path(f"hatch:{key}", _hatch(w, H), "hatch")
        shown = fit_apart([cell.label], w - 6, 11.5, bold=True)[cell.label]
        scene.text(f"text:{key}", middle, H / 2 + 4, shown, "cell-text")
        if shown != cell.label:
            scene.title(f"title:{key}", cell.label)
        if cell.aborted:
            scene.line(f"struck:{key}", 5, H / 2, w - 5, H / 2, "struck")
    scene.text(f"offset:{key}", middle, H + 12, str(cell.offset), "offset")
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
    scene: Scene,
    log: str,
    frontier: Frontier,
    move: str,
    rank: int,
    first: int,
    left: float,
    spacing: int,
) -> None:
    """Draw a frontier as a flag: a vertical line before its cell (the pole), and a rectangle with
    its name and the `move` that it has just made, such as "3 → 5", or "" (the cloth). One before
    `first`, the first offset in sight, has no pole. `rank`: its place among the log's frontiers,
    which chooses its colour; `left`: where the cloth begins, in px from the pole; `spacing`: px
    from one cell to the next."""
    out_of_sight = frontier.at < first
    label = _flag_text(frontier, first)
    x = max(first, frontier.at) * spacing - 2  # 2 px: in the gap before the cell
    named, wide = _flag_width(label, way=None), _flag_width(label, move)
    key = f"{log}:{frontier.name}"
    tone = _colour(rank)
    with scene.group(f"flag:{key}", f"flag {tone}", at=(x, 0)):
        if not out_of_sight:
            scene.line(f"pole:{key}", 0, 2 - FLAG, 0, H + 4, "pole")
        scene.rect(f"cloth:{key}", left, -FLAG, wide, 14, "cloth", rx=2)
        scene.text(f"frontier:{key}", left + named / 2, 10.5 - FLAG, label, "on-flag")
        if move:
            middle = left + named - 5 + _way_width(move) / 2
            scene.text(f"way:{key}", middle, 10.5 - FLAG, move, "on-flag")
