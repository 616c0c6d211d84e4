"""A transaction listener that a learner writes, judged by every schedule.

    LISTENER = ListenerExercise(name="listener", tried=((line, budget), …), beliefs=…, hints=…)
    LISTENER.check((execute, check))

The two functions are put into an order service (`lessons/rocketmq/systems.py`). First they are
looked at: what they use (`lessons/foreign.py`), whether they do the same twice and come to an end
(`careful.py`), and what they come to alone, way by way. Then the explorer lets the process die at
every call on `db`, breaks its connections and asks too early. Each fault that it finds comes back
with the belief behind it, and as a trace to play.

A belief is recognised by the *ways* through the two functions, not by their text: a way is what was
asked of `db` and `memory`, what was answered, and what came of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ....explore import Budget, explore
from ....kernel import Fact, Map, System, Text, Words, tr
from ....registry import system
from ....rocketmq.application import LOST, Finished, NotRepeatable, Rule, Task, run_task
from ....rocketmq.messages import EndTransaction, Statement
from ....rocketmq.states import LocalTransactionState
from ...check import Belief, Hinted, list_beliefs, plain
from ...exercises import read_hints
from ...foreign import find_foreign
from ...steps import is_kill
from ...verdict import NOT_WRITTEN, Verdict
from ..endings import Death, die_everywhere
from ..systems import OrderServiceSystem
from .careful import Stub, Unruly, watch

Pair = tuple[Rule, Rule]
Rows = Map[str, str]
Memory = Map[str, Any]
COMMIT, ROLLBACK, UNKNOWN = LocalTransactionState

RIGHT = tr(
    "killed at each of its calls, cut off from its database, asked while it was still at work: no "
    "schedule separates a row from its message"
)
#: a process that dies, and its second instance that is asked
DYING = (
    "order_service producers=app:order-service,twin:order-service early=on timeout_ms=0 "
    "persist_ms=0 check_max=3 'app=send-in-transaction orders-0 {}'"
)
PAIR = tr("hand over both functions, as `(execute, check)`")
FAILED = Words("`{name}` went wrong although nothing had failed: {error}")
NO_RETURN = Words(
    "one way through `{name}` has no `return`: answer COMMIT_MESSAGE, ROLLBACK_MESSAGE or UNKNOW"
)
COMMITTED = (
    "every order is an order",
    tr("an order that must be refused was taken: no row, ROLLBACK_MESSAGE"),
)
UNDECIDED = (
    "UNKNOW says no",
    tr(
        "the order is refused, and this process knows it. UNKNOW hides that: the broker asks "
        "again and again, and finally sets the half message aside. Return ROLLBACK_MESSAGE"
    ),
)
PROMISE = Words("“{promise}” does not hold with this listener")
#: what is wrong where no belief is known
BROKEN = {
    "row with message": tr("an order's row is there, and its message will never be delivered"),
    "message with row": tr("a message is delivered, and its order has no row"),
    "whole order": tr("the warehouse gets an order, and no row lists what to pack"),
    "commits": tr("no message is ever delivered"),
}


# ---- the ways through a function -----------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """One way through a function. `exchanges`: what it asked, with the answers; `rows` and
    `memory`: what is there when it has ended, `result`: what it came to."""

    exchanges: tuple[tuple[str, Any], ...]
    rows: Rows
    memory: Memory
    result: Finished

    @property
    def state(self) -> LocalTransactionState | None:
        return self.result.state

    @property
    def lost(self) -> bool:
        """Whether a statement's answer was lost on the way."""
        return any(answer == LOST for _, answer in self.exchanges)

    @property
    def recalled(self) -> bool:
        """Whether it has read the process's memory."""
        written = (" = ", " without ")
        statements = (what for what, _ in self.exchanges if what.split()[0] == "memory")
        return any(not any(word in what for word in written) for what in statements)


@dataclass(frozen=True)
class Ways:
    """What a listener does with one order, each function run alone. `execute`: every way, also
    those on which the connection to the database breaks; `calm`: the one on which it does not.
    The rest are checks: of an order without a row; and of one that `calm` has executed, in
    another process, and in the same one."""

    execute: tuple[Way, ...]
    without_row: Way
    elsewhere: Way
    same_process: Way

    @property
    def calm(self) -> Way:
        return next(way for way in self.execute if not way.lost)

    @property
    def lost(self) -> tuple[Way, ...]:
        return tuple(way for way in self.execute if way.lost)


def find_ways(listener: Pair, order: str) -> Ways:
    """Run a listener's functions alone, with every answer that a database can give."""
    execute, check = listener
    ways = tuple(list_ways(execute, order))
    calm = _find_calm("execute", iter(ways))

    return Ways(
        execute=ways,
        without_row=ask(check, order),
        elsewhere=ask(check, order, calm.rows),
        same_process=ask(check, order, calm.rows, calm.memory),
    )


