"""Lab 08, consume–transform–produce: what its cells import, and its exercise with the pieces
of the loop. The exercise in which the loop is written is `copying.LOOP`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ...explore import Budget, explore
from ...kafka.clients.calls import (
    Abort,
    Begin,
    Commit,
    CommitOffsets,
    Poll,
    Seek,
    SendOffsets,
    SendRecord,
)
from ...kafka.group.members import GroupMetadata
from ...kafka.log import AbortedTxn, Batch
from ...kafka.log.role import FRONTIERS
from ...kafka.messages import OffsetFetchResponse
from ...kafka.replication.replica import HW_MOVED
from ...kernel import (
    FAILED,
    Fact,
    FactKind,
    Made,
    Outcome,
    Property,
    System,
    Text,
    Trace,
    Words,
    replay,
    tr,
)
from ...registry.cases.kafka import SAFEGUARD_CASES as SAFEGUARD_CASES
from ...registry.tables import columns, in_words
from ...registry.tables import list_calls as list_calls
from ...registry.tables import table as table
from ..atlas.map_panel import broker_map as broker_map
from ..check import Hinted, Rehearsal, count_calls, plain, run_with_kill, run_with_stall
from ..exercises import read_beliefs, read_hints
from ..parsons import Parsons, Piece
from ..steps import find_red_step as find_red_step
from ..steps import first as first
from ..verdict import NOT_WRITTEN, Verdict
from .lab06 import read_recording as read_recording
from .systems.income import IncomeSystem, is_finished, worth
from .systems.loop import Abortable as Abortable
from .systems.loop import App as App
from .systems.loop import Endless, Work
from .systems.loop import Order as Order
from .systems.loop import PriceUnknown as PriceUnknown
from .systems.loop import Refused as Refused

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
    """What is written about positions, how far the log is decided, and the answer to those who
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
            peer = in_words(_actor(fact.peer, ""))
            rows[_actor(fact.node, request), f"{request} → {peer}"] = None
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
    """Return a worker's loop that does these pieces in each round, until a poll gets no orders. The
    pieces of ON_FAILURE are left out of the round, and done when a call fails with an abortable
    error."""
    pieces = tuple(piece for piece in order if piece not in ON_FAILURE)
    on_failure = tuple(piece for piece in order if piece in ON_FAILURE)

    def work(app: App) -> None:
        orders: list[Order] = []
        while pieces:  # without any a round would make no call, and the loop never end
            try:
                for piece in pieces:
                    if piece == "poll":
                        orders = app.poll()
                        if not orders:  # all orders are copied
                            return
                    else:
                        DO[piece](app, orders)
            except Abortable:
                for piece in on_failure:
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
    question=tr("Put the worker's loop into sequence: one round, and what it does when the round "
                "fails. Not every piece is needed."),
    pieces=(
        Piece("send", tr("send the income of each order")),
        Piece("init", tr("initTransactions"),
              tr("a process calls initTransactions once: it takes over the transactional id, and a "
                 "second call is an IllegalStateException"),
              "a transaction begins with initTransactions"),
        Piece("commit", tr("commitTransaction")),
        Piece("seek", tr("on failure: seek to the round's first order")),
        Piece("poll", tr("poll; if there is nothing, the work is done")),
        Piece("sync", tr("consumer.commitSync(position)")), Piece("begin", tr("beginTransaction")),
        Piece("abort", tr("on failure: abortTransaction")),
        Piece("offsets", tr("sendOffsetsToTransaction(position, group metadata)")),
    ),
    systems=_systems,
    messages={
        "done": tr("the worker never comes to the end: it goes round and round, or a call comes "
                   "where Kafka does not allow it and the process dies. Everything that is sent "
                   "belongs between begin and commit"),
        "recovers": tr("the loop never recovers from a failed round: its transaction is still "
                       "open, and the next begin is an IllegalStateException. Abort it first"),
        "read is counted": tr(
            "a position counts while the income before it does not: if the worker dies now, the "
            "order is lost. Both belong in one transaction",
        ),
        "none skipped": tr(
            "an order is skipped: its income never counts, and yet the consumer is past it. "
            "Without a commit nothing counts, and an abort takes back what was written, not the "
            "consumer's position: only your own call moves that back",
        ),
        "counted once": tr(
            "an order is counted twice: its income was committed, the position after it was not, "
            "and the worker started over in between",
        ),
    },
    right={
        ("poll", "begin", "send", "offsets", "commit", "abort", "seek"): tr(
            "no schedule counts an order twice or skips one: the loop as Kafka's own "
            "examples write it",
        ),
        ("poll", "begin", "offsets", "send", "commit", "abort", "seek"): tr(
            "no schedule counts an order twice or skips one. Position or output first makes no "
            "difference: inside a transaction neither counts before the commit",
        ),
    },
)  # fmt: skip


