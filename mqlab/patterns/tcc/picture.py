"""What TCC looks like: ledgers, what they add up to, and what a reader sees of an order."""

from __future__ import annotations

from ...kernel import NOTHING, Got, Graph, GraphState, Reader, Snapshot, Table, Text, World
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_records
from . import words
from .claims import TM, Parties, read_balance
from .coordinator import LOG as DECISIONS
from .service import CANCELLED, CONFIRMED, EMPTY, LOG, TRIED

STATES = tuple(
    GraphState(name, *place)
    for name, place in {
        "nothing": (0, 0),
        TRIED: (1, 0),
        CONFIRMED: (2, 0),
        EMPTY: (1, 1),
        CANCELLED: (2, 1),
    }.items()
)
EDGES = (("nothing", TRIED), (TRIED, CONFIRMED), (TRIED, CANCELLED), ("nothing", EMPTY))
#: a decision is drawn as a diamond, which has room for a letter or two
SHORT = {TRIED: "try", CONFIRMED: "C", CANCELLED: "X", EMPTY: "E", "confirm": "C", "cancel": "X"}
FINAL = (CONFIRMED, CANCELLED, EMPTY, "confirm", "cancel")


def draw(parties: Parties, world: World) -> Snapshot:
    titles = [("app", Text("app"), words.APPLICATION()), (TM, Text(TM), words.COORDINATOR())]
    titles += [(name, Text(name), words.SERVICE()) for name in parties.services]
    strips = [(TM, DECISIONS), *((name, LOG) for name in parties.services)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            draw_strip(node, read_records(world.disk(node), log), _label, FINAL, (TRIED,))
            for node, log in strips
        ),
        readers=(_draw_reader(parties, world),),
        graphs=tuple(_draw_graph(world, name) for name in parties.services),
        tables=(_draw_balances(parties, world),),
    )


def _label(record: Record) -> str:
    return SHORT.get(record.what, record.what)


def _draw_graph(world: World, name: str) -> Graph:
    records = list(read_records(world.disk(name), LOG))
    if not records:
        return Graph(words.SERVICE(), STATES, EDGES)
    txn = records[-1].txn
    path = ("nothing", *(record.what for record in records if record.txn == txn))
    return Graph(words.GRAPH(name=name, txn=txn), STATES, EDGES, path, txn)


def _draw_balances(parties: Parties, world: World) -> Table:
    rows = []
    for name in parties.services:
        has = read_balance(world, name)
        rows.append((name, str(has.free), str(has.reserved), str(has.used)))
    return Table(words.TABLE(), ("", "free", "reserved", "used"), tuple(rows))


def _draw_reader(parties: Parties, world: World) -> Reader:
    """Who reads every service gets what is confirmed there: perhaps half of an order."""
    got = tuple(
        Got(name, record.txn, record.txn)
        for name in parties.services
        for record in read_records(world.disk(name), LOG)
        if record.what == CONFIRMED
    )
    showing = sorted({one.log for one in got})
    torn = 0 < len(showing) < len(parties.services)
    return Reader("orders", got, words.HALF(names=", ".join(showing)) if torn else NOTHING)
