"""Lab 00's kill: two orders, a transaction for each, and in the end both are booked twice.

A transaction is all or nothing. It does not say that an order is booked only once: a service
that is
killed before it hears of its commit does the same work again when it is started again.
"""

from __future__ import annotations

from ....kafka.coordinator.entry import StateRecord
from ....kafka.log import Batch
from ....kafka.states import TxnState
from ....kernel import Run, Text
from ...steps import is_recovery
from .kills import KillExercise

STORY = """
system shop
{kill}
run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
run order-service: begin, send accounts-0 C-310.73, send accounts-1 S+310.73, commit
restart order-service
"""

NEVER = "a process may be killed at a message that it never sends"
HALF = "a record in the log is booked, with or without its partner"
STORED = "an order is booked when its last record is stored"
FIRST = "a message's name is enough, and its number does not matter"
KILLS = {
    NEVER: Text(
        "the order service is alive at the end: `when` names a message that it never sends. Look "
        "in "
        "the runs above at the arrows that leave its lane",
        "订单服务到最后还活着：`when` 指的是它从未发出的消息。请在上面的运行中看看从它那条线出发的箭头",
    ),
    HALF: Text(
        "too early: the order at hand did not have both of its records in the logs. When the "
        "service "
        "comes back, its open transaction is aborted, and the repetition books this order once",
        "太早了：当前订单的两条记录还没有都写入日志。服务恢复时，未结束的事务被中止，重做之后这个订单"
        "只记账一次",
    ),
    STORED: Text(
        "too early: both records of the order at hand are stored, but no request to commit has "
        "left. "
        "Stored is not decided, so this transaction is aborted and its order is booked once",
        "太早了：当前订单的两条记录都已存储，但提交请求还没有发出。已存储不等于已决定，所以事务被中止，"
        "这个订单只记账一次",
    ),
    FIRST: Text(
        "the first order is booked twice, and the second only once: it had not begun when the "
        "service died. The messages of one kind are counted from the start of the run",
        "第一个订单记账两次，第二个只有一次：服务崩溃时它还没有开始。同一种消息从运行开始时计数",
    ),
    "right": Text(
        "both orders were committed, and the service never heard of the second commit. It did "
        "everything again: £1,255.02 were taken and given, where £627.51 were owed. The light "
        "stays green, since each transaction is whole. All or nothing does not mean once",
        "两个订单都已提交，而服务没有听到第二次提交的应答。它把一切重做了一遍：应收 £627.51，却收付了 £1,255.02。"
        "灯一直是绿的，因为每个事务都是完整的。“全有或全无”并不等于“只有一次”",
    ),
}


def _booked(run: Run) -> str:
    """Which of `KILLS` a run shows: how far the orders had come when the service came back."""
    trace = run.trace
    back = next(fact.index for fact in trace if fact.glyph == "↻")
    before = trace.facts[:back]
    states = [fact.body.entry.state for fact in before if isinstance(fact.body, StateRecord)]
    committed = states.count(TxnState.COMPLETE_COMMIT)
    if committed == 2:
        return "right"
    batches = [fact.body for fact in before if isinstance(fact.body, Batch)]
    stored = sum(not batch.control for batch in batches if batch.words)
    at_hand = stored - 2 * committed
    if committed == 1 and at_hand == 0:
        return FIRST
    return STORED if at_hand == 2 else HALF


BOOKED_TWICE = KillExercise(
    STORY,
    _booked,
    KILLS,
    tells=is_recovery,
    victim="order-service",
    alive=NEVER,
    sample="InitProducerId#1",
    timers=("order-service", "accounts-0"),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"booked_twice": (BOOKED_TWICE, "value")}
