"""What pictures and narrations of an outbox say, in both languages."""

from __future__ import annotations

from ...kernel import Text, Words
from ...kernel.reasons import build_unguarded

TITLE = Text("Transactional outbox", "事务发件箱")
APPLICATION = Words("application", "应用")
SHOP = Words("orders and outbox", "订单与发件箱")
RELAY = Words("relay", "中继")
BROKER = Words("broker", "消息服务器")
CONSUMER = Words("consumer with inbox", "消费者，带收件箱")
GRAPH = Words("How far {txn} has come", "{txn} 走到哪一步")
GRAPH_IDLE = Words("No order yet", "还没有订单")
TABLE = Words("Outbox rows without a mark", "发件箱中未标记的行")
BEHIND = Words("{txn} is ordered, its effect is not here yet", "{txn} 已下单，效果还没有到这里")

WHYS = {
    "PlaceOrder": Words("The application stores an order.", "应用保存一个订单。"),
    "ordered": Words(
        "One local transaction commits the order and the row of its message together.",
        "一个本地事务同时提交订单和它的消息行。",
    ),
    "answer ok": Words(
        "The database has committed, so the order counts; the broker was not asked.",
        "数据库已提交，订单生效；没有询问消息服务器。",
    ),
    "answer failed": Words("An order is stored once.", "一个订单只保存一次。"),
    "commit": Words(
        "The transaction commits now, with the number that its row took at the start.",
        "事务现在提交，行的编号是开始时取得的。",
    ),
    "OutboxRow": Words(
        "The oldest row without a mark. Reading it changes nothing.",
        "最早的未标记的行。读取不改变任何东西。",
    ),
    "Publish": Words(
        "The row becomes a message, perhaps not for the first time.",
        "这一行变成消息，也许不是第一次。",
    ),
    "message": Words(
        "Everybody can read it from now on. A repetition looks like a new message.",
        "从此人人可读。重复的消息看起来和新消息一样。",
    ),
    "PublishResponse": Words(
        "The broker has stored it, so the row may be marked.", "消息服务器已保存，可以标记这一行。"
    ),
    "MarkSent": Words(
        "A relay that is killed before this publishes the row once more.",
        "中继若在此之前被杀，会再发布一次这一行。",
    ),
    "sent": Words("The row is marked and will not be read again.", "这一行已标记，不会再被读取。"),
    "read": Words(
        "The relay remembers one number, and will read behind it.",
        "中继记住一个编号，以后从它之后读起。",
    ),
    "PollResponse": Words(
        "The group is given it until it acknowledges.", "在确认之前，这个组会一直得到它。"
    ),
    "applied": Words(
        "One local transaction: the effect, the message's id, and the row of a follow-up.",
        "一个本地事务：效果、消息的 id，以及后续消息的行。",
    ),
    "Acknowledge": Words(
        "The effect is safe, so the position may move.", "效果已安全，位置可以移动。"
    ),
    "acked": Words("The group's position moves on.", "这个组的位置前移。"),
    "retry": Words("No answer came, so it asks again.", "没有得到应答，所以再问一次。"),
    "stop shop": Words(
        "Committed rows are on the disk with their messages; the rest is rolled back.",
        "已提交的行和消息都在磁盘上。没有提交的被回滚。",
    ),
    "stop relay": Words(
        "It kept nothing: whatever has no mark will be read again.",
        "它什么也不保存：没有标记的会再读一次。",
    ),
    "stop broker": Words(
        "Orders are still taken; their messages wait in the outbox.",
        "仍然可以下单；消息在发件箱里等待。",
    ),
}

UNGUARDED = build_unguarded(
    {
        "row_with_message": (
            (
                WHYS["ordered"],
                "the order is written by itself, and the row of its message in a second write.",
                "订单单独写入，它的消息行是第二次写入。",
            ),
            (
                WHYS["stop shop"],
                "an order may be there without the row of its message; then nobody publishes it.",
                "可能有订单而没有它的消息行，那样就没有谁会发布它。",
            ),
        ),
        "marks_each_row": (
            (
                WHYS["OutboxRow"],
                "the first row after the number that the relay remembers.",
                "中继所记编号之后的第一行。",
            ),
            (
                WHYS["commit"],
                "the transaction commits now; a relay that remembers one number may have passed "
                "its row.",
                "事务现在提交；只记一个编号的中继可能已经越过它的行。",
            ),
        ),
        "marked_when_stored": (
            (
                WHYS["MarkSent"],
                "the row is marked before the broker has its message; a relay that is killed now "
                "never publishes it.",
                "消息服务器还没有消息，行就已标记；中继此刻被杀，就再也不会发布它。",
            ),
            (
                WHYS["stop relay"],
                "what it has marked and not published is lost.",
                "它标记了却还没有发布的就丢失了。",
            ),
        ),
        "inbox": (
            (
                WHYS["applied"],
                "the effect is written, and nothing tells a repetition by its id.",
                "只写入效果，没有什么能按 id 认出重复。",
            ),
        ),
        "id_of_the_row": (
            (
                WHYS["applied"],
                "the effect is written with the place in the topic; a repetition has another one.",
                "效果和主题中的位置一起写入；重复的消息位置不同。",
            ),
        ),
        "effect_before_ack": (
            (
                WHYS["Acknowledge"],
                "the position moves before the effect is written.",
                "效果还没有写入，位置就移动。",
            ),
        ),
    }
)

EFFECT_ONCE = Words("no consumer applies an order twice", "没有消费者把一个订单处理两次")
HAS_A_ROW = Words("every message stands for a committed row", "每条消息都对应一个已提交的行")
IN_ORDER = Words(
    "messages stand in the topic in the order of commits, apart from repetitions",
    "除重复外，主题中的消息按提交顺序排列",
)
AS_TOLD = Words("an order that was acknowledged is stored", "得到应答的订单都已保存")
REACHES_ALL = Words("every order can still reach every consumer", "每个订单最终都能到达每个消费者")
APPLIES = Words("an order can be applied", "订单可以被处理")
PUBLISHED_ONCE = Words("a topic holds each message once", "主题中每条消息只有一份")
SEEN_AT_ONCE = Words(
    "an order and its message are there at the same time", "订单和它的消息同时出现"
)
