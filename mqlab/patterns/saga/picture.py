"""What a saga looks like, and why: how far it is, which steps are in effect, who sees what."""

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
    replace,
    tr,
)
from ..picture import draw_lanes, draw_log, place_states
from ..records import Record, read_records
from .claims import ORCHESTRATOR, Parties, count_all
from .roles import END, LOG, SAGA_LOG, UNDO, UNDONE

GRAPH = Words("Where {txn} is")
HALF = Words("half of {txn} can be seen")


PLACES = {"forward": (0, 0), "done": (1, 0), "back": (0, 1), "compensated": (1, 1)}
EDGES = (("forward", "done"), ("forward", "back"), ("back", "compensated"))
IDLE = Graph(tr("No saga yet"), place_states(PLACES), EDGES)
SHORT = {UNDONE: "U"}


def draw(parties: Parties, world: World) -> Snapshot:
    """Draw the model's Snapshot: the orchestrator's log, each service's log, what the services have
    done, and how far the saga is."""
    titles = [("app", tr("application")), (ORCHESTRATOR, tr("orchestrator"))]
    titles += [(name, tr("service")) for name in parties.services]
    log = list(read_records(world.disk(ORCHESTRATOR), SAGA_LOG))
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            draw_log(ORCHESTRATOR, log, SHORT, control=(END,)),
            *(
                draw_log(name, read_records(world.disk(name), LOG), SHORT, control=(UNDONE,))
                for name in parties.services
            ),
        ),
        readers=(_draw_reader(parties, world),),
        graphs=(_draw_way(log),),
        tables=(_draw_effects(parties, world),),
    )


def _draw_way(log: list[Record]) -> Graph:
    """Of the latest saga."""
    if not log:
        return IDLE
    txn = log[-1].txn
    records = [record.what for record in log if record.txn == txn]
    path = ["forward", *(["back"] if UNDO in records else [])]
    if END in records:
        path.append("compensated" if UNDO in records else "done")
    return replace(IDLE, title=GRAPH(txn=txn), path=tuple(path), txn=txn)


def _draw_effects(parties: Parties, world: World) -> Table:
    rows = (
        (txn, *(str(count) for count in counts))
        for txn, counts in count_all(parties, world).items()
    )
    return Table(tr("What is in effect"), ("", *parties.services), tuple(rows))


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
    return Reader("orders", got, HALF(txn=half) if half else NOTHING, half=bool(half))
