"""What a saga looks like, and why: how far it is, which steps are in effect, who sees what."""

from __future__ import annotations

from ...kernel import (
    NOTHING,
    Got,
    Graph,
    GraphState,
    Reader,
    Snapshot,
    Table,
    Text,
    Words,
    World,
    tr,
)
from ...kernel.reasons import Unguarded
from ..picture import draw_lanes, draw_log
from ..records import Record, read_records
from .claims import ORCHESTRATOR, Parties, count_all
from .roles import END, LOG, SAGA_LOG, UNDO, UNDONE

GRAPH = Words("Where {txn} is")
HALF = Words("half of {txn} can be seen")

WHYS = {
    "StartSaga": Words("One order, in several local transactions, one after the other."),
    "begun": Words("After a restart one must know that there is something to finish."),
    "Do": Words("The next step, a local transaction of its own."),
    "done": Words("It has committed: the effect is there for everybody to see."),
    "done by saga": Words("The position moves on before the next step is asked for."),
    "step done": Words("Done, now or before: the answer is the same."),
    "step refused": Words("It cannot be done, so what was done before must be taken back."),
    "undo": Words("The saga turns round."),
    "Undo": Words("Not a rollback: another transaction, which makes up for the step."),
    "undone": Words("Made up for. A reader who has seen the step has seen it."),
    "undone by saga": Words("One step fewer to take back."),
    "UndoResponse": Words("Undone, now or before."),
    "end": Words("All of it is done, or all of it is taken back."),
    "answer ok": Words("Every step is done."),
    "answer failed": Words("Every step that was done is taken back."),
    "retry": Words("No answer: it may have been done or not, so it is asked for again."),
    "late Do": Words(
        "A step that was asked for again arrives once more, perhaps after its compensation."
    ),
    "stop saga": Words("An unfinished saga stays as it is, for all to see, until it is back."),
}

TOLD = ("begun", "done", "step refused", "undo", "undone", "answer ok", "answer failed")

UNGUARDED: Unguarded = {
    "saga_log": {
        WHYS["Do"]: Words(
            "the next step is requested, and nothing is written: a restart forgets the saga."
        ),
        WHYS["stop saga"]: Words(
            "an unfinished saga stays as it is for ever: after the restart the orchestrator "
            "knows nothing of it."
        ),
    },
    "compensation": {
        WHYS["step refused"]: Words("it cannot be done, and what was done before stays."),
        WHYS["end"]: Words("the saga is over, even if only a part of it is done."),
        WHYS["answer failed"]: Words(
            "the saga has failed, and the steps that were done stay in effect."
        ),
    },
    "step_again": {
        WHYS["Do"]: Words(
            "the next step is requested once, and never again if the connection breaks."
        ),
        WHYS["Undo"]: Words(
            "the compensation is requested once, and never again if the connection breaks."
        ),
        WHYS["late Do"]: Words(
            "the connection has broken, so the answer to this step will reach nobody."
        ),
    },
    "idempotent_step": {
        WHYS["done"]: Words("the step is carried out, even if it was carried out before."),
        WHYS["step done"]: Words(
            "the step was carried out for this request, whatever was there before."
        ),
    },
    "idempotent_undo": {
        WHYS["undone"]: Words(
            "the compensation is carried out, even if it was carried out before."
        ),
        WHYS["UndoResponse"]: Words(
            "the step was undone for this request, whatever was there before."
        ),
    },
    "undone_stays_undone": {
        WHYS["done"]: Words("the step is in effect, even if it was undone before."),
        WHYS["late Do"]: Words(
            "the step is done even if its compensation has been here before it."
        ),
        WHYS["end"]: Words(
            "all of it is done, or all of it is undone; but a late request can still do a "
            "step again."
        ),
        WHYS["answer failed"]: Words(
            "every step that was done is undone, but a late request can still do one again."
        ),
    },
}

STATES = (
    GraphState("forward", 0, 0),
    GraphState("done", 1, 0),
    GraphState("back", 0, 1),
    GraphState("compensated", 1, 1),
)
EDGES = (("forward", "done"), ("forward", "back"), ("back", "compensated"))


def draw(parties: Parties, world: World) -> Snapshot:
    """Draw the model's Snapshot: the orchestrator's log, each service's log, what the services have
    done, and how far the saga is."""
    titles = [("app", Text("app"), tr("application"))]
    titles.append((ORCHESTRATOR, Text(ORCHESTRATOR), tr("orchestrator")))
    titles += [(name, Text(name), tr("service")) for name in parties.services]
    log = list(read_records(world.disk(ORCHESTRATOR), SAGA_LOG))
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=(
            draw_log(ORCHESTRATOR, log, _label, control=(END,)),
            *(
                draw_log(name, read_records(world.disk(name), LOG), _label, control=(UNDONE,))
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
        return Graph(tr("No saga yet"), STATES, EDGES)
    txn = log[-1].txn
    records = [record.what for record in log if record.txn == txn]
    path = ["forward", *(["back"] if UNDO in records else [])]
    if END in records:
        path.append("compensated" if UNDO in records else "done")
    return Graph(GRAPH(txn=txn), STATES, EDGES, tuple(path), txn)


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
