"""One sentence why for each message and each record: what it means here, not what its line says
again; and the short names that the chart has for them."""

from __future__ import annotations

from ...kernel import Words

# ---- requests and answers --------------------------------------------------------------

HALF = Words(
    "The message goes to the broker first: if it cannot be stored, the order is not written "
    "either.",
    "先把消息交给 broker：如果它存不下来，订单也不会写入。",
)
PLAIN = Words(
    "An ordinary message belongs to no transaction: consumers may read it as soon as it is stored.",
    "普通消息不属于任何事务：一存下来消费者就可以读到。",
)
END_COMMIT = Words(
    "The end is sent one-way: nobody answers it and nothing repeats it, so a lost one is left to "
    "the check.",
    "结束请求是单向的：没有应答，也不会重发；丢了就只能靠回查。",
)
END_ROLLBACK = Words(
    "A rollback is sent one-way too; without it the half would be asked about, not delivered.",
    "回滚也是单向发送；没有它，半消息会被回查，但不会被投递。",
)
END_UNKNOW = Words(
    "UNKNOW decides nothing: the broker writes nothing down and will ask later.",
    "UNKNOW 不作决定：broker 什么也不写，以后再问。",
)
END_WRONG = Words(
    "No such end exists: the broker refuses it while it reads the header.",
    "没有这种结束类型：broker 在解析请求头时就拒绝。",
)
CHECK_COMMIT = Words(
    "The answer names the copy that was put back, and commits as the sender's own end would have.",
    "应答指明被重新写入的那份副本；它的提交与发送者自己的提交效果相同。",
)
CHECK_ROLLBACK = Words(
    "The answer names the copy that was put back; with its op record the questions stop.",
    "应答指明被重新写入的那份副本；有了它的 op 记录，就不再回查。",
)
CHECK_UNKNOW = Words(
    "The process asked cannot tell yet: this check is used up, and the next round asks again.",
    "被问者还说不出结果：这次回查已用掉，下一轮再问。",
)
ASKED = Words("check {order} ({times} of {most})", "回查 {order}（第 {times} 次，共 {most} 次）")
QUESTION = Words(
    "The broker asks a live producer of the group, which need not be the one that sent the half.",
    "broker 询问组内一个存活的生产者，不一定是发送半消息的那个。",
)
STATEMENT_PUT = Words(
    "This is the local transaction: it happens in the service's own database, and RocketMQ takes "
    "no part in it.",
    "这就是本地事务：它发生在服务自己的数据库里，RocketMQ 不参与。",
)
STATEMENT_GET = Words(
    "The answer to a check must come from the shared database; memory is lost with its process.",
    "回查的答案必须来自共享的数据库；内存会随进程一起消失。",
)
STATEMENT_INSERT = Words(
    "The row is written only if there is none. The answer is what stands there now, so of two that "
    "insert the same row one hears of the other.",
    "只有在没有这一行时才写入。应答是此刻行里的值，所以两方插入同一行时，后来者会得知先来者写了什么。",
)
STATEMENT_DELETE = Words(
    "The service takes its row back; the broker knows nothing of rows.",
    "服务撤回自己的行；broker 对行一无所知。",
)
HEARTBEAT = Words(
    "Only by heartbeats does the broker know whom it can ask.",
    "broker 只通过心跳知道可以询问谁。",
)
RESUME = Words(
    "An operator takes a parked half back into the half topic; its checks are counted again.",
    "运维人员把转存的半消息放回半消息主题；回查次数重新计数。",
)
HALF_STORED = Words(
    "The half is stored, so the local transaction may run now and not before.",
    "半消息已存好：本地事务现在才可以执行。",
)
HALF_DOUBTFUL = Words(
    "The half is stored less safely than was asked for: the local transaction is not run, and the "
    "half is rolled back.",
    "半消息没有存得像要求的那样安全：不执行本地事务，半消息被回滚。",
)
PLAIN_STORED = Words(
    "The message is stored; for an ordinary one that is the whole story.",
    "消息已存好；对普通消息来说这就是全部。",
)
ROW_READ = Words(
    "A row proves that the local transaction was committed; no row proves nothing, for it may "
    "still come.",
    "有行说明本地事务已提交；没有行什么也不能说明，因为它可能稍后才写入。",
)
ROW_INSERTED = Words(
    "This is the row as it stands now, no matter who wrote it.",
    "这是此刻的行，不论是谁写的。",
)
NO_ROW = Words("no row", "没有这一行")
RAW_ANSWER = Words(
    "Real clients do not ask for this answer, so they never learn that an end was refused.",
    "真正的客户端不要这个应答，所以永远不知道结束请求被拒绝。",
)

