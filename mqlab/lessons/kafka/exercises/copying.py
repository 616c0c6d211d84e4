"""Lab 08's exercise: write the loop that reads orders and writes income, each counted once.

A loop is judged by what comes of it. First it is run through in one fixed order, without a
fault, with a price service that fails once, with a kill after each of its calls, and as a
member that falls silent after each of its calls; then every schedule of one order is searched,
with a kill of the worker anywhere and with a connection that breaks anywhere. What it believes
is read off the calls that it makes when nothing goes wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ....explore import Budget, explore
from ....kafka.clients.calls import (
    Abort,
    Begin,
    Commit,
    CommitOffsets,
    Poll,
    Seek,
    SendOffsets,
    SendRecord,
)
from ....kernel import FAILED, Outcome, Property, Text, Words, tr
from ...check import Hinted, Rehearsal, count_calls, plain, run_with_kill, run_with_stall
from ...verdict import NOT_WRITTEN, Verdict
from ..systems.income import IncomeSystem, is_finished
from ..systems.loop import App, Endless, Work

WORKER = "worker"
ONE = IncomeSystem()
MANY = IncomeSystem(orders=("580538:31678", "580539:31073", "580540:40483"))
#: what nobody was shown: a loop that knows the orders by heart fails here
OTHERS = IncomeSystem(orders=("salt:7", "soap:1", "oats:6", "rice:8"))
MEMBERS = IncomeSystem(workers=(("one", "one"), ("two", "two")))
SESSION = "session/accounting/one-1"
KILL = Budget(kills=1, killable=(WORKER,), retries=1)
BREAK = Budget(breaks=1)
FAULTS = (KILL, BREAK)
Named = tuple[str, Text]

BEFORE = (
    "the position is committed first",
    tr(
        "the position is committed before the output. A kill in between, and the order is read "
        "as done, but nobody has counted it: at most once"
    ),
)
AFTER = (
    "the position may follow",
    tr(
        "the position is committed apart from the output, after it. A kill in between, and the "
        "order is read and counted again: at least once"
    ),
)
LAST = (
    "the position is the last order processed",
    tr(
        "the committed offset is where to read on, not what was read last: last + 1. Anyone who "
        "starts over reads the last order once more"
    ),
)
PART = (
    "part of a batch",
    tr(
        "the position that is sent covers fewer orders than were written: a worker that starts "
        "over writes the others again"
    ),
)
TWO_TXNS = (
    "two transactions are as good as one",
    tr(
        "output and position are in two transactions. Each is atomic, the pair is not: a kill in "
        "between, and they disagree"
    ),
)
OUTSIDE = (
    "the output needs no transaction",
    tr(
        "a transactional producer sends only between begin and commit: everything else is refused "
        "with IllegalStateException, and the worker dies of it"
    ),
)
NO_POSITION = (
    "the group knows by itself how far it has come",
    tr(
        "nobody ever learns how far the group has come: a worker that starts over begins at the "
        "first order"
    ),
)
NO_COMMIT = (
    "what is sent counts without a commit",
    tr(
        "the transaction is never committed. It will time out and be aborted, and no order is ever "
        "counted"
    ),
)
NO_SEEK = (
    "an abort rewinds the consumer",
    tr(
        "an abort drops the output and the position that was to be committed. The consumer's own "
        "position is memory and stays behind the orders: without seek the next poll goes on after "
        "them"
    ),
)
NO_ABORT = (
    "a failed transaction needs no abort",
    tr("a transaction that failed is still open: before the next begin it must be aborted"),
)
NOT_CAUGHT = (
    "a failure ends the work",
    tr(
        "one order could not be worked out, and the whole process died of it with its transaction "
        "open. Catch Abortable: abort, and go back to where this round began"
    ),
)
INCOMPLETE = (
    "a failure is passed over",
    tr(
        "the order that could not be worked out was passed over, and its position committed: it is "
        "never counted"
    ),
)
BELIEFS = (
    *(BEFORE, AFTER, LAST, PART, TWO_TXNS, OUTSIDE, NO_POSITION, NO_COMMIT),
    *(NO_SEEK, NO_ABORT, NOT_CAUGHT, INCOMPLETE),
)
UNFINISHED: Named = (
    "unfinished",
    tr(
        "the worker stops, or goes round and round, while there are orders left: return when "
        "poll gives nothing, and not before"
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
HINTS = (
    tr(
        "What must happen together must be in one transaction: everything between begin and "
        "commit. And what does an abort leave as it is? Look again at *what does an abort take "
        "back?*"
    ),
    tr(
        "The position goes into the transaction with the income, and it names the next order to "
        "read. After an abort the consumer still stands behind the orders that it has read: "
        "where must it go back to?"
    ),
)


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
            return Verdict(False, error.text)
        except Exception as error:
            return Verdict(False, RAISED(kind=type(error).__name__, error=error))


LOOP = Copying()


def _judged(work: Work, many: IncomeSystem = MANY, faults: tuple[Budget, ...] = FAULTS) -> Verdict:
    """By every rehearsal of many orders, and every schedule of one with each of the faults."""
    calm = plain(many.with_loop(work))
    if count_calls(calm, WORKER) == count_calls(plain(many.with_loop(_idle)), WORKER):
        return Verdict(False, NOT_WRITTEN)
    calls = shape(calm)
    for run in _rehearsals(work, many, calm):
        name = find_broken_promise(run)
        if name:
            return _wrong(belief(run, calls, name), run, name)
    for budget in faults:
        system = ONE.with_loop(work)
        verdict = explore(system, budget, promises(system))
        for example in verdict.counterexamples.values():
            run = Rehearsal(system)
            for choice in example.schedule:
                run.do(choice)
            return _wrong(belief(run, calls, example.property), run, example.property)
    return Verdict(True, RIGHT)


def _idle(app: App) -> None:
    """Nothing at all: what an empty stub does."""


def _rehearsals(work: Work, many: IncomeSystem, calm: Rehearsal) -> Iterator[Rehearsal]:
    """Everything that can be gone through in one fixed order."""
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
    """The promise that does not hold at the end of a run; "" if all do. Where two workers
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
    """What a run's loop called and was given, from its first poll on."""
    app = run.world.nodes[node].app
    given: list[Outcome] = [*app.results] if app is not None else []
    start = next((i for i, one in enumerate(given) if isinstance(one.call, Poll)), len(given))
    return given[start:]


def belief(run: Rehearsal, calm: list[Outcome], name: str) -> Named:
    """The belief behind a run that goes wrong; `calm`: the loop's calls when nothing does."""
    assert isinstance(run.system, IncomeSystem)
    failing = _failing(shape(run), name) if run.system.fails else None
    return failing or _shaped(calm) or (name, BROKEN.get(name, UNFINISHED[1]))


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


def _shaped(given: list[Outcome]) -> Named | None:
    calls = [type(one.call) for one in given]
    if any(isinstance(g.call, SendRecord | SendOffsets) and g.status == FAILED for g in given):
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
    sent_offsets = [one.call for one in given if isinstance(one.call, SendOffsets)]
    furthest = max(p.offset for call in sent_offsets for p in call.positions)
    many = len(MANY.orders)
    return None if furthest >= many else LAST if furthest == many - 1 else PART


def _apart(calls: list[type]) -> bool:
    """Whether a transaction holds positions and no output."""
    begun = [i for i, call in enumerate(calls) if call is Begin]
    brackets = [calls[i:j] for i, j in pairwise([*begun, len(calls)])]
    return any(SendOffsets in bracket and SendRecord not in bracket for bracket in brackets)


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"loop": (LOOP, "work")}
