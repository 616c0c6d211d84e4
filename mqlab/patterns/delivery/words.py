"""Every sentence of the picture of a delivery, in both languages."""

from __future__ import annotations

from ...kernel import Words

SENDS = Words("sends orders", "发送订单")
KEEPS = Words("keeps them in a log", "保存在日志中")
COUNTS = Words("counts them in its books", "逐笔记账")
ORDERS_TABLE = Words("How often each order is where", "每个订单在各处出现的次数")
ORDERED = Words("ordered", "已订购")
BOOKED = Words("in the books", "已入账")

#: why a step happens, by the class of its message or record, or its timer
WHYS = {
    "Publish": Words(
        "Whether it arrives the shop cannot see: it can only wait for an answer.",
        "商店看不到它是否到达，只能等待应答。",
    ),
    "Message": Words("The order is in the queue.", "订单已进入队列。"),
    "PublishResponse": Words(
        "What the queue has acknowledged it must not lose.", "队列确认过的就不能丢。"
    ),
    "Write": Words(
        "Acknowledged, and in memory only: if the queue dies now, the order is gone.",
        "已确认，但只在内存中：此刻队列崩溃，订单就没了。",
    ),
    "FetchResponse": Words(
        "The queue hands it out and keeps it: its log forgets nothing.",
        "队列把它发出去，同时保留它：日志什么也不忘。",
    ),
    "Commit": Words(
        "Here accounting would go on after a crash, and the order below is not fetched again.",
        "崩溃之后记账方将从这里继续，之前的订单不再读取。",
    ),
    "Booking": Words("The amount is in the books.", "金额已入账。"),
    "retry": Words(
        "The shop's patience is over. Lost, or only slow? It cannot tell, and asks again.",
        "商店不再等待。是丢了，还是只是慢？它无从分辨，于是重发。",
    ),
    "change": Words(
        "The shop does not send again: whether this arrives is luck now.",
        "商店不会重发：能否到达只能靠运气。",
    ),
}
WHY_SECOND = Words(
    "The same order lies at two offsets now: the queue did not look at its number.",
    "同一订单现在位于两个偏移量：队列没有检查订单号。",
)
WHY_BOTH = Words(
    "Amount and position are one write: there is no moment between them.",
    "金额和位置在同一次写入中：两者之间没有空隙。",
)
WHY_TWICE = Words("This order is in the books a second time.", "这个订单第二次入账。")
WHY_AGAIN = Words(
    "Handed out before. What became of it the queue cannot know.",
    "以前发出过，结果如何，队列无从知道。",
)