def ask(check: Rule, order: str, rows: Rows = Map(), memory: Memory = Map()) -> Way:
    """The way through a check on which nothing breaks."""
    return _find_calm("check", list_ways(check, order, rows, memory, times=1))


def _find_calm(name: str, ways: Iterator[Way]) -> Way:
    """The way on which nothing breaks; `Unruly` where even that one goes wrong."""
    calm = next(way for way in ways if not way.lost)
    if calm.result.error:
        raise Unruly(FAILED(name=name, error=calm.result.error))
    if calm.state is None:
        raise Unruly(NO_RETURN(name=name))
    return calm


def list_ways(
    rule: Rule, order: str, rows: Rows = Map(), memory: Memory = Map(), times: int = 0
) -> Iterator[Way]:
    """Yield every way through a learner's function for an order: each statement is answered, or the
    connection breaks before or after it was committed, once in a way at most. It begins with `rows`
    and `memory`; `times`: how often the broker has asked about the order, 0 for the first
    execution."""
    unfinished = [(Task(order, times), rows, memory)]
    while unfinished:
        task, rows, memory = unfinished.pop()
        task, memory, result = run_task(rule, task, memory)
        if isinstance(result, Finished):
            yield Way(task.journal, rows, memory, result)
            continue
        value, rows_after = _perform(result, rows)
        # the rows that a lost connection may leave; one way where both are equal
        broken = {rows: LOST, rows_after: LOST} if LOST not in dict(task.journal).values() else {}
        unfinished += [(task.resume(answer), left, memory) for left, answer in broken.items()]
        unfinished.append((task.resume(value), rows_after, memory))


def _perform(statement: Statement, rows: Rows) -> tuple[str | None, Rows]:
    match statement:
        case Statement(verb="get", key=key):
            return rows.get(key), rows
        case Statement(verb="insert", key=key, value=value):
            return rows.get(key, value), rows if key in rows else rows.set(key, value)
        case Statement(verb="delete", key=key):
            return None, rows.remove(key) if key in rows else rows
        case Statement(key=key, value=value):
            return None, rows.set(key, value)


# ---- the exercise ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ListenerExercise(Hinted):
    """`order`: what the ways are looked at with; `tried`: system lines and the faults in each;
    `unseen`: more of them, that only grading tries. `beliefs`: the first is reported whose rule
    says that the ways of the listener (`_look`) come of it, where a fault was found. `refuses`: an
    order that the service must turn down, "" for none. `dying`: the system in which the process is
    killed at each step, over an SQLite file."""

    name: str
    order: str
    tried: tuple[tuple[str, Budget], ...]
    beliefs: tuple[Belief, ...]
    hints: tuple[Text, ...]
    unseen: tuple[tuple[str, Budget], ...] = ()
    refuses: str = ""
    right: Text = RIGHT
    dying: str = DYING

    def check(self, answer: Any, graded: bool = False) -> Verdict:
        """Judge a listener, given as `(execute, check)`; `graded`: with more schedules."""
        try:
            return self._judge(self.take(answer), graded)
        except Stub:
            return Verdict(False, NOT_WRITTEN)
        except Unruly as unruly:
            return Verdict(False, unruly.args[0])
        except NotRepeatable as differs:  # not within one call, but from one step to the next
            return Verdict(False, differs.text)

    def take(self, answer: Any) -> Pair:
        """Both functions under watch; `Unruly` says why they are not taken."""
        return take_listener(answer)

    def is_parted(self, death: Death) -> bool:
        """Whether a death has left a row without its message, or a message without its row."""
        return not death.agrees

    def _judge(self, listener: Pair, graded: bool) -> Verdict:
        ways = self._look(listener)
        taken = self._find_taken(listener)
        if taken is not None:
            return taken
        for line, budget in (*self.tried, *(self.unseen if graded else ())):
            made = with_listener(line, listener)
            verdict = explore(made, budget)
            examples = sorted(verdict.counterexamples.values(), key=lambda c: len(c.schedule))
            if examples:
                return self._wrong(ways, examples[0].property, examples[0].schedule, made)
            if verdict.missing:
                return self._wrong(ways, verdict.missing[0], (), None)
        return self._let_die(ways, listener) or Verdict(True, self.right)

    def _look(self, listener: Pair) -> Ways:
        """What the beliefs are recognised by."""
        return find_ways(listener, self.order)

    def _let_die(self, ways: Ways, listener: Pair) -> Verdict | None:
        """Killed at each step, over an SQLite file, and asked to the end: a row that waits for its
        message then waits in vain. No search sees that, since it bounds how often the broker
        asks."""
        made = with_listener(self.dying.format(self.order), listener)
        with TemporaryDirectory(prefix="mqlab-") as folder:
            parted = (d for d in die_everywhere(made, Path(folder)) if self.is_parted(d))
            death = next(parted, None)
        if death is None:
            return None
        verdict = self._wrong(ways, "row with message", tuple(death.run.choices), made)
        return replace(verdict, light="", tells=is_kill)

    def _find_taken(self, listener: Pair) -> Verdict | None:
        """What is wrong with its answer to the order that it must refuse; None if nothing is."""
        if not self.refuses:
            return None
        calm = find_ways(listener, self.refuses).calm
        if calm.state is ROLLBACK and not len(calm.rows):
            return None
        name, message = UNDECIDED if calm.state is UNKNOWN and not len(calm.rows) else COMMITTED
        made = with_listener(
            f"order_service 'app=send-in-transaction orders-0 {self.refuses}'", listener
        )
        choices = tuple(map(str, plain(made).choices))
        return Verdict(False, message, name, choices, made, tells=_ends)

    def _wrong(
        self, ways: Ways, broken: str, schedule: tuple[str, ...], made: System | None
    ) -> Verdict:
        belief = next((b for b in self.beliefs if b.rule(ways)), None)
        plain = PROMISE(promise=broken)
        message = belief.message if belief else BROKEN.get(broken, plain)
        return Verdict(
            False, message, belief.name if belief else broken, schedule, made, light=broken
        )


