"""One sentence why for each message and each record: what it means here, not what its line says
again."""

from __future__ import annotations

from ...kernel import Words

# ---- client → coordinator --------------------------------------------------------------

CONNECT = Words(
    "The first client that connects makes the broker load the coordinator's log; the broker's own "
    "start does not.",
    "第一个连接的客户端才让 broker 加载协调者的日志；broker 启动时并不加载。",
)
NEW = Words(
    "An id and a timeout are all that a transaction begins with; nothing is known of it in any "
    "partition.",
    "事务开始时只有一个 ID 和一个超时；任何分区都还不知道它。",
)
ADD_PARTITION = Words(
    "The coordinator must know where to tell the end, so a partition is registered before the "
    "first message goes there.",
    "协调者必须知道结束时通知谁，所以第一条消息发出之前先登记分区。",
)
ADD_SUBSCRIPTION = Words(
    "An acknowledgement becomes part of the transaction: this subscription will be told the end.",
    "确认成为事务的一部分：结束时会通知这个订阅。",
)
COMMIT = Words(
    "The caller is answered after every participant: when a commit returns, all markers are "
    "written.",
    "每个参与方都应答之后才应答调用者：提交返回时，所有控制消息都已写入。",
)
ABORT = Words(
    "An abort is told to the same participants in the same way.",
    "中止也以同样的方式通知同样的参与方。",
)
ENDED = Words(
    "Every participant has answered and the end is in the log; the coordinator has forgotten the "
    "transaction.",
    "每个参与方都已应答，结果也写进了日志；协调者已经忘掉这个事务。",
)
ENDED_BADLY = Words(
    "The transaction has ended and is forgotten, or somebody else is ending it; whether it was "
    "committed, the answer does not say.",
    "事务已经结束并被忘掉，或者别人正在结束它；应答并没有说明它是否已提交。",
)
REFUSED = Words(
    "Nothing was done: the client connects and asks again, or tells its application.",
    "什么也没做：客户端重新连接再问，或者告诉应用程序。",
)
BEGUN = Words(
    "The id holds the coordinator's number and a count of its own; it is never used again.",
    "ID 由协调者编号和它自己的计数组成；不会再次使用。",
)

# ---- coordinator → participants --------------------------------------------------------

TELL_COMMIT = Words(
    "The decision is written, so it can be told now, to all participants at once.",
    "决定已经写下，现在可以同时告诉所有参与方。",
)
TELL_ABORT = Words(
    "The partition keeps the messages and learns that nobody may read them.",
    "分区保留这些消息，只是知道谁也不能读。",
)
TELL_SUBSCRIPTION = Words(
    "What this transaction has acknowledged here becomes final, or free again.",
    "这个事务在这里的确认成为最终的，或者重新释放。",
)
ANSWERED = Words(
    "One participant fewer has to answer; the caller is answered after the last.",
    "少了一个未应答的参与方；最后一个应答之后才应答调用者。",
)
NOT_ANSWERED = Words(
    "One participant could not do it: all of them are told again a second later, without limit.",
    "有一个参与方做不到：一秒之后重新通知全部参与方，没有次数限制。",
)

# ---- messages --------------------------------------------------------------------------

