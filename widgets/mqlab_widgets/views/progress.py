"""Rows below a log's cells: how far each of its readers has come, offset by offset.

filled bar      the reader is done with it
outlined, T1    a transaction has taken it for the reader until that ends
red cross       another transaction asked for it too and was refused
thin bar        none of these
small flag      before it the reader is done with everything
"""

from __future__ import annotations

from mqlab.kernel.snapshot import Log, Progress, Stretch
from mqlab.kernel.trace import Trace

from ..scene import Scene
from ..widths import fit, width
from .common import colour

ROW_SPACING = 17  # of two rows
BAR, BOX = 7, 13  # heights of a bar and of what a transaction holds
MIDDLE = ROW_SPACING / 2
SIZE = 10.5  # of a reader's name
CROSS = 3.5


def measure_name(name: str) -> float:
    return width(name, SIZE)


def draw_names(scene: Scene, log: Log, names: tuple[str, ...], x: float, top: float) -> None:
    """The readers' names, left of their rows; `x`: where the cells begin."""
    for i, name in enumerate(names):
        shown = fit(name, x - 8, SIZE)
        y = top + i * ROW_SPACING + MIDDLE + 4
        scene.text(f"reader:{log.name}:{name}", 0, y, shown, "sub")
        if shown != name:
            scene.title(f"full:{log.name}:{name}", name)


def draw_progress(
    scene: Scene, trace: Trace, log: Log, row: Progress, y: float, first: int, w: int, spacing: int
) -> None:
    """Draw below a log's cells how far one of its readers has come: a thin bar for each cell, over
    it what is done with (read, or acknowledged) and what is held by open transactions, and a small
    flag before which all is done. `y`: top of the reader's row; `first`: the first offset in sight;
    `w`: width of a cell; `spacing`: px from one cell to the next. x counts from offset 0 of the
    log: the group around it is moved, so that `first` is at the left."""
    key = f"{log.name}:{row.name}"
    bar = y + (ROW_SPACING - BAR) / 2
    for cell in log.cells:
        if cell.offset >= first:
            at = cell.offset * spacing
            scene.rect(f"free:{key}:{cell.offset}", at, bar + 2, w, BAR - 4, "free", rx=1.5)
    for stretch in row.stretches:
        if stretch.last >= first:
            left = max(stretch.first, first) * spacing
            wide = stretch.last * spacing + w - left
            name = f"{key}:{stretch.first}:{stretch.txn}"
            if stretch.txn:  # these offsets are taken by a transaction, and not done with
                _hold(scene, name, stretch, left, y, wide, colour(trace, stretch.txn))
            else:
                scene.rect(f"done:{name}", left, bar, wide, BAR, "passed", rx=2)
    if row.at >= first:
        with scene.group(f"cursor:{key}", "flag f2", at=(row.at * spacing - 2, 0)):
            scene.line(f"cursor-pole:{key}", 0, y + 1, 0, y + ROW_SPACING - 2, "pole")
            way = -7 if row.at > first else 7  # over what is done with, where there is any
            scene.path(f"cursor-cloth:{key}", f"M0 {y + 1:g}l{way} 3.5l{-way} 3.5z", "cloth")


def _hold(
    scene: Scene, key: str, held: Stretch, left: float, y: float, wide: float, tone: str
) -> None:
    """What a transaction has taken: outlined in its colour, with its name, and a red cross where
    another one was refused."""
    crossed = 2 * CROSS + 4 if held.refused else 0
    with scene.group(f"held:{key}", tone):
        top = y + (ROW_SPACING - BOX) / 2
        scene.rect(f"hold:{key}", left + 0.5, top + 0.5, wide - 1, BOX - 1, "taken", rx=3)
        shown = fit(held.txn, wide - 4 - crossed, 10.5, bold=True)
        scene.text(f"by:{key}", left + (wide - crossed) / 2, y + MIDDLE + 3.5, shown, "tag by")
    if held.refused:
        x, middle, r = left + wide - CROSS - 5, y + MIDDLE, CROSS
        path = f"M{x - r:g} {middle - r:g}l{2 * r:g} {2 * r:g}m0-{2 * r:g}l-{2 * r:g} {2 * r:g}"
        scene.path(f"refused:{key}", path, "cross refused")
