"""What three-phase commit looks like: how far everybody is, which is all a successor can see."""

from __future__ import annotations

from ...kernel import NOTHING, Got, Graph, GraphState, Reader, Snapshot, Table, Text, World
from ..commit import TM, Parties
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_latest, read_records
from . import words
from .claims import read_states
from .coordinator import LOG as DECISIONS
from .messages import ABORTED, COMMITTED, ENDED, PRECOMMITTED, UNCERTAIN
from .participant import LOG

PLACES = {
    "working": (0, 0),
    UNCERTAIN: (1, 0),
    PRECOMMITTED: (2, 0),
    COMMITTED: (3, 0),
    ABORTED: (2, 1),
}
STATES = tuple(GraphState(name, *place) for name, place in PLACES.items())
EDGES = (
    ("working", UNCERTAIN),
    (UNCERTAIN, PRECOMMITTED),
    (PRECOMMITTED, COMMITTED),
    (UNCERTAIN, ABORTED),
)
SHORT = {UNCERTAIN: "unc", PRECOMMITTED: "pre", COMMITTED: "C", ABORTED: "A"}
OPEN = (UNCERTAIN, PRECOMMITTED)


def draw(parties: Parties, world: World) -> Snapshot:
    titles = [("app", Text("app"), words.APPLICATION()), (TM, Text(TM), words.COORDINATOR())]
    titles += [(name, Text(name), words.PARTICIPANT()) for name in parties.participants]
    strips = [(TM, DECISIONS), *((name, LOG) for name in parties.participants)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            draw_strip(node, read_records(world.disk(node), log), _label, ENDED, OPEN)
            for node, log in strips
        ),
        readers=tuple(_draw_reader(world, name) for name in parties.participants),
        graphs=tuple(_draw_graph(world, name) for name in parties.participants),
        tables=(_draw_states(parties, world),),
    )


def _label(record: Record) -> str:
    return SHORT[record.what]


def _draw_graph(world: World, name: str) -> Graph:
    records = list(read_records(world.disk(name), LOG))
    if not records:
        return Graph(words.PARTICIPANT(), STATES, EDGES)
    txn = records[-1].txn
    path = ("working", *(record.what for record in records if record.txn == txn))
    return Graph(words.GRAPH(name=name, txn=txn), STATES, EDGES, path, txn)


def _draw_states(parties: Parties, world: World) -> Table:
    parts = (TM, *parties.participants)
    rows = (
        (txn, *(states.get(name, "–") for name in parts))
        for txn, states in sorted(read_states(parties, world).items())
    )
    return Table(words.TABLE(), ("", *parts), tuple(rows))


def _draw_reader(world: World, name: str) -> Reader:
    node = world.nodes[name]
    last = read_latest(node.disk, LOG)
    held = ", ".join(txn for txn, record in last.items() if record.what in OPEN)
    done = (txn for txn, record in last.items() if record.what == COMMITTED and node.up)
    got = tuple(Got(name, txn, txn) for txn in done)
    return Reader(name, got, words.LOCKED(txn=held) if held else NOTHING)
