"""Kafka's own words that a picture shows, one sentence each: the source of its tooltips, and of
the glossary's entries about Kafka (`mqlab/lessons/atlas/glossary.py`)."""

from __future__ import annotations

from ...kernel import Text
from ..messages import READ_COMMITTED, READ_UNCOMMITTED
from . import words

TERMS: tuple[tuple[Text, Text], ...] = (
    (
        Text("coordinator"),
        Text(
            "The broker that keeps a transaction's state and decides it; it sends the markers.",
            "事务协调者：保存事务状态并作出决定的 broker；控制消息由它发送。",
        ),
    ),
    (
        words.GROUP(),
        Text(
            "The broker that keeps a consumer group's members and its committed positions.",
            "保存消费者组的成员和已提交偏移量的 broker。",
        ),
    ),
    (
        words.LEADER(),
        Text(
            "The broker that all clients write to and read from for one partition.",
            "一个分区的读写都经过它的 broker。",
        ),
    ),
    (
        words.FOLLOWER(),
        Text(
            "A broker that copies a partition from its leader and may lead it next.",
            "从 leader 复制一个分区、以后可能成为 leader 的 broker。",
        ),
    ),
    (
        Text("marker", "控制消息"),
        Text(
            "A record that says how a transaction ended here; the broker writes it, and it takes "
            "an offset.",
            "说明事务在这里如何结束的记录；由 broker 写入，占一个偏移量。",
        ),
    ),
    (
        Text("HW"),
        Text(
            "The end of what all in-sync replicas hold; it says nothing about transactions.",
            "高水位：所有同步副本都有的部分的末尾；它与事务无关。",
        ),
    ),
    (
        Text("LSO"),
        Text(
            "Everything below it is decided; readers of committed data stop here.",
            "最后稳定偏移量：它之前的一切都已决定；只读已提交数据的读者停在这里。",
        ),
    ),
    (
        Text(READ_COMMITTED),
        Text("Reading only what is decided and was not aborted.", "只读已决定且未被中止的记录。"),
    ),
    (
        Text(READ_UNCOMMITTED),
        Text(
            "Reading everything up to the high watermark, decided or not.",
            "读到高水位为止的一切，无论是否已决定。",
        ),
    ),
    (
        Text("transactionalId"),
        Text(
            "The lasting name of a producer, not of one transaction; one that comes back with it "
            "shuts out its predecessor.",
            "生产者的长期名字，不是一个事务的名字；带着它回来的进程会把前任挡在外面。",
        ),
    ),
    (
        Text("pid"),
        Text(
            "The producer id: the number that the coordinator gives a producer; each of its "
            "records carries it.",
            "生产者 ID（producer id）：协调者分给生产者的编号；它的每条记录都带着这个编号。",
        ),
    ),
    (
        Text("epoch"),
        Text(
            "Rises when a producer begins again or is aborted by its coordinator, with "
            "transaction.version 2 and a v2 client at every end; older ones are refused.",
            "生产者重新开始或被协调者中止时增加，在 transaction.version 2 加 v2 客户端下每次结束都增加；"
            "更旧的会被拒绝。",
        ),
    ),
    (
        Text("PrepareCommit"),
        Text(
            "The decision to commit is on disk; markers are still owed.",
            "提交的决定已经落盘；还欠着控制消息。",
        ),
    ),
    (
        Text("PrepareAbort"),
        Text(
            "The decision to abort is on disk; markers are still owed.",
            "中止的决定已经落盘；还欠着控制消息。",
        ),
    ),
    (
        words.STATE_TABLE(),
        Text(
            "The coordinator's own log: the newest record of each transactional id says where "
            "its transaction is.",
            "协调者自己的日志：每个事务 ID 的最新记录说明它的事务走到哪一步。",
        ),
    ),
    (
        words.INDEX_TABLE(),
        Text(
            "A partition's list of aborted transactions; with it a reader skips their records.",
            "一个分区中已中止事务的清单；读者靠它跳过这些记录。",
        ),
    ),
    (
        words.OFFSETS_TABLE(),
        Text(
            "The log in which a group coordinator keeps how far each group has read.",
            "组协调者的日志，记录每个消费者组读到哪里。",
        ),
    ),
)
#: the sentence of a term, by its English name
MEANS = {name.en: means for name, means in TERMS}
