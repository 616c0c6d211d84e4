"""Lab 10's pieces: what a worker does that passes an order on, in which order.

`receive`, `begin`, `send`, `ack`, `plain` and `commit` are calls of Pulsar's client. Every order of
them is tried (`systems/passing.py`) with a worker that may be killed anywhere, and with a timeout
that may fire at any moment.
"""

from __future__ import annotations

from ....explore import Budget
from ....kernel import System, Text
from ....registry import system
from ...parsons import Parsons, Piece
from ..systems.passing import PIECES

LINE = "passing pieces={} 'shop=send orders-0 580538'"
FAULTS = (Budget(kills=1, killable=("worker",)), Budget(timers=1))


def _systems(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    line = LINE.format(",".join(key for key in order if key in PIECES))
    return tuple((system(line), budget) for budget in FAULTS)


DISTRACTORS = (
    Piece(
        "note",
        Text(
            "note in the client which orders are not acknowledged yet",
            "在客户端记下哪些订单还没有确认",
        ),
        Text(
            "the client need not remember anything: what is delivered, pending and acknowledged "
            "stands in the broker, in the cursor and in a log of pending acks, and outlives the "
            "client",
            "客户端什么都不用记：哪些已投递、待定、已确认，都在 broker 里，写在游标和 pending-ack 日志中，"
            "客户端没了它们也还在",
        ),
        "32 unacknowledged state lives in the client",
    ),
    Piece(
        "init",
        Text(
            "take over a transactional id, which fences an older worker",
            "接管一个 transactional id，隔离较旧的工作进程",
        ),
        Text(
            "that is Kafka. A Pulsar transaction has no name with which you could fence it: the "
            "conflict over the message stops an older worker here. The sends to a topic can be "
            "fenced if a producer asks for it, but a commit cannot",
            "那是 Kafka。Pulsar 的事务没有你取的、可用来隔离的名字：这里挡住较旧进程的是对同一条消息的"
            "冲突。生产者可以要求隔离对某个主题的发送，但提交无法隔离",
        ),
        "a name fences an older worker",
    ),
    Piece(
        "offset",
        Text(
            "send the position behind the order to the transaction",
            "把订单之后的偏移量发送给事务",
        ),
        Text(
            "that is Kafka, where a position stands for everything before it. Pulsar's "
            "transaction takes the messages themselves, each by its id and in any order",
            "那是 Kafka，偏移量代表它之前的一切。Pulsar 的事务接受的是消息本身，按 id 逐条确认，顺序任意",
        ),
        "acknowledgements go in order",
    ),
)

PASSING = Parsons(
    name="passing",
    question=Text(
        "Put what the worker does into order, so that each order's income counts once, wherever it "
        "is killed. You do not need every piece.",
        "把工作进程要做的事排好顺序，使它无论在哪里被杀，每个订单的收入都恰好记一次。并非每一步都用得上。",
    ),
    pieces=(
        Piece("commit", Text("commit the transaction", "提交事务")),
        DISTRACTORS[0],
        Piece("send", Text("send the order's income in the transaction", "在事务中发送订单的收入")),
        Piece(
            "plain",
            Text("acknowledge the order, without the transaction", "不在事务中确认订单"),
        ),
        DISTRACTORS[1],
        Piece(
            "receive",
            Text(
                "receive an order; if none is there, the work is done", "接收订单；没有则工作完成"
            ),
        ),
        DISTRACTORS[2],
        Piece("ack", Text("acknowledge the order in the transaction", "在事务中确认订单")),
        Piece("begin", Text("begin a transaction", "开始事务")),
    ),
    systems=_systems,
    messages={
        "done": Text(
            "the order is never done: a piece is missing, or a call comes where the client refuses "
            "it. What belongs to a transaction stands between its begin and its commit",
            "订单永远完不成：缺了一步，或某个调用出现在客户端会拒绝的位置。属于事务的步骤应在开始与提交之间",
        ),
        "passed on": Text(
            "the order is done with, and its income does not count. A plain acknowledgement waits "
            "for no commit: it is applied at once, and no abort takes it back",
            "订单已了结，收入却没有记下。普通确认不等提交：它立即生效，任何中止都收不回来",
        ),
        "counted once": Text(
            "the income is committed and the order is not acknowledged yet: the worker is killed "
            "in between, the order comes again and its income counts twice. Both belong in one "
            "transaction",
            "收入已提交，订单还没有确认：工作进程恰在此间被杀，订单再来一次，收入记了两次。两者应在同一个"
            "事务里",
        ),
    },
    right={
        ("receive", "begin", "send", "ack", "commit"): Text(
            "wherever the worker is killed, the order's income counts once. Sending and "
            "acknowledging may change places: neither counts before the commit",
            "无论工作进程在哪里被杀，订单的收入都恰好记一次。发送与确认可以互换：提交之前两者都不算数",
        ),
    },
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"passing": (PASSING, "value")}
