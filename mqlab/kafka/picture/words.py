"""What the pictures say about Kafka, in both languages."""

from __future__ import annotations

from ...kernel import Words

PRODUCER = Words("producer", "生产者")
WORKER = Words("worker", "消费并生产")
TXN_LOG = Words("transaction log", "事务日志")
TXN_LOGS = Words("transaction log {logs}", "事务日志 {logs}")
GROUP = Words("group coordinator", "组协调者")
LEADER = Words("leader", "leader")
FOLLOWER = Words("follower", "follower")
READER = Words("consumer", "消费者")
ADMIN = Words("administrator", "管理员")
CONTROLLER = Words("who leads what", "谁领导什么")
GRAPH = Words("Coordinator: where transaction {txn} is", "协调者：事务 {txn} 在哪一步")
GRAPH_IDLE = Words("Coordinator: no transaction yet", "协调者：还没有事务")
STATE_TABLE = Words(
    "__transaction_state, latest of each key", "__transaction_state，每个键的最新值"
)
INDEX_TABLE = Words(".txnindex: aborted transactions", ".txnindex：已中止的事务")
OFFSETS_TABLE = Words("__consumer_offsets", "__consumer_offsets")
MEMBERS_TABLE = Words("groups and their members", "消费者组及其成员")

TORN = Words(
    "part of {txn}: torn until {where} has its marker",
    "{txn} 的一部分：{where} 得到控制消息前是撕裂的",
)
WAITS = Words("{where} waits at its LSO behind {txn}", "{where} 停在 LSO，等待 {txn}")
UNDECIDED = Words("{txn} is not decided yet", "{txn} 还没有决定")
ABORTED_READ = Words("{txn} was aborted", "{txn} 已被中止")

WHY_EMPTY = Words(
    "The producer has its id and epoch; a producer with an older epoch is a zombie now.",
    "生产者得到了 id 和 epoch；持有更旧 epoch 的都成了僵尸。",
)
WHY_ONGOING = Words(
    "The coordinator now knows where it will owe markers; the timeout's clock runs.",
    "协调者知道了将来要向哪里写控制消息；超时开始计时。",
)
WHY_DEAD = Words(
    "Nobody used this id for too long: it is forgotten, and its old holder with it.",
    "这个 id 太久没有人使用：它被遗忘，旧的持有者也一起失效。",
)
WHY_PREPARE_COMMIT = Words(
    "The decision: once this record is safe, {txn} commits whatever dies.",
    "决定：这条记录一旦安全，无论什么崩溃，{txn} 都会提交。",
)
WHY_PREPARE_ABORT = Words(
    "The decision: once this record is safe, {txn} is aborted whatever dies.",
    "决定：这条记录一旦安全，无论什么崩溃，{txn} 都会中止。",
)
WHY_ANSWERED = Words(
    "The client is answered before any marker is written: readers may see nothing yet.",
    "客户端在任何控制消息写入之前就得到应答：读者可能还什么都看不到。",
)
WHY_DATA = Words(
    "In the log at once, among everything else: only an open transaction makes readers wait.",
    "立刻写入日志，与其他记录混在一起；只有未结束的事务才让读者等待。",
)
WHY_MARKER = Words(
    "A marker is a record like any other: it takes one offset in this partition.",
    "控制消息也是一条记录：它在这个分区占一个偏移量。",
)
WHY_LSO = Words(
    "read_committed may read up to the LSO, {lso}; the high watermark is {hw}.",
    "read_committed 可以读到 LSO {lso}；高水位是 {hw}。",
)
WHY_FETCHED = Words(
    "This partition's LSO is {lso} and its HW {hw}; every partition has its own.",
    "这个分区的 LSO 是 {lso}，HW 是 {hw}；每个分区各有自己的。",
)
WHY_COMPLETE = Words(
    "Every partition has its marker: nothing is owed any more.",
    "每个分区都有了控制消息：不再欠任何东西。",
)
WHY_GENERATION = Words(
    "A generation: who is in the group and what each reads; nobody else may commit now.",
    "一个 generation：组里有谁、各读什么；此后别人不能提交偏移量。",
)
WHY_OFFSETS = Words("These positions count at once.", "这些偏移量立刻生效。")
WHY_PENDING = Words(
    "Positions as part of the transaction: pending until its marker.",
    "偏移量是事务的一部分：在控制消息到来之前处于 pending。",
)
WHY_UNSTABLE = Words(
    "A transaction holds a newer position that may or may not count: wait for it.",
    "有事务持有更新的偏移量，是否生效尚未决定：等待。",
)
WHY_FENCED = Words(
    "{error}: it is no member of the current generation; somebody else has its work now.",
    "{error}：它已不属于当前 generation，它的工作已交给别人。",
)
WHY_REFUSED = Words("Refused: {error}.", "被拒绝：{error}。")

SAME_OUTCOME = Words(
    "all partitions hold the same outcome of a transaction", "一个事务在所有分区的结局相同"
)
CLEAN_READ = Words(
    "no record of an open or aborted transaction is read committed",
    "read_committed 读不到未结束或已中止事务的记录",
)
REPLICATED_READ = Words("nothing above the high watermark is read", "读不到高水位以上的记录")
DECIDED_FIRST = Words("the decision is durable before any marker", "决定先于任何控制消息持久化")
COMMITS = Words("a transaction can commit", "事务可以提交")
READ_BACK = Words("a committed record can be read", "已提交的记录可以被读到")
CLOSED_EVERYWHERE = Words(
    "a transaction that is complete is open in no partition", "已完成的事务在任何分区都不再打开"
)
LSO_WAITS = Words("the LSO never passes an open transaction", "LSO 绝不越过未结束的事务")
FENCED_OUT = Words(
    "nothing written by a fenced producer is read committed",
    "read_committed 读不到被隔离的生产者写入的记录",
)
OFFSETS_WITH_OUTPUT = Words(
    "positions count only together with the output of their transaction",
    "偏移量只与其事务的输出一起生效",
)
ONCE = Words("a record sent once is read once", "只发送一次的记录只会被读到一次")
NO_LOST_WRITE = Words(
    "what a successful commit has sent can be read in the end",
    "成功提交的事务所发送的记录最终可以读到",
)
AS_ASKED = Words(
    "nothing is read committed before its application asks to commit",
    "应用请求提交之前，read_committed 读不到它的记录",
)
DECIDED_AS_ASKED = Words(
    "no transaction is committed before its application asks", "应用请求之前，事务不会被提交"
)
IN_GENERATION = Words(
    "a member adds positions only in the generation it signs for",
    "成员只能在自己签名的 generation 中写入偏移量",
)
REPLICATED_POSITIONS = Words(
    "a position that a consumer is told is replicated",
    "告知消费者的偏移量都已复制",
)
ENDS = Words("every transaction can still end", "每个事务都还能结束")
WHOLE_READ = Words(
    "a reader gets all of a committed transaction or nothing of it",
    "读者要么读到已提交事务的全部，要么什么也读不到",
)
