"""Lab 03's pieces: what the broker does when EndTransaction COMMIT comes in, in which order.

The pieces are the broker's own step (`mqlab/rocketmq/broker/end.py`). `compare` acts only where it
comes first: behind what is written it is as good as left out.
"""

from __future__ import annotations

from ....explore import Budget
from ....kernel import System, Text
from ....registry import system
from ...parsons import Parsons, Piece

WRITTEN = ("message", "op")
BY_ANOTHER = (
    "order_service release=4.9 persist_ms=0 producers=app:order-service,other:billing "
    "'app=send-in-transaction orders-0 580538' "
    "'other=send-in-transaction orders-0 580539; end COMMIT_MESSAGE 580539 commit_log_offset=0'"
)
ASKED = (
    "order_service timeout_ms=0 persist_ms=0 check_max=2 claims=passed_over "
    "'app=send-in-transaction orders-0 580538'"
)
STOPPED = "order_service release=4.9 persist_ms=0 'app=send-in-transaction orders-0 580538'"


def _ends(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """Asked about afterwards, ended by another group, and with a broker that may be killed."""
    written = ",".join(key for key in order if key in WRITTEN)
    compared = order[:1] == ("compare",)
    off = "" if compared else " off=end_validation"
    lines = ((ASKED, Budget(timers=2)), (STOPPED, Budget(kills=1, killable=("broker",))))
    own = tuple((system(f"{line} order.end_transaction={written}"), bound) for line, bound in lines)
    return (*own, (system(f"{BY_ANOTHER}{off} order.end_transaction={written}"), Budget()))


DISTRACTORS = (
    Piece(
        "delete",
        Text("delete the half message from the half topic", "从半消息主题中删除半消息"),
        Text(
            "nothing is ever deleted from a log. The half stays where it is, and the op record "
            "says that its place is done with",
            "日志里从不删除任何东西。半消息原地不动，由 op 记录说明这个位置已经了结",
        ),
        "a half that has ended is deleted",
    ),
    Piece(
        "state",
        Text("set the transaction's state to COMMITTED", "把事务状态改为 COMMITTED"),
        Text(
            "there is no table of transactions: the broker keeps halves and op records, and "
            "nothing else. So nothing stops a second end either",
            "没有事务表：broker 只保存半消息和 op 记录，别无其他。所以也没有什么能阻止第二次结束",
        ),
        "the broker keeps a state for each transaction",
    ),
    Piece(
        "answer",
        Text("answer the producer: committed", "应答生产者：已提交"),
        Text(
            "endTransaction is one-way: nobody waits for an answer, and COMMIT_MESSAGE in the "
            "producer's result is the producer's own word",
            "endTransaction 是单向的：没有人在等应答，生产者结果里的 COMMIT_MESSAGE 是它自己的话",
        ),
        "COMMIT returned means that the broker has committed",
    ),
    Piece(
        "consumed",
        Text("wait until a consumer has processed the message", "等到有消费者处理完消息"),
        Text(
            "no consumer takes part in the transaction. It reads the message later, perhaps twice, "
            "and its success or failure changes nothing here",
            "消费者不参与事务。它在某个时候读到消息，也许读到两次，能否处理对这里没有任何影响",
        ),
        "the consumer is in the transaction",
    ),
)

ENDING = Parsons(
    name="ending",
    question=Text(
        "EndTransaction COMMIT has come in. Put what the broker does into an order that keeps "
        "every promise, whenever it dies. Not every piece belongs in it.",
        "EndTransaction COMMIT 到了。把 broker 要做的事排成一个顺序，使它无论何时崩溃都能遵守所有承诺。"
        "并非每一步都用得上。",
    ),
    pieces=(
        Piece(
            "op",
            Text(
                "append a record to the op topic: this half is done with",
                "向 op 主题追加一条记录：这条半消息已了结",
            ),
        ),
        DISTRACTORS[0],
        Piece(
            "message",
            Text(
                "append the complete message to its real topic and queue",
                "把完整的消息追加到它真正的主题和队列",
            ),
        ),
        *DISTRACTORS[1:3],
        Piece(
            "compare",
            Text(
                "look the half up; compare its group and its offsets with the request",
                "找到半消息，把它的生产者组和位点与请求比较",
            ),
        ),
        DISTRACTORS[3],
    ),
    systems=_ends,
    messages={
        "commits": Text(
            "no consumer ever gets the message: it is never written to its real topic",
            "消费者永远得不到这条消息：它从未写入真正的主题",
        ),
        "row with message": Text(
            "the half counts as done with, and its message is not written yet: the broker dies in "
            "between, and an order's message is lost for good. A message too many can be "
            "recognised; one too few cannot",
            "半消息已算了结，而消息还没有写：broker 在其间崩溃，订单的消息就永远丢了。多一条还认得出来，"
            "少一条就没办法了",
        ),
        "passed over": Text(
            "nothing says that this half has ended: the check asks about it, is told COMMIT, and "
            "delivers the message once more",
            "没有任何记录说明这条半消息已经结束：回查再次询问，得到 COMMIT，又投递了一次",
        ),
        "message with row": Text(
            "anybody who knows or guesses an offset ends other people's transactions: here a "
            "producer of another group delivers a message whose row is not written yet. Compare "
            "before anything is written",
            "谁知道或猜到一个位点，就能结束别人的事务：这里另一组的生产者投递了一条行还没写入的消息。"
            "写任何东西之前先比较",
        ),
    },
    right={
        ("compare", "message", "op"): Text(
            "no message is lost, whenever the broker dies. It may come twice: killed between the "
            "two, the broker asks again and commits again. That is RocketMQ's own order",
            "无论 broker 何时崩溃都不会丢消息。但可能来两次：在两步之间被杀，broker 会再问、再提交。"
            "这正是 RocketMQ 的顺序",
        ),
    },
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"ending": (ENDING, "value")}
