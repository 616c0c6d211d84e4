"""Lab 08, consume–transform–produce: what its cells import, and its exercise with the pieces
of the loop. The exercise in which the loop is written is `copying.LOOP`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...explore import Budget
from ...kafka.clients.calls import SendRecord
from ...kafka.group.members import GroupMetadata
from ...kafka.log import AbortedTxn, Batch
from ...kafka.log.role import FRONTIERS
from ...kafka.messages import OffsetFetchResponse
from ...kafka.replication.replica import HW_MOVED
from ...kernel import Fact, FactKind, Made, Outcome, System, Trace, replay, tr
from ...registry.cases.kafka import SAFEGUARD_CASES as SAFEGUARD_CASES
from ...registry.tables import columns
from ...registry.tables import list_calls as list_calls
from ...registry.tables import table as table
from ..atlas.map_panel import broker_map as broker_map
from ..check import plain, run_with_kill
from ..parsons import Parsons, Piece
from ..steps import find_red_step as find_red_step
from ..steps import first as first
from .exercises.copying import BREAK, WORKER
from .exercises.copying import KILL as KILL
from .exercises.copying import LOOP as LOOP
from .exercises.copying import ONE as ONE
from .lab06 import read_recording as read_recording
from .systems.income import IncomeSystem, worth
from .systems.loop import Abortable as Abortable
from .systems.loop import App as App
from .systems.loop import Order as Order
from .systems.loop import PriceUnknown as PriceUnknown
from .systems.loop import Refused as Refused
from .systems.loop import Work

ON_FAILURE = ("abort", "seek")


def build_worker(work: Work, off: str = "", transactional: bool = True) -> IncomeSystem:
    """A worker that runs this function: perhaps with a safeguard missing, perhaps with a
    producer that is idempotent and has no transactions."""
    workers = ((WORKER, WORKER if transactional else "-"),)
    return replace(ONE, workers=workers, off=(off,) if off else ()).with_loop(work)


def count_orders(trace: Trace, topic: str = "income", position: int = -1) -> str:
    """What a reader of committed data adds up in a topic: how often each order, and how much."""
    reader = next(r for r in trace.snapshot(position).readers if r.name == "read_committed")
    sign = "+" if topic == "income" else "="
    got = [value.label for value in reader.got if sign in value.label]
    rows = [(f"{name}", f"{got.count(name)}×") for name in sorted(set(got))]
    return columns([(topic, "counted"), *rows, ("sum", f"£{sum(map(worth, got)) / 100:,.2f}")])


def offsets(trace: Trace, log: str = "__consumer_offsets-0") -> str:
    """What is written about positions, how far the log is decided, and what those hear who
    ask for a position."""
    lines = []
    for fact in trace:
        if fact.node == log and _about_positions(fact):
            lines.append(f"{fact.glyph} {fact.peer or fact.node:<21}{fact.text}")
    return "\n".join(lines)


def _about_positions(fact: Fact) -> bool:
    """A record of positions, a marker or an index entry, a frontier that moved, or an answer
    with positions."""
    match fact.body:
        case Batch(records=records):
            return not any(isinstance(record, GroupMetadata) for record in records)
        case OffsetFetchResponse() | AbortedTxn():
            return True
    return isinstance(fact.body, Made) and fact.body.words in (FRONTIERS, HW_MOVED)


def side_effects(work: Work) -> str:
    """For a kill after each call of a loop: how often its function was run on the order, which
    is how often an e-mail inside it would have gone out, and how often the order counts."""
    system = ONE.with_loop(work)
    calm = plain(system).world.nodes[WORKER].app
    rows = []
    for calls, made in enumerate(calm.results if calm is not None else (), start=1):
        run = run_with_kill(system, WORKER, calls)
        ran = sum(_sends_income(fact.body) for fact in replay(system, run.choices))
        names = system.list_counted_orders(run.world, "income")
        rows.append((str(made.call).removesuffix(" read_committed"), ran, len(names)))
    return table("killed after | the function ran | the order counts", rows)


def _sends_income(body: object) -> bool:
    return isinstance(body, Outcome) and isinstance(body.call, SendRecord)


ROLES = {"coordinator": "transaction coordinator", "__consumer_offsets-0": "group coordinator"}


def actors(trace: Trace) -> str:
    """Who is asked for what: each kind of request once, with the actor that answers it."""
    rows: dict[tuple[str, str], None] = {}
    for fact in trace:
        if fact.kind is FactKind.SEND and fact.peer != fact.node:
            request = type(fact.body).__name__
            rows[_actor(fact.node, request), f"{request} → {_actor(fact.peer, '')}"] = None
    return table("who | asks", rows)


def _actor(node: str, request: str) -> str:
    if node in ROLES:
        return ROLES[node]
    if node.rpartition("-")[2].isdigit():
        return "broker (partition leader)"
    consuming = ("JoinGroup", "SyncGroup", "OffsetFetch", "Fetch", "OffsetCommit", "Heartbeat")
    return "consumer" if request in consuming else "producer"


# --- the loop in pieces -------------------------------------------------------------------


def assemble_loop(order: tuple[str, ...]) -> Work:
    """A loop that does these pieces round by round. What is for a failure is done there, in
    the order in which it is given; everything else makes up a round."""
    rounds = tuple(piece for piece in order if piece not in ON_FAILURE)
    failing = tuple(piece for piece in order if piece in ON_FAILURE)

    def work(app: App) -> None:
        orders: list[Order] = []
        while rounds:
            try:
                for piece in rounds:
                    if piece == "poll":
                        orders = app.poll()
                        if not orders:
                            return
                    else:
                        DO[piece](app, orders)
            except Abortable:
                for piece in failing:
                    DO[piece](app, orders)

    return work


def _send(app: App, orders: list[Order]) -> None:
    for order in orders:
        app.send(app.income(order))


def _at_end(call: Callable[[int], None], orders: list[Order]) -> None:
    if orders:
        call(orders[-1].offset + 1)


DO: dict[str, Callable[[App, list[Order]], None]] = {
    "begin": lambda app, orders: app.begin(),
    "send": _send,
    "offsets": lambda app, orders: _at_end(app.send_offsets, orders),
    "sync": lambda app, orders: _at_end(app.commit_offsets, orders),
    "commit": lambda app, orders: app.commit(),
    "abort": lambda app, orders: app.abort(),
    "seek": lambda app, orders: app.seek(orders[0].offset if orders else 0),
}


def _systems(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """Without a fault; with a price that is not known at first; with a kill anywhere; with a
    connection that breaks anywhere."""
    work = assemble_loop(order)
    return (
        (ONE.with_loop(work), Budget()),
        (replace(ONE, fails=1).with_loop(work), Budget()),
        (ONE.with_loop(work), KILL),
        (ONE.with_loop(work), BREAK),
    )


ORDER = Parsons(
    name="loop",
    question=tr(
        "Put the worker's loop into order: one round, and what it does when the round fails. Not "
        "every piece is needed."
    ),
    pieces=(
        Piece("send", tr("send the income of each order")),
        Piece(
            "init",
            tr("initTransactions"),
            tr(
                "initTransactions is called once in the life of a process: it takes the "
                "transactional id over, and a second call is an IllegalStateException"
            ),
            "a transaction begins with initTransactions",
        ),
        Piece("commit", tr("commitTransaction")),
        Piece("seek", tr("on failure: seek to the round's first order")),
        Piece("poll", tr("poll; if there is nothing, the work is done")),
        Piece(
            "sync",
            tr("consumer.commitSync(position)"),
        ),
        Piece("begin", tr("beginTransaction")),
        Piece("abort", tr("on failure: abortTransaction")),
        Piece(
            "offsets",
            tr("sendOffsetsToTransaction(position, group metadata)"),
        ),
    ),
    systems=_systems,
    messages={
        "done": tr(
            "the worker never comes to the end: it goes round and round, or a call comes where "
            "Kafka does not allow it and the process dies. All that is sent belongs between begin "
            "and commit"
        ),
        "recovers": tr(
            "a round that failed is never got over: its transaction is still open, and the next "
            "begin is an IllegalStateException. Abort it first"
        ),
        "read is counted": tr(
            "a position counts while the income in front of it does not: if the worker dies now, "
            "the order is lost. Both belong in one transaction"
        ),
        "none skipped": tr(
            "an order is skipped: its income never counts, and the consumer stands behind it all "
            "the same. Without a commit nothing counts, and an abort takes back what was written, "
            "not where the consumer stands: nobody but you moves it back"
        ),
        "counted once": tr(
            "an order is counted twice: its income was committed, the position behind it was "
            "not, and the worker started over in between"
        ),
    },
    right={
        ("poll", "begin", "send", "offsets", "commit", "abort", "seek"): tr(
            "no schedule counts an order twice or skips one: the loop as Kafka's own "
            "examples write it"
        ),
        ("poll", "begin", "offsets", "send", "commit", "abort", "seek"): tr(
            "no schedule counts an order twice or skips one. Position or output first makes no "
            "difference: inside a transaction neither counts before the commit"
        ),
    },
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"loop_order": (ORDER, "value")}


def kill_the_loop() -> str:
    """As `released.kill_the_loop`; a server is loaded only when this is called."""
    from . import released

    return released.kill_the_loop()
