"""What a saga looks like: how far it has come, which steps are in effect, what can be seen."""

from __future__ import annotations

from ...kernel import NOTHING, Got, Graph, GraphState, Reader, Snapshot, Table, Text, World
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_records
from . import words
from .claims import ORCHESTRATOR, Parties, count_all
from .orchestrator import END, UNDO
from .orchestrator import LOG as SAGA_LOG
from .service import LOG, UNDONE

STATES = (
    GraphState("forward", 0, 0),
    GraphState("done", 1, 0),
    GraphState("back", 0, 1),
    GraphState("compensated", 1, 1),
)
EDGES = (("forward", "done"), ("forward", "back"), ("back", "compensated"))


def draw(parties: Parties, world: World) -> Snapshot:
    titles = [("app", Text("app"), words.APPLICATION())]
    titles.append((ORCHESTRATOR, Text(ORCHESTRATOR), words.ORCHESTRATOR()))
    titles += [(name, Text(name), words.SERVICE()) for name in parties.services]
    log = list(read_records(world.disk(ORCHESTRATOR), SAGA_LOG))
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            draw_strip(ORCHESTRATOR, log, _label, (END,)),
            *(
                draw_strip(name, read_records(world.disk(name), LOG), _label, (UNDONE,))
                for name in parties.services
            ),
        ),
        readers=(_draw_reader(parties, world),),
        graphs=(_draw_way(log),),
        tables=(_draw_effects(parties, world),),
    )


def _label(record: Record) -> str:
    return "U" if record.what == UNDONE else record.what


def _draw_way(log: list[Record]) -> Graph:
    """Of the latest saga."""
    if not log:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES)
    txn = log[-1].txn
    records = [record.what for record in log if record.txn == txn]
    path = ["forward", *(["back"] if UNDO in records else [])]
    if END in records:
        path.append("compensated" if UNDO in records else "done")
    return Graph(words.GRAPH(txn=txn), STATES, EDGES, tuple(path), txn)


def _draw_effects(parties: Parties, world: World) -> Table:
    rows = (
        (txn, *(str(count) for count in counts))
        for txn, counts in count_all(parties, world).items()
    )
    return Table(words.TABLE(), ("", *parties.services), tuple(rows))


def _draw_reader(parties: Parties, world: World) -> Reader:
    """Who reads every service sees each step that is in effect there."""
    counts = count_all(parties, world)
    got = tuple(
        Got(name, txn, txn)
        for place, name in enumerate(parties.services)
        for txn, effects in counts.items()
        if effects[place] > 0
    )
    half = ", ".join(txn for txn, effects in counts.items() if len({*effects}) > 1)
    return Reader("orders", got, words.HALF(txn=half) if half else NOTHING)
