"""Floor 4: views. One panel a file, a pure function `(trace, step) -> Scene`; no broker here.

A view draws what the Snapshot at `step` and the facts say, in words and shapes that every
broker shares. To write one: take the trace, the step and the language; draw with
`Scene`; fix the panel's size over the whole trace, so that nothing jumps; do no work that
grows with the step (`per_trace` and `lru_cache` keep what stays the same).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Trace

from ..scene import Scene
from .common import ROOMY, find_previous
from .graphs import graphs, has_wide_graphs
from .lights import has_long_sentences, lights, lights_small
from .logs import has_long_names, has_long_strips, logs, logs_small
from .money import money
from .outcomes import outcomes
from .plan import HALF, WIDE
from .readers import has_long_rows, readers
from .space_time import MOST_ROWS, measure_rows, space_time, space_time_all
from .tables import has_wide_tables, tables
from .window import window

View = Callable[..., Scene]


@dataclass(frozen=True, slots=True)
class Panel:
    """A view and its place: `side` "left" or "right"; `shows` says if a trace has any of it.

    Where there is no room for all panels of a side below each other, the `pinned` ones stay in
    sight, in the order of `PANELS`, and the others become tabs, each named by its `tab`; a pinned
    one that `yields` becomes one too, before the others would. A view with `rows` takes how many
    it draws and how wide it may be, and `rows` tells the browser how to crop and scroll them.
    One drawn `on_request` appears only where it is named.
    `NAME/all` stands instead of NAME when nothing is folded, `NAME/small` where room is short,
    `NAME/wide` where there is more than two columns need.
    `part`: the one part of a Snapshot that the view draws, as it is and as it was before; where
    both are what they were a step ago, so is the picture. "" for a view that reads more.
    """

    view: View
    title: Text
    side: str
    shows: Callable[[Trace], bool]
    tab: Text
    pinned: bool = False
    yields: bool = False
    on_request: bool = False
    rows: Callable[[Trace, Lang, int], dict[str, Any]] | None = None
    part: str = ""

    def find_parts(self, trace: Trace, step: int) -> tuple[Any, Any] | None:
        """All that this panel draws at a step; None where that is not known."""
        if not self.part:
            return None
        now, before = trace.snapshot(step), trace.snapshot(find_previous(trace, step))
        return getattr(now, self.part), getattr(before, self.part)


PANELS: dict[str, Panel] = {
    "space-time": Panel(
        space_time,
        Text("Who said what", "谁对谁说了什么"),
        "left",
        lambda t: bool(t.facts) or any(s.lanes for s in t.snapshots),
        tab=Text("Diagram", "时空图"),
        pinned=True,
        rows=partial(measure_rows, unfold=False),
    ),
    "space-time/all": Panel(
        space_time_all,
        Text("Who said what, nothing folded", "谁对谁说了什么（全部展开）"),
        "left",
        lambda t: any(f.fold for f in t.facts),
        tab=Text("Diagram", "时空图"),
        pinned=True,
        rows=partial(measure_rows, unfold=True),
    ),
    "logs": Panel(
        logs,
        Text("What is on disk, and who may read it", "磁盘上有什么，谁能读到"),
        "right",
        lambda t: any(s.logs for s in t.snapshots),
        tab=Text("On disk", "磁盘上"),
        pinned=True,
        part="logs",
    ),
    "logs/small": Panel(
        logs_small,
        Text("What is on disk, and who may read it", "磁盘上有什么，谁能读到"),
        "right",
        has_long_names,
        tab=Text("On disk", "磁盘上"),
        pinned=True,
        part="logs",
    ),
    "outcomes": Panel(
        outcomes,
        Text("What became of the last transactions", "最近的事务结果如何"),
        "right",
        lambda t: any(s.logs for s in t.snapshots),
        tab=Text("Outcomes", "结果"),
        pinned=True,
        on_request=True,
        part="logs",
    ),
    "readers": Panel(
        readers,
        Text("What a reader gets now", "读者现在读到什么"),
        "right",
        lambda t: any(s.readers for s in t.snapshots),
        tab=Text("Readers", "读者"),
        pinned=True,
        part="readers",
    ),
    "money": Panel(
        money,
        Text("Money", "金额"),
        "right",
        lambda t: any(s.money is not None for s in t.snapshots),
        tab=Text("Money", "金额"),
        pinned=True,
        yields=True,
    ),
    "lights": Panel(
        lights,
        Text("What must always be true", "必须始终成立"),
        "right",
        lambda t: any(s.lights for s in t.snapshots),
        tab=Text("Always true", "始终成立"),
        pinned=True,
        part="lights",
    ),
    "lights/small": Panel(
        lights_small,
        Text("What must always be true", "必须始终成立"),
        "right",
        lambda t: any(s.lights for s in t.snapshots),
        tab=Text("Always true", "始终成立"),
        pinned=True,
        part="lights",
    ),
    "graphs": Panel(
        graphs,
        Text("Where the transaction is", "事务走到哪一步"),
        "right",
        lambda t: any(s.graphs for s in t.snapshots),
        tab=Text("States", "状态"),
        part="graphs",
    ),
    "tables": Panel(
        tables,
        Text("Inside the broker", "消息服务器内部"),
        "right",
        lambda t: any(s.tables for s in t.snapshots),
        tab=Text("Tables", "内部表"),
        part="tables",
    ),
}

WIDER: dict[str, Callable[[Trace], bool]] = {
    "logs": has_long_strips,
    "readers": has_long_rows,
    "lights": has_long_sentences,
    "graphs": has_wide_graphs,
    "tables": has_wide_tables,
}
"""What says more where it has more room, and for which traces."""

PANELS |= {
    f"{name}/wide": replace(panel, view=partial(panel.view, room=ROOMY), shows=WIDER[name])
    for name, panel in PANELS.items()
    if name in WIDER
}

__all__ = [
    "HALF", "MOST_ROWS", "PANELS", "WIDE", "Panel", "View", "graphs", "lights", "logs", "money",
    "outcomes", "readers", "space_time", "space_time_all", "tables", "window",
]  # fmt: skip
