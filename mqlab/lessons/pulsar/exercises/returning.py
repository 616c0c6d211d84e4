"""The test of lab 10: what a worker does when a cumulative acknowledgement was aborted.

    story = "run worker: redeliver billing …"

The lines follow an abort that has left three orders lying. The story is right if the orders are
received once more, each of them once, and are acknowledged for good when it is over.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....kernel import Outcome, Run, Text
from ....pulsar.client.calls import Abort, Receive
from ....pulsar.config import CURSORS
from ....pulsar.ledger import Cursor
from ...stories import StoryExercise
from ...verdict import Verdict

ORDERS = ("580538", "580539", "580540")
GIVEN = f"""\
system pulsar clients=shop,worker,twin
run worker: subscribe orders-0 billing
run shop: {", ".join(f"send orders-0 {order}" for order in ORDERS)}
run worker: receive billing, new-transaction t1
run worker: ack-cumulative billing orders-0@2 txn=t1
run worker: abort t1"""

COMES_BACK = "29 an abort gives the messages back"
UNREAD = "an acknowledged order is billed"
TWICE = "redelivery leaves out what was received"
UNFINISHED = "received again means acknowledged"
BELIEFS = {
    COMES_BACK: Text(
        "somebody has asked for the orders, and got nothing. The abort has taken the "
        "acknowledgement back, but after a cumulative one the broker sends nothing again by "
        "itself: the consumer must ask for redelivery, or connect again",
        "有人来取订单，却什么也没有得到。中止收回了确认，但累积确认被中止后，broker 不会自己重新投递："
        "消费者必须请求重新投递，或重新连接",
    ),
    UNREAD: Text(
        "not every order was received once more. To acknowledge an order is to say that it is "
        "done, and nobody has billed these: they must be received first",
        "并非每个订单都重新收到了。确认一个订单，就是说它已处理完；而这些订单还没有人开账单：必须先收到它们",
    ),
    TWICE: Text(
        "an order was received twice after the abort, and is billed twice. A consumer that asks "
        "for redelivery, or connects again, is sent everything that is not acknowledged, whether "
        "it received it before or not",
        "中止之后有订单收到了两次，账单也就开了两次。无论请求重新投递还是重新连接，"
        "凡未确认的都会再发来，不管是否收到过",
    ),
    UNFINISHED: Text(
        "the orders have come, but they are not acknowledged for good: the next consumer is sent "
        "them again. Acknowledge all three, and commit the transaction if you do it in one",
        "订单来了，但还没有最终确认：下一个消费者会再次收到。请确认全部三个；若在事务中确认，就提交事务",
    ),
}
RIGHT = Text(
    "all three orders have come once more, and are acknowledged for good: £1032.34 are billed",
    "三个订单都重新收到，并已最终确认：£1032.34 已开账单",
)


def judge_run(run: Run) -> Verdict:
    """What has become of the three orders."""
    schedule = tuple(map(str, run.choices))
    belief = find_belief(run)
    if not belief:
        return Verdict(True, RIGHT, "", schedule, run.system)
    return Verdict(False, BELIEFS[belief], belief, schedule, run.system)


def find_belief(run: Run) -> str:
    """Why the orders are not billed, "" if they are."""
    given = list(list_given(run))
    came = [words.split()[0] for one in given if one != "nothing" for words in one.split(", ")]
    if given and not came:
        return COMES_BACK
    if set(came) != set(ORDERS):
        return UNREAD
    if len(came) > len(ORDERS):
        return TWICE
    cursor: Cursor = run.world.disk("orders-0").table(CURSORS).get("billing", Cursor())
    return "" if all(map(cursor.is_deleted, range(len(ORDERS)))) else UNFINISHED


def list_given(run: Run) -> Iterator[str]:
    """What each `receive` of a consumer gave after the abort."""
    outcomes = [fact.body for fact in run.trace if isinstance(fact.body, Outcome)]
    aborted = next(at for at, one in enumerate(outcomes) if isinstance(one.call, Abort))
    for outcome in outcomes[aborted:]:
        if isinstance(outcome.call, Receive):
            yield outcome.detail


HINTS = (
    Text(
        "Which consumers are sent messages that are not acknowledged, although they were "
        "delivered before? One that asks for them, and one that connects for the first time.",
        "消息曾经投递过却未确认，broker 会再发给哪些消费者？主动请求的，以及新连接上来的。",
    ),
    Text(
        "One of the calls in the table asks the broker for everything that is not acknowledged. "
        "What comes then must be received, in a line of its own, and acknowledged for good.",
        "表中有一个调用会向 broker 要回所有未确认的消息。随后到来的消息要另起一行接收，并最终确认。",
    ),
)
RETURNING = StoryExercise((GIVEN,), judge_run, HINTS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"returning": (RETURNING, "value")}
