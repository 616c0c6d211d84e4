"""What the pictures say about RocketMQ, in both languages."""

from __future__ import annotations

from ...kernel import Words

PRODUCER = Words("producer", "生产者")
DATABASE = Words("database", "数据库")
BROKER = Words("broker", "broker")
MASTER = Words("master", "主节点")
SLAVE = Words("slave", "从节点")
CONSUMER = Words("consumer", "消费者")

GRAPH = Words("Half message of {txn}", "{txn} 的半消息")
GRAPH_ASKED = Words(
    "Half message of {txn}: asked {times} of {most} times",
    "{txn} 的半消息：已回查 {times}/{most} 次",
)
GRAPH_IDLE = Words("No half message yet", "还没有半消息")

DATABASE_TABLE = Words("Database of the producer group", "生产者组的数据库")
GROUP_TABLE = Words("Producer group: who can be asked", "生产者组：可以询问谁")
TIMERS_TABLE = Words("Timers of the broker", "broker 的定时器")
WAITING_TABLE = Words("Op records in memory only", "只在内存中的 op 记录")
ASKED_NEXT = Words("asked next", "下一个被问")

APPLIED_TWICE = Words("{order} was applied {times} times", "{order} 被处理了 {times} 次")
CAME_TWICE = Words(
    "{order} came {times} times, applied once", "{order} 到达 {times} 次，只处理一次"
)
BACK = Words("{order} was sent back and will come again", "{order} 被退回，还会再来")
DEAD = Words("{order} is in the dead letter queue", "{order} 在死信队列里")

ROW_WITH_MESSAGE = Words(
    "each committed row's message is delivered, or its half is open or parked",
    "每个已提交的行，其消息已投递，或其半消息仍未决，或已转存报告",
)
MESSAGE_WITH_ROW = Words(
    "no message can be read whose row is not committed", "读不到行未提交的消息"
)
ROW_COMES = Words(
    "each message that can be read has its row in the end", "能读到的消息最终都有它的行"
)
CLEAN_READ = Words("no undecided message lies where consumers read", "消费者读取的地方没有未决消息")
NO_HALF_LOST = Words(
    "each half message is open, ended or parked", "每条半消息要么未决，要么已结束，要么已转存"
)
ENDS = Words("each half message can still end", "每条半消息都还能结束")
CAN_BE_ASKED = Words(
    "each committed row's message is delivered, or somebody can still be asked about its half",
    "每个已提交的行，其消息已投递，或还有人可问它的半消息",
)
DELIVERED_ONCE = Words("no message is delivered twice", "没有消息被投递两次")
PASSED_OVER = Words(
    "a message that was delivered is not delivered again because of a later check",
    "已投递的消息不会因之后的回查再次投递",
)
FINAL = Words("a message that was rolled back is never delivered", "已回滚的消息不会再投递")
PARKED_OR_DELIVERED = Words("no message is both parked and delivered", "没有消息既被转存又被投递")
ROW_DELIVERED = Words(
    "each committed row's message is delivered or its half is open",
    "每个已提交的行，其消息已投递，或其半消息仍未决",
)
APPLIED_ONCE = Words("no consumer applies an order twice", "没有消费者把一个订单处理两次")
APPLIED_OR_KEPT = Words(
    "what a group has passed over is applied, or comes again, or is in its dead letter queue",
    "消费者组越过的消息，要么已处理，要么还会再来，要么在死信队列里",
)
ENDED_FOR_GOOD = Words(
    "no copy is made of a half whose end was recorded before", "结束已有记录的半消息不会再被复制"
)
DELIVERED_WHOLE = Words(
    "a delivered message has every field and property of its half, and the topic that it was sent "
    "to",
    "投递的消息保留半消息的全部字段和属性，并回到原来的主题",
)
NAMES_THE_COPY = Words(
    "a question names the copy of the half that was put back for it",
    "回查所指的，是为这次回查放回的那份半消息",
)
ASKS_THE_LIVING = Words(
    "no producer is asked of which the broker has heard that it is gone",
    "broker 得知某个生产者离开之后，不会再询问它",
)
PROGRESS_KEPT = Words(
    "how far each group has come is on the disk, or about to be written",
    "每个消费者组的进度已在磁盘上，或即将写入",
)
PARKED_WHEN_SPENT = Words(
    "no half is parked before it was asked about as often as is allowed",
    "半消息被回查到上限之前不会被转存",
)
COMMITS = Words("a message can be committed", "消息可以提交")
