"""What commit does: the pieces of EndTxn to be put in order, and the kill that leaves a commit
without an answer. Lab 06's second and first graded exercise.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import takewhile

from ....explore import Budget
from ....kafka import KafkaSystem
from ....kafka.claims.invariants import reads
from ....kafka.clients.calls import Commit
from ....kafka.messages import EndTxn
from ....kafka.picture.view import read_world
from ....kernel import UNKNOWN, Outcome, Property, Run, System, Text, World
from ....kernel.world import NodeState
from ....registry import system
from ...parsons import Parsons, Piece
from ...steps import is_kill
from .kills import ALIVE, KillExercise

# --- the pieces of EndTxn -----------------------------------------------------------------

ENDING = (
    "end_txn partitions=2 order.end_txn={} 'app=init; begin; send orders-0 a; flush; "
    "send orders-1 b; flush; commit'"
)


def _ends(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """The coordinator may die once, and the transaction's timeout may run out."""
    fault = Budget(kills=1, killable=("coordinator",), timers=1)
    return ((system(ENDING.format(",".join(order))), fault),)


DISTRACTORS = (
    Piece(
        "vote",
        Text("ask every partition whether it can commit", "询问每个分区能否提交"),
        Text(
            "partitions never vote: whatever they hold is already written, and they are told "
            "the outcome. The coordinator alone decides, by one record of its own",
            "分区从不投票：数据早已写入，它们只是被告知结果。由协调者独自决定，凭它自己的一条记录",
        ),
        "partitions vote",
    ),
    Piece(
        "producer",
        Text(
            "have the producer write its commit into __transaction_state",
            "让生产者把提交消息写入 __transaction_state",
        ),
        Text(
            "a producer never writes there: it sends one request, EndTxn, and the coordinator "
            "appends to its own log. Any client that could write into that topic could end the "
            "transactions of everybody",
            "生产者从不写那里：它只发一个 EndTxn 请求，由协调者追加到自己的日志。谁能写那个主题，"
            "谁就能结束所有人的事务",
        ),
        "the producer writes its commit message into the log",
    ),
    Piece(
        "undo",
        Text(
            "roll back if the client cannot be reached",
            "如果联系不上客户端就回滚",
        ),
        Text(
            "a decision is never taken back: a commit that timed out may well be committed. "
            "The client that got no answer does not know, and asks again with the same call",
            "决定绝不撤回：超时的提交很可能已经提交。没有得到应答的客户端并不知道结果，要用同一个调用再问",
        ),
        "what the client does not know has not happened",
    ),
    Piece(
        "drain",
        Text(
            "wait until no record of this transaction is under way any more",
            "等到这个事务再没有记录在途中",
        ),
        Text(
            "nobody can know what a network still holds. Before TV2 such a record falls into the "
            "next transaction; with TV2 the epoch rises at the end, and the late record is refused",
            "没有谁知道网络里还有什么。TV2 之前，迟到的记录会落入下一个事务；TV2 在结束时提升 epoch，"
            "迟到的记录会被拒绝",
        ),
        "everything arrives before the end",
    ),
    Piece(
        "clock",
        Text(
            "start the transaction's timeout of 15 minutes",
            "启动 15 分钟的事务超时",
        ),
        Text(
            "the clock starts with the first partition, and stops with PrepareCommit: what is "
            "decided never times out. And it is 60 s by default; 15 minutes is the most that a "
            "broker allows",
            "计时从加入第一个分区开始，到 PrepareCommit 为止：已决定的事务不会超时。默认是 60 秒；"
            "15 分钟是 broker 允许的上限",
        ),
        "the timeout begins when the commit is asked for",
    ),
)

