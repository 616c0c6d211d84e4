"""The test of lab 04: a story in which the official example listener fails.

    story = "run app: send-in-transaction orders-0 580538 …"

A test is worth something if it fails where the program is wrong and passes where it is right. So
the lines are run twice: with the example as the listener, where a light must turn red, and with
a right listener, where none may.
"""

from __future__ import annotations

from ....kernel import Run, Trace, tr
from ....kernel.trace import FactKind
from ....rocketmq.broker.timer import CHECK
from ....rocketmq.messages import TRAN_MSG, CheckTransactionState, SendMessage
from ...stories import StoryExercise
from ...verdict import Verdict

SYSTEM = "system order_service service={service} early=on timeout_ms=0"

NO_ORDER = tr(
    "no order is stored as a half message, so there is nothing to check: begin with `run app: "
    "send-in-transaction orders-0 580538`"
)

UNASKED = "a listener that works when nothing goes wrong works"
ALONE = "a check waits until somebody is there"
SAME = "the process that is asked is the one that did the work"
UNKNOWN = "any answer about an unknown order is harmless"
HARSH = "a test that fails is a good test"
BELIEFS = {
    UNASKED: tr(
        "the example passes, because no check is made. The answer of `execute` is not the point; "
        "let the broker ask, with `fire broker check`"
    ),
    ALONE: tr(
        "the example passes, since no process was asked: when the round came none of the group "
        "was there. Let one come back before it, with `restart app`"
    ),
    SAME: tr(
        "the example passes: the process that was asked had run the local transaction itself, and "
        "remembers. Another process of the group does not, nor does this one after a restart"
    ),
    UNKNOWN: tr(
        "the example passes: every order that was asked about had its row, so COMMIT happened to "
        "be right. Ask about one that has no row"
    ),
    HARSH: tr(
        "a right listener does not pass this test either, so what fails here is not the listener"
    ),
}
RIGHT = tr(
    "the example fails and a right listener passes: a process that never saw the order commits it "
    "without a row"
)


def judge_runs(run: Run, control: Run) -> Verdict:
    """`run`: with the listener that is wrong; `control`: with the right one."""
    schedule = tuple(map(str, run.choices))
    if red := find_red(control.trace):
        return Verdict(False, BELIEFS[HARSH], HARSH, tuple(control.choices), control.system, red)
    if red := find_red(run.trace):
        return Verdict(True, RIGHT, "", schedule, run.system, red)
    if not any(_is_half(fact.body) for fact in run.trace):
        return Verdict(False, NO_ORDER)
    belief = find_belief(run.trace)
    return Verdict(False, BELIEFS[belief], belief, schedule, run.system)


def find_red(trace: Trace) -> str:
    """The light that is red when an execution is over; "" for none."""
    return next((light.name for light in trace.snapshot(-1).lights if not light.ok), "")


def find_belief(trace: Trace) -> str:
    """Why a story does not find what is wrong."""
    sent = list_steps(trace, FactKind.SEND, SendMessage)
    questions = list_steps(trace, FactKind.SEND, CheckTransactionState)
    killed = list_steps(trace, FactKind.KILL, object)
    if questions:
        forgot = any(sent[0] < step < questions[-1] for step in killed)
        return UNKNOWN if forgot else SAME
    rounds = any(fact.kind is FactKind.TIMER and fact.body == CHECK for fact in trace)
    return ALONE if rounds and killed else UNASKED


def _is_half(body: object) -> bool:
    return isinstance(body, SendMessage) and body.message.get(TRAN_MSG) == "true"


def list_steps(trace: Trace, kind: FactKind, body: type) -> list[int]:
    """The steps of this kind that are about such a body."""
    return [f.index for f in trace if f.kind is kind and isinstance(f.body, body)]


HINTS = (
    tr(
        "The example keeps its answers in its process. When does a process that is asked have "
        "none for an order, and what does the example return then?"
    ),
    tr(
        "The map is lost when its process dies. The example writes no row for the first order "
        "that it takes. And the round must find a process that it can ask."
    ),
)
STORY = StoryExercise(
    tuple(SYSTEM.format(service=service) for service in ("example", "right")), judge_runs, HINTS
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"story": (STORY, "value")}
