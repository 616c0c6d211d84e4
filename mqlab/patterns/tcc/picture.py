"""What TCC looks like, and why: ledgers, what they add up to, what a reader sees of an order."""

from __future__ import annotations

from ...kernel import (
    NOTHING,
    Got,
    Graph,
    Reader,
    Snapshot,
    Table,
    Words,
    World,
    tr,
)
from ..picture import draw_lanes, draw_latest, draw_log, place_states
from ..records import read_records
from .claims import TM, Parties, read_balance
from .roles import CANCELLED, CONFIRMED, DECISIONS, EMPTY, LOG, TRIED

SERVICE = Words("service")
GRAPH = Words("{name}: what has become of {txn}")
HALF = Words("half of an order: {names} shows it, the others do not")


PLACES = {"nothing": (0, 0), TRIED: (1, 0), CONFIRMED: (2, 0), EMPTY: (1, 1), CANCELLED: (2, 1)}
EDGES = (("nothing", TRIED), (TRIED, CONFIRMED), (TRIED, CANCELLED), ("nothing", EMPTY))
IDLE = Graph(SERVICE(), place_states(PLACES), EDGES)
#: a decision is drawn as a diamond, which has room for a letter or two
SHORT = {TRIED: "try", CONFIRMED: "C", CANCELLED: "X", EMPTY: "E", "confirm": "C", "cancel": "X"}
FINAL = (CONFIRMED, CANCELLED, EMPTY, "confirm", "cancel")


def draw(parties: Parties, world: World) -> Snapshot:
    """Draw the model's Snapshot: the logs of the coordinator and of each service, what a reader
    sees, how far each of them is, and the balances."""
    titles = [("app", tr("application")), (TM, tr("coordinator"))]
    titles += [(name, SERVICE()) for name in parties.services]
    logs = [(TM, DECISIONS), *((name, LOG) for name in parties.services)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            # kinds of record that are drawn as decisions, and those that no reader sees
            draw_log(node, read_records(world.disk(node), log), SHORT, FINAL, (TRIED,))
            for node, log in logs
        ),
        readers=(_draw_reader(parties, world),),
        graphs=tuple(
            draw_latest(IDLE, GRAPH, name, read_records(world.disk(name), LOG))
            for name in parties.services
        ),
        tables=(_draw_balances(parties, world),),
    )


def _draw_balances(parties: Parties, world: World) -> Table:
    rows = []
    for name in parties.services:
        has = read_balance(world, name)
        rows.append((name, str(has.free), str(has.reserved), str(has.used)))
    return Table(tr("What each service has"), ("", "free", "reserved", "used"), tuple(rows))


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
    return Reader(
        "orders", got, HALF(names=", ".join(showing)) if torn else NOTHING, half=bool(torn)
    )
