"""The cells of the matrix: four ways, twelve anomalies, and what proves each. Data only.

Names are those of `searches_of(broker)` (cases and systems), of stories and of recordings; a name
that is none is refused by a test, and `mqlab matrix --check` does all the proofs again.
"""

from __future__ import annotations

from ...kernel import Text
from ..matrix import (
    IMPOSSIBLE,
    NO_SUCH_THING,
    NOT_COVERED,
    ONLY_IF_ASKED,
    ONLY_WITH,
    ONLY_WITHOUT,
    POSSIBLE,
    Cell,
    Excluded,
    Found,
    Holds,
    Matrix,
    Told,
)


def _only_without(
    broker: str,
    *names: str,
    words: Text = Text(""),
    covers: Text = Text(""),
    beyond: tuple[Told, ...] = (),
) -> Cell:
    proofs = tuple(Found(broker, name) for name in names)
    return Cell(ONLY_WITHOUT, proofs, covers=covers, beyond=beyond, words=words)


def _only_with(broker: str, name: str, asked: Text, instead: str, words: Text) -> Cell:
    """`asked`: with what the case is found; `instead`: the option with which nothing is."""
    proofs = Found(broker, name), Excluded(broker, name, instead)
    return Cell(ONLY_WITH, proofs, condition=asked, words=words)


def _possible(
    *proofs: Found | Told,
    words: Text = Text(""),
    recorded: str = "",
    condition: Text = Text(""),
) -> Cell:
    return Cell(POSSIBLE, proofs, condition, words=words, recorded=recorded)


def _no_such(en: str, zh: str) -> Cell:
    return Cell(NO_SUCH_THING, words=Text(en, zh))


OPEN_IS_ABORTED = (
    "Nobody is asked about an open transaction: it is aborted when its time is over.",
    "没有人会被询问未结束的事务：超时后它被中止。",
)
#: it can happen: a dual write
ROW_OUTSIDE = Cell(
    NOT_COVERED,
    (Found("patterns", "row_with_message"),),
    words=Text(
        "A database row is no part of the transaction. A row that is written beside it is a dual "
        "write: one of the two may be missing, as in the outbox without row_with_message.",
        "数据库的行不属于这个事务。在旁边写一行就是双写，两者可能缺一个，见关闭 row_with_message 的"
        "发件箱。",
    ),
)
EQUAL_SENDERS = Cell(
    NOT_COVERED,
    words=Text(
        "The producers of a group are equal: none takes over from another, none is too old, so "
        "none is fenced. An old process's message counts like any other.",
        "同组的生产者彼此平等：没有谁接替谁，没有谁过时，所以也没有谁受到隔离。旧进程的消息和别的一样算数。",
    ),
)
ACK_OUTSIDE = Cell(
    NOT_COVERED,
    words=Text(
        "An acknowledgement is no part of the transaction: two consumers may work on one message.",
        "确认不属于这个事务：两个消费者可能处理同一条消息。",
    ),
)
NO_TRANSACTION = (
    "The broker has no transactions that could stay open or be refused.",
    "消息服务器没有会悬挂或被拒绝的事务。",
)

FENCED_BY_ID = _only_without(
    "kafka",
    "epoch_fencing",
    covers=Text("one transactional.id", "同一个 transactional.id"),
    beyond=(Told("kafka/lab06-random-ids"),),
    words=Text(
        "Two instances with different ids never fence each other.",
        "ID 不同的两个实例绝不会互相隔离。",
    ),
)

