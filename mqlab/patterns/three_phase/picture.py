"""What three-phase commit looks like, and why: how far all are, which is all a successor sees."""

from __future__ import annotations

from ...kernel import (
    NOTHING,
    Got,
    Graph,
    GraphState,
    Reader,
    Snapshot,
    Stage,
    Table,
    Text,
    Words,
    World,
    tr,
)
from ...kernel.reasons import Unguarded
from ..commit import TM, Parties
from ..picture import draw_lanes, draw_log
from ..records import Record, read_latest, read_records
from .claims import read_states
from .roles import ABORTED, COMMITTED, DECISIONS, ENDED, LOG, PRECOMMITTED, UNCERTAIN

PARTICIPANT = Words("participant")
GRAPH = Words("{name}: how far it is with {txn}")
LOCKED = Words("{txn} holds its locks: a reader of the row waits")

WHYS = {
    "CommitTransaction": Words(
        "The application has worked at every participant; now all of it is to count, or nothing."
    ),
    "Watch": Words("A connection kept open, so that a stop is noticed. Nobody answers it."),
    "CanCommit": Words("Phase one: can you commit?"),
    "uncertain": Words(
        "It has voted yes and knows of no other vote: from here alone it may not decide."
    ),
    "vote yes": Words("A promise, as in two phases: it will not abort by itself."),
    "vote no": Words("It has promised nothing and may forget."),
    "PreCommit": Words("Phase two says only this: all have voted yes. Nobody commits yet."),
    "precommitted": Words(
        "It knows that all have voted yes, so from now on nobody can have aborted."
    ),
    "PreCommitResponse": Words("One fewer is uncertain."),
    "DoCommit": Words(
        "Phase three: nobody is uncertain any more, so one may be the first to commit."
    ),
    "committed": Words("Here {txn} is committed, and its locks are free."),
    "Abort": Words("Nobody has been told PreCommit, so nobody has committed."),
    "aborted": Words("Here {txn} is aborted, and its locks are free."),
    "AskState": Words("It leads now: how far is everybody that it can reach?"),
    "AskState after a restart": Words(
        "It may have missed the end, so it asks those that may know."
    ),
    "AskStateResponse": Words("It says how far it is; the one who asked decides."),
    "answer ok": Words("It is committed, and everybody will follow."),
    "answer failed": Words("Nothing of {txn} counts anywhere."),
    "change": Words("Everybody before it in the line is gone, as far as it can tell."),
    "ask": Words("It still does not know how {txn} has ended."),
    "stop tm": Words(
        "The nodes that watch it hear that the connection broke, and take that for a stop."
    ),
}

TOLD = ("uncertain", "precommitted", "committed", "aborted", "answer ok", "answer failed")
STAGES = {
    "CanCommit": Stage.RESERVE,
    "uncertain": Stage.WRITE,
    "precommitted": Stage.DECIDE,
    "DoCommit": Stage.PUBLISH,
    "Abort": Stage.PUBLISH,
    "committed": Stage.SHOW,
    "aborted": Stage.SHOW,
}

UNGUARDED: Unguarded = {
    "third_phase": {
        WHYS["committed"]: Words("here it is committed, while others may still be uncertain."),
        WHYS["DoCommit"]: Words(
            "the commit is sent right after the votes, so others may still be uncertain."
        ),
        WHYS["Abort"]: Words(
            "nobody has received a PreCommit, but somebody may have committed all the same."
        ),
    },
    "acknowledged_precommit": {
        WHYS["PreCommit"]: Words(
            "all have voted yes; the coordinator commits without waiting for an acknowledgement."
        ),
        WHYS["DoCommit"]: Words(
            "the commit is sent although a participant may still be uncertain."
        ),
        WHYS["Abort"]: Words(
            "nobody that was asked has received a PreCommit, but the coordinator may have "
            "committed."
        ),
    },
    "asks_before_deciding": {
        WHYS["change"]: Words(
            "the coordinator is gone, and this participant decides without asking the others."
        ),
        WHYS["precommitted"]: Words(
            "all have voted yes, but one that is uncertain may already have aborted by itself."
        ),
        WHYS["DoCommit"]: Words(
            "the new leader decides by its own state alone, so another may have aborted."
        ),
        WHYS["Abort"]: Words(
            "the new leader decides by its own state alone, so another may have committed."
        ),
    },
    "levels_before_commit": {
        WHYS["committed"]: Words(
            "here it is committed; after a takeover, others may still be uncertain."
        ),
        WHYS["DoCommit"]: Words("a new leader commits even while others are uncertain."),
    },
    "obeys_the_latest": {
        WHYS["AskStateResponse"]: Words(
            "it says how far it is, and still obeys those that come before the one who asked."
        ),
        WHYS["precommitted"]: Words(
            "an old PreCommit is obeyed, although the new leader may already have aborted."
        ),
        WHYS["DoCommit"]: Words("all have voted yes, but an earlier leader may have aborted."),
        WHYS["Abort"]: Words(
            "nobody that answered has received a PreCommit, but an old one that arrives "
            "later is obeyed."
        ),
    },
}

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
    """Draw the model's Snapshot: the logs of the coordinator and of each participant, what readers
    of each participant see, how far each of them is, and what each knows."""
    titles = [("app", Text("app"), tr("application")), (TM, Text(TM), tr("coordinator"))]
    titles += [(name, Text(name), PARTICIPANT()) for name in parties.participants]
    logs = [(TM, DECISIONS), *((name, LOG) for name in parties.participants)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            draw_log(node, read_records(world.disk(node), log), _label, control=ENDED, hidden=OPEN)
            for node, log in logs
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
        return Graph(PARTICIPANT(), STATES, EDGES)
    txn = records[-1].txn
    path = ("working", *(record.what for record in records if record.txn == txn))
    return Graph(GRAPH(name=name, txn=txn), STATES, EDGES, path, txn)


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
    got = tuple(Got(name, txn, txn) for txn in done)
    return Reader(name, got, LOCKED(txn=held) if held else NOTHING)
