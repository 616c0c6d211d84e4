"""One sentence why for each kind of step: what it means here, not what its line says again.

Where a transaction, an offset or an error must be named, the sentence comes from `meaning.py`.
Everything else that a learner sees finds its sentence in these tables, by the kind of the fact
and by the message, the timer, the outcome or the state that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...kernel import NOTHING, Fact, FactKind, Made, Text, Words
from ...kernel.reasons import POWER_CUT, Changes, Reasons, Timers
from ..clients.consumer.membership import HEARTBEAT
from ..clients.producer import BUMPED, ENTERED, calling, errors, flight
from ..coordinator import OWES, TIMEOUT, failures, markers
from ..coordinator.expiry import SWEEP
from ..coordinator.messages import DescribeTransactions, ListTransactions
from ..errors import Error
from ..group import NOW, rebalance
from ..group.messages import JoinGroup, LeaveGroup, SyncGroup
from ..group.states import GroupState
from ..log.messages import DescribeProducers
from ..log.role import EXPIRE, FRONTIERS
from ..log.verification import ADD
from ..messages import (
    READ_COMMITTED,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    Fetch,
    InitProducerId,
    ListOffsets,
    OffsetCommit,
    OffsetFetch,
    Produce,
    TxnOffsetCommit,
    WriteTxnMarkers,
)
from ..replication.messages import AlterPartition, FetchReplicaResponse, FindCoordinator, Register
from ..replication.replica import ASKS, FOLLOWS, HW_MOVED, LEADS, NOBODY_LEADS
from ..replication.router import PAUSE
from ..states import ProducerState
from .meaning import Kind

REQUESTS: dict[type, Words] = {
    AddOffsetsToTxn: Words(
        "The log of the group's positions joins the transaction as a partition does: it will get "
        "a marker.",
        "消费者组偏移量的日志像分区一样加入事务：它也会得到控制消息。",
    ),
    TxnOffsetCommit: Words(
        "How far the group has read travels inside the transaction and counts only if it commits.",
        "消费者组读到哪里，随事务一起提交；只有事务提交了才算数。",
    ),
    EndTxn: Words(
        "The client only asks for the end; what counts is what the coordinator writes down.",
        "客户端只是请求结束；算数的是协调者写下的决定。",
    ),
    WriteTxnMarkers: Words(
        "The decision is on disk already; it is told to each partition until that has answered.",
        "决定已经落盘；协调者逐个通知分区，直到每个分区都应答。",
    ),
    OffsetCommit: Words(
        "A position committed by itself belongs to no transaction and counts at once.",
        "单独提交的偏移量不属于任何事务，立刻生效。",
    ),
    OffsetFetch: Words(
        "A member that takes a partition over begins at the position that its group has committed.",
        "接手一个分区的成员，从消费者组已提交的偏移量开始读。",
    ),
    FindCoordinator: Words(
        "The hash of the name picks one partition of an internal log; the leader of that "
        "partition is its coordinator.",
        "名字的哈希选出内部日志的一个分区；领导这个分区的 broker 就是它的协调者。",
    ),
    JoinGroup: Words(
        "A member that comes makes all others join again: partitions are shared out again.",
        "新成员到来，其他成员都要重新加入：分区要重新分配。",
    ),
    SyncGroup: Words(
        "One member shares the partitions out; the others learn their part from the coordinator.",
        "由一个成员分配分区；其他成员从组协调者得知自己的部分。",
    ),
    LeaveGroup: Words(
        "A member that says goodbye is replaced without waiting for its session to run out.",
        "主动告别的成员，不必等会话超时就会有人接替。",
    ),
    ListOffsets: Words(
        "Where a log ends depends on who asks: at the LSO for committed data, else at the HW.",
        "日志的末尾取决于谁在问：只读已提交数据的到 LSO，其他的到 HW。",
    ),
    ListTransactions: Words(
        "The coordinator can name only what it knows; a hanging transaction is not among it.",
        "协调者只能列出自己知道的事务；悬挂的事务不在其中。",
    ),
    DescribeTransactions: Words(
        "One half of the search for a hanging transaction: what does the coordinator believe?",
        "查找悬挂事务的一半：协调者认为是什么状态？",
    ),
    DescribeProducers: Words(
        "The other half of the search: who is open in this partition, whatever the coordinator "
        "believes?",
        "查找的另一半：不管协调者怎么认为，这个分区里谁的事务还开着？",
    ),
    AlterPartition: Words(
        "Which copies count as in sync is written down by the controller; a leader only asks.",
        "哪些副本算同步，由控制器记录；leader 只能请求。",
    ),
    Register: Words(
        "Only a node that the controller knows to be up may lead or count as in sync.",
        "只有控制器知道在运行的节点，才可以当 leader 或算作同步副本。",
    ),
}
INIT_TXN = Words(
    "A producer asks for its id and epoch before it does anything else; that shuts out the one "
    "that held the name before.",
    "生产者先要取得 id 和 epoch；这样就把之前持有这个名字的进程挡在外面。",
)
INIT_PLAIN = Words(
    "Without a transactional id a producer gets a number nobody has had: it lets leaders "
    "recognise repeats, until the process ends.",
    "没有事务 ID 的生产者得到一个全新的编号：在进程结束之前，leader 靠它识别重复。",
)
PRODUCE_TXN = Words(
    "Data goes straight to the partition's leader; the coordinator never sees it.",
    "数据直接发给分区的 leader；协调者从不经手。",
)
PRODUCE_NUMBERED = Words(
    "Producer id, epoch and sequence number travel along: by them the leader knows a repeat.",
    "消息带着生产者 id、epoch 和序号：leader 靠它们识别重复。",
)
PRODUCE_PLAIN = Words(
    "Nothing in it tells a repeat from a new record: sent twice, it is stored twice.",
    "它没有任何编号能区分重复和新记录：发两次就存两次。",
)
ADD_BY_CLIENT = Words(
    "The coordinator must know of a partition before data goes there, or it would never get a "
    "marker.",
    "数据写入一个分区之前，协调者必须先知道它，否则那里永远得不到控制消息。",
)
ADD_BY_LEADER = Words(
    "Before it stores the record, the leader asks whether this transaction is really open.",
    "存下记录之前，leader 先问这个事务是否真的开着。",
)
FETCH_COMMITTED = Words(
    "A reader of committed data gets nothing from the LSO on, however far the log goes.",
    "只读已提交数据的读者，从 LSO 起什么也得不到，不管日志有多长。",
)
FETCH_ALL = Words(
    "A reader of everything is held up by the high watermark only, not by open transactions.",
    "读一切的读者只受高水位限制，不受未结束事务限制。",
)

ANSWERED = Words(
    "Every in-sync copy holds it now: the producer may forget the record.",
    "所有同步副本都有了它：生产者可以忘掉这条记录。",
)
REPLICATED = Words(
    "A follower copies by asking; from where it asks next, the leader learns how far it has got.",
    "follower 通过请求来复制；leader 从它下一次请求的位置知道它复制到了哪里。",
)

STOPPED: dict[Kind, Words] = {
    Kind.COORDINATOR: Words(
        "Its memory is gone, its log is not: what was decided on disk still holds, and what had "
        "not been sent must wait for the restart.",
        "内存没了，日志还在：已落盘的决定仍然有效，没有发出的要等重启。",
    ),
    Kind.PARTITION: Words(
        "What the process has written stays with the operating system: a kill loses no record.",
        "进程写下的内容留在操作系统里：杀死进程不会丢失记录。",
    ),
    Kind.GROUP: Words(
        "Who was a member is forgotten; generations and positions stand in its log.",
        "谁是成员被忘掉了；generation 和偏移量还在它的日志里。",
    ),
    Kind.CLIENT: Words(
        "A client keeps nothing on disk, and no broker is told: they notice only its silence, or "
        "its successor.",
        "客户端不在磁盘上保存任何东西，也没有人通知 broker：它们只能察觉沉默，或者它的继任者。",
    ),
}
RECOVERED: dict[Kind, Words] = {
    Kind.COORDINATOR: Words(
        "It knows again what its log says and no more: what was not decided there, never was.",
        "它重新知道的只有日志里写的：日志里没有的决定，就是没有决定过。",
    ),
    Kind.PARTITION: Words(
        "From its log and its snapshot it works out which transactions are open and what readers "
        "may see.",
        "它从日志和快照重新算出哪些事务还开着、读者能看到什么。",
    ),
    Kind.GROUP: Words(
        "It reads its log again: positions count as before, pending ones wait for their marker.",
        "它重读日志：偏移量照旧有效，pending 的偏移量继续等待控制消息。",
    ),
    Kind.CLIENT: Words(
        "The program begins at its first line and remembers nothing.",
        "程序从第一行重新开始，什么也不记得。",
    ),
}
#: by what the node says of its recovery, where that is more than what it is
RECOVERIES = {
    OWES: Words(
        "The decision was on disk, so it stands: all its markers are sent, also those that had "
        "arrived.",
        "决定已经落盘，所以有效：所有控制消息都会再发，包括已经送达的。",
    ),
    ASKS: Words(
        "Somebody else may lead by now: it serves nobody until the controller has told it who "
        "does.",
        "现在可能已由别人领导：控制器告知之前，它不为任何人服务。",
    ),
}

BROKEN = Words(
    "The client cannot tell whether its last request has arrived; it will ask again on a new "
    "connection.",
    "客户端无法知道最后的请求是否到达；它会在新连接上再问一次。",
)
LATE = Words(
    "It left before the connection broke and arrives only now: only its epoch and its numbers "
    "can show that it is old.",
    "它在连接断开之前发出，现在才到：只有 epoch 和序号能说明它是旧的。",
)
LATE_PLAIN = Words(
    "It left before the connection broke and arrives only now. It carries no producer id and no "
    "number, so nothing shows that it is old.",
    "它在连接断开之前发出，现在才到。它没有 producer id 和序号，所以看不出它是旧的。",
)
MUTED = Words(
    "The broker reads no further request from a connection before it has answered the last one. So "
    "this batch waits behind one that waits for the coordinator.",
    "broker 在回答完上一个请求之前，不会再读同一连接的下一个请求，所以这一批排在等待协调者的那一批后面。",
)
CUT_BACK = Words(
    "The leader does not have these records: no in-sync copy was counted for them, so nobody was "
    "told that they are safe.",
    "leader 没有这些记录：它们没有被同步副本确认过，所以没有人被告知它们是安全的。",
)

SESSION_OVER = Words(
    "No heartbeat for session.timeout.ms: the member counts as gone, whether it is or not.",
    "session.timeout.ms 内没有心跳：成员被当作已离开，不管它是否真的离开。",
)

TIMERS: Timers = (
    (flight.RETRY, Words("No good answer has come: the same question is asked again.",
                    "没有得到满意的应答：再问一次同样的问题。")),
    (markers.AGAIN, Words("A partition has not answered: its marker is sent until it does.",
                    "有分区没有应答：控制消息会一直发到它应答为止。")),
    (failures.AGAIN, Words(
        "Too few copies were in sync to keep the record safe: the coordinator writes it again.",
        "同步副本太少，记录还不安全：协调者再写一次。")),
    (ADD, Words("The coordinator has not answered the leader's question: it asks once more.",
                  "协调者没有回答 leader 的问题：再问一次。")),
    (PAUSE, Words("Nobody led the partition: the client looks for its leader once more.",
                    "分区没有 leader：客户端再找一次。")),
    (flight.DELIVERY, Words(
        "delivery.timeout.ms has passed: the producer gives the record up, although it may be "
        "stored.",
        "delivery.timeout.ms 已到：生产者放弃这条记录，尽管它可能已经存下。")),
    (calling.MAX_BLOCK, Words(
        "max.block.ms has passed: the call stops waiting, but what it asked for may still happen.",
        "max.block.ms 已到：调用不再等待，但它请求的事仍可能发生。")),
    (SWEEP, Words(
        "An id unused for transactional.id.expiration.ms is forgotten with all it protected.",
        "超过 transactional.id.expiration.ms 未使用的 id 会被遗忘，它的保护也随之消失。")),
    (EXPIRE, Words(
        "A producer silent for producer.id.expiration.ms is forgotten: a repeat of its records "
        "would be new.",
        "沉默超过 producer.id.expiration.ms 的生产者会被遗忘：它的重复记录会被当作新的。")),
    (TIMEOUT, Words(
        "A transaction open for longer than transaction.timeout.ms is aborted by its coordinator: "
        "readers would wait behind it.",
        "打开时间超过 transaction.timeout.ms 的事务由协调者中止：否则读者会一直等在后面。")),
    (HEARTBEAT, Words("A member that says nothing for too long would lose its partitions.",
                        "成员沉默太久就会失去分区。")),
    (rebalance.SESSION, SESSION_OVER),
    (rebalance.JOIN, Words("Who has not joined by now is left out of the new generation.",
                   "到现在还没有加入的成员，不算在新的 generation 里。")),
    (rebalance.SYNC, Words("Who has not asked for its part by now is left out of the group.",
                   "到现在还没有领取分配的成员，会被移出消费者组。")),
)  # fmt: skip

STABLE = Words(
    "Everybody knows its part; only members of this generation may commit positions.",
    "每个成员都知道自己的部分；只有这个 generation 的成员可以提交偏移量。",
)
REPLICATED_UP_TO = Words(
    "Every in-sync copy holds the log up to here: the loss of one node loses none of it.",
    "每个同步副本都有到这里为止的日志：失去一个节点也不会丢失。",
)
CONTROLLED = Words(
    "The controller's record decides who leads; what an older leader says is refused now.",
    "由控制器的记录决定谁领导；旧 leader 的话从此被拒绝。",
)
#: what has changed in a role's memory
CHANGES: Changes = {
    FRONTIERS: REPLICATED_UP_TO,
    HW_MOVED: REPLICATED_UP_TO,
    (NOW, GroupState.PREPARING_REBALANCE): Words(
        "Somebody has come or gone: all members join again before anybody gets partitions.",
        "有成员来了或走了：所有成员先重新加入，然后才分配分区。"),
    (NOW, GroupState.COMPLETING_REBALANCE): Words(
        "All have joined, so the generation has a number; one member shares the partitions out.",
        "成员到齐，generation 有了编号；由一个成员分配分区。"),
    (NOW, GroupState.STABLE): STABLE,
    (NOW, GroupState.EMPTY): Words(
        "Nobody reads for the group any more; its committed positions stay for the next.",
        "消费者组没有成员了；已提交的偏移量留给下一个。"),
    (ENTERED, ProducerState.ABORTABLE_ERROR): Words(
        "This transaction cannot commit any more; once it is aborted the producer may go on.",
        "这个事务不能再提交；中止之后生产者可以继续。"),
    (ENTERED, ProducerState.FATAL_ERROR): Words(
        "This producer can do nothing more; only a new one may go on.",
        "这个生产者什么也不能再做；只有新的生产者可以继续。"),
    BUMPED: Words(
        "It has no coordinator to ask: with a new epoch it begins to count again, and leaders "
        "accept that.",
        "它没有协调者可问：换一个新的 epoch 重新计数，leader 会接受。"),
    **dict.fromkeys((LEADS, FOLLOWS, NOBODY_LEADS), CONTROLLED),
}  # fmt: skip

#: what a failed call means, by what the client knows of the error
FAILURES: Mapping[object, Words] = {
    errors.ILLEGAL_STATE: Words(
        "The client refuses by itself and asks nobody: its state does not allow this call.",
        "客户端自己拒绝，没有问任何人：它的状态不允许这个调用。"),
    Error.CONCURRENT_TRANSACTIONS: Words(
        "The last transaction of this id has not quite ended; asked again later, it may begin.",
        "这个 id 的上一个事务还没有完全结束；稍后再问就可以开始。"),
    errors.Kind.FATAL: Words(
        "This call is refused, and the producer can do nothing more: another one has its name, or "
        "its numbers are unknown. What an earlier try of it did still counts.",
        "这次调用遭到拒绝，这个生产者也不能再做任何事：名字已被别人使用，或者它的编号无人认识。它更早的尝试如果已经生效，仍然有效。"),
    errors.Kind.ABORTABLE: Words(
        "This call is refused, and the transaction cannot commit any more; the producer may abort "
        "it and go on.",
        "这次调用遭到拒绝，事务也不能再提交；生产者可以中止它再继续。"),
}  # fmt: skip
FAILURE = Words(
    "This call is refused, and the application gets the error. It can go on in another way.",
    "这次调用被拒绝，应用程序得到错误，可以改用别的办法。",
)
REASONS = Reasons(
    stopped=STOPPED,
    recovered=RECOVERED,
    timers=TIMERS,
    changes=CHANGES,
    alone={
        FactKind.POWER_CUT: POWER_CUT,
        FactKind.BREAK: BROKEN,
        FactKind.LATE: LATE,
        FactKind.TRUNCATE: CUT_BACK,
    },
    explain_success=lambda _: NOTHING,
    explain_failure=lambda outcome: FAILURES.get(outcome.meaning, FAILURE)(),
)


def explain_fact(fact: Fact, find_kind: Callable[[str], Kind]) -> Text:
    """One sentence why; nothing where the tables know none. `find_kind`: what a node is."""
    match fact.kind:
        case FactKind.IDLE if isinstance(fact.body, Produce):
            return MUTED()
        case FactKind.SEND | FactKind.IDLE:
            return _explain_request(fact.body, find_kind(fact.node))
        case FactKind.LATE if isinstance(fact.body, Produce) and fact.body.batch.pid < 0:
            return LATE_PLAIN()
        case FactKind.REPLY:
            return (REPLICATED if isinstance(fact.body, FetchReplicaResponse) else ANSWERED)()
        case FactKind.RECOVERY if isinstance(fact.body, Made) and fact.body.words in RECOVERIES:
            return RECOVERIES[fact.body.words]()
    return REASONS.explain(fact, find_kind(fact.node))


def _explain_request(body: object, sender: Kind) -> Text:
    match body:
        case InitProducerId(txn_id=txn_id):
            return (INIT_TXN if txn_id else INIT_PLAIN)()
        case Produce(batch=batch):
            numbered = PRODUCE_NUMBERED if batch.pid >= 0 else PRODUCE_PLAIN
            return (PRODUCE_TXN if batch.transactional else numbered)()
        case AddPartitionsToTxn():
            return (ADD_BY_CLIENT if sender is Kind.CLIENT else ADD_BY_LEADER)()
        case Fetch(isolation=isolation):
            return (FETCH_COMMITTED if isolation == READ_COMMITTED else FETCH_ALL)()
    return REQUESTS[type(body)]() if type(body) in REQUESTS else NOTHING