def kill_the_loop() -> str:
    """As `released.kill_the_loop`; a server is loaded only when this is called."""
    from . import released

    return released.kill_the_loop()


# ---- Lab 08's exercise: write the loop that reads orders and writes income, each counted once
#
# A loop is judged by what comes of it. First it is run through in one fixed order, without a
# fault, with a price service that fails once, with a kill after each of its calls, and as a
# member that falls silent after each of its calls; then every schedule of one order is searched,
# with a kill of the worker anywhere and with a connection that breaks anywhere. What it believes
# is read off the calls that it makes when nothing goes wrong.

WORKER = "worker"
ONE = IncomeSystem()
MANY = IncomeSystem(orders=("580538:31678", "580539:31073", "580540:40483"))
#: the unseen cases: a loop that knows the orders by heart fails here
OTHERS = IncomeSystem(orders=("salt:7", "soap:1", "oats:6", "rice:8"))
MEMBERS = IncomeSystem(workers=(("one", "one"), ("two", "two")))
SESSION = "session/accounting/one-1"
KILL = Budget(kills=1, killable=(WORKER,), retries=1)
BREAK = Budget(breaks=1)
FAULTS = (KILL, BREAK)
Named = tuple[str, Text]

(
    BEFORE, AFTER, LAST, PART, TWO_TXNS, OUTSIDE, NO_POSITION, NO_COMMIT, NO_SEEK, NO_ABORT,
    NOT_CAUGHT, INCOMPLETE,
) = read_beliefs("08 loop").items()  # fmt: skip
UNFINISHED: Named = (
    "unfinished",
    tr(
        "the worker stops, or goes round and round, while there are orders left: return when poll "
        "returns nothing, and not before"
    ),
)
BROKEN = {
    "counted once": tr("an order is counted twice"),
    "none skipped": tr("an order is never counted"),
}
RIGHT = tr(
    "killed anywhere, cut off anywhere, silent for longer than its session: every order is counted "
    "exactly once"
)
RAISED = Words("work(app) raised {kind}: {error}")
HINTS = read_hints("08 loop")


@dataclass(frozen=True)
class Copying(Hinted):
    """The exercise: `hint(1)`, `hint(2)`, `check(work)`."""

    hints: tuple[Text, ...] = HINTS

    def check(self, work: Work, graded: bool = False) -> Verdict:
        """Judge a loop `work(app)`; `graded`: with other orders too."""
        try:
            verdict = _judged(work)
            return _judged(work, OTHERS, ()) if verdict.ok and graded else verdict
        except NotImplementedError:
            return Verdict(False, NOT_WRITTEN)
        except Endless as error:
            return Verdict(False, error.args[0])
        except Exception as error:
            return Verdict(False, RAISED(kind=type(error).__name__, error=error))


LOOP = Copying()


def _judged(work: Work, many: IncomeSystem = MANY, faults: tuple[Budget, ...] = FAULTS) -> Verdict:
    """Judge a learner's copy loop (`work`): by single executions with the orders of `many`, without
    a fault and with one (`_rehearsals`); then by every schedule of one order within each budget of
    `faults`. The verdict is about the first execution that breaks a promise."""
    faultless = plain(many.with_loop(work))
    # no more calls than a worker that does nothing
    if count_calls(faultless, WORKER) == count_calls(plain(many.with_loop(_idle)), WORKER):
        return Verdict(False, NOT_WRITTEN)
    # the loop's calls, with their outcomes, when nothing fails: by these a wrong belief is named
    # where the failing run does not show it
    calls = shape(faultless)
    for run in _rehearsals(work, many, faultless):
        name = find_broken_promise(run)
        if name:
            return _wrong(belief(run, calls, name, len(many.orders)), run, name)
    for budget in faults:
        system = ONE.with_loop(work)
        verdict = explore(system, budget, promises(system))
        for example in verdict.counterexamples.values():
            run = Rehearsal(system)
            for choice in example.schedule:
                run.do(choice)
            known = belief(run, calls, example.property, len(many.orders))
            return _wrong(known, run, example.property)
    return Verdict(True, RIGHT)