COMMIT = Parsons(
    name="commit",
    question=Text(
        "EndTxn(commit) has come in. Put what the coordinator does into an order that keeps every "
        "promise, whenever it dies. You do not need every piece.",
        "EndTxn(commit) 到了。把协调者要做的事排成一个顺序，使它无论何时崩溃都能遵守所有承诺。"
        "并非每一步都用得上。",
    ),
    pieces=(
        Piece(
            "complete",
            Text(
                "write CompleteCommit and wait until it is safe", "写入 CompleteCommit 并等它安全"
            ),
        ),
        Piece("reply", Text("answer the client: ok", "应答客户端：ok")),
        Piece(
            "markers",
            Text(
                "send a marker to every partition of the transaction",
                "向事务的每个分区发送控制消息",
            ),
        ),
        Piece(
            "wait",
            Text("wait until every partition has answered", "等到每个分区都已应答"),
        ),
        Piece(
            "prepare",
            Text("write PrepareCommit and wait until it is safe", "写入 PrepareCommit 并等它安全"),
        ),
        *DISTRACTORS,
    ),
    systems=_ends,
    messages={
        "read back": Text(
            "no reader of committed data ever gets the records: no marker is ever sent",
            "read_committed 的读者永远得不到这些记录：从未发送过控制消息",
        ),
        "commits": Text(
            "the transaction never ends: the coordinator waits for answers to markers it has not "
            "sent, or never writes that all is done",
            "事务永远不会结束：协调者在等待尚未发送的控制消息的应答，或者从不写下“全部完成”",
        ),
        "told": Text(
            "the client never hears that its transaction has committed",
            "客户端永远不知道它的事务已经提交",
        ),
        "kept": Text(
            "the client was told ok before the decision was safe: the coordinator dies, finds an "
            "open transaction on its disk, and the timeout aborts what was acknowledged",
            "在决定安全之前就应答了 ok：协调者崩溃后只在磁盘上看到一个未结束的事务，超时便中止了"
            "已经确认的提交",
        ),
        "same outcome": Text(
            "a marker left before the decision was safe: the coordinator dies and has forgotten "
            "it, and the transaction is committed in one partition and aborted in the other",
            "控制消息在决定安全之前就发出了：协调者崩溃后忘了这个决定，事务在一个分区提交、在另一个分区中止",
        ),
        "settled": Text(
            "CompleteCommit says that nothing is owed any more. Written too early, it makes a "
            "restarted coordinator forget a marker: that partition's LSO stands still for ever",
            "CompleteCommit 表示不再欠任何控制消息。写得过早，重启后的协调者就会忘掉还缺的控制消息："
            "那个分区的 LSO 将永远停住",
        ),
    },
    right={
        ("prepare", "reply", "markers", "wait", "complete"): Text(
            "no schedule breaks a promise. This is Kafka's own order: the client is answered as "
            "soon as the outcome cannot change any more, and pays for no marker",
            "没有任何执行能违背承诺。这正是 Kafka 的顺序：结果一旦不会再变就应答客户端，"
            "客户端无需等待任何控制消息",
        ),
    },
)

# --- a commit without an answer -----------------------------------------------------------

STORY = """
# A commit that nobody answered
system kafka partitions=1 retries=1 readers=reader
{kill}
run app: init, begin, send orders-0 a, commit
restart coordinator
run reader: poll orders-0
"""

EARLY = "a coordinator that dies early is never heard of"
ANSWERED = "the answer is the decision"
KILLS = {
    ALIVE: Text(
        "the coordinator is alive: `when` names a message that it never sends. Ending a "
        "transaction, it writes PrepareCommit, answers (⇒EndTxn#1) and sends WriteTxnMarkers#1",
        "协调者还活着：`when` 指的是它从未发出的消息。结束事务时，它写 PrepareCommit，应答"
        "（⇒EndTxn#1），再发送 WriteTxnMarkers#1",
    ),
    EARLY: Text(
        "too early: the client had not asked to commit, so there was nothing to decide",
        "太早了：客户端还没有请求提交，没有什么可决定的",
    ),
    ANSWERED: Text(
        "the client was answered after all. Either the answer had arrived when the coordinator "
        "died, or PrepareCommit was not in the log yet: then the transaction is still open, and "
        "the restarted coordinator takes the same request once more",
        "客户端最终得到了应答。要么协调者崩溃时应答已经到达，要么 PrepareCommit 还没写入日志：这时"
        "事务仍未结束，重启后的协调者会再次接受同一个请求",
    ),
    "right": Text(
        "the client has no answer, and the payment is committed: to try again with a new "
        "transaction would pay twice",
        "客户端没有得到应答，而付款已经提交：换一个新事务重试就会付两次",
    ),
}


def _killed(run: Run) -> str:
    """Which of `KILLS` a run with a killed coordinator shows."""
    trace = run.trace
    before = takewhile(lambda fact: not is_kill(fact), trace)
    if not any(isinstance(fact.body, EndTxn) for fact in before):
        return EARLY
    given = [fact.body for fact in trace if isinstance(fact.body, Outcome)]
    unknown = any(isinstance(one.call, Commit) and one.status == UNKNOWN for one in given)
    return "right" if unknown and trace.snapshot(-1).readers[0].got else ANSWERED


UNANSWERED = KillExercise(STORY, _killed, KILLS)


def never_unknown(searched: System, outcome: str) -> Property:
    """That no commit ends “unknown” while its transaction has the outcome "COMMIT" or "ABORT".
    Kafka promises neither: a client without an answer cannot tell."""
    assert isinstance(searched, KafkaSystem)
    cluster = searched.cluster

    def holds(world: World) -> bool:
        apps = [world.nodes[name].app for name, _ in cluster.producers]
        given = [result for app in apps if app is not None for result in app.results]
        if not any(isinstance(r.call, Commit) and r.status == UNKNOWN for r in given):
            return True
        return all(txn.outcome != outcome for txn in read_world(cluster, world).list_txns())

    def part(name: str, node: NodeState) -> Hashable:
        return reads(cluster, name, node), node.app.results if node.app is not None else ()

    sentence = Text(
        f"a commit without an answer does not end as {outcome}",
        f"没有得到应答的提交不会以 {outcome} 结束",
    )
    return Property(f"unknown, {outcome}", sentence, holds, "always", part)


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"unanswered": (UNANSWERED, "value"), "commit": (COMMIT, "value")}
