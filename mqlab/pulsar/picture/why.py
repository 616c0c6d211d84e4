"""One sentence why for stops, starts, timers, calls that return and changes in memory; those for
messages and records stand in `sentences.py`."""

from __future__ import annotations

from ...kernel import Fact, FactKind, Outcome, Text, Words
from ...kernel.reasons import LATE, POWER_CUT, Changes, Reasons, Timers
from ..client import OPERATION_TIMEOUT, calls
from ..client.transactions import TIME_OUT
from ..client.words import ENTERED, WAITS
from ..coordinator import LOADED, NOTHING_OPEN
from ..coordinator.meta import RETRY, TIMEOUT
from ..subscription.words import ACTIVE, CONSUMERS, OVER, PENDING, UP_TO
from ..topic import ENTERED as BUFFER_ENTERED
from ..topic import FRONTIER
from ..topic.access import ALONE, FREE, QUEUED
from ..topic.snapshots import SNAPSHOT
from .cluster import Cluster

STOPPED = {
    "client": Words(
        "Its transactions and its queues are gone; no name lets a new process take them up, so the "
        "coordinator's timeout ends what was open.",
        "它的事务和队列都没了；新进程没有名字可以接手，未结束的事务由协调者超时中止。",
    ),
    "coordinator": Words(
        "The log stays. Until a client connects and the log is loaded again, nothing is aborted at "
        "its deadline.",
        "日志还在。在有客户端连接、日志重新加载之前，到期的事务不会被中止。",
    ),
    "partition": Words(
        "Messages, markers, cursors and pending acknowledgements stay; what the buffer knew and "
        "the low watermarks are gone.",
        "消息、控制消息、游标和待定确认都还在；缓冲区的内存状态和低水位没了。",
    ),
}
RECOVERED = {
    "client": Words(
        "It is a new client to everybody. It fences no transaction of the process before it; a "
        "producer may fence the sends to its topic.",
        "对所有人来说它是新客户端；它不隔离上一次运行的事务，生产者只能隔离对其主题的发送。",
    ),
    "coordinator": Words(
        "Nothing is loaded yet: the first client that connects makes it read its log.",
        "还什么也没加载：第一个连接的客户端才让它读日志。",
    ),
    "partition": Words(
        "It reads its cursors and pending acknowledgements; the buffer recovers from its snapshot "
        "and from what the topic holds after it.",
        "它读取游标和待定确认；缓冲区从快照和之后的主题恢复。",
    ),
}
BROKEN = Words(
    "Requests under way may still arrive, answers never do; the client asks again on a new "
    "connection.",
    "路上的请求还可能到达，应答不会；客户端在新连接上再问。",
)
TIMERS: Timers = (
    (
        f"{TIMEOUT}(",
        Words(
            "The deadline has passed: a transaction that is still open is aborted.",
            "期限已过：仍未结束的事务被中止。",
        ),
    ),
    (
        TIME_OUT,
        Words(
            "The client's own timer: it gives the transaction up, and tells nobody.",
            "客户端自己的定时器：它放弃事务，但不告诉任何人。",
        ),
    ),
    (
        RETRY,
        Words(
            "A participant had not answered: all of them are told once more.",
            "有参与方没有应答：重新通知全部参与方。",
        ),
    ),
    (
        SNAPSHOT,
        Words(
            "maxReadPosition has moved since the last snapshot.",
            "上次快照之后 maxReadPosition 移动过。",
        ),
    ),
    (
        OPERATION_TIMEOUT,
        Words(
            "No answer came in time: what became of the request, the client does not know.",
            "没有按时应答：请求的结果客户端不知道。",
        ),
    ),
)
MAX_READ_MOVED = Words(
    "maxReadPosition is the entry before the oldest open transaction's first, else the "
    "last one; no consumer is sent anything above it.",
    "maxReadPosition 是最早未结束事务第一条消息的前一条，没有则是最后一条；之上的不投递。",
)
LOG_READ = Words(
    "The log was read: what is open is watched, and what was being ended is ended again.",
    "日志已读：未结束的继续计时，正在结束的再结束一次。",
)
STATE_ENTERED = Words(
    "This is the client's own state; the coordinator keeps another one, and they may differ.",
    "这是客户端自己的状态；协调者另有一个，两者可能不同。",
)
CONNECTED = Words(
    "Who is connected is memory; the epoch is on the disk, so a load fences the same producers.",
    "谁已连接只在内存中；epoch 在磁盘上，所以重新加载后被隔离的还是同样的生产者。",
)
IN_MEMORY = Words(
    "Only memory has changed; a restart finds what the disk says.",
    "只有内存变了；重启后以磁盘为准。",
)
#: what has changed in memory
CHANGES: Changes = {
    FRONTIER: MAX_READ_MOVED,
    BUFFER_ENTERED: Words(
        "Only a buffer that is Ready, or that has no snapshot because no transaction has "
        "written here, knows how far one may read.",
        "只有 Ready 的缓冲区，或因从未有事务写入而没有快照的缓冲区，才知道可以读到哪里。",
    ),
    **dict.fromkeys((LOADED, NOTHING_OPEN), LOG_READ),
    **dict.fromkeys((ALONE, FREE, QUEUED), CONNECTED),
    ENTERED: STATE_ENTERED,
    **dict.fromkeys((WAITS, PENDING, UP_TO, OVER, CONSUMERS, ACTIVE), IN_MEMORY),
}
COMMITTED = Words(
    "Every participant has answered, so the messages can be read now, unless an older "
    "transaction is open before them.",
    "每个参与方都已应答，消息现在可以读到，除非前面还有更早的未结束事务。",
)
ACKNOWLEDGED = Words(
    "In a transaction the broker answers an acknowledgement when its record is safe; a plain one "
    "gets no answer.",
    "在事务里，确认的记录安全之后 broker 才应答；普通确认没有应答。",
)
RETURNED: tuple[tuple[type, Words], ...] = (
    (calls.Commit, COMMITTED),
    (
        calls.Send,
        Words(
            "The message is stored, which says nothing of its transaction.",
            "消息已存下，这与它的事务无关。",
        ),
    ),
    (
        calls.Receive,
        Words(
            "It takes what the broker has sent ahead, and asks it for nothing.",
            "它取走 broker 已经推送来的消息，并不向 broker 请求什么。",
        ),
    ),
    (calls.Acknowledge, ACKNOWLEDGED),
)
GOES_ON = Words("The application goes on.", "应用程序继续。")
FAILURE = Words(
    "The application hears an exception and must decide what it means for its transaction.",
    "应用程序得到异常，必须自己决定它对事务意味着什么。",
)
NOTHING_DONE = Words("It changes nothing here.", "它在这里什么也不改变。")


def find_kind(cluster: Cluster, name: str) -> str:
    """What a node is: client, coordinator or partition."""
    if name in cluster.clients:
        return "client"
    return "coordinator" if name in cluster.coordinators else "partition"


def explain_fact(fact: Fact, kind: str) -> Text:
    """One sentence why, of what is no message and no record; nothing where none is known. `kind`:
    of the fact's node."""
    return REASONS.explain(fact, kind)


def _explain_success(outcome: Outcome) -> Text:
    return next((why() for call, why in RETURNED if isinstance(outcome.call, call)), GOES_ON())


REASONS = Reasons(
    stopped=STOPPED,
    recovered=RECOVERED,
    timers=TIMERS,
    changes=CHANGES,
    alone={
        FactKind.POWER_CUT: POWER_CUT,
        FactKind.BREAK: BROKEN,
        FactKind.LATE: LATE,
        FactKind.IDLE: NOTHING_DONE,
    },
    explain_success=_explain_success,
    explain_failure=lambda _: FAILURE(),
)
