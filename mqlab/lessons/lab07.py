"""Lab 07, markers and the last stable offset: its exercises, and what its cells print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..explore import Budget
from ..kafka import KafkaSystem
from ..kafka.invariants import reads
from ..kafka.snapshot import torn, view
from ..kernel import Property, Run, System, Text, World
from ..kernel.world import NodeState
from .batch_header import BATCH, TRANSACTIONAL_ID, header
from .check import Belief, Exercise
from .data_flow import data_flow
from .kills import ALIVE, KillExercise
from .lab00 import first
from .parsons import Parsons, Piece
from .systems import system
from .visibility import by_hand, frontiers, index_written, lag_table, readers

__all__ = [
    "BATCH",
    "END_TXN",
    "HALF",
    "LSO",
    "TRANSACTIONAL_ID",
    "by_hand",
    "data_flow",
    "first",
    "frontiers",
    "header",
    "index_written",
    "lag_table",
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
ENDING = (
    "end_txn partitions=2 order.end_txn={} 'app=init; begin; send orders-0 a; flush; "
    "send orders-1 b; flush; commit'"
)


def _tried(rule: Callable[..., Any], *lines: str) -> tuple[tuple[System, Budget], ...]:
    tried = []
    for line in lines:
        found = system(line)
        assert isinstance(found, KafkaSystem)
        tried.append((replace(found, rules=(("lso", rule),)), Budget()))
    return tuple(tried)


def _ends(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """The coordinator may die once, and the transaction's timeout may run out."""
    return ((system(ENDING.format(",".join(order))), Budget(kills=1, killable=("tc",), timers=1)),)


def _offset(answer: Any) -> str:
    """What is wrong with an answer that is no offset."""
    if isinstance(answer, bool) or not isinstance(answer, int):
        return "an offset is a whole number"
    return "" if answer >= 0 else "an offset is never negative"


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
                "its first record waits, whoever wrote it",
                "起决定作用的是*最早*的未决事务，而不是最新的：它第一条记录之后的一切都要等待",
            ),
            lambda firsts, hw: min(max(firsts, default=hw), hw),
        ),
        Belief(
            "the high watermark has no part in it",
            Text(
                "a first offset may lie above the high watermark: then the high watermark is "
                "the lower of the two, and what lies above it is not replicated yet",
                "首个位移可能高于高水位：这时较低的是高水位，而其上的记录还没有复制",
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
            "`min(...)` of the first offsets and the high watermark together; it must also "
            "work when there is no first offset at all.",
            "把各个首位移与高水位放在一起取 `min(...)`；没有首位移时也要能用。",
        ),
    ),
    expects=_offset,
)

END_TXN = Parsons(
    name="end_txn",
    question=Text(
        "A client has asked to commit. Put the pieces of EndTxn into an order that keeps every "
        "promise, whenever the coordinator dies. Not every piece belongs into it.",
        "客户端请求提交。把 EndTxn 的各个步骤排成一个顺序，使得协调器无论何时崩溃都能遵守所有承诺。"
        "并非每个步骤都用得上。",
    ),
    pieces=(
        Piece(
            "complete",
            Text(
                "write CompleteCommit and wait until it is safe", "写入 CompleteCommit 并等它安全"
            ),
        ),
        Piece("reply", Text("answer the client: ok", "答复客户端：ok")),
        Piece(
            "vote",
            Text("ask every partition whether it can commit", "询问每个分区能否提交"),
            Text(
                "partitions never vote: whatever they hold is already written, and they are told "
                "the outcome. The coordinator alone decides, by one record of its own",
                "分区从不投票：数据早已写入，它们只是被告知结果。由协调器独自决定，凭它自己的一条记录",
            ),
            "partitions vote",
        ),
        Piece(
            "markers",
            Text("send a marker to every partition of the transaction", "向事务的每个分区发送标记"),
        ),
        Piece(
            "push",
            Text("tell the consumers that they may read", "通知消费者可以读取"),
            Text(
                "nobody tells consumers anything: they ask their partition, and the marker in its "
                "log moves its LSO",
                "没有谁会通知消费者：它们向分区拉取，而分区日志中的标记会推动它的 LSO",
            ),
            "consumers are told",
        ),
        Piece(
            "wait",
            Text("wait until every partition has answered", "等到每个分区都已答复"),
        ),
        Piece(
            "prepare",
            Text("write PrepareCommit and wait until it is safe", "写入 PrepareCommit 并等它安全"),
        ),
    ),
    systems=_ends,
    messages={
        "read back": Text(
            "no reader of committed data ever gets the records: no marker is ever sent",
            "read_committed 的读者永远得不到这些记录：从未发送过标记",
        ),
        "commits": Text(
            "the transaction never ends: the coordinator waits for answers to markers it has not "
            "sent, or never writes that all is done",
            "事务永远不会结束：协调器在等待尚未发送的标记的答复，或者从不写下“全部完成”",
        ),
        "told": Text(
            "the client never hears that its transaction has committed",
            "客户端永远不知道它的事务已经提交",
        ),
        "kept": Text(
            "the client was told ok before the decision was safe: the coordinator dies, finds an "
            "open transaction on its disk, and the timeout aborts what was acknowledged",
            "在决定安全之前就答复了 ok：协调器崩溃后只在磁盘上看到一个未结束的事务，超时便中止了"
            "已经确认的提交",
        ),
        "same outcome": Text(
            "a marker left before the decision was safe: the coordinator dies and has forgotten "
            "it, and the transaction is committed in one partition and aborted in the other",
            "标记在决定安全之前就发出了：协调器崩溃后忘了这个决定，事务在一个分区提交、在另一个分区中止",
        ),
        "settled": Text(
            "CompleteCommit says that nothing is owed any more. Written too early, it makes a "
            "restarted coordinator forget a marker: that partition's LSO stands still for ever",
            "CompleteCommit 表示不再欠任何标记。写得过早，重启后的协调器就会忘掉还缺的标记："
            "那个分区的 LSO 将永远停住",
        ),
    },
    right={
        ("prepare", "reply", "markers", "wait", "complete"): Text(
            "no schedule breaks a promise. This is Kafka's own order: the client is answered as "
            "soon as the outcome cannot change any more, and pays for no marker",
            "没有任何执行能违背承诺。这正是 Kafka 的顺序：结果一旦不会再变就答复客户端，"
            "客户端无需等待任何标记",
        ),
    },
)

