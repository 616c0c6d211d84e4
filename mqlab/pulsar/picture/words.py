"""What the pictures say about Pulsar, in both languages."""

from __future__ import annotations

from ...kernel import Words

CLIENT = Words("client", "客户端")
COORDINATOR = Words("coordinator", "协调者")
PARTITION = Words("partition", "分区")

GRAPH = Words("Transaction {txn} {id}", "事务 {txn} {id}")
GRAPH_IDLE = Words("No transaction yet", "还没有事务")
TXN_TABLE = Words("Live transactions of the coordinator", "协调者里未结束的事务")
BUFFER_TABLE = Words("Transaction buffers", "事务缓冲区")
PENDING_TABLE = Words("Pending acknowledgements", "待定确认")
PRODUCER_TABLE = Words("Producers of their own topic", "独占主题的生产者")
TIMERS_TABLE = Words("Timers of the coordinator", "协调者的定时器")
IN_QUEUE = Words("{count} in its queue, not received yet", "队列里还有 {count} 条没有接收")

CLEAN_READ = Words(
    "no consumer is sent a message of a transaction whose commit is not decided",
    "事务的提交尚未决定之前，它的消息不会投递给任何消费者",
)
IDS_GROW = Words(
    "a coordinator gives each id once, and a higher one each time",
    "协调者给出的事务编号只增不减，也不重复",
)
AS_DECIDED = Words(
    "a partition or a subscription commits only what the coordinator's log says is COMMITTING",
    "只有协调者日志写有 COMMITTING 的事务，分区和订阅才会提交",
)
TOLD_TO_ALL = Words(
    "a transaction is COMMITTED only when each partition it wrote to has its marker, and each "
    "subscription its COMMIT",
    "事务写过的每个分区都有了提交控制消息，每个订阅都有了 COMMIT 记录，事务才是 COMMITTED",
)
BEHIND_THE_MARK = Words(
    "maxReadPosition is the entry before the first one of the oldest open transaction, also after "
    "a restart",
    "maxReadPosition 是最早的未结束事务第一条消息之前的位置，重启之后也一样",
)
ONE_HOLDER = Words(
    "a message is pending for at most one transaction", "一条消息最多被一个事务待定确认"
)
PENDING_KEPT = Words(
    "a restart finds the pending acknowledgements that were answered",
    "重启之后，应答过的待定确认都还在",
)
PENDING_WITHHELD = Words(
    "no consumer is sent a message that an open transaction has acknowledged",
    "被未结束事务确认的消息不会再投递",
)
NOTHING_PASSED_OVER = Words(
    "what a shared subscription has passed over is acknowledged, pending or held by a consumer",
    "共享订阅越过的消息，要么已确认，要么待定，要么在某个消费者手里",
)
ENDS = Words("every transaction can still end", "每个事务都还能结束")
UNBLOCKED = Words(
    "each open transaction of a partition can still be ended by its coordinator",
    "分区里每个未结束的事务，协调者都还能结束它",
)
PLAIN_AT_ONCE = Words(
    "a message without a transaction can be read as soon as it is stored",
    "不属于事务的消息一存入就能读到",
)
ONE_MARKER = Words(
    "a transaction has at most one marker in each partition", "每个分区里一个事务最多有一条控制消息"
)
STORED_ONCE = Words(
    "no two messages that can be read have the same value", "可以读到的消息没有两条内容相同"
)
STATE_TELLS = Words(
    "a client that sees ERROR has not committed its transaction",
    "客户端看到 ERROR 时，它的事务没有提交",
)
COMMITTED_STAYS = Words(
    "what was committed is not taken for aborted later", "已提交的消息以后不会被当成已中止"
)
ANSWERED_IS_KEPT = Words(
    "a message whose send was answered lies where the answer says",
    "发送得到应答的消息，就在应答所说的位置",
)
COMMITTED_ACKS_KEPT = Words(
    "what a committed transaction has acknowledged is acknowledged for good",
    "已提交事务确认过的消息，不再算作未确认",
)
ACKED_IS_LET_GO = Words(
    "no consumer of a shared subscription is sent a message that was acknowledged",
    "共享订阅不会再投递已确认的消息",
)
BUFFER_KEPT = Words(
    "a restart finds what the buffer knows: what is open, and what was aborted",
    "重启之后，缓冲区仍知道哪些事务未结束、哪些已中止",
)
ONE_WRITER = Words(
    "while a producer has a partition for itself, every message that comes is its own",
    "生产者独占分区期间，新写入的消息都是它自己的",
)
COMMITS = Words("a transaction can commit", "事务可以提交")
