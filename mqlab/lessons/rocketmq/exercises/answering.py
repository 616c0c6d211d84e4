"""Lab 04's listener: what lab 03 asks for, and a check that ends whatever can be ended.

In lab 03 it is enough that no row is parted from its message. Here one more thing is looked at.
The service refuses an order, its ROLLBACK_MESSAGE is lost, and the broker asks. Everybody who is
asked can see from the order's number that it is refused; whoever says UNKNOW lets the broker ask
to the end and park it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ....kernel import Text
from ....rocketmq.states import LocalTransactionState
from ....scenario import parse_script, perform
from ...verdict import Verdict
from .listener import ListenerExercise, Pair, Ways, find_ways, with_listener
from .placing import BELIEFS, CANCELLATION, ORDER
from .placing import LISTENER as PLACING

UNKNOWN_IS_FREE = "to answer UNKNOW costs nothing"
SAYS_YES = "whoever is asked says COMMIT"
MESSAGES: dict[str, Text] = {
    **{belief.name: belief.message for belief in BELIEFS if belief.name == SAYS_YES},
    UNKNOWN_IS_FREE: Text(
        "this order is refused, and its number says so to everybody who is asked. UNKNOW lets the "
        "broker ask to the end and park it, among the halves that somebody must look after. Say "
        "ROLLBACK_MESSAGE",
        "这个订单是被拒绝的，任何被询问的进程从编号就能看出来。答 UNKNOW，broker 会一直问到底再把它"
        "转存，混在需要人工处理的半消息里。应返回 ROLLBACK_MESSAGE",
    ),
}
LINE = "order_service early=on timeout_ms=0 persist_ms=0 check_max=1"
#: a refusal that gets lost, and a broker that asks once
REFUSED = f"""
# The refusal is lost
system {LINE}
lose app→broker EndTransaction#1
run app: send-in-transaction orders-0 {CANCELLATION}
fire app heartbeat
fire broker check
fire broker check
"""


@dataclass(frozen=True)
class AnsweringExercise(ListenerExercise):
    """`messages`: by its belief, what is told to a check that does not refuse what is refused."""

    messages: Mapping[str, Text] = field(default_factory=lambda: MESSAGES)

    def _let_die(self, ways: Ways, listener: Pair) -> Verdict | None:
        """Last of all: asked about a refused order, in a process that has never heard of it."""
        return super()._let_die(ways, listener) or self._ask_about_refused(listener)

    def _ask_about_refused(self, listener: Pair) -> Verdict | None:
        state = find_ways(listener, self.refuses).without_row.state
        if state is LocalTransactionState.ROLLBACK_MESSAGE:
            return None
        is_yes = state is LocalTransactionState.COMMIT_MESSAGE
        belief, words = (SAYS_YES, "from check") if is_yes else (UNKNOWN_IS_FREE, "discard")
        made = with_listener(LINE, listener)
        choices = tuple(perform(parse_script(REFUSED), made).choices)
        return Verdict(False, self.messages[belief], belief, choices, made, words=words)


LISTENER = AnsweringExercise(
    name="answering",
    order=ORDER,
    tried=PLACING.tried,
    beliefs=BELIEFS,
    hints=(
        Text(
            "A check has three possible answers. Which of them follows from what stands in `db`, "
            "which from the order's own number, and which is left?",
            "回查有三种答案。哪一种由 `db` 里的内容决定，哪一种由订单编号本身决定，剩下的是哪一种？",
        ),
        Text(
            '`check`: ROLLBACK_MESSAGE if the number begins with "C"; COMMIT_MESSAGE if '
            "`db.get(order_id)` is not None; else UNKNOW. `execute`: the same refusal, then "
            "`db.put(order)`, then COMMIT_MESSAGE; catch nothing, note nothing in `memory`.",
            '`check`：编号以 "C" 开头则 ROLLBACK_MESSAGE；`db.get(order_id)` 不为 None 则 '
            "COMMIT_MESSAGE；否则 UNKNOW。`execute`：同样先拒绝，再 `db.put(order)`，再 "
            "COMMIT_MESSAGE；不捕获异常，也不写 `memory`。",
        ),
    ),
    unseen=PLACING.unseen,
    refuses=CANCELLATION,
)
