"""Internal tables of the broker or the database; the cell that changed has the yellow band."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from mqlab.kernel.snapshot import Table
from mqlab.kernel.text import Lang, tr
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import fit, halve, width
from .common import RIGHT, ROOMY, find_previous, per_trace
from .window import window

LINE, TOP, MOST = 18, 22, 8
TWO = 12  # px from one line of a cell to the next, where a column is too narrow for one
PADDING = 10  # px of a column, beside its longest text
SPARE = PADDING - 0.01  # of an edge, which is a sum of floats, less may be left than was added
SIZE = 11
EMPTY = tr("no rows")


@dataclass(frozen=True, slots=True)
class _Place:
    y: float
    columns: tuple[str, ...]
    x: tuple[float, ...]
    spacing: int  # px from one row to the next
    rows: int


def tables(trace: Trace, step: int, lang: Lang = "en", room: int = RIGHT) -> Scene:
    places, height = _lay_out(trace, room)
    scene = Scene(room, height)
    old = {t.name.en: t for t in trace.snapshot(find_previous(trace, step)).tables}
    for table in trace.snapshot(step).tables:
        place = places[table.name.en]
        name = table.name.en
        part = _draw_table(table, lang, old.get(name, table), place, room)
        scene.group_of(f"table:{name}", part, "table", at=(0, place.y))
    return scene


def has_rows(trace: Trace) -> bool:
    return any(table.rows for snapshot in trace.snapshots for table in snapshot.tables)


@per_trace
def has_wide_tables(trace: Trace) -> bool:
    """If a column has to give way where room is short."""
    return _lay_out(trace, RIGHT) != _lay_out(trace, ROOMY)


@per_trace
def _lay_out(trace: Trace, room: int) -> tuple[dict[str, _Place], float]:
    """Where each table is, by its English name, and the height of all (px); the same at every step,
    with room for the widest cells and the most rows that the table ever has, up to MOST and a line
    that counts the others."""
    versions_of: dict[str, dict[Table, None]] = {}
    seen: tuple[Table, ...] | None = None
    for snapshot in trace.snapshots:
        if snapshot.tables != seen:
            seen = snapshot.tables
            for table in seen:
                versions_of.setdefault(table.name.en, {})[table] = None
    places, y = {}, 0.0
    for name, versions in versions_of.items():
        rows = min(max(len(t.rows) for t in versions), MOST + 1)  # one line for "+n" more
        columns = next(iter(versions)).columns
        place = places[name] = _Place(y, columns, *_lay_out_columns(list(versions), room), rows)
        y += TOP + LINE + max(rows, 1) * place.spacing + 12
    return places, y


NARROWEST = 30  # px of a column; more columns than have room stay as wide as this


def _lay_out_columns(versions: list[Table], room: int) -> tuple[tuple[float, ...], int]:
    """Lay out the columns of a table, given all its versions: their left edges and the right edge
    of the last; and px from one row to the next. In too small a `room` (px) the widest columns give
    way, at first only until their texts need two lines that end between words."""
    wide = [width(c, 10.5) + PADDING for c in versions[0].columns]
    least = list(wide)
    for row in {row for table in versions for row in table.rows}:
        for i, value in enumerate(row[: len(wide)]):
            lines = halve(value, room, SIZE)
            parts = lines if " ".join(lines) == value else [value]  # if parted between words
            least[i] = max(least[i], *(width(part, SIZE) + PADDING for part in parts))
            wide[i] = max(wide[i], min(width(value, SIZE) + PADDING, room))
    spacing = LINE + TWO * (sum(wide) > room)
    # Up to 4 px at a time, first from the columns that are wider than their least, then from any.
    while sum(wide) > room and max(wide) > NARROWEST:
        i = max(range(len(wide)), key=lambda i: (wide[i] > least[i], wide[i]))
        narrowest = least[i] if wide[i] > least[i] else NARROWEST
        wide[i] = max(wide[i] - 4, room - sum(wide) + wide[i], narrowest)
    return tuple(accumulate(wide, initial=0.0)), spacing


@lru_cache(maxsize=1_024)
def _draw_table(table: Table, lang: Lang, old: Table, place: _Place, wide: int) -> Part:
    """Draw a table `wide` px wide: its title, columns and rows, with a band behind each cell that
    has changed since it was as `old`, and the number of rows that have no room. `place`: the edges
    of its columns, and px from one row to the next."""
    scene, name, title = Scene(), table.name.en, table.name.of(lang)
    scene.text(f"heading:{name}", 0, 13, fit(title, wide, 12.5, bold=True), "heading")
    before_rows = {row[0]: row for row in old.rows if row}  # by the first cell, the row's key
    scene.line(f"rule:{name}", 0, TOP + LINE - 5, place.x[-1], TOP + LINE - 5, "rule")
    for i, column in enumerate(table.columns):
        room = place.x[i + 1] - place.x[i] - SPARE
        head = fit(tr(column, "head").of(lang), room, 10.5)
        scene.text(f"col:{name}:{i}", place.x[i] + 6, TOP + 10, head, "sub")
    if not table.rows:
        scene.text(f"empty:{name}", 6, TOP + LINE + 10, EMPTY.of(lang), "value quiet")
    shown = _choose_rows(table, old)
    same_key: Counter[str] = Counter()  # rows with the same first column, told apart by number
    for r, row in enumerate(table.rows[i] for i in shown):
        row_key = row[0] if row else ""
        before = before_rows.get(row_key, ())
        key = f"{name}:{row_key}:{same_key[row_key]}"
        same_key[row_key] += 1
        with scene.group(f"row:{key}", "table-row", at=(0, TOP + LINE + r * place.spacing)):
            _draw_cells(scene, key, row, before, place, table != old)
    hidden = len(table.rows) - len(shown)
    if hidden:
        y = TOP + LINE + MOST * place.spacing + 10
        scene.text(f"more:{name}", 6, y, f"+{hidden}", "sub")
    return scene.seal()


def _choose_rows(table: Table, old: Table) -> range:
    """As many rows as there is room for, with the one that changed, else the last ones."""
    known = frozenset(old.rows)
    changed = [i for i, row in enumerate(table.rows) if row not in known]
    return window(changed[-1] if changed else len(table.rows), MOST, len(table.rows))


def _draw_cells(
    scene: Scene, key: str, row: tuple[str, ...], was: tuple[str, ...], place: _Place, new: bool
) -> None:
    for i, value in enumerate(row[: len(place.x) - 1]):
        left, room = place.x[i], place.x[i + 1] - place.x[i] - SPARE
        if new and (i >= len(was) or was[i] != value):
            scene.rect(f"hot:{key}:{i}", left + 1, -4, room + 7, place.spacing - 1, "band", rx=3)
        lines = [value] if width(value, SIZE) <= room else halve(value, room, SIZE)
        for n, line in enumerate(lines):
            name, y = f"value:{key}:{i}" + f":{n}" * (n > 0), 10 + n * TWO
            scene.text(name, left + 6, y, fit(line, room, SIZE), "value")
        if max(width(line, SIZE) for line in lines) > room:
            scene.title(f"title:{key}:{i}", value)
