"""The cells of the matrix: four ways, twelve anomalies, and what proves each. Data only.

Names are those of `searches_of(broker)` (cases and systems), of stories and of recordings; a name
that is none is refused by a test, and `mqlab matrix --check` does all the proofs again.
"""

from __future__ import annotations

from ...kernel import Text
from ..matrix import (
    IMPOSSIBLE,
    NO_SUCH_THING,
    ONLY_IF_ASKED,
    ONLY_WITHOUT,
    POSSIBLE,
    Cell,
    Found,
    Holds,
    Matrix,
    Told,
)


def _only_without(broker: str, *names: str, words: Text = Text("")) -> Cell:
    return Cell(ONLY_WITHOUT, tuple(Found(broker, name) for name in names), words=words)


def _possible(*proofs: Found | Told, words: Text = Text(""), recorded: str = "") -> Cell:
    return Cell(POSSIBLE, proofs, words=words, recorded=recorded)


def _no_such(en: str, zh: str) -> Cell:
    return Cell(NO_SUCH_THING, words=Text(en, zh))


OPEN_IS_ABORTED = (
    "Nobody is asked about an open transaction: it is aborted when its time is over.",
    "没有人会被询问未结束的事务：超时后它被中止。",
)
KNOWS_NO_ROW = (
    "A database row is no part of the transaction. A row that is written beside it is a dual "
    "write, as the outbox without row_with_message shows.",
    "数据库的行不属于这个事务。在旁边写一行就是双写，见关闭 row_with_message 的发件箱。",
)
EQUAL_SENDERS = (
    "The producers of a group are equal: none takes over from another, and none is too old.",
    "同组的生产者彼此平等：没有谁接替谁，也没有谁过时。",
)
NO_TRANSACTION = (
    "The broker has no transactions that could stay open or be refused.",
    "消息服务器没有会悬挂或被拒绝的事务。",
)

KAFKA = {
    "lost write": _possible(
        Found("kafka", "power-cut"),
        words=Text(
            "A commit is acknowledged on replication, not on disk: with one copy, a power cut may "
            "take it.",
            "提交按复制确认，而不是按落盘：只有一个副本时，断电会丢失它。",
        ),
    ),
    "duplicate": _only_without("kafka", "sequence_check"),
    "dirty read": Cell(
        ONLY_IF_ASKED,
        (Told("kafka/undecided-not-visible"), Found("kafka", "lso")),
        condition=Text(
            "isolation.level=read_committed; the Java consumer's default is read_uncommitted",
            "isolation.level=read_committed；Java 消费者默认是 read_uncommitted",
        ),
    ),
    "aborted read": _possible(
        Found("kafka", "late-marker"),
        words=Text(
            "A marker that was sent twice arrives late (KAFKA-19446). Without that, only with "
            "aborted_index off.",
            "重复发送的控制消息迟到（KAFKA-19446）。除此之外，仅当关闭 aborted_index。",
        ),
    ),
    "torn read": _possible(Found("kafka", "torn-read")),
    "zombie write": _only_without("kafka", "epoch_fencing"),
    "zombie commit": _only_without("kafka", "epoch_fencing"),
    "orphaned half message": _no_such(*OPEN_IS_ABORTED),
    "hanging transaction": _only_without("kafka", "verification", "transaction_timeout"),
    "conflict of acknowledgements": _only_without("kafka", "generation_fencing"),
    "row without message": _no_such(*KNOWS_NO_ROW),
    "message without row": _no_such(*KNOWS_NO_ROW),
}

