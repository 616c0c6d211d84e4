"""RocketMQ's own words that a picture shows, one sentence each: the source of its tooltips."""

from __future__ import annotations

from ...kernel import Text
from ..config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ..states import HalfState
from . import words
from .strips import CHECK_CURSOR, OP_CURSOR

TERMS: tuple[tuple[Text, Text], ...] = (
    (
        words.BROKER(),
        Text(
            "The server that stores messages; it keeps no table of transactions, only three "
            "topics that can be read side by side.",
            "存储消息的服务器；它没有事务表，只有三个可以对照着读的主题。",
        ),
    ),
    (
        words.DATABASE(),
        Text(
            "The order service's own: what the processes of a producer group share, and what "
            "outlives each of them.",
            "订单服务自己的数据库：生产者组的各进程共用它，任何进程消失它都还在。",
        ),
    ),
    (
        Text(HALF_TOPIC),
        Text(
            "Where a message lies while its transaction is undecided; no consumer subscribes to "
            "it.",
            "事务未决时消息存放的地方；没有消费者订阅它。",
        ),
    ),
    (
        Text(OP_TOPIC),
        Text(
            "Which half messages have ended, by their places in the half topic; the halves stay.",
            "按位置记录哪些半消息已经结束；半消息本身仍然保留。",
        ),
    ),
    (
        Text(DISCARD_TOPIC),
        Text(
            "Where a half message is parked that was asked about as often as allowed: reported, "
            "not rolled back.",
            "回查次数用完的半消息转存在这里：是报告，不是回滚。",
        ),
    ),
    (
        Text(CHECK_CURSOR),
        Text(
            "Where the next round of the check begins to read half messages.",
            "下一轮回查从这里开始读半消息。",
        ),
    ),
    (
        Text(OP_CURSOR),
        Text(
            "Where the next round of the check begins to read op records.",
            "下一轮回查从这里开始读 op 记录。",
        ),
    ),
    (
        Text(HalfState.ASKED),
        Text(
            "A copy of the half was written at the end of the half topic, and a producer of the "
            "group was asked about it.",
            "半消息的一份副本写到了半消息主题末尾，并就它询问了组内一个生产者。",
        ),
    ),
    (
        Text(HalfState.DISCARDED),
        Text(
            "Parked after as many checks as are allowed; a commit that comes now still delivers "
            "the message.",
            "回查次数用完后转存；此时到来的提交仍会投递消息。",
        ),
    ),
)