# --- the shortest kill --------------------------------------------------------------------

TWO_HALVES = """
system kafka topic=orders,payments partitions=1
{kill}
run app: init, begin, send orders-0 order-17, send payments-0 paid-17, commit
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
        seen = view(cluster, world)
        return torn(seen, {p: seen.got(p, "read_committed") for p in cluster.partitions}) is None

    def part(name: str, node: NodeState) -> Any:
        return reads(cluster, name, node), name == tc and node.up

    sentence = Text(
        "while the coordinator is dead nobody has half of a transaction",
        "协调器宕机期间没有人只读到半个事务",
    )
    return Property("whole", sentence, holds, "always", part)


ASKED = "what the client asks for is decided"
ANSWERED = "what was answered is visible"
LAST = "the last marker is the dangerous one"
KILLS = {
    ALIVE: Text(
        "the coordinator is alive at the end: `when` names a message that it never sends. It "
        "sends EndTxn's answer (⇒EndTxn#1) and WriteTxnMarkers#1",
        "协调器到最后还活着：`when` 指的是它从未发出的消息。它会发出 EndTxn 的答复（⇒EndTxn#1）"
        "和 WriteTxnMarkers#1",
    ),
    ASKED: Text(
        "too early: PrepareCommit is not in the log, so nothing is decided and nobody reads "
        "anything. A commit is not what the client asks for but what the coordinator writes",
        "太早了：PrepareCommit 还没有写入日志，什么都没决定，谁也读不到。提交不在于客户端的请求，"
        "而在于协调器写下的记录",
    ),
    ANSWERED: Text(
        "too early: the decision is safe, yet no marker has left, so nobody reads anything. "
        "That commit has returned makes nothing visible",
        "太早了：决定已经安全，但还没有标记发出，谁也读不到。commit 返回并不会让任何东西可见",
    ),
    LAST: Text(
        "too late: both markers had left when it died, and readers get the whole order. What a "
        "dead coordinator has sent still arrives",
        "太晚了：它崩溃时两个标记都已发出，读者得到了整个订单。已发出的消息仍会到达",
    ),
    "right": Text(
        "half of the order is visible, and stays so until the coordinator is back",
        "只有半个订单可见，并且一直如此，直到协调器恢复",
    ),
}


def _left(run: Run) -> str:
    """Which of `KILLS` a run shows."""
    shown = {got.log for got in run.trace.snapshot(-1).readers[0].got}
    if run.world.nodes["tc"].up:
        return ALIVE
    if not shown:
        decided = any("PrepareCommit" in fact.text.en for fact in run.trace)
        return ANSWERED if decided else ASKED
    return LAST if len(shown) == 2 else "right"


HALF = KillExercise(TWO_HALVES, _left, KILLS)