KAFKA = {
    "lost write": _possible(
        Found("kafka", "power-cut"),
        condition=Text("every copy loses power", "所有副本断电"),
        words=Text(
            "A commit is acknowledged on replication, not on a flush: a power cut of every copy "
            "may take it, here of the only one.",
            "提交按复制确认，而不是按刷盘：所有副本一起断电会丢失它，这里只有一个副本。",
        ),
    ),
    "duplicate": _only_without(
        "kafka",
        "sequence_check",
        covers=Text("retries within one session", "同一会话内的重试"),
        beyond=(Told("kafka/idempotence-leader-killed"), Told("kafka/idempotence-session")),
        words=Text(
            "A session ends with the producer's id or epoch. A restarted producer has a new id, "
            "and one whose leader forgot a batch raises its epoch. What they send again is new, "
            "and so is what an application sends again.",
            "会话随生产者的 ID 或 epoch 结束。重启的生产者有新的 ID；如果 leader 忘了一个批次，生产者会升高 "
            "epoch。它们再发的内容都算新的，应用自己再发的也一样。",
        ),
    ),
    "dirty read": Cell(
        ONLY_IF_ASKED,
        (Told("kafka/undecided-not-visible"), Found("kafka", "lso")),
        condition=Text("read_committed"),
        words=Text(
            "isolation.level=read_committed; the Java consumer's default is read_uncommitted.",
            "isolation.level=read_committed；Java 消费者默认是 read_uncommitted。",
        ),
    ),
    "aborted read": _only_with(
        "kafka",
        "late-marker",
        Text("a legacy client", "旧协议的客户端"),
        "client=v2",
        Text(
            "A legacy client's epoch stays when a transaction ends, so a marker that was sent "
            "twice and arrives late ends its next transaction (KAFKA-19446). Apart from that, only "
            "with aborted_index off.",
            "旧协议的客户端（client=legacy）结束事务时 epoch 不变，所以重复发送的控制消息迟到时，会结束它的下一个"
            "事务（KAFKA-19446）。除此之外，仅当关闭 aborted_index。",
        ),
    ),
    "torn read": _possible(Found("kafka", "torn-read")),
    "zombie write": FENCED_BY_ID,
    "zombie commit": FENCED_BY_ID,
    "orphaned half message": _no_such(*OPEN_IS_ABORTED),
    "hanging transaction": _only_without(
        "kafka",
        "verification",
        "transaction_timeout",
        covers=Text("every partition has its leader", "每个分区都有 leader"),
        beyond=(Told("kafka/leaderless-marker"),),
        words=Text(
            "4.3.1 and 4.4.0 drop a marker while its partition has no leader (KAFKA-20734).",
            "分区暂时没有 leader 时，4.3.1 和 4.4.0 会丢弃它的控制消息（KAFKA-20734）。",
        ),
    ),
    "conflict of acknowledgements": _only_without(
        "kafka",
        "generation_fencing",
        words=Text(
            "The group's metadata must travel with the offsets: with the group's name alone no "
            "generation is compared.",
            "偏移量要带上消费者组的元数据：只带组名，就没有 generation 可比较。",
        ),
    ),
    "row without message": ROW_OUTSIDE,
    "message without row": ROW_OUTSIDE,
}

ROCKETMQ = {
    "lost write": _only_with(
        "rocketmq",
        "power-cut",
        Text("ASYNC_FLUSH"),
        "flush=sync",
        Text(
            "By default (flush=async) a half is acknowledged before it is flushed, and a power cut "
            "may take it.",
            "默认情况下（flush=async），半消息在刷盘之前就被确认，断电可能丢失它。",
        ),
    ),
    "duplicate": _possible(Found("rocketmq", "late-end")),
    "dirty read": _only_without("rocketmq", "half_topic"),
    "aborted read": _possible(
        Found("rocketmq", "rollback-then-commit"),
        condition=Text("a listener answers twice", "监听器前后回答不一"),
        recorded="rocketmq-5.5.0/5.5/rollback-then-commit",
    ),
    "torn read": _no_such(
        "A transaction is one message, so there is no part of it.",
        "一个事务就是一条消息，所以没有“一部分”。",
    ),
    "zombie write": EQUAL_SENDERS,
    "zombie commit": EQUAL_SENDERS,
    "orphaned half message": _possible(Found("rocketmq", "nobody-answers")),
    "hanging transaction": _only_without("rocketmq", "check_limit"),
    "conflict of acknowledgements": ACK_OUTSIDE,
    "row without message": _possible(Found("rocketmq", "nobody-answers")),
    "message without row": _only_without("rocketmq", "end_validation", "half_topic"),
}

PULSAR = {
    "lost write": _possible(
        Found("pulsar", "stale-write"), Told("pulsar/late-write-hides-committed")
    ),
    "duplicate": _only_with(
        "pulsar",
        "send-again",
        Text("deduplication off", "去重关闭"),
        "dedup=1",
        Text(
            "Deduplication is off (dedup=0) unless a namespace or the broker asks for it. It knows "
            "the retries of one producer name; what an application sends again is new.",
            "去重默认关闭（dedup=0），需要命名空间或 broker 开启。它认得同一个生产者名字的重试；应用自己再发的都算"
            "新的。",
        ),
    ),
    "dirty read": _only_without("pulsar", "max_read_position"),
    "aborted read": _only_without("pulsar", "filter_aborted"),
    "torn read": _possible(Told("pulsar/seen-in-one-topic-first")),
    "zombie write": Cell(
        ONLY_IF_ASKED,
        (Found("pulsar", "zombie"), Told("pulsar/fencing-stops-sends")),
        condition=Text("ExclusiveWithFencing"),
        words=Text(
            "ProducerAccessMode.ExclusiveWithFencing, for each topic.",
            "每个主题使用 ProducerAccessMode.ExclusiveWithFencing。",
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
    "hanging transaction": _possible(Found("pulsar", "late-send")),
    "conflict of acknowledgements": _only_without("pulsar", "pending_ack_conflict"),
    "row without message": ROW_OUTSIDE,
    "message without row": ROW_OUTSIDE,
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
    "conflict of acknowledgements": ACK_OUTSIDE,
    "row without message": _only_without("patterns", "row_with_message"),
    "message without row": Cell(
        IMPOSSIBLE, (Holds("patterns", "no message without row", STOPPED),)
    ),
}

MATRIX: Matrix = {"kafka": KAFKA, "rocketmq": ROCKETMQ, "pulsar": PULSAR, "outbox": OUTBOX}
