"""What is true while a safeguard is off, in the place of the sentences that rest on it."""

from __future__ import annotations

from ...kernel.reasons import build_unguarded
from ..group.messages import SyncGroup
from ..messages import EndTxn, TxnOffsetCommit, WriteTxnMarkers
from . import why, words
from .meaning import Kind

DECIDED_BEHIND = (
    "the decision is written, but partitions may have been told another one before.",
    "决定写下了，但分区可能之前已被告知另一个决定。",
)
UNGUARDED = build_unguarded(
    {
        "epoch_fencing": (
            (
                words.WHY_EMPTY,
                "the producer has its id and epoch, and a producer with an older epoch is served "
                "all the same.",
                "生产者得到了 id 和 epoch，而持有更旧 epoch 的照样得到服务。",
            ),
            (
                why.INIT_TXN,
                "a producer asks for its id and epoch first, and one that held the name before "
                "goes on all the same.",
                "生产者先要取得 id 和 epoch，而之前持有这个名字的进程照样继续。",
            ),
            (
                why.LATE,
                "it left before the connection broke and arrives only now, and nobody looks at "
                "its epoch.",
                "它在连接断开之前发出，现在才到，而没有人看它的 epoch。",
            ),
        ),
        "sequence_check": (
            (
                why.PRODUCE_NUMBERED,
                "producer id, epoch and sequence number travel along, and nobody compares them.",
                "消息带着生产者 id、epoch 和序号，但没有人比较。",
            ),
            (
                why.INIT_PLAIN,
                "a producer gets a number nobody has had, and no leader recognises a repeat by it.",
                "生产者得到一个全新的编号，但 leader 不会靠它识别重复。",
            ),
            (
                why.LATE,
                "it left before the connection broke and arrives only now, and nobody looks at "
                "its sequence numbers.",
                "它在连接断开之前发出，现在才到，而没有人看它的序号。",
            ),
            (
                words.WHY_DATA,
                "it is in the log at once, even if the same record lies there already.",
                "立刻写入日志，即使同一条记录已经在里面。",
            ),
        ),
        "lso": (
            (
                words.WHY_DATA,
                "it is in the log at once, and readers of committed data need not wait for the "
                "decision.",
                "立刻写入日志，只读已提交数据的读者也不必等待决定。",
            ),
            (
                words.WHY_LSO,
                "read_committed reads up to the high watermark, as everybody does.",
                "read_committed 和所有读者一样，读到高水位。",
            ),
            (
                words.WHY_FETCHED,
                "what lies below the high watermark is read, decided or not.",
                "高水位之下的都会读到，不管是否已决定。",
            ),
            (
                why.FETCH_COMMITTED,
                "a reader of committed data gets what lies below the high watermark, decided or "
                "not.",
                "只读已提交数据的读者也得到高水位之下的一切，不管是否已决定。",
            ),
        ),
        "aborted_index": (
            (
                words.WHY_LSO,
                "read_committed reads up to the LSO, and nothing tells it which records were "
                "aborted.",
                "read_committed 读到 LSO，却不知道其中哪些记录已中止。",
            ),
            (
                words.WHY_FETCHED,
                "the records come without the list of aborted transactions, so a reader takes all "
                "of them for committed.",
                "记录里没有附带已中止事务的列表，读者把它们都当作已提交。",
            ),
        ),
        "prepare_before_markers": (
            (
                why.REQUESTS[EndTxn],
                "the client asks for the end, and partitions are told before anything is written "
                "down.",
                "客户端请求结束，什么都还没写下，就先通知分区。",
            ),
            (
                words.WHY_ANSWERED,
                "the client is answered without waiting for a decision in the log.",
                "不等决定写入日志就应答客户端。",
            ),
            (
                why.REQUESTS[WriteTxnMarkers],
                "a partition is told whether the decision is in the log or not.",
                "不管决定是否已写入日志，都通知分区。",
            ),
            (words.WHY_PREPARE_COMMIT, *DECIDED_BEHIND),
            (words.WHY_PREPARE_ABORT, *DECIDED_BEHIND),
            (
                why.RECOVERED[Kind.COORDINATOR],
                "it knows what its log says, and not which markers it has sent without writing "
                "that down.",
                "它知道日志里写的，却不知道哪些控制消息没有写下就发出了。",
            ),
        ),
        "transaction_timeout": (
            (
                words.WHY_ONGOING,
                "the coordinator now knows where it will owe markers, and no clock runs.",
                "协调者知道了将来要向哪里写控制消息，但没有超时计时。",
            ),
        ),
        "verification": (
            (
                words.WHY_DATA,
                "it is in the log at once; of an old client's record nobody asks whether its "
                "transaction is open.",
                "立刻写入日志；旧客户端的记录，没有人问它的事务是否开着。",
            ),
        ),
        "epoch_bump": (
            (
                words.WHY_ANSWERED,
                "the client is answered and keeps its epoch, so a late record of this transaction "
                "looks like one of the next.",
                "客户端得到应答，epoch 不变，所以这个事务的迟到记录看起来像下一个事务的。",
            ),
            (
                why.LATE,
                "it left before the connection broke and arrives only now, with an epoch that is "
                "still good.",
                "它在连接断开之前发出，现在才到，而它的 epoch 仍然有效。",
            ),
        ),
        "offsets_in_transaction": (
            (
                why.REQUESTS[TxnOffsetCommit],
                "how far the group has read is sent within the transaction, and counts at once.",
                "消费者组读到哪里在事务里发送，却立刻生效。",
            ),
            (
                words.WHY_PENDING,
                "these positions count at once, whatever becomes of the transaction.",
                "不管事务结果如何，这些偏移量立刻生效。",
            ),
        ),
        "generation_fencing": (
            (
                words.WHY_GENERATION,
                "a generation: who is in the group and what each reads; others may commit all the "
                "same.",
                "一个 generation：组里有谁、各读什么；别人照样可以提交偏移量。",
            ),
            (
                why.STABLE,
                "everybody knows its part, and members of older generations may commit as well.",
                "每个成员都知道自己的部分，但旧 generation 的成员也可以提交偏移量。",
            ),
            (
                why.REQUESTS[SyncGroup],
                "one member shares the partitions out, and who is left out may still commit.",
                "由一个成员分配分区，没有分到的成员仍可提交偏移量。",
            ),
            (
                words.WHY_PENDING,
                "positions as part of the transaction, no matter who sent them.",
                "偏移量是事务的一部分，不管是谁发来的。",
            ),
            (
                words.WHY_OFFSETS,
                "these positions count at once, no matter who sent them.",
                "这些偏移量立刻生效，不管是谁发来的。",
            ),
        ),
    }
)
