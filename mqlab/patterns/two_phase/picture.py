"""What two-phase commit looks like: decisions, promises, who waits, what a reader gets, and why.

A row that a transaction in doubt has changed is locked: a reader gets neither its old value nor its
new one. That is drawn as a reader who gets nothing, with the reason.
"""

from __future__ import annotations

from ...kernel import (
    NOTHING,
    Graph,
    Reader,
    Snapshot,
    Table,
    Words,
    World,
    replace,
    tr,
)
from ..commit import TM, Parties
from ..picture import draw_lanes, draw_log, get_each, place_states
from ..records import read_latest, read_records
from .roles import COMMITTED, DECISIONS, LOG, PREPARED, ROLLED_BACK

COORDINATOR = Words("coordinator")
GRAPH = Words("Coordinator: where {txn} is")
LOCKED = Words("{txn} holds its locks: a reader of the row waits")


PLACES = {"voting": (0, 0), "commit": (1, 0), "end": (2, 0), "rolled back": (1, 1)}
EDGES = (("voting", "commit"), ("commit", "end"), ("voting", "rolled back"))
IDLE = Graph(COORDINATOR(), place_states(PLACES), EDGES)
SHORT = {PREPARED: "prep", COMMITTED: "C", ROLLED_BACK: "R", "commit": "C", "end": "end"}
DECISION = (COMMITTED, ROLLED_BACK, "commit")


def draw(parties: Parties, world: World) -> Snapshot:
    """Draw the model's Snapshot: the logs of the coordinator and of each participant, what readers
    of each participant see, how far the transaction is, and what each knows."""
    titles = [("app", tr("application")), (TM, COORDINATOR())]
    titles += [(name, tr("participant")) for name in parties.participants]
    logs = [(TM, DECISIONS), *((name, LOG) for name in parties.participants)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            # kinds of record that are drawn as decisions, and those that no reader sees
            draw_log(node, read_records(world.disk(node), log), SHORT, DECISION, (PREPARED,))
            for node, log in logs
        ),
        readers=tuple(_draw_reader(world, name) for name in parties.participants),
        graphs=(_draw_graph(parties, world),),
        tables=(_draw_knowledge(parties, world),),
    )


def list_txns(parties: Parties, world: World) -> list[str]:
    """Every transaction that any node knows of, in the order of their names."""
    tm = world.role(TM)
    known = {*read_latest(world.disk(TM), DECISIONS), *(tm.txns if tm is not None else ())}
    for name in parties.participants:
        known |= {*read_latest(world.disk(name), LOG)}
    return sorted(known)


def name_state(parties: Parties, world: World, txn: str) -> str:
    """Where a transaction is, by the coordinator's disk and memory, else by the participants'."""
    last = read_latest(world.disk(TM), DECISIONS).get(txn)
    if last is not None:
        return last.what
    tm = world.role(TM)
    if tm is not None and txn in tm.txns:
        return "voting"
    return "rolled back" if tm is not None else "voting"


def _draw_graph(parties: Parties, world: World) -> Graph:
    txns = list_txns(parties, world)
    if not txns:
        return IDLE
    txn = txns[-1]
    now = name_state(parties, world, txn)
    way = {"voting": (), "commit": ("voting",), "rolled back": ("voting",)}
    path = (*way.get(now, ("voting", "commit")), now)
    return replace(IDLE, title=GRAPH(txn=txn), path=path, txn=txn)


def _draw_knowledge(parties: Parties, world: World) -> Table:
    """What each party would say of each transaction."""
    columns = ("", TM, *parties.participants)
    rows = []
    for txn in list_txns(parties, world):
        last = [read_latest(world.disk(name), LOG).get(txn) for name in parties.participants]
        here = [record.what if record is not None else "–" for record in last]
        rows.append((txn, name_state(parties, world, txn) if world.nodes[TM].up else "?", *here))
    return Table(tr("Who knows what"), columns, tuple(rows))


def _draw_reader(world: World, name: str) -> Reader:
    """What a reader of this participant's rows gets now: of each committed transaction its row."""
    node = world.nodes[name]
    done = [t for t, r in read_latest(node.disk, LOG).items() if r.what == COMMITTED]
    doubt = node.roles[0].doubt if node.up else ()
    got = get_each(name, done if node.up else ())
    return Reader(name, got, LOCKED(txn=", ".join(doubt)) if doubt else NOTHING)