def _ends(fact: Fact) -> bool:
    return isinstance(fact.body, EndTransaction)


def take_listener(answer: Any) -> Pair:
    """A learner's two functions, under watch; `Unruly` says why they are not taken."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Unruly(PAIR)
    for function in answer:
        foreign = find_foreign(function)
        if foreign is not None:
            raise Unruly(foreign)
    execute, check = answer
    return watch("execute", execute), watch("check", check)


def with_listener(line: str, listener: Pair, file: str = "") -> OrderServiceSystem:
    """The order service of a system line with this listener; `file`: an SQLite file for its
    rows, for an execution that is not searched."""
    service = system(line)
    assert isinstance(service, OrderServiceSystem)
    rules = tuple(zip(("execute", "check"), listener, strict=True))
    return replace(service, rules=rules, file=file)


# ---- A listener: take an order, and say later what became of it. Lab 04 asks for more
# (`answering`),
#
# and lab 03 for another `execute` (`keeping`).
#
# An order is an invoice of the shop. One whose number begins with C is a cancellation, which comes
# in by another way: the service refuses it.

ORDER = "580538"
CANCELLATION = "C580597"
TWIN = (
    "order_service producers=app:order-service,twin:order-service early=on timeout_ms=0 "
    "persist_ms=0 check_max=2 'app=send-in-transaction orders-0 {}'"
)
ALONE = "order_service timeout_ms=0 persist_ms=0 check_max=2 'app=send-in-transaction orders-0 {}'"
#: each is searched to the end within a second
FAULTS = (
    Budget(timers=2),
    Budget(kills=1, timers=1, killable=("app",)),
    Budget(breaks=1, timers=1),
)


def _has_row(ways: Ways) -> bool:
    return len(ways.calm.rows) > 0


def _is_lost(ways: Ways, state: LocalTransactionState) -> bool:
    return any(way.state is state for way in ways.lost)


BELIEFS = list_beliefs(
    "03 listener",
    {
        "nobody is let in": lambda ways: ways.calm.state is ROLLBACK and not _has_row(ways),
        "ROLLBACK undoes the row": lambda ways: ways.calm.state is ROLLBACK and _has_row(ways),
        "RocketMQ writes the row": lambda ways: not _has_row(ways),
        "an exception means that nothing was written": lambda ways: _is_lost(ways, ROLLBACK),
        "an exception can be passed over": lambda ways: _is_lost(ways, COMMIT),
        "the process that is asked remembers": lambda ways: (
            ways.elsewhere.recalled and ways.elsewhere.state is not ways.same_process.state
        ),
        "no row means no": lambda ways: ways.without_row.state is ROLLBACK,
        "a check may say COMMIT without looking": lambda ways: ways.without_row.state is COMMIT,
        "the check need not decide": lambda ways: ways.elsewhere.state is not COMMIT,
    },
)

LISTENER = ListenerExercise(
    name="listener",
    order=ORDER,
    tried=tuple((TWIN.format(ORDER), budget) for budget in FAULTS),
    beliefs=BELIEFS,
    hints=read_hints("03 listener"),
    unseen=(
        (ALONE.format("580539"), Budget(kills=1, breaks=1, timers=1, killable=("app",))),
        (TWIN.format("580540").replace("check_max=2", "check_max=3"), Budget(timers=3)),
    ),
    refuses=CANCELLATION,
)
