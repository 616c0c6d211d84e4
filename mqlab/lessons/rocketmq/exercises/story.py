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
from ...exercises import read_beliefs, read_hints
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
BELIEFS = read_beliefs("04 story")
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


HINTS = read_hints("04 story")
STORY = StoryExercise(
    tuple(SYSTEM.format(service=service) for service in ("example", "right")), judge_runs, HINTS
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"story": (STORY, "value")}
