"""What three-phase commit looks like, and why: how far all are, which is all a successor sees."""

from __future__ import annotations

from ...kernel import (
    NOTHING,
    Graph,
    Reader,
    Snapshot,
    Table,
    Words,
    World,
    tr,
)
from ..commit import TM, Parties
from ..picture import draw_lanes, draw_latest, draw_log, get_each, place_states
from ..records import read_latest, read_records
from .claims import read_states
from .roles import ABORTED, COMMITTED, DECISIONS, ENDED, LOG, PRECOMMITTED, UNCERTAIN

PARTICIPANT = Words("participant")
GRAPH = Words("{name}: how far it is with {txn}")
LOCKED = Words("{txn} holds its locks: a reader of the row waits")


PLACES = {
    "working": (0, 0),
    UNCERTAIN: (1, 0),
    PRECOMMITTED: (2, 0),
    COMMITTED: (3, 0),
    ABORTED: (2, 1),
}
EDGES = (
    ("working", UNCERTAIN),
    (UNCERTAIN, PRECOMMITTED),
    (PRECOMMITTED, COMMITTED),
    (UNCERTAIN, ABORTED),
)
IDLE = Graph(PARTICIPANT(), place_states(PLACES), EDGES)
SHORT = {UNCERTAIN: "unc", PRECOMMITTED: "pre", COMMITTED: "C", ABORTED: "A"}
OPEN = (UNCERTAIN, PRECOMMITTED)


def draw(parties: Parties, world: World) -> Snapshot:
    """Draw the model's Snapshot: the logs of the coordinator and of each participant, what readers
    of each participant see, how far each of them is, and what each knows."""
    titles = [("app", tr("application")), (TM, tr("coordinator"))]
    titles += [(name, PARTICIPANT()) for name in parties.participants]
    logs = [(TM, DECISIONS), *((name, LOG) for name in parties.participants)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            draw_log(node, read_records(world.disk(node), log), SHORT, control=ENDED, hidden=OPEN)
            for node, log in logs
        ),
        readers=tuple(_draw_reader(world, name) for name in parties.participants),
        graphs=tuple(
            draw_latest(IDLE, GRAPH, name, read_records(world.disk(name), LOG))
            for name in parties.participants
        ),
        tables=(_draw_states(parties, world),),
    )


def _draw_states(parties: Parties, world: World) -> Table:
    parts = (TM, *parties.participants)
    rows = (
        (txn, *(states.get(name, "–") for name in parts))
        for txn, states in sorted(read_states(parties, world).items())
    )
    return Table(tr("How far everybody is"), ("", *parts), tuple(rows))


def _draw_reader(world: World, name: str) -> Reader:
    node = world.nodes[name]
    last = read_latest(node.disk, LOG)
    held = ", ".join(txn for txn, record in last.items() if record.what in OPEN)
    done = (txn for txn, record in last.items() if record.what == COMMITTED and node.up)
    return Reader(name, get_each(name, done), LOCKED(txn=held) if held else NOTHING)
