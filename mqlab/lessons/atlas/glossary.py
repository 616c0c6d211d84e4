"""The words of the course, in English and Chinese, one sentence each.

`glossary()` is the whole table, `glossary("lso", "半消息")` those that hold a word. The
names of the systems' own things stay as they are in every language.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from ...kafka.picture.terms import MEANS
from ...registry.tables import columns


@dataclass(frozen=True, slots=True)
class Term:
    en: str
    zh: str
    means: str


TERMS = (
    # what a queue is
    Term(
        "message queue",
        "消息队列",
        "A service that keeps messages between those who write and those who read, so that "
        "they need not run at the same time.",
    ),
    Term(
        "asynchronous",
        "异步",
        "The sender goes on without waiting for anybody to deal with its message.",
    ),
    Term(
        "topic, partition, queue",
        "主题、分区、队列",
        "A named stream of messages, cut into logs that different machines can hold; RocketMQ"
        " calls such a log a queue.",
    ),
    Term(
        "offset",
        "位移（偏移量）",
        "The place of a record in its log; it is given once and never changes.",
    ),
    Term(
        "consumer group",
        "消费者组",
        "Readers that share the partitions of a topic, and one committed position for each.",
    ),
    Term(
        "replication",
        "复制（副本）",
        "Several machines hold the same log, so that one of them may be lost.",
    ),
    # transactions
    Term("transaction", "事务", "Several actions of which all happen or none."),
    Term(
        "ACID",
        "原子性、一致性、隔离性、持久性",
        "Atomicity, consistency, isolation, durability: what a database promises of a transaction.",
    ),
    Term(
        "BASE",
        "基本可用、软状态、最终一致",
        "Basically available, soft state, eventually consistent: what is promised where "
        "waiting for everybody would cost too much.",
    ),
    Term(
        "CAP",
        "CAP 定理",
        "While the network is split, a system that answers everywhere cannot give every "
        "reader the newest value.",
    ),
    Term(
        "strong consistency",
        "强一致性",
        "Every read sees the newest finished write: the C of CAP, not the C of ACID.",
    ),
    Term(
        "eventual consistency",
        "最终一致性",
        "Once everything is delivered all readers agree; until then they may see different states.",
    ),
    Term(
        "distributed transaction",
        "分布式事务",
        "A transaction whose parts lie on several machines, which must decide the same.",
    ),
    Term(
        "two-phase commit, 2PC",
        "两阶段提交",
        "A coordinator asks all participants, and when all have promised tells them to commit.",
    ),
    Term(
        "flexible transaction",
        "柔性事务",
        "One that gives up isolation for a while and ends by commit or by compensation: TCC, "
        "saga, transactional message.",
    ),
    Term(
        "TCC",
        "Try、Confirm、Cancel",
        "The application reserves, then confirms or cancels: the phases are Try, Confirm, Cancel.",
    ),
    Term("compensation", "补偿", "A new action that makes up for one that cannot be undone."),
    Term(
        "transactional message",
        "事务消息",
        "In RocketMQ: a local transaction and one message that happen together; in Kafka and "
        "Pulsar: many messages and positions that become visible together.",
    ),
    Term(
        "saga",
        "Saga（长事务）",
        "A chain of local transactions, each with a compensation that is run if a later one fails.",
    ),
    Term(
        "XA",
        "XA 规范",
        "A standard interface between a coordinator and databases for two-phase commit.",
    ),
    Term(
        "three-phase commit, 3PC",
        "三阶段提交",
        "Two-phase commit with one phase more, so that participants can end without a coordinator.",
    ),
    # delivery
    Term("at most once", "至多一次", "No message is sent again, so one may be lost."),
    Term(
        "at least once",
        "至少一次",
        "A message is sent until it is acknowledged, so one may come twice.",
    ),
    Term(
        "exactly once",
        "精确一次",
        "The effect of each message happens once, however often it travels.",
    ),
    Term("idempotence", "幂等", "Doing it again changes nothing."),
    Term(
        "deduplication",
        "去重",
        "Recognising a message that is already there, by a number or a key.",
    ),
    Term(
        "acknowledgement",
        "确认（ack）",
        "The answer that says a message is stored, or that it has been dealt with.",
    ),
    # Kafka
    Term("transaction coordinator", "事务协调器", MEANS["coordinator"]),
    Term("transactional id", "事务 ID（transactional.id）", MEANS["transactionalId"]),
    Term("producer epoch", "生产者纪元（epoch）", MEANS["epoch"]),
    Term(
        "fencing",
        "隔离僵尸实例（fencing）",
        "Refusing the writes of a process that has been replaced and does not know it.",
    ),
    Term(
        "zombie", "僵尸实例", "A process that others believe to be dead and that goes on writing."
    ),
    Term("marker, control record", "控制消息", MEANS["marker"]),
    Term("high watermark, HW", "高水位", MEANS["HW"]),
    Term(
        "last stable offset, LSO",
        "最后稳定位移",
        f"{MEANS['LSO']} Some articles write “Log Stable Offset”: there is no such name.",
    ),
    Term("read committed", "读已提交", MEANS["read_committed"]),
    Term("read uncommitted", "读未提交", MEANS["read_uncommitted"]),
    Term(
        "consume–transform–produce",
        "消费-转换-生产",
        "Read, work, write; the positions read join the transaction of what is written.",
    ),
    Term(
        "leader",
        "首领副本（leader）",
        "The replica of a partition that takes all writes; the others copy from it.",
    ),
    Term("replica", "副本", "One of the copies of a partition, each on another broker."),
    Term("batch", "批次", "Records of one producer that travel, and are stored, as one unit."),
    Term(
        "producer id",
        "生产者 ID（PID）",
        "The number that the coordinator gives to a producer; each of its batches carries it.",
    ),
    Term(
        "sequence number",
        "序列号",
        "The number of a producer's record in one partition; a leader recognises a retry by it.",
    ),
    Term(
        "generation",
        "消费组代（generation）",
        "The number of a consumer group's current assignment; a commit with an older number "
        "is refused.",
    ),
    Term(
        "watermark",
        "水位",
        "A point in time before which a stream job expects no more events; see also high "
        "watermark.",
    ),
    # RocketMQ
    Term(
        "half message",
        "半消息",
        "A message that is stored under another topic until its transaction is decided.",
    ),
    Term(
        "local transaction",
        "本地事务",
        "What a service writes to its own database; of a transactional message, what decides.",
    ),
    Term(
        "check-back",
        "反查（回查）",
        "The broker asks the producer group how an undecided local transaction ended.",
    ),
    Term(
        "op record",
        "op 消息",
        "RocketMQ's note that a half message has ended; the half itself stays in the log.",
    ),
    Term(
        "dead-letter queue",
        "死信队列",
        "Where a message goes that could not be dealt with after all its retries.",
    ),
    # Pulsar
    Term(
        "transaction buffer",
        "事务缓冲区",
        "Pulsar's account of a partition's open and aborted transactions; the messages "
        "themselves are in the topic.",
    ),
    Term(
        "maxReadPosition",
        "最大可读位置",
        "Pulsar's LSO: nothing behind the oldest open transaction is delivered.",
    ),
    Term(
        "pending acknowledgement",
        "待定确认（pending ack）",
        "An acknowledgement inside an open transaction: other transactions may not take the "
        "message.",
    ),
    Term("subscription", "订阅", "Pulsar's name for a group of consumers that shares one cursor."),
    Term(
        "cursor",
        "游标（cursor）",
        "What a subscription has acknowledged of a topic, kept on disk by the broker.",
    ),
    Term(
        "ledger",
        "账本（ledger）",
        "A log of BookKeeper with one writer, copied on several bookies; a topic is a row of "
        "ledgers.",
    ),
    Term(
        "snapshot",
        "快照",
        "A stored copy of a state, so that a restart need not read the whole log before it.",
    ),
    # what goes wrong: lab 00's list
    Term("lost write", "写丢失", "What was acknowledged, or believed to be, is gone."),
    Term("duplicate", "重复", "One message is stored, or delivered, twice."),
    Term(
        "fractured outcome",
        "结局分裂",
        "A transaction has happened in one place and never will in another: a half payment.",
    ),
    Term(
        "dirty read",
        "脏读",
        "Reading a record that is not decided yet: P1 of Berenson and others, 1995.",
    ),
    Term(
        "aborted read",
        "读到已中止的写",
        "Reading a record that was rolled back: G1a of Adya, 1999.",
    ),
    Term(
        "torn read",
        "撕裂读（只读到一部分）",
        "Reading one part of a transaction and not yet the other; also called a fractured read.",
    ),
    Term("zombie write", "僵尸写", "A write of a process that has been replaced."),
    Term(
        "orphaned half message",
        "孤儿半消息",
        "A half message of RocketMQ, and nobody is left who could say how its transaction ended.",
    ),
    Term(
        "hanging transaction",
        "悬挂事务",
        "One that is open in a partition and unknown to its coordinator, so that nobody ends it.",
    ),
    Term(
        "ack conflict",
        "确认冲突",
        "Two transactions of Pulsar acknowledge one message; the second is refused.",
    ),
    Term(
        "stuck consumer",
        "消费者卡住",
        "A reader of committed data waits behind an open transaction of somebody else.",
    ),
    Term(
        "compacted topic",
        "压实主题（compact）",
        "A topic that keeps the newest record of each key; brokers keep their own state in "
        "such topics.",
    ),
    # streams
    Term(
        "checkpoint",
        "检查点",
        "A stored state of a stream job, with its positions, from which it goes on after a crash.",
    ),
    Term(
        "barrier",
        "屏障（barrier）",
        "A mark in a stream: what was read before it belongs to this checkpoint, the rest to "
        "the next.",
    ),
)


class Glossary:
    """A table of terms: HTML where it can be shown, else plain text. The whole glossary
    stays behind a fold, so that it is there without being in the way."""

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self.terms = terms

    def __len__(self) -> int:
        return len(self.terms)

    def html(self) -> str:
        rows = "".join(
            "<tr>" + "".join(_cell(text) for text in (t.en, t.zh, t.means)) + "</tr>"
            for t in self.terms
        )
        head = "<tr><th>English</th><th>中文</th><th>what it is</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
        if len(self.terms) < len(TERMS):
            return table
        return f"<details><summary>all {len(self.terms)} terms</summary>{table}</details>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return columns(
            [("English", "中文", "what it is"), *((t.en, t.zh, t.means) for t in self.terms)]
        )


def glossary(*words: str) -> Glossary:
    """The terms that hold any of `words`; all without a word. ValueError where none does."""
    found = tuple(term for term in TERMS if not words or _holds(term, words))
    if not found:
        raise ValueError(f"no term holds {' or '.join(words)}; glossary() shows all of them")
    return Glossary(found)


def _holds(term: Term, words: tuple[str, ...]) -> bool:
    return any(word.casefold() in f"{term.en} {term.zh}".casefold() for word in words)


def _cell(text: str) -> str:
    """Text is data; JupyterLab would put it to the right."""
    return f'<td style="text-align:left">{escape(text)}</td>'