ROCKETMQ = {
    "lost write": _possible(
        Found("rocketmq", "power-cut"),
        words=Text(
            "By default a half is acknowledged before it is on the disk (ASYNC_FLUSH).",
            "默认情况下，半消息在落盘之前就被确认（ASYNC_FLUSH）。",
        ),
    ),
    "duplicate": _possible(Found("rocketmq", "late-end")),
    "dirty read": _only_without("rocketmq", "half_topic"),
    "aborted read": _possible(
        Found("rocketmq", "rollback-then-commit"),
        recorded="rocketmq-5.5.0/5.5/rollback-then-commit",
    ),
    "torn read": _no_such(
        "A transaction is one message, so there is no part of it.",
        "一个事务就是一条消息，所以没有“一部分”。",
    ),
    "zombie write": _no_such(*EQUAL_SENDERS),
    "zombie commit": _no_such(*EQUAL_SENDERS),
    "orphaned half message": _possible(Found("rocketmq", "nobody-registered")),
    "hanging transaction": _only_without("rocketmq", "check_limit"),
    "conflict of acknowledgements": _no_such(
        "An acknowledgement is no part of a transaction.", "确认不属于事务。"
    ),
    "row without message": _possible(Found("rocketmq", "nobody-registered")),
    "message without row": _only_without("rocketmq", "end_validation", "half_topic"),
}

PULSAR = {
    "lost write": _possible(
        Found("pulsar", "stale-write"), Told("pulsar/late-write-hides-committed")
    ),
    "duplicate": _possible(
        Found("pulsar", "send-again"),
        words=Text(
            "Deduplication is off unless a namespace or the broker asks for it.",
            "去重默认关闭，需要命名空间或 broker 开启。",
        ),
    ),
    "dirty read": _only_without("pulsar", "max_read_position"),
    "aborted read": _only_without("pulsar", "filter_aborted"),
    "torn read": _possible(Told("pulsar/seen-in-one-topic-first")),
    "zombie write": Cell(
        ONLY_IF_ASKED,
        (Found("pulsar", "zombie"), Told("pulsar/fencing-stops-sends")),
        condition=Text(
            "ProducerAccessMode.ExclusiveWithFencing, for each topic",
            "每个主题使用 ProducerAccessMode.ExclusiveWithFencing",
        ),
        recorded="pulsar-4.2.4/4.2/fencing-stops-sends",
    ),
    "zombie commit": _possible(
        Found("pulsar", "zombie"),
        words=Text(
            "Fencing stops sends, no commit: what was sent before the fence still commits.",
            "隔离只阻止发送，不阻止提交：隔离之前发送的仍会提交。",
        ),
        recorded="pulsar-4.2.4/4.2/fencing-stops-sends",
    ),
    "orphaned half message": _no_such(*OPEN_IS_ABORTED),
    "hanging transaction": _possible(
        Found("pulsar", "late-send"), Found("pulsar", "nobody-connects")
    ),
    "conflict of acknowledgements": _only_without("pulsar", "pending_ack_conflict"),
    "row without message": _no_such(*KNOWS_NO_ROW),
    "message without row": _no_such(*KNOWS_NO_ROW),
}

STOPPED = ("outbox", "outbox, break", "outbox, power", "outbox, slow transaction")
OUTBOX = {
    "lost write": _only_without("patterns", "marked_when_stored", "marks_each_row"),
    "duplicate": _only_without(
        "patterns",
        "inbox",
        words=Text(
            "The topic may hold a message twice; its effect happens once.",
            "主题中可能有两份同样的消息；效果只发生一次。",
        ),
    ),
    "dirty read": Cell(IMPOSSIBLE, (Holds("patterns", "no message without row", STOPPED),)),
    "aborted read": Cell(IMPOSSIBLE, (Holds("patterns", "no message without row", STOPPED),)),
    "torn read": _possible(Found("patterns", "row-before-message")),
    "zombie write": _no_such(
        "A relay that was taken for dead publishes what the outbox holds, and nothing else.",
        "被当作已死的中继只会发布发件箱里有的内容。",
    ),
    "zombie commit": _no_such(*NO_TRANSACTION),
    "orphaned half message": _no_such(*NO_TRANSACTION),
    "hanging transaction": _no_such(*NO_TRANSACTION),
    "conflict of acknowledgements": _no_such(*NO_TRANSACTION),
    "row without message": _only_without("patterns", "row_with_message"),
    "message without row": Cell(
        IMPOSSIBLE, (Holds("patterns", "no message without row", STOPPED),)
    ),
}

MATRIX: Matrix = {"kafka": KAFKA, "rocketmq": ROCKETMQ, "pulsar": PULSAR, "outbox": OUTBOX}
