"""Lab 05, the idempotent producer: what its cells import, and its Parsons exercise."""

from __future__ import annotations

from ...explore import Budget
from ...kernel import System, Text, Trace
from ...registry import scenario, system
from ..parsons import Parsons, Piece
from ..steps import first
from .exercises.accept import ACCEPT
from .settings import construct_producer
from .systems.payments import answers, count_payments, list_producers, snapshot_files

__all__ = [
    "ACCEPT",
    "PRODUCE",
    "answers",
    "by_hand",
    "construct_producer",
    "count_payments",
    "first",
    "list_producers",
    "snapshot_files",
]

HAND = "# Batches sent by hand\nsystem payments producers=hand:raw"
BY_HAND = "payments producers=hand:raw order.produce={} 'hand={}'"
SHOP = "payments order.produce={} 'order-service=send payments-0 p1; flush'"


def by_hand(*story: str) -> Trace:
    """`by_hand("p1 seq=0; p2 seq=1", "break hand payments-0", "p2 seq=1")`: one leader is sent
    these batches by hand; what holds no `seq=` is a line of a scenario."""
    lines = [HAND]
    for text in story:
        batches = [f"produce payments-0 {batch.strip()}" for batch in text.split(";")]
        lines.append(f"run hand: {', '.join(batches)}" if "seq=" in text else text)
    return scenario("\n".join(lines))


def _produces(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """An order service that is answered, a leader that dies once, a retry, a gap and a zombie."""

    def alone(*batches: str) -> System:
        calls = "; ".join(f"produce payments-0 {batch}" for batch in batches)
        return system(BY_HAND.format(",".join(order), calls))

    return (
        (system(SHOP.format(",".join(order))), Budget()),
        (alone("p1 seq=0"), Budget(kills=1, killable=("payments-0",))),
        (alone("p1 seq=0", "p1 seq=0"), Budget()),
        (alone("p1 seq=0", "p3 seq=2"), Budget()),
        (alone("p1 seq=0", "p2 seq=0 epoch=1", "p3 seq=0"), Budget()),
    )


PRODUCE = Parsons(
    name="produce",
    question=Text(
        "A batch arrives at the leader. Put the leader's work into an order in which no payment "
        "is counted twice and none is lost. Not every piece is needed.",
        "一个批次到达 leader。请排列它要做的步骤，使支付既不会被记两次，也不会丢失。并非每一步都需要。",
    ),
    pieces=(
        Piece("append", Text("append the batch to the log", "把批次追加到日志")),
        Piece(
            "sequence",
            Text(
                "its first number is not the next one? refuse it, and stop",
                "首序号不是下一个？拒绝，结束",
            ),
        ),
        Piece(
            "flush",
            Text("flush the log to the disk's surface", "把日志刷到磁盘"),
            Text(
                "a leader never waits for a flush: it answers when the batch is replicated. Losing "
                "one machine's memory then loses nothing that another does not hold",
                "leader 从不等待刷盘：批次复制完成就应答。一台机器丢了内存，别的机器上还有",
            ),
            "durable means flushed",
        ),
        Piece("answer", Text("answer the producer: ok", "应答生产者：ok")),
        Piece(
            "fence",
            Text(
                "its epoch is older than the one known? refuse it, and stop",
                "epoch 比已知的旧？拒绝，结束",
            ),
        ),
        Piece(
            "ask",
            Text(
                "ask the other partitions whether they hold this payment",
                "询问其他分区是否已有这笔支付",
            ),
            Text(
                "numbers belong to one partition, and no leader asks another: the same payment "
                "sent to two partitions is two records",
                "序号只属于一个分区，leader 之间互不询问：同一笔支付发到两个分区就是两条记录",
            ),
            "partitions compare what they hold",
        ),
        Piece(
            "duplicate",
            Text(
                "exactly one of the last five batches? answer ok with its old offset, and stop",
                "与最近五个批次之一完全相同？以原偏移量应答 ok，结束",
            ),
        ),
    ),
    systems=_produces,
    messages={
        "arrives": Text(
            "no payment ever gets into the log: nothing is appended",
            "没有任何支付进入日志：从未追加",
        ),
        "told": Text(
            "the producer is never answered, and sends its batch for ever",
            "生产者永远得不到应答，会一直重发",
        ),
        "welcome": Text(
            "a batch that is in the log already never has the next number: a leader that asks for "
            "the number first refuses a retry that only wants to hear ok",
            "已在日志中的批次当然不是下一个序号：先检查序号，就会拒绝一个只想听到 ok 的重发",
        ),
        "true ok": Text(
            "the producer was told ok before its batch was in the log: the leader dies in between, "
            "and the payment is lost, for nobody sends it again",
            "批次写入日志之前就应答了 ok：leader 在此间崩溃，支付丢失，因为没有人会再发",
        ),
        "money": Text(
            "a batch that came twice was appended twice: a leader that appends before it asks "
            "for a duplicate counts the payment twice",
            "来了两次的批次被追加了两次：先追加再判断是否重复，支付就记了两次",
        ),
        "no zombie": Text(
            "a batch of an older epoch was written after the newer one had begun",
            "新的 epoch 开始之后，旧 epoch 的批次又被写入",
        ),
        "in order": Text(
            "a batch was appended while the one before it was missing: the log has a hole",
            "前一个批次还缺着就追加了后一个：日志出现空洞",
        ),
    },
    right={
        ("duplicate", "fence", "sequence", "append", "answer"): Text(
            "no schedule breaks a promise, and this is Kafka's own order",
            "没有任何执行能违背承诺，这正是 Kafka 自己的顺序",
        ),
        ("fence", "duplicate", "sequence", "append", "answer"): Text(
            "no schedule breaks a promise. Kafka asks for a duplicate first; as it looks only at "
            "batches of the same epoch, both orders come to the same",
            "没有任何执行能违背承诺。Kafka 先判断重复；因为只与同一 epoch 的批次比较，两种顺序等价",
        ),
        ("duplicate", "sequence", "fence", "append", "answer"): Text(
            "no schedule breaks a promise. Only the error differs: an old self is mostly told "
            "OUT_OF_ORDER_SEQUENCE_NUMBER, and does not learn that it was replaced",
            "没有任何执行能违背承诺。只是错误不同：旧实例多半得到 OUT_OF_ORDER_SEQUENCE_NUMBER，"
            "并不知道自己已被取代",
        ),
    },
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"produce": (PRODUCE, "value")}


def lose_an_answer(idempotent: bool) -> str:
    """As `released.lose_an_answer`; a server is loaded only when this is called."""
    from . import released

    return released.lose_an_answer(idempotent=idempotent)
