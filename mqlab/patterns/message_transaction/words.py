"""What pictures and narrations of a message transaction say, in both languages."""

from __future__ import annotations

from ...kernel import Text, Words
from ...kernel.reasons import build_unguarded

TITLE = Text("Message transaction", "消息事务")
APPLICATION = Words("application", "应用")
SHOP = Words("orders and outbox", "订单与发件箱")
QUEUE = Words("queue", "队列")
WAREHOUSE = Words("consumer", "消费者")
GRAPH = Words("How far {txn} has come", "{txn} 走到哪一步")
GRAPH_IDLE = Words("No order yet", "还没有订单")
TABLE = Words("Outbox of the shop", "商店的发件箱")
BEHIND = Words("{txn} is ordered, its goods are not set aside yet", "{txn} 已下单，货还没有留出")

WHYS = {
    "PlaceOrder": Words("The application stores an order.", "应用保存一个订单。"),
    "ordered": Words(
        "One local transaction: order and message are written together, or neither is.",
        "一个本地事务：订单和消息要么一起写入，要么都不写。",
    ),
    "answer ok": Words(
        "The order counts from now on; the warehouse has not heard of it.",
        "订单从此生效；仓库还不知道。",
    ),
    "answer failed": Words("An order is stored once.", "一个订单只保存一次。"),
    "Publish": Words(
        "The message is taken out of the outbox, perhaps not for the first time.",
        "从发件箱取出消息发送，也许不是第一次。",
    ),
    "message": Words(
        "The queue keeps it. A plain queue cannot tell a repetition from a new message.",
        "队列保存它。普通队列分不清重复的消息和新消息。",
    ),
    "PublishResponse": Words(
        "It is safe there, so the shop need not send it again.", "那边已安全保存，商店不必再发。"
    ),
    "sent": Words("The outbox is emptied of it.", "从发件箱中划掉。"),
    "Poll": Words("The warehouse asks for the oldest message.", "仓库索取最早的消息。"),
    "PollResponse": Words(
        "Given, but not crossed out: without an acknowledgement it is given again.",
        "已投递但没有划掉：没有确认就会再次投递。",
    ),
    "applied": Words(
        "Another local transaction: the effect, and that it has been done, in one write.",
        "另一个本地事务：效果与“已处理”的记录一次写入。",
    ),
    "Acknowledge": Words("It is applied, so it need not come again.", "已经处理，不必再来。"),
    "acked": Words("The position moves on behind it.", "位置移到它之后。"),
    "AcknowledgeResponse": Words("On to the next message.", "继续下一条消息。"),
    "retry": Words("Not acknowledged, so again.", "没有得到确认，所以再来一次。"),
    "stop shop": Words(
        "What is written will be sent after the restart, for the message is written too.",
        "已写入的在重启后会发送，因为消息也写下了。",
    ),
}

UNGUARDED = build_unguarded(
    {
        "outbox": (
            (
                WHYS["ordered"],
                "the order is written, and its message is only in memory.",
                "订单已写入，它的消息只在内存里。",
            ),
            (
                WHYS["stop shop"],
                "the order is written, and its message is gone with the memory.",
                "订单已写入，它的消息随内存一起没了。",
            ),
        ),
        "redelivery": (
            (
                WHYS["PollResponse"],
                "given, and crossed out at once: it is not given again.",
                "已投递，并且立刻划掉：不会再投递。",
            ),
        ),
        "acknowledge_last": (
            (
                WHYS["Acknowledge"],
                "it is acknowledged before it is applied.",
                "还没有处理就已确认。",
            ),
        ),
        "applies_once": (
            (
                WHYS["applied"],
                "the effect is written, and nothing says that it has been done.",
                "只写入效果，没有什么说明它已经处理过。",
            ),
        ),
    }
)

APPLIED_ONCE = Words("no order is applied twice", "没有订单被处理两次")
ORDERED_FIRST = Words("nothing is applied that was not ordered", "没有下过单的不会被处理")
AS_TOLD = Words("an order that was acknowledged is stored", "得到应答的订单都已保存")
ARRIVES = Words("every order can still be applied", "每个订单最终都能被处理")
APPLIES = Words("an order can be applied", "订单可以被处理")
AT_ONCE = Words("an order and its effect are there at the same time", "订单与它的效果同时存在")