def _idle(app: App) -> None:
    """Nothing at all: what an empty stub does."""


def _rehearsals(work: Work, many: IncomeSystem, calm: Rehearsal) -> Iterator[Rehearsal]:
    """The executions that are tried one by one: `calm`, without a fault; one in which the price
    service fails once; one with a crash after each call; one with a pause after each call, so long
    that another member of the group takes over."""
    yield calm
    yield plain(replace(many, fails=1).with_loop(work))
    for calls in range(1, count_calls(calm, WORKER) + 1):
        yield run_with_kill(many.with_loop(work), WORKER, calls)
    for calls in range(1, count_calls(calm, WORKER) + 1):
        yield run_with_stall(MEMBERS.with_loop(work, member=True), "one", "two", calls, SESSION)


def promises(system: IncomeSystem) -> tuple[Property, ...]:
    """What a loop is judged by: whether all is well in the end, not at every moment."""
    return tuple(claim for claim in system.properties() if claim.name in BROKEN)


def find_broken_promise(run: Rehearsal) -> str:
    """The promise that does not hold at the end of an execution; "" if all do. Where two workers
    are, the one that was given up need not come to an end."""
    assert isinstance(run.system, IncomeSystem)
    for claim in promises(run.system):
        if not claim.holds(run.world):
            return claim.name
    one = len(run.system.workers) == 1
    return "" if not one or is_finished(run.world.nodes[WORKER]) else "unfinished"


def _wrong(named: Named, run: Rehearsal, light: str) -> Verdict:
    return Verdict(False, named[1], named[0], tuple(run.choices), run.system, light)


# --- what a loop believes -------------------------------------------------------------------


def shape(run: Rehearsal, node: str = WORKER) -> list[Outcome]:
    """What the loop of an execution called and was given, from its first poll on."""
    app = run.world.nodes[node].app
    given: list[Outcome] = [*app.results] if app is not None else []
    start = next((i for i, one in enumerate(given) if isinstance(one.call, Poll)), len(given))
    return given[start:]


def belief(run: Rehearsal, calm: list[Outcome], name: str, orders: int = len(MANY.orders)) -> Named:
    """The belief behind an execution that goes wrong; `calm`: the loop's calls when nothing
    does, and `orders` are to be copied."""
    assert isinstance(run.system, IncomeSystem)
    failing = _failing(shape(run), name) if run.system.fails else None
    return failing or _shaped(calm, orders) or (name, BROKEN.get(name, UNFINISHED[1]))


def _failing(given: list[Outcome], name: str) -> Named | None:
    """After a price that was not known."""
    calls = [type(one.call) for one in given]
    if Abort in calls:
        return None if Seek in calls else NO_SEEK
    if Seek in calls:
        return NO_ABORT
    if name == "none skipped" and Commit in calls:
        return INCOMPLETE
    return NOT_CAUGHT if name == "unfinished" else None


def _shaped(outcomes: list[Outcome], end: int) -> Named | None:
    """Which mistake of the copy loop the outcomes of its calls show, or None. It is read from a
    send that failed, as it was outside of a transaction; else from which calls were made, in which
    sequence, and up to which offset the positions go; `end`: up to which they should."""
    calls = [type(one.call) for one in outcomes]
    if any(isinstance(x.call, SendRecord | SendOffsets) and x.status == FAILED for x in outcomes):
        return OUTSIDE
    if Commit not in calls:
        return NO_COMMIT if Begin in calls else None
    if CommitOffsets in calls:
        sent = calls.index(SendRecord) if SendRecord in calls else len(calls)
        return BEFORE if calls.index(CommitOffsets) < sent else AFTER
    if SendOffsets not in calls:
        return NO_POSITION
    if _apart(calls):
        return TWO_TXNS
    sent_offsets = [one.call for one in outcomes if isinstance(one.call, SendOffsets)]
    furthest = max(p.offset for call in sent_offsets for p in call.positions)
    # the positions reach the end, the last order, or less
    return None if furthest >= end else LAST if furthest == end - 1 else PART


def _apart(calls: list[type]) -> bool:
    """Whether a transaction holds positions and no output."""
    begun = [i for i, call in enumerate(calls) if call is Begin]
    brackets = [calls[i:j] for i, j in pairwise([*begun, len(calls)])]
    return any(SendOffsets in bracket and SendRecord not in bracket for bracket in brackets)


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"loop": (LOOP, "work"), "loop_order": (ORDER, "value")}
