"""One sentence why for stops, starts, timers, calls that return and changes in memory; those for
messages and records stand in `sentences.py`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import UnionType

from ...kernel import Fact, FactKind, Outcome, Text, Words
from ...kernel.reasons import LATE, POWER_CUT, Changes, Reasons, Timers
from ..broker.checking import CHECK
from ..broker.delay import LEVEL
from ..broker.safety import ACKNOWLEDGE, FLUSH
from ..broker.timer import TIMED
from ..broker.words import CONSUMERS, NONE_WAITS, PRODUCERS, PROGRESS, REPORTED, WAITING
from ..check.ops import OP_BATCH
from ..consumer.calls import Consume
from ..log.offsets import PERSIST
from ..messages import EndTransaction
from ..producer import HEARTBEAT
from ..producer.calls import End, Resume, SendInTransaction, SendPlain
from ..states import LocalTransactionState, SendStatus
from . import sentences


class Kind(Enum):
    """What a node is, as far as a stop or a start of it means something else."""

    PRODUCER = auto()
    DATABASE = auto()
    BROKER = auto()
    SLAVE = auto()
    CONSUMER = auto()


# ---- stops, starts, timers -------------------------------------------------------------

STOPPED: dict[Kind, Words] = {
    Kind.PRODUCER: Words(
        "Its memory is gone and its connection closes: the broker can ask it no more, but any "
        "other producer of the group.",
        "内存没了，连接也断了：broker 不能再问它，但可以问组内其他生产者。",
    ),
    Kind.DATABASE: Words(
        "Rows that were committed stay; a process that waits for an answer gets an exception.",
        "已提交的行还在；等待应答的人会得到异常。",
    ),
    Kind.BROKER: Words(
        "The commit log stays; op records that waited, offsets since their last write and the "
        "list of producers are gone.",
        "提交日志还在；等待写入的 op 记录、最近一次写盘之后的位点和生产者列表都没了。",
    ),
    Kind.SLAVE: Words(
        "The copy stays; a master that must wait for it cannot say SEND_OK now.",
        "副本还在；必须等它的主节点现在不能回答 SEND_OK。",
    ),
    Kind.CONSUMER: Words(
        "What it had not acknowledged will come again, to it or to another of its group.",
        "它没有确认的消息会再次到来，给它自己或组内的其他消费者。",
    ),
}
RECOVERED: dict[Kind, Words] = {
    Kind.PRODUCER: Words(
        "It knows nothing of its last life; once it has registered it can be asked about orders "
        "that it does not remember.",
        "它不记得上一次运行的任何事；注册之后，它会被问到自己不记得的订单。",
    ),
    Kind.DATABASE: Words(
        "Every row that was committed is there.",
        "所有已提交的行都在。",
    ),
    Kind.BROKER: Words(
        "The check goes on from the offsets on the disk, which may be old: what it did since then "
        "is done once more.",
        "回查从磁盘上的位点继续，它可能是旧的：此后做过的事会再做一遍。",
    ),
    Kind.SLAVE: Words(
        "It says where its copy ends, and gets what follows.",
        "它报告副本的末尾，然后得到后面的内容。",
    ),
    Kind.CONSUMER: Words(
        "It goes on from the offset that the broker knows; what came after it is delivered again.",
        "它从 broker 知道的位点继续；之后的消息会再次投递。",
    ),
}
BROKEN = Words(
    "Requests under way may still arrive, answers never do; one-way messages are not sent again.",
    "路上的请求还可能到达，应答不会；单向消息不会重发。",
)
ROUND = Words(
    "A round of the check begins: it looks at every half that no op record names.",
    "一轮回查开始：查看每一条没有 op 记录的半消息。",
)
TIMERS: Timers = (
    (CHECK, ROUND),
    (
        OP_BATCH,
        Words(
            "Ends that have waited in memory are written down together.",
            "在内存中等待的结束记录一起写下。",
        ),
    ),
    (
        PERSIST,
        Words(
            "How far each group has come is written to the disk; a kill before this turns it back.",
            "各组的进度写入磁盘；在此之前被杀，进度会倒退。",
        ),
    ),
    (HEARTBEAT, sentences.HEARTBEAT),
    (
        FLUSH,
        Words(
            "Messages reach the disk some time after they were acknowledged; a power cut takes the "
            "rest.",
            "消息在应答之后过一会儿才刷盘；断电会丢失还没有刷盘的部分。",
        ),
    ),
    (
        ACKNOWLEDGE,
        Words(
            "The disk or the slave has not answered in time: the message is stored, but the sender "
            "is told that it is not safe.",
            "磁盘或从节点没有按时应答：消息已存下，但发送者被告知它不安全。",
        ),
    ),
    (
        LEVEL,
        Words(
            "A delay is over: what waited is written once more, to its own topic.",
            "延时结束：等待的消息再写一遍，写到它自己的主题。",
        ),
    ),
    (
        TIMED,
        Words(
            "The time that the sender has asked for has come: what waited is written once more, to "
            "its own topic.",
            "发送者要求的时间到了：等待的消息再写一遍，写到它自己的主题。",
        ),
    ),
)
REGISTERED = Words(
    "Each process registered here can be asked about any half of the group, and nobody else.",
    "注册在这里的进程都可能被问到组内任何半消息，别人不会。",
)
MOVED_ON = Words(
    "Halves before this place are not looked at again: they have ended, or a copy of them "
    "lies further on.",
    "这个位置之前的半消息不再查看：它们已经结束，或者后面有它们的副本。",
)
#: what has changed in the broker's memory
CHANGES: Changes = {
    WAITING: Words(
        "The half has ended, but that is known in memory only until the next batch is written.",
        "半消息已经结束，但在下一批写入之前，只有内存知道。",
    ),
    NONE_WAITS: Words("Nothing that a kill could forget is left.", "没有什么会因进程被杀而遗忘。"),
    PRODUCERS: REGISTERED,
    CONSUMERS: Words(
        "Queues are shared out again among those who are there.",
        "队列在当前成员之间重新分配。",
    ),
    REPORTED: Words(
        "The next reader of the group begins here.",
        "下一个替该组读取的消费者从这里开始。",
    ),
    PROGRESS: MOVED_ON,
}
#: what the call returns where the half is safe, by what the local transaction came to
RETURNS: Mapping[object, Words] = {
    (SendStatus.SEND_OK, LocalTransactionState.COMMIT_MESSAGE): Words(
        "The call says how the half was stored and what the local transaction came to; what "
        "the broker made of it nobody says.",
        "调用返回的是半消息的存储结果和本地事务的结果；broker 怎么处理，没有人说。",
    ),
    (SendStatus.SEND_OK, LocalTransactionState.UNKNOW): Words(
        "SEND_OK is about the half only; whether the order counts is still open.",
        "SEND_OK 只说明半消息存好了；订单是否算数还没有定论。",
    ),
    (SendStatus.SEND_OK, LocalTransactionState.ROLLBACK_MESSAGE): Words(
        "Also after a rollback the call returns SEND_OK: it is about the half.",
        "回滚之后调用同样返回 SEND_OK：它说的是半消息。",
    ),
}
NOT_SAFE = Words(
    "The half is stored, but not as safely as it should be: it may still be lost.",
    "半消息存下了，但没有达到应有的安全程度：它仍可能丢失。",
)
GOES_ON = Words("The application goes on.", "应用程序继续。")
CONSUMED = Words(
    "The turn is over: what was processed, what was known already, what went back.",
    "这一轮结束：处理了什么，哪些早已处理过，哪些被退回。",
)
FAILURE = Words(
    "Nothing happened: the half was not stored, so the local transaction was not run.",
    "什么也没有发生：半消息没有存下，所以本地事务没有执行。",
)
#: what failed, by the call; the last is of all others
FAILURES: tuple[tuple[type | UnionType, Words], ...] = (
    (SendInTransaction, FAILURE),
    (
        SendPlain,
        Words("Nothing happened: the message was not stored.", "什么也没有发生：消息没有存下。"),
    ),
    (
        End | Resume,
        Words(
            "The broker refuses the request and writes nothing.", "broker 拒绝请求，什么也不写。"
        ),
    ),
    (object, Words("Nothing happened.", "什么也没有发生。")),
)
NOTHING_DONE = Words(
    "The broker looks at it and writes nothing: the half stays as it is.",
    "broker 看过之后什么也不写：半消息保持原样。",
)


def explain_fact(fact: Fact, kind: Kind) -> Text:
    """One sentence why, of what is no message and no record; nothing where none is known. `kind`:
    of the fact's node."""
    if fact.kind is FactKind.IDLE and isinstance(fact.body, EndTransaction):
        return NOTHING_DONE()
    return REASONS.explain(fact, kind)


def _explain_success(outcome: Outcome) -> Text:
    if isinstance(outcome.call, SendInTransaction):
        return RETURNS.get(outcome.meaning, NOT_SAFE)()
    return CONSUMED() if isinstance(outcome.call, Consume) else GOES_ON()


def _explain_failure(outcome: Outcome) -> Text:
    return next(why() for call, why in FAILURES if isinstance(outcome.call, call))


REASONS = Reasons(
    stopped=STOPPED,
    recovered=RECOVERED,
    timers=TIMERS,
    changes=CHANGES,
    alone={FactKind.POWER_CUT: POWER_CUT, FactKind.BREAK: BROKEN, FactKind.LATE: LATE},
    explain_success=_explain_success,
    explain_failure=_explain_failure,
)
