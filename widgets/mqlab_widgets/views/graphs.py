"""State graphs, drawn from the transition table: where each transaction is, and how it came."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mqlab.kernel.snapshot import Graph, GraphState
from mqlab.kernel.text import Lang
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import width
from .common import RIGHT, colour, per_trace

MOST = 3  # graphs below each other; the latest are shown
BOX, ROW, TOP = 24, 36, 22
ARC = 12  # below a row, the room for an edge that goes back in it
BETWEEN = 18  # two graphs
PAD = 10  # of a name in its box, both sides together
LEAST_GAP, MOST_GAP = 12, 40


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    w: float

    def below(self, top: float) -> _Box:
        return _Box(self.x, self.y + top, self.w)

    @property
    def middle(self) -> float:
        return self.x + self.w / 2

    @property
    def centre(self) -> float:
        return self.y + BOX / 2

    @property
    def right(self) -> float:
        return self.x + self.w


def graphs(trace: Trace, step: int, lang: Lang = "en", room: int = RIGHT) -> Scene:
    scene = Scene(*_size(trace, room))
    y = 0.0
    for i, graph in enumerate(trace.snapshot(step).graphs[-MOST:]):
        part = _graph(graph, str(i), lang, room)
        scene.group_of(f"graph{i}", part, f"graph {colour(trace, graph.txn)}", at=(0, y))
        y += _height(graph) + BETWEEN
    return scene


@lru_cache(maxsize=512)
def _graph(graph: Graph, key: str, lang: Lang, room: int) -> Part:
    """Draw a transaction's state machine: boxes for states, arrows for transitions, and over the
    others those that this transaction has taken, the latest on top. `key`: the graph's number in
    the panel, which is in the keys of what is drawn; `room`: px of its width."""
    scene = Scene()
    boxes = {n: b.below(_top(graph)) for n, b in _boxes(graph.states, room).items()}
    scene.text(f"heading{key}", 0, 13, graph.title.of(lang), "heading")
    occupied = {(s.column, s.row) for s in graph.states}
    states = {s.name: s for s in graph.states}
    walked = set(zip(graph.path, graph.path[1:], strict=False))  # the transitions it has taken
    last = graph.path[-2:] if len(graph.path) > 1 else ()  # the latest transition, if any
    edges = [
        ("latest" if edge == last else "walked" if edge in walked else "open", *edge)
        for edge in graph.edges
        if edge[0] in boxes and edge[1] in boxes
    ]
    # What was walked is drawn over what was not, where edges share a way.
    for cls, a, b in sorted(edges, key=lambda edge: "open walked latest".index(edge[0])):
        under = (states[a].column, states[b].row) in occupied  # straight below or above `a`
        line, head = _route(boxes[a], boxes[b], under)
        name = f"{key}:{a}:{b}"
        scene.path(f"edge:{name}", line, f"edge {cls}")
        scene.path(f"tip:{name}", head, f"tip {cls}")
    now = graph.path[-1] if graph.path else ""
    for state in graph.states:
        box = boxes[state.name]
        cls = "here" if state.name == now else "been" if state.name in graph.path else "not-yet"
        scene.rect(f"box:{key}:{state.name}", box.x, box.y, box.w, BOX, f"state {cls}", rx=BOX / 2)
        scene.text(
            f"state:{key}:{state.name}", box.middle, box.centre + 4, state.name, f"state-name {cls}"
        )
    return scene.seal()


def has_wide_graphs(trace: Trace) -> bool:
    """If the states are not beside each other where space is short."""
    return _size(trace, RIGHT)[0] > RIGHT


@per_trace
def _size(trace: Trace, room: int) -> tuple[float, float]:
    sizes = {(float(room), 0.0)}
    for shown in {s.graphs[-MOST:] for s in trace.snapshots}:
        right = max((b.right for g in shown for b in _boxes(g.states, room).values()), default=0)
        gaps = BETWEEN * (len(shown) - 1)
        sizes.add((right + 2, sum(_height(g) for g in shown) + gaps))
    return max(w for w, _ in sizes), max(h for _, h in sizes)


def _height(graph: Graph) -> float:
    last = max((s.row for s in graph.states), default=0)
    room = ARC if _hanging(graph.states, graph.edges) else 1
    return _top(graph) + last * ROW + BOX + room


@lru_cache
def _hanging(states: tuple[GraphState, ...], edges: tuple[tuple[str, str], ...]) -> bool:
    """If an edge runs below the last row: back in it."""
    at = {s.name: s for s in states}
    last = max((s.row for s in states), default=0)
    return any(
        at[a].row == at[b].row == last and at[b].column < at[a].column
        for a, b in edges
        if a in at and b in at
    )


@lru_cache
def _arching(states: tuple[GraphState, ...], edges: tuple[tuple[str, str], ...]) -> bool:
    """If an edge runs above the first row: over a state between, or back into its own."""
    at = {s.name: s for s in states}
    return any(
        at[a].row == at[b].row == 0 and (a == b or at[b].column > at[a].column + 1)
        for a, b in edges
        if a in at and b in at
    )


def _top(graph: Graph) -> float:
    return TOP + (14 if _arching(graph.states, graph.edges) else 0)


@lru_cache
def _boxes(states: tuple[GraphState, ...], room: int) -> dict[str, _Box]:
    """A place for each state: columns as wide as their longest name, spread over the panel."""
    wide: dict[int, float] = {}
    for s in states:
        wide[s.column] = max(wide.get(s.column, 0), width(s.name, 11, bold=True) + PAD)
    gap = (room - 2 - sum(wide.values())) / max(len(wide) - 1, 1)
    gap = min(max(gap, LEAST_GAP), MOST_GAP)
    left, x = {}, 1.0
    for column in sorted(wide):
        left[column] = x
        x += wide[column] + gap
    return {s.name: _Box(left[s.column], s.row * ROW, wide[s.column]) for s in states}


def _route(a: _Box, b: _Box, under: bool) -> tuple[str, str]:
    """The SVG paths of an edge from box `a` to box `b`: its line and its arrowhead. From a state to
    itself it is a loop above; in a row straight between neighbours, else an arc, above the row
    forward and below it back; in a column straight. Elsewhere it turns once, in the column of `a`
    where `b` is further right, in that of `b` where it is further left. Where a state is `under`
    the beginning (in the column of `a` and the row of `b`), an edge to the right takes the gap
    before `b`."""
    if a == b:  # a loop above the state
        x = a.middle
        return f"M{x - 8:g} {a.y:g}c0-12 16-12 16 0", _head(x + 8, a.y, "down")
    if a.y == b.y and a.right < b.x:
        if b.x - a.right <= MOST_GAP + 1:  # neighbours: straight
            return f"M{a.right:g} {a.centre:g}H{b.x - 6:g}", _head(b.x, a.centre, "right")
        return _arch(a, b, a.y, bulge=-10)  # above what is between them
    if a.y == b.y:  # back, below the row
        return _arch(a, b, a.y + BOX, bulge=9)
    down = b.y > a.y
    if a.x == b.x:  # straight down or up
        start, end = (a.y + BOX, b.y) if down else (a.y, b.y + BOX)
        return f"M{a.middle:g} {start:g}V{end + (-6 if down else 6):g}", _head(
            a.middle, end, "down" if down else "up"
        )
    start = a.y + BOX if down else a.y
    if b.x > a.x and under:
        x = b.x - LEAST_GAP / 2 - 3
        return f"M{a.right:g} {a.centre:g}H{x:g}V{b.centre:g}H{b.x - 6:g}", _head(
            b.x, b.centre, "right"
        )
    if b.x > a.x:
        turn = b.centre - 8 if down else b.centre + 8
        bend = f"q0 8 8 8H{b.x - 6:g}" if down else f"q0-8 8-8H{b.x - 6:g}"
        return f"M{a.middle:g} {start:g}V{turn:g}{bend}", _head(b.x, b.centre, "right")
    # To the left: along its own row, then down or up into the state.
    end = b.y if down else b.y + BOX
    x = b.middle
    corner = f"H{x + 8:g}q-8 0-8 {'8' if down else '-8'}"
    return f"M{a.x:g} {a.centre:g}{corner}V{end + (-6 if down else 6):g}", _head(
        x, end, "down" if down else "up"
    )


def _arch(a: _Box, b: _Box, y: float, bulge: float) -> tuple[str, str]:
    """Out of one side of the row and back into it, around what is between."""
    x1, x2 = a.middle, b.middle
    near = 6 if bulge > 0 else -6
    d = f"M{x1:g} {y:g}C{x1:g} {y + 1.6 * bulge:g} {x2:g} {y + 1.6 * bulge:g} {x2:g} {y + near:g}"
    return d, _head(x2, y, "up" if bulge > 0 else "down")


def _head(x: float, y: float, way: str) -> str:
    """A small triangle whose tip is at x, y."""
    turns = {"right": "l-7-4v8z", "left": "l7-4v8z", "down": "l-4-7h8z", "up": "l-4 7h8z"}
    return f"M{x:g} {y:g}{turns[way]}"
