"""What TCC looks like, and why: ledgers, what they add up to, what a reader sees of an order."""

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
from ..picture import draw_lanes, draw_log
from ..records import Record, read_records
from .claims import TM, Parties, read_balance
from .roles import CANCELLED, CONFIRMED, DECISIONS, EMPTY, LOG, TRIED

SERVICE = Words("service")
GRAPH = Words("{name}: what has become of {txn}")
HALF = Words("half of an order: {names} shows it, the others do not")

WHYS = {
    "PlaceOrder": Words("One order needs something of every service, or nothing of any."),
    "begun": Words("After a restart one must know that something may be reserved somewhere."),
    "Try": Words("Check, and set one piece aside."),
    "tried": Words(
        "Reserved, in a local transaction of its own: nobody holds a lock, others may go on."
    ),
    "reserved": Words("It can be confirmed now, whatever happens."),
    "not reserved": Words("Nothing is set aside here, so the order cannot be had."),
    "confirm": Words("The decision: everything is reserved, so everything will be used."),
    "cancel": Words("The decision: something is missing, so what was reserved goes back."),
    "Confirm": Words("Use what you have reserved."),
    "Cancel": Words("Give back what you have reserved, if you have reserved anything."),
    "confirmed": Words("Used. From now on a reader of this service sees the order."),
    "cancelled": Words("Given back."),
    "empty": Words("Its Try never came: nothing goes back, but the Cancel is remembered."),
    "ConfirmResponse": Words("It need not be told again."),
    "CancelResponse": Words("It need not be told again."),
    "end": Words("All have followed: nothing is pending."),
    "answer ok": Words("The order is decided; some services may still have to hear of it."),
    "answer failed": Words("Nothing of {txn} will count."),
    "tries": Words("An answer to a Try has not come in time; it is taken for no."),
    "retry": Words("Somebody has not acknowledged: the same word again."),
    "late Try": Words(
        "A Try that was given up arrives all the same. Its Cancel may have been here before it."
    ),
    "stop tm": Words(
        "What is reserved stays so until it is back; but no database holds a lock for it."
    ),
}

TOLD = (
    "tried",
    "not reserved",
    "confirm",
    "cancel",
    "confirmed",
    "cancelled",
    "answer ok",
    "answer failed",
)
STAGES = {
    "begun": Stage.RESERVE,
    "tried": Stage.WRITE,
    "confirm": Stage.DECIDE,
    "cancel": Stage.DECIDE,
    "Confirm": Stage.PUBLISH,
    "Cancel": Stage.PUBLISH,
    "confirmed": Stage.SHOW,
    "cancelled": Stage.SHOW,
    "end": Stage.FORGET,
}

UNGUARDED: Unguarded = {
    "begun_on_disk": {
        WHYS["Try"]: Words(
            "check, and set one piece aside; the coordinator's disk does not know of this order."
        ),
        WHYS["late Try"]: Words(
            "a Try that was given up arrives all the same, and perhaps no Cancel will follow it."
        ),
        WHYS["stop tm"]: Words(
            "what is reserved may stay so for ever: a restart forgets every order that is "
            "not decided."
        ),
    },
    "decision_on_disk": {
        WHYS["confirm"]: Words("the decision is written after Confirm has left."),
        WHYS["cancel"]: Words("the decision is written after Cancel has left."),
        WHYS["answer ok"]: Words(
            "the application is told before the decision is written: after a restart it may "
            "be another."
        ),
        WHYS["Confirm"]: Words(
            "use what you have reserved, although the decision may not be on disk yet."
        ),
        WHYS["Cancel"]: Words(
            "give back what you have reserved, although the decision may not be on disk yet."
        ),
    },
    "until_acknowledged": {
        WHYS["Confirm"]: Words(
            "use what you have reserved; if the connection breaks, this is not sent again."
        ),
        WHYS["Cancel"]: Words(
            "give back what you have reserved; if the connection breaks, this is not sent again."
        ),
    },
    "idempotent_confirm": {
        WHYS["confirmed"]: Words("a piece is used, even if this order was confirmed before.")
    },
    "idempotent_cancel": {
        WHYS["cancelled"]: Words("a piece is given back, even if this order was cancelled before.")
    },
    "empty_cancel": {
        WHYS["Cancel"]: Words("give back a piece, even if you have reserved nothing."),
        WHYS["cancelled"]: Words(
            "a piece is given back, even if nothing was reserved for this order."
        ),
    },
    "suspended_try": {
        WHYS["tried"]: Words(
            "reserved, even if the Cancel has been here before: then nobody gives it back."
        ),
        WHYS["reserved"]: Words("a piece is reserved, although the order may be over."),
        WHYS["late Try"]: Words(
            "a Try that was given up is carried out, even if its Cancel has been here before it."
        ),
        WHYS["empty"]: Words(
            "its Try has not come: nothing goes back, and a Try that comes later will "
            "reserve a piece."
        ),
    },
}

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
    """Draw the model's Snapshot: the logs of the coordinator and of each service, what a reader
    sees, how far each of them is, and the balances."""
    titles = [("app", Text("app"), tr("application")), (TM, Text(TM), tr("coordinator"))]
    titles += [(name, Text(name), SERVICE()) for name in parties.services]
    logs = [(TM, DECISIONS), *((name, LOG) for name in parties.services)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            # kinds of record that are drawn as decisions, and those that no reader sees
            draw_log(node, read_records(world.disk(node), log), _label, FINAL, (TRIED,))
            for node, log in logs
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
        return Graph(SERVICE(), STATES, EDGES)
    txn = records[-1].txn
    path = ("nothing", *(record.what for record in records if record.txn == txn))
    return Graph(GRAPH(name=name, txn=txn), STATES, EDGES, path, txn)


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