SEND_IN_TXN = Words(
    "The message goes to its real partition at once; only the id of its transaction tells it from "
    "others.",
    "消息立即写入真正的分区；只有事务 ID 把它和别的消息区分开。",
)
SEND_PLAIN = Words(
    "A plain message is not held back by itself, but it may lie behind an open transaction.",
    "普通消息本身不会被扣住，但它可能排在未结束的事务后面。",
)
STORED = Words(
    "It is stored; whether it will ever be read is decided later.",
    "已经存下；以后能不能读到还没有决定。",
)
STORED_PLAIN = Words(
    "It is stored, and can be read as soon as nothing open lies before it.",
    "已经存下；只要前面没有未结束的事务就能读到。",
)
SWALLOWED = Words(
    "The broker knows this sequence number already and stores nothing; the producer hears success.",
    "broker 已经见过这个序号，什么也不存；生产者听到的是成功。",
)
STALE = Words(
    "The low watermark says that this transaction has ended: its message is refused.",
    "低水位说明这个事务已经结束：它的消息被拒绝。",
)
OPEN = Words(
    "A producer that wants the topic alone is let in, queued or refused; one that fences throws "
    "the others out.",
    "想独占主题的生产者会被接受、排队或拒绝；带隔离的会把其他生产者赶走。",
)
OPENED = Words(
    "The epoch is on the disk, so the producer that had the topic before is fenced from now on.",
    "epoch 已写入磁盘，之前占用主题的生产者从此被隔离。",
)
OPENED_SHARED = Words(
    "It shares the topic with others, or waits; no epoch was raised for it.",
    "它与其他生产者共用主题，或者在等待；没有为它提高 epoch。",
)
FENCED = Words(
    "Another producer has the topic for itself, or has had it since: this one writes nothing more "
    "here. Transactions are not fenced by it.",
    "另一个生产者正在或曾经独占主题：它在这里不能再写。事务本身并没有被隔离。",
)
NOT_OPEN = Words(
    "The topic does not know this producer (any more). A real broker closes the connection, and "
    "the client opens its producer again.",
    "主题不认识（或不再认识）这个生产者。真实的 broker 会关闭连接，客户端再重新打开生产者。",
)
CLOSE_PRODUCER = Words(
    "When nobody is left, the first producer that waits gets the topic.",
    "没有其他生产者时，最先等待的生产者得到主题。",
)
SUBSCRIBE = Words(
    "The subscription stays when its consumers go; its cursor says where they begin to read.",
    "消费者离开后订阅仍在；从哪里开始读由它的游标决定。",
)
SUBSCRIBED = Words(
    "From now on the broker pushes, as far as it has permits and maxReadPosition allows.",
    "从现在起 broker 主动推送，直到许可用完或到达 maxReadPosition。",
)
PUSH = Words(
    "It lies at or below maxReadPosition and no aborted transaction has written it, so it may be "
    "sent.",
    "它不高于 maxReadPosition，也不属于已中止的事务，所以可以投递。",
)
ACK = Words(
    "A plain acknowledgement counts at once, whatever a transaction has pending there.",
    "普通确认立即生效，不管有没有事务在那里待定。",
)
ACK_IN_TXN = Words(
    "The message is taken out of the way until the transaction ends, and given back if it aborts.",
    "事务结束之前消息先被拿开；如果中止，再还回来。",
)
ACKED = Words(
    "The record is safe: a restart of the broker finds the acknowledgement pending again.",
    "记录已经安全：broker 重启后，这个确认仍是待定的。",
)
CONFLICT = Words(
    "Somebody was first: the message is acknowledged or pending already, or the subscription's "
    "one cumulative acknowledgement is taken.",
    "已有先到者：这条消息已确认或待定，或者订阅唯一的累积确认已被占用。",
)
REDELIVER = Words(
    "What the consumer holds is wanted once more; what is pending is left out.",
    "消费者手里的消息要求重新投递；待定的除外。",
)
SEEK = Words(
    "The cursor moves to another place, back or ahead. Consumers are closed, and come back there.",
    "游标移到另一处，向前或向后。它的消费者先被关闭，再从那里重新订阅。",
)
READER = Words(
    "A reader's subscription goes with the reader; where it begins, the reader says itself.",
    "reader 的订阅随 reader 一起消失；从哪里开始读由 reader 自己指定。",
)
CLOSE = Words(
    "The consumer goes, the subscription stays.",
    "消费者离开，订阅保留。",
)
UNSUBSCRIBE = Words(
    "The subscription goes, with its cursor and its pending acknowledgements.",
    "订阅连同游标和待定确认一起删除。",
)
ADMIN = Words(
    "An operator looks or acts; no consumer or producer takes part.",
    "运维人员查看或操作；与消费者和生产者无关。",
)
RECOVER = Words(
    "Until the buffer knows again what is open here, nobody is sent anything.",
    "在缓冲区重新知道哪些事务未结束之前，不投递任何消息。",
)

# ---- what is written -------------------------------------------------------------------

MESSAGE_RECORD = Words(
    "It lies among all other messages of the partition; maxReadPosition stays before the first "
    "one of the oldest open transaction.",
    "它和分区里其他消息混在一起；maxReadPosition 停在最早未结束事务的第一条消息之前。",
)
PLAIN_RECORD = Words(
    "A plain message takes the next position like any other.",
    "普通消息和别的消息一样占用下一个位置。",
)
COMMIT_MARKER = Words(
    "A marker takes a position of its own, is sent to nobody, and ends the transaction here.",
    "控制消息自己占一个位置，不投递给任何人，并在这里结束事务。",
)
ABORT_MARKER = Words(
    "The messages stay where they are; the marker says that dispatchers leave them out.",
    "消息留在原处；控制消息说明分发时要跳过它们。",
)
MARKER_AGAIN = Words(
    "The same end once more: a second marker changes nothing.",
    "同样的结束又来一次：第二条控制消息不改变任何东西。",
)
SNAPSHOT = Words(
    "The buffer notes maxReadPosition and the aborted transactions, so a load need not read the "
    "whole topic.",
    "缓冲区记下 maxReadPosition 和已中止的事务，加载时不必读完整个主题。",
)
NEW_RECORD = Words(
    "With this record the transaction exists; its deadline counts from here, also over restarts.",
    "有了这条记录事务才存在；期限从这里算起，重启也不延长。",
)
ADD_RECORD = Words(
    "Where the end must be told survives the coordinator now.",
    "结束时要通知谁，现在协调者崩溃也不会忘。",
)
DECIDED_COMMIT = Words(
    "This is the commit: once the record is safe, the transaction will be committed, whatever "
    "stops.",
    "这就是提交：记录一旦安全，无论什么崩溃，事务都会提交。",
)
DECIDED_ABORT = Words(
    "This is the abort: once the record is safe, the transaction cannot be committed any more.",
    "这就是中止：记录一旦安全，事务再也不能提交。",
)
DONE = Words(
    "All participants have answered; the records of this transaction are deleted.",
    "所有参与方都已应答；这个事务的记录被删除。",
)
PENDING_RECORD = Words(
    "The acknowledgement is written down before it is answered; the cursor does not move yet.",
    "先写下确认再应答；游标还不移动。",
)
PENDING_COMMIT = Words(
    "Once the record is safe, the cursor takes over what was pending.",
    "记录一旦安全，游标就接管待定的确认。",
)
PENDING_ABORT = Words(
    "What was pending is free again. Messages that were acknowledged one by one are sent once "
    "more; after a cumulative acknowledgement nothing is, until the client asks for it.",
    "待定的确认被释放。逐条确认的消息会再次投递；累积确认的则要等客户端要求才再投递。",
)
