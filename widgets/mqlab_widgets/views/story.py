"""The story: the diagram for viewers who know no protocol.

A lane for each participant that an outsider knows: the customer's service, the broker with all
that it consists of, the readers. A row for each step that matters to people, with a sentence
(`Fact.story`). Where readers get something else than before, an arrow leads to them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate, pairwise

from mqlab.kernel.snapshot import Lane
from mqlab.kernel.text import NOTHING, Lang, tr
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import width, wrap
from .common import WIDE, Plan, colour, find_down, find_lanes, per_trace
from .marks import MID, draw_arrow, draw_mark
from .space_time import EDGE, MOST_ROWS, draw_diagram

ROW, LINES, LEADING = 37, 2, 15  # px and lines; a narrow row has one line more
SIZE = 12
FIRST, LANE_SPACING, LAST = 30, 58, 26  # px: to the first lane, between lanes, after the last one
SHARE, AIR = 0.42, 14  # of the width that lanes may take; px between two names
NARROW, LARGE = 336, 640  # px: what a telephone has; what long sentences want
READERS = "\0readers"  # no node has this name
READER = Lane(READERS, tr("any reader"))


def space_time_story(
    trace: Trace, step: int, lang: Lang = "en", rows: int = 12, wide: int = WIDE, room: int = 0
) -> Scene:
    """The last sentence up to the step. `room`: px, where it is for another room than `wide`."""
    return draw_diagram(_plan(trace, lang, room or wide), trace, find_told(trace, step), lang, rows)


def measure_story(trace: Trace, lang: Lang, wide: int, room: int = 0) -> dict[str, float]:
    """As `measure_rows` does for the diagram."""
    p = _plan(trace, lang, room or wide)
    return {"head": p.head, "row": p.row, "edge": EDGE, "count": len(p.rows), "most": MOST_ROWS}


def find_told(trace: Trace, step: int) -> int:
    """The last step of the story up to a position; 0 for none."""
    return next((i for i in range(step, 0, -1) if trace.facts[i - 1].story.en), 0)


@per_trace
def has_story(trace: Trace) -> bool:
    return any(fact.story.en for fact in trace.facts)


@per_trace
def _plan(trace: Trace, lang: Lang, wide: int) -> Plan:
    """Lay out the diagram of the story, `wide` px: a lane for each participant that an outsider
    sees, a row for each fact that has a sentence. A part of a broker, such as its coordinator, has
    the x of the lane that stands for the whole."""
    lanes, stands_for = _find_outsiders(trace)
    names = [width(lane.title.of(lang), 12, bold=True) for lane in lanes]
    # From one lane to the next, so that no two names touch.
    gaps = [max(LANE_SPACING, (one + two) / 2 + AIR) for one, two in pairwise(names)]
    first, room = max([FIRST, *(name / 2 for name in names[:1])]), wide * SHARE
    stairs = first + sum(gaps) > room
    if stairs:  # names at two heights, so lanes may be closer than names are wide
        first, gaps = FIRST, [min(LANE_SPACING, (room - FIRST) / max(len(gaps), 1))] * len(gaps)
    # strict=False: without a lane there is still the first x
    lane_x = dict(zip((lane.name for lane in lanes), accumulate(gaps, initial=first), strict=False))
    x = lane_x | {name: lane_x[part] for name, part in stands_for.items()}
    rows = [i for i, fact in enumerate(trace.facts, 1) if fact.story.en]
    return Plan(
        lanes=lanes,
        x=x,
        spacing=min([LANE_SPACING, *gaps]),
        stairs=stairs,
        width=wide,
        rows=rows,
        # The last row up to each position, -1 before the first one.
        row_of=[bisect_right(rows, p) - 1 for p in range(len(trace) + 1)],
        spans=[],  # a story has no marks for how long a transaction is open
        down=[d for d in find_down(trace) if d[0] in lane_x],
        # By position: "t0", before the first fact, is the colour of what is in no transaction.
        txn=["t0", *(colour(trace, fact.txn) for fact in trace.facts)],
        bar=any(fact.stage for fact in trace.facts),
        row=ROW + (wide < WIDE) * LEADING,  # narrow: taller rows, for one line of text more
        draw_row=_draw_row,
    )


def _find_outsiders(trace: Trace) -> tuple[tuple[Lane, ...], dict[str, str]]:
    """The lanes, and for each participant that is a part of something the lane of that."""
    lanes: dict[str, Lane] = {}
    stands_for: dict[str, str] = {}
    used = {name for fact in trace.facts if fact.story.en for name in (fact.node, fact.peer)}
    for lane in find_lanes(trace.snapshots):
        if lane.part.en:
            stands_for[lane.name] = f"\0{lane.part.en}"
            lanes.setdefault(stands_for[lane.name], Lane(stands_for[lane.name], lane.part))
        elif lane.name in used:
            lanes[lane.name] = replace(lane, subtitle=NOTHING)
    if stands_for and any(snapshot.readers for snapshot in trace.snapshots):
        lanes[READERS] = READER
    return tuple(lanes.values()), stands_for


def _draw_row(trace: Trace, position: int, p: Plan, lang: Lang) -> Part:
    """Draw a row of the story: an arrow to the readers where they get something new, else an arrow
    to the fact's peer if it is a message, else a mark, or nothing where the fact's node has no
    lane; and the sentence, right of all lanes. `position`: the fact's place in the trace, from
    1."""
    fact, key, cls = trace.facts[position - 1], f"{position}", p.txn[position]
    scene = Scene()
    scene.rect(f"hit:{key}", 0, 0, p.width, p.row, "hit")
    here, there = p.x.get(fact.node), p.x.get(fact.peer)
    if here is not None and _gives_readers(trace, position) and READERS in p.x:
        draw_arrow(scene, key, "→", here, p.x[READERS], cls)
    # a message: sent, late, answered or lost
    elif here is not None and there is not None and here != there and fact.glyph in "→⇥⇒✗":
        draw_arrow(scene, key, fact.glyph, here, there, cls)
    elif here is not None:
        draw_mark(scene, key, fact, here, cls)
    left = max(p.x.values(), default=0) + LAST
    said = fact.story.of(lang)
    tone = "lab bad" if fact.glyph == "✗" else "lab"
    lines = LINES + (p.row > ROW)  # a narrow diagram has taller rows, for one line more
    for i, line in enumerate(wrap(said, p.width - left - 4, SIZE, lines, bold="bad" in tone)):
        name = f"lab:{key}" + f":{i}" * (i > 0)
        scene.text(name, left, MID + 5 + i * LEADING, line, f"{tone} story")
    scene.title(f"full:{key}", said)
    return scene.seal()


def _gives_readers(trace: Trace, position: int) -> bool:
    """If this step of the broker gives readers something."""
    old = {reader.name: reader.got for reader in trace.snapshot(position - 1).readers}
    return trace.facts[position - 1].node not in old and any(
        len(reader.got) > len(old.get(reader.name, ()))
        for reader in trace.snapshot(position).readers
    )
