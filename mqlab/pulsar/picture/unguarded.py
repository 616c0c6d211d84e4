"""What is true while a safeguard is off, in the place of the sentences that rest on it."""

from __future__ import annotations

from ...kernel.reasons import build_unguarded
from . import sentences, why

TOLD_FIRST = (
    "the end is told to all participants, and nothing in the log says it yet.",
    "直接把结果告诉所有参与方，而日志里还没有这个决定。",
)
FORGOTTEN = (
    "this is written down, and a coordinator that starts again does not read it.",
    "写下来了，但重启的协调者不会读它。",
)
UNGUARDED = build_unguarded(
    {
        "max_read_position": (
            (
                why.MAX_READ_MOVED,
                "the position is kept, and consumers are sent what lies above it as well.",
                "这个位置照样维护，但之上的消息也会投递给消费者。",
            ),
            (
                sentences.PUSH,
                "it is sent although its transaction may still be open.",
                "它所属的事务可能还没有结束，照样投递。",
            ),
            (
                sentences.SUBSCRIBED,
                "the broker pushes all that is stored, as far as it has permits.",
                "broker 推送已存下的一切，直到许可用完。",
            ),
            (
                sentences.STORED,
                "it is stored and can be read at once, decided or not.",
                "已经存下，不管是否已决定，立刻就能读到。",
            ),
            (
                sentences.STORED_PLAIN,
                "it is stored and can be read at once, whatever lies before it.",
                "已经存下，不管前面有什么，立刻就能读到。",
            ),
            (
                sentences.RECOVER,
                "consumers are served before the buffer knows what is open here.",
                "缓冲区还不知道哪些事务未结束，就已经开始投递。",
            ),
        ),
        "filter_aborted": (
            (
                sentences.ABORT_MARKER,
                "the messages stay where they are, and dispatchers send them like all others.",
                "消息留在原处，分发时和其他消息一样投递。",
            ),
            (
                sentences.TELL_ABORT,
                "the partition learns of the abort and sends the messages all the same.",
                "分区得知中止，却照样投递这些消息。",
            ),
            (
                sentences.PUSH,
                "whatever lies at or below maxReadPosition is sent, aborted or not.",
                "不高于 maxReadPosition 的都投递，不管是否已中止。",
            ),
        ),
        "decision_before_markers": (
            (sentences.TELL_COMMIT, *TOLD_FIRST),
            (sentences.TELL_ABORT, *TOLD_FIRST),
            (sentences.TELL_SUBSCRIPTION, *TOLD_FIRST),
        ),
        "retry_until_answered": (
            (
                why.BROKEN,
                "no answer comes on this connection, and a coordinator that waits for one does "
                "not tell the end again.",
                "这条连接上不再有应答，等待它的协调者也不会再次通知。",
            ),
            (
                sentences.NOT_ANSWERED,
                "one participant could not do it, and nobody tells it again.",
                "有一个参与方做不到，而且没有人再通知它。",
            ),
            (
                sentences.DONE,
                "the end counts as told, whether every participant has answered or not.",
                "不管每个参与方是否应答，都当作已经通知到。",
            ),
            (
                sentences.ENDED,
                "the end is in the log, whether every participant has answered or not.",
                "结果写进了日志，不管每个参与方是否应答。",
            ),
            (
                sentences.COMMIT,
                "the caller is answered even where a participant did not hear of the commit.",
                "即使有参与方没有得知提交，也会应答调用者。",
            ),
            (
                why.COMMITTED,
                "the commit has returned, and a participant may have no marker.",
                "提交已返回，但可能有参与方没有控制消息。",
            ),
            (
                sentences.DECIDED_COMMIT,
                "the commit is decided, but a participant that misses it never hears of it.",
                "提交已决定，但错过通知的参与方永远不会知道。",
            ),
        ),
        "replay_log": (
            (
                why.STOPPED["coordinator"],
                "the log stays, and nobody will read it: what is open here stays open.",
                "日志还在，但没有人会读它：未结束的事务一直不结束。",
            ),
            (
                why.RECOVERED["coordinator"],
                "nothing is loaded, and the client that connects first brings nothing back.",
                "什么也没加载，第一个连接的客户端也带不回什么。",
            ),
            (
                why.LOG_READ,
                "the coordinator is ready, and knows nothing of what its log holds.",
                "协调者就绪，却不知道日志里有什么。",
            ),
            (
                sentences.CONNECT,
                "the first client that connects makes the broker load the coordinator, without "
                "what its log says.",
                "第一个连接的客户端让 broker 加载协调者，但不回放日志。",
            ),
            (sentences.NEW_RECORD, *FORGOTTEN),
            (sentences.ADD_RECORD, *FORGOTTEN),
            (sentences.DECIDED_COMMIT, *FORGOTTEN),
            (sentences.DECIDED_ABORT, *FORGOTTEN),
        ),
        "replay_topic": (
            (
                why.RECOVERED["partition"],
                "it reads its cursors, its pending acknowledgements and the last snapshot, and "
                "nothing of what the topic holds after it.",
                "它读取游标、待定确认和最后的快照，但不读快照之后的主题。",
            ),
            (
                sentences.RECOVER,
                "the buffer takes what its snapshot says for all there is.",
                "缓冲区把快照里的内容当作全部。",
            ),
            (
                why.MAX_READ_MOVED,
                "a buffer that was loaded again knows of nothing open behind its snapshot, so "
                "maxReadPosition may pass it.",
                "重新加载的缓冲区不知道快照之后有什么未结束，所以 maxReadPosition 可能越过它。",
            ),
        ),
        "transaction_timeout": (
            (
                sentences.NEW_RECORD,
                "with this record the transaction exists, and no deadline will end it.",
                "有了这条记录事务就存在，而且没有期限来结束它。",
            ),
            (
                why.STOPPED["client"],
                "its transactions and its queues are gone, and nothing ends what was open.",
                "它的事务和队列都没了，未结束的也没有什么来结束。",
            ),
        ),
        "low_watermark": (
            (
                sentences.MESSAGE_RECORD,
                "it is stored, and nobody asks whether its transaction has ended long ago.",
                "已经存下，没有人问它的事务是否早已结束。",
            ),
        ),
        "pending_ack_conflict": (
            (
                sentences.PENDING_RECORD,
                "it is written down and counts, no matter who has acknowledged the same before.",
                "写下就生效，不管之前谁已确认过同一条消息。",
            ),
        ),
        "pending_ack_log": (
            (
                sentences.ACKED,
                "it is answered from memory, and a restart of the broker knows nothing of it.",
                "只凭内存应答，broker 重启后对此一无所知。",
            ),
            (
                why.ACKNOWLEDGED,
                "what a transaction has acknowledged is in memory only.",
                "事务里的确认只在内存中。",
            ),
            (
                why.STOPPED["partition"],
                "messages, markers and cursors stay; pending acknowledgements are gone, and so is "
                "what the buffer knew.",
                "消息、控制消息和游标还在；待定确认和缓冲区的内存状态没了。",
            ),
            (
                why.RECOVERED["partition"],
                "it reads its cursors and finds nothing pending; the buffer recovers from its "
                "snapshot and from what the topic holds after it.",
                "它读取游标，没有任何待定确认；缓冲区从快照和之后的主题恢复。",
            ),
        ),
        "pending_ack_filter": (
            (
                sentences.ACK_IN_TXN,
                "the transaction acknowledges the message, and it is delivered all the same.",
                "事务确认了这条消息，它却照样会被投递。",
            ),
            (
                sentences.REDELIVER,
                "what the consumer holds is wanted once more, and what is pending is sent too.",
                "消费者手里的消息要求重新投递，待定的也一起投递。",
            ),
            (
                sentences.PUSH,
                "it is sent even where an open transaction has acknowledged it.",
                "即使未结束的事务已确认它，也照样投递。",
            ),
        ),
        "redeliver_aborted": (
            (
                sentences.ACK_IN_TXN,
                "the message is taken out of the way, and an abort does not send it again.",
                "消息先被拿开，中止之后也不会再投递。",
            ),
            (
                sentences.PENDING_ABORT,
                "what was pending is free again, and nothing is sent once more.",
                "待定的确认被释放，但什么也不再投递。",
            ),
        ),
    }
)
