"""Lab 04's listener: one whose check never says UNKNOW.

In lab 03 a check that finds no row says UNKNOW, since the row may still come. Here it may not: it
has to *decide*, and a decision of this kind must be written down where the late row finds it. One
statement does both, `db.insert(order_id, "refused")`: it takes the row's place if it is free, and
tells who has it. A row with the value "refused" is no order, and needs no message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from ....kernel import Fact, Map, Text, tr
from ....rocketmq.application import REFUSED
from ....rocketmq.log import Stored
from ....rocketmq.messages import CheckTransactionState
from ....rocketmq.states import LocalTransactionState
from ....scenario import parse_script, perform
from ...check import list_beliefs
from ...exercises import read_hints
from ...verdict import Verdict
from .listener import (
    FAULTS,
    ORDER,
    ListenerExercise,
    Pair,
    Way,
    Ways,
    ask,
    find_ways,
    list_ways,
    with_listener,
)
from .listener import LISTENER as PLACING
from .listener import TWIN as LINE

COMMIT, ROLLBACK, UNKNOWN = LocalTransactionState
OPEN = "to answer UNKNOW costs nothing"
FORGETS = "a refusal need not be found again"
MESSAGES: dict[str, Text] = {
    OPEN: tr(
        "the sender died before its row, and this check returns UNKNOW. The broker asks until it "
        "sets the half message aside, though no row was ever going to come. Let the check decide, "
        "and write down what it has decided"
    ),
    FORGETS: tr(
        "this order was refused by an earlier check, whose answer was lost on its way to the "
        "broker. So the broker asks again, and the answer must be ROLLBACK_MESSAGE once more: the "
        "row says so"
    ),
}
ASKED = (
    "order_service producers=app:order-service,twin:order-service early=on timeout_ms=0 "
    "persist_ms=0 check_max={}"
)
#: the sender dies before its row; the answer shows in the last round
NO_ROW = f"""
# No row will ever come
system {ASKED.format(1)}
kill app when=Statement#1 after=0
run app: send-in-transaction orders-0 {ORDER}
fire broker check
fire broker check
"""
REFUSED_BEFORE = f"""
# The refusal is lost on its way to the broker
system {ASKED.format(2)}
kill app when=Statement#1 after=0
lose twin→broker EndTransaction#1
run app: send-in-transaction orders-0 {ORDER}
fire broker check
fire twin heartbeat
fire broker check
fire broker check
"""


@dataclass(frozen=True)
class DecidingWays(Ways):
    """And with a row that says *refused*: `late`, the local transaction that comes after it, and
    `again`, another check."""

    late: Way
    again: Way

    @property
    def statements(self) -> tuple[str, ...]:
        """What the two functions ask of the database where there is no row yet, by verbs."""
        exchanges = (*self.calm.exchanges, *self.without_row.exchanges)
        return tuple(what.split()[0] for what, _ in exchanges)


def _is_order(way: Way) -> bool:
    return any(value != REFUSED for _, value in way.rows.items())


BELIEFS = list_beliefs(
    "04 answering",
    {
        "nobody is let in": lambda ways: ways.calm.state is ROLLBACK and not _is_order(ways.calm),
        "ROLLBACK undoes the row": lambda ways: (
            ways.calm.state is ROLLBACK and _is_order(ways.calm)
        ),
        "RocketMQ writes the row": lambda ways: not _is_order(ways.calm),
        "an exception means that nothing was written": lambda ways: any(
            way.state is ROLLBACK for way in ways.lost
        ),
        "an exception can be passed over": lambda ways: any(
            way.state is COMMIT for way in ways.lost
        ),
        "the process that is asked remembers": lambda ways: (
            ways.elsewhere.recalled and ways.elsewhere.state is not ways.same_process.state
        ),
        "every question means yes": lambda ways: ways.without_row.state is COMMIT,
        "the check need not decide": lambda ways: ways.elsewhere.state is not COMMIT,
        "no row means no": lambda ways: not len(ways.without_row.rows),
        "a row that is late may overwrite a refusal": lambda ways: _is_order(ways.late),
        "to look and then to write is one step": lambda ways: "put" in ways.statements,
        "every row is an order": lambda ways: ways.again.state is COMMIT,
        "what is inserted is there": lambda ways: "insert" in ways.statements,
    },
)


@dataclass(frozen=True)
class AnsweringExercise(ListenerExercise):
    """`messages`: by its belief, the message for a check that leaves open what it could end."""

    messages: Mapping[str, Text] = field(default_factory=lambda: MESSAGES)

    def _look(self, listener: Pair) -> DecidingWays:
        execute, check = listener
        ways = find_ways(listener, self.order)
        refused = Map(((self.order, REFUSED),))
        late = next(w for w in list_ways(execute, self.order, refused) if not w.lost)
        again = ask(check, self.order, refused)
        cases = (ways.execute, ways.without_row, ways.elsewhere, ways.same_process)
        return DecidingWays(*cases, late=late, again=again)

    def _let_die(self, ways: Ways, listener: Pair) -> Verdict | None:
        """Last of all: does each check end its half?"""
        assert isinstance(ways, DecidingWays)
        verdict = super()._let_die(ways, listener)
        left_open = partial(self._leave_open, listener)
        if verdict is not None:
            return verdict
        # COMMIT: the check has written the row itself
        if ways.without_row.state not in (ROLLBACK, COMMIT):
            return left_open(OPEN, NO_ROW)
        return None if ways.again.state is ROLLBACK else left_open(FORGETS, REFUSED_BEFORE)

    def _leave_open(self, listener: Pair, belief: str, story: str) -> Verdict:
        script = parse_script(story)
        made = with_listener(script.system, listener)
        choices = tuple(perform(script, made).choices)
        tells = _discards if belief == OPEN else _asks_again
        return Verdict(False, self.messages[belief], belief, choices, made, tells=tells)


def _discards(fact: Fact) -> bool:
    return isinstance(fact.body, Stored) and fact.body.kind == "discard"


def _asks_again(fact: Fact) -> bool:
    body = fact.body
    return isinstance(body, CheckTransactionState) and body.message.check_times == 2


LISTENER = AnsweringExercise(
    name="answering",
    order=ORDER,
    tried=tuple((LINE.format(ORDER), budget) for budget in FAULTS),
    beliefs=BELIEFS,
    hints=read_hints("04 answering"),
    unseen=PLACING.unseen,
    right=tr(
        "killed at each of its calls, cut off from its database, asked while its row was in "
        "flight: no schedule separates a row from its message, and each half message is ended by "
        "its first check"
    ),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"answering": (LISTENER, "listener")}
