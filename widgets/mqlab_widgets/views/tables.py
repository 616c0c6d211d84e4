"""Internal tables of the broker or the database; the cell that changed has the yellow band."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from mqlab.kernel.snapshot import Table
from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import fit, width
from .common import RIGHT, ROOMY, find_previous, per_trace
from .window import window

LINE, TOP, MOST = 18, 22, 8
PADDING = 10  # px of a column, beside its longest text
SPARE = PADDING - 0.01  # of an edge, which is a sum of floats, less may be left than was added
SIZE = 11
EMPTY = Text("no rows", "没有行")


@dataclass(frozen=True, slots=True)
class _Place:
    y: float
    columns: tuple[str, ...]
    x: tuple[float, ...]
    rows: int


def tables(trace: Trace, step: int, lang: Lang = "en", room: int = RIGHT) -> Scene:
    places, height = _places(trace, room)
    scene = Scene(room, height)
    old = {t.name.en: t for t in trace.snapshot(find_previous(trace, step)).tables}
    for table in trace.snapshot(step).tables:
        place = places[table.name.en]
        name = table.name.en
        part = _table(table, lang, old.get(name, table), place, room)
        scene.group_of(f"table:{name}", part, "table", at=(0, place.y))
    return scene


def has_wide_tables(trace: Trace) -> bool:
    """If a column has to give way where room is short."""
    return _places(trace, RIGHT) != _places(trace, ROOMY)


@per_trace
def _places(trace: Trace, room: int) -> tuple[dict[str, _Place], float]:
    """Columns as wide as they ever need to be, and as many rows as there ever are."""
    versions_of: dict[str, dict[Table, None]] = {}
    seen: tuple[Table, ...] | None = None
    for snapshot in trace.snapshots:
        if snapshot.tables != seen:
            seen = snapshot.tables
            for table in seen:
                versions_of.setdefault(table.name.en, {})[table] = None
    places, y = {}, 0.0
    for name, versions in versions_of.items():
        rows = min(max(len(t.rows) for t in versions), MOST + 1)
        columns = next(iter(versions)).columns
        places[name] = _Place(y, columns, _columns(list(versions), room), rows)
        y += TOP + (max(rows, 1) + 1) * LINE + 12
    return places, y


def _columns(versions: list[Table], room: int) -> tuple[float, ...]:
    """Left edges, and the right one. Too wide: the widest columns give way."""
    wide = [width(c, 10.5) + PADDING for c in versions[0].columns]
    for row in {row for table in versions for row in table.rows}:
        for i, value in enumerate(row[: len(wide)]):
            wide[i] = max(wide[i], width(value, SIZE) + PADDING)
    while sum(wide) > room:
        widest = max(range(len(wide)), key=wide.__getitem__)
        least = sorted(wide)[-2] if len(wide) > 1 else 0
        wide[widest] = max(min(least, wide[widest] - 4), room - sum(wide) + wide[widest], 30)
    edges = [0.0]
    for w in wide:
        edges.append(edges[-1] + w)
    return tuple(edges)


@lru_cache(maxsize=1_024)
def _table(table: Table, lang: Lang, old: Table, place: _Place, wide: int) -> Part:
    scene, name, title = Scene(), table.name.en, table.name.of(lang)
    scene.text(f"heading:{name}", 0, 13, fit(title, wide, 12.5, bold=True), "heading")
    before_rows = {row[0]: row for row in old.rows if row}
    scene.line(f"rule:{name}", 0, TOP + LINE - 5, place.x[-1], TOP + LINE - 5, "rule")
    for i, column in enumerate(table.columns):
        room = place.x[i + 1] - place.x[i] - SPARE
        scene.text(f"col:{name}:{i}", place.x[i] + 6, TOP + 10, fit(column, room, 10.5), "sub")
    if not table.rows:
        scene.text(f"empty:{name}", 6, TOP + LINE + 10, EMPTY.of(lang), "value quiet")
    shown = _shown(table, old)
    twins: Counter[str] = Counter()  # rows with the same first column, told apart by number
    for r, row in enumerate(table.rows[i] for i in shown):
        first = row[0] if row else ""
        was = before_rows.get(first, ())
        key = f"{name}:{first}:{twins[first]}"
        twins[first] += 1
        with scene.group(f"row:{key}", "table-row", at=(0, TOP + (r + 1) * LINE)):
            _cells(scene, key, row, was, place, table != old)
    hidden = len(table.rows) - len(shown)
    if hidden:
        y = TOP + (MOST + 1) * LINE + 10
        scene.text(f"more:{name}", 6, y, f"+{hidden}", "sub")
    return scene.seal()


def _shown(table: Table, old: Table) -> range:
    """As many rows as there is room for, with the one that changed, else the last ones."""
    known = frozenset(old.rows)
    changed = [i for i, row in enumerate(table.rows) if row not in known]
    return window(changed[-1] if changed else len(table.rows), MOST, len(table.rows))


def _cells(
    scene: Scene, key: str, row: tuple[str, ...], was: tuple[str, ...], place: _Place, new: bool
) -> None:
    for i, value in enumerate(row[: len(place.x) - 1]):
        left, right = place.x[i], place.x[i + 1]
        if new and (i >= len(was) or was[i] != value):
            scene.rect(f"hot:{key}:{i}", left + 1, -4, right - left - 3, LINE - 1, "band", rx=3)
        shown = fit(value, right - left - SPARE, SIZE)
        scene.text(f"value:{key}:{i}", left + 6, 10, shown, "value")
        if shown != value:
            scene.title(f"title:{key}:{i}", value)
