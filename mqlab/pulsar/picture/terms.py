"""Pulsar's own words that a picture shows, one sentence each: the source of its tooltips."""

from __future__ import annotations

from ...kernel import Text
from ..config import name_transaction_log
from ..states import TxnStatus
from . import words
from .strips import MAX_READ

TERMS: tuple[tuple[Text, Text], ...] = (
    (
        words.COORDINATOR(),
        Text(
            "Gives out transaction ids, logs the decision and tells every participant; which "
            "coordinator it is, the first half of an id says.",
            "发放事务 ID，记录决定，并通知每个参与方；ID 的前一半说明是哪个协调者。",
        ),
    ),
    (
        words.PARTITION(),
        Text(
            "Keeps the messages of a topic, its transaction buffer, and the cursor and the pending "
            "acknowledgements of each subscription.",
            "保存主题的消息、事务缓冲区，以及每个订阅的游标和待定确认。",
        ),
    ),
    (
        Text(MAX_READ),
        Text(
            "Behind the last entry that consumers may be sent: the one before the first message of "
            "the oldest open transaction.",
            "立在可以投递的最后一个条目之后：最早的未结束事务第一条消息之前的那一条。",
        ),
    ),
    (
        Text(name_transaction_log(0)),
        Text(
            "The coordinator's log: what transactions there are, who takes part, what was decided; "
            "no messages.",
            "协调者的日志：有哪些事务、谁参与、决定了什么；没有消息。",
        ),
    ),
    (
        words.BUFFER_TABLE(),
        Text(
            "What a partition knows of transactions; no message is in a buffer, all of them lie in "
            "the topic.",
            "分区对事务所知道的一切；缓冲区里没有消息，消息都在主题里。",
        ),
    ),
    (
        Text("ongoing"),
        Text(
            "Open transactions, each with the position of its first message here.",
            "未结束的事务，以及它在这里第一条消息的位置。",
        ),
    ),
    (
        Text("aborts"),
        Text(
            "Aborted transactions, whose messages the dispatcher leaves out.",
            "已中止的事务，分发器跳过它们的消息。",
        ),
    ),
    (
        words.PENDING_TABLE(),
        Text(
            "What open transactions have acknowledged in a subscription: final with their commit, "
            "free again with their abort.",
            "未结束事务在订阅里确认的消息：提交后成为最终确认，中止后重新释放。",
        ),
    ),
    (
        Text("topic epoch"),
        Text(
            "How often a producer has got the topic for itself; one that knows an older epoch "
            "writes here no more.",
            "主题被独占过多少次；只知道较旧 epoch 的生产者不能再写。",
        ),
    ),
    (
        Text(TxnStatus.COMMITTING),
        Text(
            "The commit is in the log and stands, whatever stops; not every participant has "
            "answered.",
            "提交已写入日志，无论什么崩溃都有效；还有参与方没有应答。",
        ),
    ),
    (
        Text(TxnStatus.ABORTING),
        Text(
            "The abort is in the log and stands; not every participant has answered.",
            "中止已写入日志，不再改变；还有参与方没有应答。",
        ),
    ),
)
