"""Lab 07, markers and the last stable offset: its exercises, and what its cells print."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...explore import Budget
from ...kafka import KafkaSystem
from ...kafka.claims.invariants import reads
from ...kafka.coordinator.entry import StateRecord
from ...kafka.picture.readers import describe_torn
from ...kafka.picture.view import read_world
from ...kafka.states import TxnState
from ...kernel import Fact, Made, Property, Run, System, Text, World
from ...kernel.world import NodeState
from ...registry import system
from ..atlas.data_flow import data_flow
from ..check import Belief, Exercise
from ..parsons import Parsons, Piece
from ..recordings import read_recording
from ..steps import first
from .batch_header import BATCH, TRANSACTIONAL_ID, header
from .exercises.kills import ALIVE, KillExercise
from .partition_log import partition_log
from .systems.ruled import put_rule
from .visibility import by_hand, frontiers, lag_table, list_index_steps, readers

__all__ = [
    "BATCH",
    "HALF",
    "LSO",
    "MARKER",
    "TRANSACTIONAL_ID",
    "by_hand",
    "data_flow",
    "first",
    "frontiers",
    "header",
    "list_index_steps",
    "lag_table",
    "partition_log",
    "read_recording",
    "readers",
    "whole",
]

ONE = "kafka partitions=1 'app=init; begin; send orders-0 a; abort; begin; send orders-0 b; commit'"
TWO = (
    "kafka partitions=1 producers=app,billing "
    "'app=init; begin; send orders-0 a; commit' 'billing=init; begin; send orders-0 x; abort'"
)
PLAIN = (
    "kafka partitions=1 producers=n:plain,app "
    "'n=send orders-0 n' 'app=init; begin; send orders-0 a; commit'"
)
#: what only grading tries: other offsets than those of the lab
MORE = (
    "kafka partitions=1 producers=n:plain,app 'n=send orders-0 n; send orders-0 n; flush' "
    "'app=init; begin; send orders-0 a; send orders-0 b; commit; begin; send orders-0 c; abort'"
)
LATER = (
    "kafka partitions=1 producers=app,billing "
    "'app=init; begin; send orders-0 a; flush; send orders-0 b; commit; begin; send orders-0 c; "
    "commit' 'billing=init; begin; send orders-0 x; commit'"
)

MARKING = (
    "markers partitions=1 order.marker={} "
    "'app=init; begin; send orders-0 a; abort; begin; send orders-0 b; commit'"
)


def _tried(rule: Callable[..., Any], *lines: str) -> tuple[tuple[System, Budget], ...]:
    return tuple((put_rule(line, "lso", rule), Budget()) for line in lines)


def _marks(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """The leader may die once, between two pieces as well."""
    kill = Budget(kills=1, killable=("orders-0",))
    return ((system(MARKING.format(",".join(order))), kill),)


def _offset(answer: Any) -> Text | None:
    """What is wrong with an answer that is no offset."""
    if isinstance(answer, bool) or not isinstance(answer, int):
        return Text("an offset is a whole number", "偏移量是整数")
    return None if answer >= 0 else Text("an offset is never negative", "偏移量不会是负数")


LSO = Exercise(
    name="lso",
    systems=lambda rule: _tried(rule, ONE, TWO, PLAIN),
    unseen=lambda rule: _tried(rule, MORE, LATER),
    samples=(((), 4), ((2,), 4), ((1, 3), 5), ((5,), 3), ((0,), 0)),
    beliefs=(
        Belief(
            "the high watermark decides",
            Text(
                "the high watermark says what is replicated, not what is decided: an open "
                "transaction below it would be read",
                "高水位只说明什么已复制，并不说明什么已决定：它之下未结束的事务会被读到",
            ),
            lambda firsts, hw: hw,
        ),
        Belief(
            "the newest transaction decides",
            Text(
                "the *oldest* undecided transaction decides, not the newest: everything behind "
                "its first record waits, no matter who wrote it",
                "起决定作用的是*最早*的未决事务，而不是最新的：它第一条记录之后的一切都要等待",
            ),
            lambda firsts, hw: min(max(firsts, default=hw), hw),
        ),
        Belief(
            "the high watermark has no part in it",
            Text(
                "a first offset may lie above the high watermark: then the high watermark is "
                "the lower of the two, and what lies above it is not replicated yet",
                "首个偏移量可能高于高水位：这时较低的是高水位，而其上的记录还没有复制",
            ),
            lambda firsts, hw: min(firsts, default=hw),
        ),
        Belief(
            "nothing is ever read",
            Text(
                "it is safe to show nothing, and useless: somebody must read something once "
                "all is decided",
                "什么都不给读当然安全，但毫无用处：一切决定之后总得有人能读到",
            ),
            lambda firsts, hw: 0,
        ),
    ),
    hints=(
        Text(
            "Two things can hold a reader back: a record that is not replicated, and a "
            "transaction that is not decided. Which of the two lies lower?",
            "有两样东西会挡住读者：尚未复制的记录，以及尚未决定的事务。哪一个更低？",
        ),
        Text(
            "The answer is one of the numbers that you are given. Your rule must also work when "
            "there is no first offset at all.",
            "答案就是给定的数之一。没有任何首偏移量时，规则也要能用。",
        ),
    ),
    expects=_offset,
)

MARKER = Parsons(
    name="marker",
    question=Text(
        "The coordinator asks the leader of a partition for a marker. Put what the leader does "
        "into an order in which no reader gets what was aborted, and no marker is lost when the "
        "leader dies. You do not need every piece.",
        "协调者请求分区 leader 写入控制消息。请排列 leader 要做的事，使读者读不到被中止的内容，"
        "而且 leader 崩溃时不会丢失控制消息。并非每一步都用得上。",
    ),
    pieces=(
        Piece(
            "answer",
            Text(
                "answer the coordinator: the marker is here",
                "应答协调者：控制消息已写好",
            ),
        ),
        Piece(
            "delete",
            Text(
                "if it is an abort: delete the records of the transaction",
                "如果是中止：删除这个事务的记录",
            ),
            Text(
                "a log is only appended to. Aborted records stay where they are, and readers "
                "skip them with the help of the list that comes with a fetch",
                "日志只能追加。被中止的记录留在原处，读者借助随拉取返回的列表跳过它们",
            ),
            "aborted records are deleted",
        ),
        Piece(
            "lso",
            Text(
                "let the last stable offset move past the transaction",
                "让最后稳定偏移量（LSO）越过这个事务",
            ),
        ),
        Piece(
            "push",
            Text("tell the consumers that they may read", "通知消费者可以读取"),
            Text(
                "nobody tells consumers anything: they ask their partition, and the marker in its "
                "log moves its LSO",
                "没有谁会通知消费者：它们向分区拉取，而分区日志中的控制消息会推动它的 LSO",
            ),
            "consumers are told",
        ),
        Piece("append", Text("append the marker to the log", "把控制消息追加到日志")),
        Piece(
            "others",
            Text(
                "ask the leaders of the other partitions whether they have their marker",
                "询问其他分区的 leader 是否已有控制消息",
            ),
            Text(
                "leaders do not speak with each other about transactions: each partition shows "
                "its part when its own marker is there. Only the coordinator knows them all",
                "leader 之间不会就事务互相通信：每个分区在自己的控制消息到达时就显示自己的那一部分。"
                "只有协调者知道全部分区",
            ),
            "a transaction becomes visible everywhere at once",
        ),
        Piece(
            "index",
            Text(
                "if it is an abort: note the transaction in the .txnindex",
                "如果是中止：把这个事务记入 .txnindex",
            ),
        ),
    ),
    systems=_marks,
    messages={
        "commits": Text(
            "the transaction never completes: the coordinator hears nothing, and asks for its "
            "marker for ever",
            "事务永远不会完成：协调者得不到应答，会一直请求写入控制消息",
        ),
        "read back": Text(
            "no reader of committed data ever gets what lies behind: the LSO stands at the "
            "transaction",
            "read_committed 的读者永远读不到后面的内容：LSO 停在这个事务处",
        ),
        "clean read": Text(
            "a reader of committed data gets what it must not: the LSO has moved past the "
            "transaction, and the marker is not in the log yet, or an abort not in the index "
            "that fetches are answered from",
            "read_committed 的读者读到了不该读的内容：LSO 已越过事务，而控制消息还没有写入日志，"
            "或者中止还没有记入用来应答拉取的索引",
        ),
        "marked": Text(
            "the coordinator was told that the marker is here before it was in the log: the "
            "leader dies, and nobody asks for that marker again",
            "控制消息写入日志之前就应答了协调者：leader 崩溃后，不会再有人请求这条控制消息",
        ),
    },
    right={
        ("append", "index", "lso", "answer"): Text(
            "no schedule breaks a promise, and this is Kafka's own order: one append writes "
            "marker and index entry, and the high watermark, passing the marker, releases the "
            "LSO and the answer",
            "没有任何执行能违背承诺，这正是 Kafka 的顺序：一次追加写入控制消息和索引项，高水位越过控制消息时"
            "推动 LSO 并发出应答",
        ),
    },
)

# --- the shortest kill --------------------------------------------------------------------

TWO_ORDERS = """
system kafka topic=orders,payments partitions=1
{kill}
run app: init, begin, send orders-0 580538, send payments-0 paid-580538, commit
run app: begin, send orders-0 580539, send payments-0 paid-580539, commit
"""


def whole(searched: System) -> Property:
    """That nobody is left with half of a transaction: whenever the coordinator is dead, a
    reader of committed data gets all of it or nothing. Kafka does *not* promise this."""
    assert isinstance(searched, KafkaSystem)
    cluster = searched.cluster
    tc = cluster.config.coordinator

    def holds(world: World) -> bool:
        if world.nodes[tc].up:
            return True
        seen = read_world(cluster, world)
        return describe_torn(seen, seen.list_given("read_committed")) is None

    def part(name: str, node: NodeState) -> Any:
        return reads(cluster, name, node), name == tc and node.up

    sentence = Text(
        "while the coordinator is dead nobody has half of a transaction",
        "协调者宕机期间没有人只读到半个事务",
    )
    return Property("whole", sentence, holds, "always", part)


FIRST = "a message's name is enough, and its number does not matter"
ASKED = "what the client asks for is decided"
ANSWERED = "what was answered is visible"
LAST = "the last marker is the dangerous one"
KILLS = {
    ALIVE: Text(
        "the coordinator is alive at the end: `when` names a message that it never sends. Look in "
        "the run at the arrows that leave its lane",
        "协调者到最后还活着：`when` 指的是它从未发出的消息。请在运行中看看从它那条线出发的箭头",
    ),
    FIRST: Text(
        "too early: this was the first order, and the second has not begun. The messages of one "
        "kind are counted from the start of the run, so those of the second order have higher "
        "numbers",
        "太早了：这是第一个订单，第二个还没有开始。同一种消息从运行开始时计数，所以第二个订单的"
        "消息编号更大",
    ),
    ASKED: Text(
        "too early: the second PrepareCommit is not in the log, so order 580539 is not decided and "
        "nobody reads it. A commit is not what the client asks for but what the coordinator writes",
        "太早了：第二条 PrepareCommit 还没有写入日志，订单 580539 还没有决定，谁也读不到它。"
        "提交不在于客户端的请求，而在于协调者写下的记录",
    ),
    ANSWERED: Text(
        "too early: the decision on order 580539 is safe, yet no marker of it has left, so nobody "
        "reads it. That commit has returned makes nothing visible",
        "太早了：订单 580539 的决定已经安全，但它的控制消息还没有发出，谁也读不到它。commit 返回并不会让任何"
        "东西可见",
    ),
    LAST: Text(
        "too late: both markers of order 580539 had left when it died, and readers get the whole "
        "order. What a dead coordinator has sent still arrives",
        "太晚了：它崩溃时订单 580539 的两条控制消息都已发出，读者得到了整个订单。已发出的消息仍会到达",
    ),
    "right": Text(
        "half of order 580539 is visible, and stays so until the coordinator is back",
        "订单 580539 只有一半可见，并且一直如此，直到协调者恢复",
    ),
}


def _count(run: Run, state: TxnState) -> int:
    """How many records of this state the coordinator has written."""
    bodies = (fact.body for fact in run.trace)
    return sum(isinstance(body, StateRecord) and body.entry.state is state for body in bodies)


def _left(run: Run) -> str:
    """Which of `KILLS` a run shows."""
    read = {got.label for got in run.trace.snapshot(-1).readers[0].got}
    if run.world.nodes["coordinator"].up:
        return ALIVE
    if _count(run, TxnState.COMPLETE_COMMIT) == 0:
        return FIRST
    if {"580539", "paid-580539"} & read:
        return LAST if {"580539", "paid-580539"} <= read else "right"
    return ANSWERED if _count(run, TxnState.PREPARE_COMMIT) == 2 else ASKED


def _is_lso_4(fact: Fact) -> bool:
    return isinstance(fact.body, Made) and fact.body.values.get("lso") == 4


HALF = KillExercise(TWO_ORDERS, _left, KILLS, tells=_is_lso_4)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"half": (HALF, "value"), "marker": (MARKER, "value"), "lso": (LSO, "rule")}
