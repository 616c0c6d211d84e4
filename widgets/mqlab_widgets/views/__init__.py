"""Floor 4: views. One panel a file, a pure function `(trace, step) -> Scene`; no broker here.

A view draws what the Snapshot at `step` and the facts say, in words and shapes that every
broker shares. To write one: take the trace, the step and the language; draw with
`Scene`; fix the panel's size over the whole trace, so that nothing jumps; do no work that
grows with the step (`per_trace` and `lru_cache` keep what stays the same).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from mqlab.kernel.text import Lang, Text, tr
from mqlab.kernel.trace import Trace

from ..scene import Scene
from .common import HALF, ROOMY, WIDE, find_previous
from .graphs import graphs, has_wide_graphs
from .lights import has_long_sentences, lights, lights_small
from .logs import has_long_logs, has_long_names, logs, logs_small
from .money import money, say_money
from .outcomes import outcomes
from .readers import has_long_rows, readers, readers_story
from .space_time import MOST_ROWS, measure_rows, space_time, space_time_all
from .story import LARGE, NARROW, find_told, has_story, measure_story, space_time_story
from .tables import has_rows, has_wide_tables, tables
from .window import window

View = Callable[..., Scene]
Level = Literal["story", "protocol", "everything"]
LEVELS: dict[Level, Text] = {
    "story": tr("Story"),
    "protocol": tr("Protocol"),
    "everything": tr("Everything"),
}
"""How much of a trace is shown: what people notice; messages, states and logs; and what is folded,
tables, lights and evidence, too."""
UNDER_THE_STORY: tuple[Level, ...] = ("protocol", "everything")


@dataclass(frozen=True, slots=True)
class Panel:
    """A view and its place: `side` "left" or "right".

    Where there is no space for all panels of a side below each other, the `pinned` ones stay in
    sight, in the order of `PANELS`, and the others become tabs, each named by its `tab`; a pinned
    one that `yields` becomes one too, before the others would. A view with `rows` takes how many
    it draws and how wide it may be, and `rows` tells the browser how to crop and scroll them.
    One drawn `on_request` appears only where it is named.
    `NAME/all` is drawn instead of NAME when nothing is folded, `NAME/small` where room is short,
    `NAME/wide` where there is more than two columns need, `NAME/story` at that level.
    `levels`: at which it is shown.
    `part`: the one part of a Snapshot that the view draws, as it is and as it was before; where
    both are what they were a step ago, so is the picture. "" for a view that reads more.
    It appears `when` a trace is so, without that where a Snapshot has any of its `part`.
    """

    view: View
    title: Text
    tab: Text
    part: str = ""
    when: Callable[[Trace], bool] | None = None
    side: str = "right"
    pinned: bool = False
    yields: bool = False
    on_request: bool = False
    rows: Callable[[Trace, Lang, int], dict[str, Any]] | None = None
    levels: tuple[Level, ...] = UNDER_THE_STORY

    def shows(self, trace: Trace) -> bool:
        """If a trace has any of it."""
        if self.when is not None:
            return self.when(trace)
        return any(getattr(snapshot, self.part) for snapshot in trace.snapshots)

    def find_parts(self, trace: Trace, step: int) -> tuple[Any, Any] | None:
        """All that this panel draws at a step; None where that is not known."""
        if self.rows and self.levels == ("story",):
            return find_told(trace, step), None
        if not self.part:
            return None
        now, before = trace.snapshot(step), trace.snapshot(find_previous(trace, step))
        return getattr(now, self.part), getattr(before, self.part)


DIAGRAM = Panel(
    space_time,
    tr("Who said what"),
    tr("Diagram"),
    when=lambda t: bool(t.facts) or any(s.lanes for s in t.snapshots),
    side="left",
    pinned=True,
    rows=partial(measure_rows, unfold=False),
)
STORY = replace(
    DIAGRAM,
    view=space_time_story,
    title=tr("What happens"),
    tab=tr("Story"),
    when=has_story,
    rows=measure_story,
    levels=("story",),
)


def fit_story(room: int) -> Panel:
    """The story for a room of so many px."""
    rows = partial(measure_story, room=room)
    return replace(STORY, view=partial(space_time_story, room=room), rows=rows)


ON_DISK = Panel(
    logs, tr("What is on disk, and who may read it"), tr("On disk"), "logs", pinned=True
)
ALWAYS_TRUE = Panel(
    lights,
    tr("What must always be true"),
    tr("Always true"),
    "lights",
    pinned=True,
    levels=("everything",),
)


def has_told_readers(trace: Trace) -> bool:
    return has_story(trace) and READERS.shows(trace)


READERS = Panel(readers, tr("What a reader gets now"), tr("Readers"), "readers", pinned=True)

PANELS: dict[str, Panel] = {
    "space-time": DIAGRAM,
    "space-time/all": replace(
        DIAGRAM,
        view=space_time_all,
        title=tr("Who said what, nothing folded"),
        when=lambda t: any(f.fold for f in t.facts),
        rows=partial(measure_rows, unfold=True),
    ),
    "space-time/story": STORY,
    "space-time/small": fit_story(NARROW),
    "space-time/wide": fit_story(LARGE),
    "logs": ON_DISK,
    "logs/small": replace(ON_DISK, view=logs_small, when=has_long_names),
    "outcomes": Panel(
        outcomes,
        tr("What became of the last transactions"),
        tr("Outcomes"),
        "logs",
        pinned=True,
        on_request=True,
    ),
    "readers": READERS,
    "readers/story": replace(READERS, view=readers_story, when=has_told_readers, levels=("story",)),
    "money": Panel(
        money,
        tr("Money"),
        tr("Money"),
        when=lambda t: any(s.money is not None for s in t.snapshots),
        pinned=True,
        yields=True,
        levels=("story", *UNDER_THE_STORY),
    ),
    "lights": ALWAYS_TRUE,
    "lights/small": replace(ALWAYS_TRUE, view=lights_small),
    "graphs": Panel(graphs, tr("Where the transaction is"), tr("States"), "graphs"),
    "tables": Panel(
        tables, tr("Inside the broker"), tr("Tables"), "tables", has_rows, levels=("everything",)
    ),
}

WIDER: dict[str, Callable[[Trace], bool]] = {
    "logs": has_long_logs,
    "readers": has_long_rows,
    "lights": has_long_sentences,
    "graphs": has_wide_graphs,
    "tables": has_wide_tables,
}
"""What says more where it has more room, and for which traces."""

PANELS |= {
    f"{name}/wide": replace(panel, view=partial(panel.view, room=ROOMY), when=WIDER[name])
    for name, panel in PANELS.items()
    if name in WIDER
}

__all__ = [
    "HALF", "LEVELS", "MOST_ROWS", "PANELS", "WIDE", "Level", "Panel", "View", "find_told",
    "graphs", "has_story", "lights", "logs", "money", "outcomes", "readers", "say_money",
    "space_time", "space_time_all", "tables", "window",
]  # fmt: skip
