"""The exercises of lab 01: accounting's pieces in order, and the rule by which it counts."""

from __future__ import annotations

from typing import Any

from ....explore import Budget
from ....kernel import System, Text
from ....patterns.delivery.roles import COUNT, SKIP
from ....registry import system
from ...check import Belief, Exercise, Systems, expect_word
from ...parsons import Parsons, Piece
from ...roles import become
from ..systems.counting import Counting, Rule

TWO = "'shop=send 580538:31678; send 580539:31073'"
KILL = Budget(kills=1, killable=("accounting",))


# ---- the pieces --------------------------------------------------------------------------


def _consumes(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """Two orders, and an accounting that may be killed once at any moment."""
    return ((system(f"delivery order.consume={','.join(order)} {TWO}"), KILL),)


CONSUME = Parsons(
    name="consume",
    question=Text(
        "Accounting has been handed an order. Put what it does into an order in which nothing is "
        "lost and nothing is counted twice, wherever it is killed. Not every piece is needed.",
        "记账方收到一个订单。请排列它要做的步骤，使得无论它在哪里被杀，订单既不丢失也不重复记账。"
        "并非每一步都需要。",
    ),
    pieces=(
        Piece("count", Text("write the amount into the books", "把金额写入账本")),
        Piece("commit", Text("tell the queue the position", "把位置告诉队列")),
        Piece("end", Text("commit the database's transaction", "提交数据库事务")),
        Piece("note", Text("write the position beside the books", "把位置写在账本旁边")),
        Piece(
            "thank",
            Text("tell the shop that the order is counted", "告诉商店订单已记账"),
            Text(
                "the shop has its answer: the queue has it. The shop does not wait for accounting, "
                "and would not know what to do when it hears nothing",
                "商店已经得到应答：订单在队列中。它不等待记账方，收不到消息时也无从处理",
            ),
            "the sender waits until the receiver is done",
        ),
        Piece("begin", Text("begin a transaction of the database", "开始一个数据库事务")),
    ),
    systems=_consumes,
    messages={
        "all counted": Text(
            "without any fault the books do not hold each order. Either no piece writes the "
            "amount, "
            "or it is written in a transaction that never commits",
            "即使没有任何故障，账本里也没有每个订单：要么没有步骤写入金额，要么写入金额的事务从未提交",
        ),
        "counted once": Text(
            "it is killed when the amount is durable and the position is not, so the order is "
            "fetched again and counted a second time. The queue's position and the database are "
            "two "
            "writes, and so is anything outside of the transaction",
            "它被杀时金额已持久化，位置还没有，于是订单被再次读取、再次记账。队列里的位置和数据库是两次"
            "写入，事务之外的一切也是",
        ),
        "none lost": Text(
            "it is killed when the position is durable and the amount is not, so nobody fetches "
            "the "
            "order again and it is never counted",
            "它被杀时位置已持久化，金额还没有，于是没有人再读取这个订单，它永远不会入账",
        ),
    },
    right={
        ("begin", "count", "note", "end"): Text(
            "no schedule breaks a promise: amount and position become durable in one write, and "
            "the "
            "books themselves say where to go on",
            "没有任何执行能违背承诺：金额和位置在同一次写入中持久化，从哪里继续由账本自己说明",
        ),
        ("begin", "count", "note", "end", "commit"): Text(
            "no schedule breaks a promise. The commit only informs people who look at the queue: "
            "after a crash accounting asks its own books",
            "没有任何执行能违背承诺。提交只是给查看队列的人看的：崩溃之后记账方以自己的账本为准",
        ),
    },
)


# ---- the rule ----------------------------------------------------------------------------

#: (position, numbers in the books, offset, number, again): where the beliefs answer differently
SAMPLES: tuple[tuple[Any, ...], ...] = (
    (0, (), 0, "580538", False),
    (1, ("580538",), 0, "580538", True),
    (1, ("580538",), 1, "580538", False),
    (2, ("580538", "580539"), 2, "580538", False),
    (0, (), 0, "580538", True),
    (1, ("580538",), 1, "580539", False),
    (1, ("580538",), 1, "580539", True),
)
BELIEFS = (
    Belief(
        "nothing is counted, so nothing is counted twice",
        Text(
            "skipping everything doubles nothing, and no order ever gets into the books",
            "跳过一切当然不会重复，但没有任何订单入账",
        ),
        lambda position, booked, offset, number, again: SKIP,
    ),
    Belief(
        "the queue hands out each order once",
        Text(
            "what comes twice is counted twice. The queue hands out an offset as often as it is "
            "asked for, and the same order may lie at two offsets",
            "来两次就记了两次。队列会按请求多次给出同一偏移量，同一订单也可能位于两个偏移量",
        ),
        lambda position, booked, offset, number, again: COUNT,
    ),
    Belief(
        "an offset names an order",
        Text(
            "an offset says where a message lies, not which order it is. The shop sent this order "
            "twice and the queue wrote it twice: two offsets, one number",
            "偏移量说明消息在哪里，而不是它是哪个订单。商店发了两次，队列写了两次：两个偏移量，一个订单号",
        ),
        lambda position, booked, offset, number, again: COUNT if offset >= position else SKIP,
    ),
    Belief(
        "handed out again means counted already",
        Text(
            "“again” says that the queue has handed it out before. Accounting died with it in its "
            "hands and had written nothing: skipped now, it is lost",
            "“再次”只说明队列以前发出过。记账方拿到之后就崩溃了，什么也没写：现在跳过就丢了",
        ),
        lambda position, booked, offset, number, again: SKIP if again else COUNT,
    ),
    Belief(
        "only the last order can come again",
        Text(
            "more than the last one may come again: after a rewind all of them do",
            "可能再次到来的不只是最后一个：回退之后全部都会再来",
        ),
        lambda position, booked, offset, number, again: (
            SKIP if booked and booked[-1] == number else COUNT
        ),
    ),
)
HINTS = (
    Text(
        "Two messages may be one order. What is then the same in both, and never the same in two "
        "different orders? It is neither the place nor the time of a message.",
        "两条消息若是同一订单，什么一定相同？若是两个订单，什么一定不同？不是消息的位置，也不是时间。",
    ),
    Text(
        "The shop gives each order a number, and gives no number twice. One comparison is enough.",
        "商店给每个订单一个编号，绝不重复。只需比较一次。",
    ),
)


def _build(line: str, rule: Rule) -> System:
    return become(system(f"delivery {line}"), Counting, rules=(("count", rule),))


def _systems(rule: Rule) -> Systems:
    """Each story is there for a belief: nothing happens; accounting dies; it rewinds; the shop
    sends again to a queue that does not look."""
    return (
        (_build(TWO, rule), Budget()),
        (_build(TWO, rule), KILL),
        (_build(f"off=recognise {TWO}", rule), Budget(breaks=1)),
        (_build(f"{TWO} 'accounting=seek 0'", rule), Budget()),
    )


def _unseen(rule: Rule) -> Systems:
    """Other numbers, and more than one thing at once."""
    twins = "'shop=send 580701:1250; send 580702:1250'"
    return (
        (_build(f"{twins} 'accounting=seek 0; seek 0'", rule), Budget()),
        (_build(f"off=recognise {twins} 'accounting=seek 0'", rule), Budget(timers=1)),
    )


COUNTING = Exercise(
    name="count",
    systems=_systems,
    samples=SAMPLES,
    beliefs=BELIEFS,
    hints=HINTS,
    expects=expect_word(COUNT, SKIP),
    unseen=_unseen,
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"consume": (CONSUME, "value"), "count": (COUNTING, "rule")}