PULL = Words(
    "A push consumer pulls: it asks for what lies behind the offset that it has reached.",
    "推模式的消费者其实在拉取：它请求自己位点之后的消息。",
)
PULLED = Words(
    "Messages stay in the queue when they are read; only the offset moves on.",
    "消息被读取后仍留在队列里；移动的只是位点。",
)
SENT_BACK = Words("{order} back", "退回 {order}")
SEND_BACK = Words(
    "The listener could not process it: the broker keeps a copy for later, and the producer hears "
    "nothing of it.",
    "监听器无法处理：broker 保存一份副本以后再投；生产者对此一无所知。",
)
UPDATE_OFFSET = Words(
    "It reports how far it has come after its work, so a stop in between brings the message again.",
    "它在处理之后才上报位点，所以中途停止会使消息再次到来。",
)
WHO_READS = Words(
    "The members of a group share the queues; each works out its own part.",
    "组内成员分担队列；每个成员自己算出自己的部分。",
)
COPIED = Words(
    "The master sends its slave what follows in the commit log.",
    "主节点把提交日志后面的内容发给从节点。",
)
HA_REPORT = Words(
    "From where the copy ends the master knows what the slave has.",
    "主节点从副本的末尾知道从节点有了什么。",
)

# ---- records and rows ------------------------------------------------------------------

HALF_RECORD = Words(
    "It lies under another topic, to which no consumer subscribes: stored, and invisible.",
    "它存放在另一个主题下，没有消费者订阅：已存储，但不可见。",
)
COPY = Words(
    "A log cannot be changed, so the half is written once more at its end, with the number of "
    "checks raised; the question is about this copy.",
    "日志不能修改，所以半消息在末尾再写一份，回查次数加一；提问针对这份副本。",
)
OP_RECORD = Words(
    "It names places in the half topic that the check may pass over; the halves themselves stay.",
    "它记下半消息主题中回查可以跳过的位置；半消息本身仍然保留。",
)
PARKED = Words(
    "Nobody gave a decision in as many checks as are allowed: the half is parked here for an "
    "operator, which is no rollback.",
    "在允许的回查次数内没有人作出决定：半消息转存到这里等待运维处理，这不是回滚。",
)
DELIVERED = Words(
    "A commit writes the message once more, complete, into its own topic: from here on consumers "
    "can read it.",
    "提交会把完整的消息再写一遍到它自己的主题：从此消费者可以读到。",
)
DELIVERED_AGAIN = Words(
    "The same message is written again: the broker keeps no list of what it has delivered.",
    "同一条消息又写了一遍：broker 没有记录已投递消息的清单。",
)
UNDECIDED_RECORD = Words(
    "Without a half topic the message lies where consumers read, decided or not.",
    "没有半消息主题，消息直接放在消费者读取的地方，不管是否已决定。",
)
PLAIN_RECORD = Words(
    "Consumers may read it at once.",
    "消费者立刻可以读到。",
)
RETRIED = Words(
    "What a consumer could not process waits in its group's retry topic and comes again.",
    "消费失败的消息在消费者组的重试主题里等待，之后再次投递。",
)
DELAYED = Words(
    "It waits under a topic of its own until its delay is over.",
    "它先放在专门的主题里，直到延时结束。",
)
COMES_AGAIN = Words(
    "The delay is over: the copy lies in the group's retry topic, which every consumer of the "
    "group reads.",
    "延时结束：副本进入消费者组的重试主题，组内消费者都会读它。",
)
APPLIES = Words("{order} applied (×{times})", "处理 {order}（×{times}）")
APPLIED = Words(
    "The consumer does its work and notes the order's key in the same statement.",
    "消费者完成处理，并在同一条语句里记下订单的键。",
)
APPLIED_AGAIN = Words(
    "The same order is applied once more: nobody looked it up before.",
    "同一个订单又处理了一次：事先没有查重。",
)
DEAD = Words(
    "After all its retries the message is left here for a person; the producer's transaction is "
    "not touched.",
    "重试用完后，消息留在这里等人处理；生产者的事务不受影响。",
)
ROW = Words("row {order} = {value}", "写入行 {order} = {value}")
ROW_GONE = Words("row {order} removed", "删除行 {order}")
WRITTEN = Words(
    "The row is committed and the message is not visible: until the half is committed, database "
    "and topic disagree.",
    "行已提交，而消息还不可见：在半消息提交之前，数据库和主题不一致。",
)
REMOVED = Words(
    "The row is gone; what was said to the broker about it stands.",
    "行没有了；但已经告诉 broker 的内容仍然有效。",
)
