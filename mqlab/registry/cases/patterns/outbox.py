"""What is searched of an outbox: anybody stops, a connection breaks, two transactions overlap."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
from ...searches import Case, Searched, without

LINE = "outbox 'app=order T1'"
NAMED = "outbox claims=reaches_all 'app=order T1'"
FOLLOW = "outbox follow_up=1 'app=order T1'"
SLOW = "outbox apps=app,till slow=T1 'app=order T1' 'till=order T2'"
PARTIES = ("shop", "relay", "broker", "stock")
ALL = (*PARTIES, "relay-2")

LESSON = Searched("outbox", LINE, Budget(kills=2, killable=PARTIES, retries=2))
SYSTEMS = (
    LESSON,
    Searched("outbox, break", LINE, Budget(breaks=1, retries=2)),
    Searched("outbox, power", LINE, Budget(power_cuts=1, killable=PARTIES, retries=2)),
    Searched("outbox, follow-up", FOLLOW, Budget(kills=1, killable=ALL, retries=1)),
    Searched(
        "outbox, two consumers",
        "outbox consumers=stock,accounting 'app=order T1'",
        Budget(kills=1, killable=(*PARTIES, "accounting"), retries=1),
    ),
    Searched(
        "outbox, slow transaction", SLOW, Budget(kills=1, killable=("relay",), timers=1, retries=1)
    ),
)

LOST = Text("lost write (no message)", "丢失写（没有消息）")
DUPLICATE = Text("duplicate", "重复")

SAFEGUARDS = (
    without(
        "row_with_message",
        Text(
            "the shop is killed between the order's row and the row of its message",
            "商店在写完订单行、写消息行之前被杀",
        ),
        Text("fractured outcome (row without message)", "断裂的结果（有行无消息）"),
        NAMED,
        "reaches all",
        Budget(kills=1, killable=("shop",), retries=1),
    ),
    without(
        "marks_each_row",
        Text(
            "the relay reads behind the last number, and passes over a transaction that took "
            "an earlier number and committed later",
            "中继从最后的编号之后读起，漏掉了编号在前、提交在后的事务",
        ),
        LOST,
        f"{SLOW} claims=reaches_all",
        "reaches all",
        Budget(timers=1, retries=0),
    ),
    without(
        "marked_when_stored",
        Text(
            "the relay marks the row first and is killed before it has published it",
            "中继先标记这一行，还没发布就被杀",
        ),
        LOST,
        NAMED,
        "reaches all",
        Budget(kills=1, killable=("relay",), retries=1),
    ),
    without(
        "inbox",
        Text(
            "the relay is killed before it marks the row, which is published and applied twice",
            "中继在标记之前被杀，同一行被发布、处理了两次",
        ),
        DUPLICATE,
        LINE,
        "effect once",
        Budget(kills=1, killable=("relay",), retries=1),
    ),
    without(
        "id_of_the_row",
        Text(
            "the row is published twice, and the inbox takes two places in the topic for two "
            "messages",
            "同一行被发布两次，收件箱把主题中的两个位置当成两条消息",
        ),
        DUPLICATE,
        LINE,
        "effect once",
        Budget(kills=1, killable=("relay",), retries=1),
    ),
    without(
        "effect_before_ack",
        Text(
            "a consumer acknowledges first and is killed before its effect is written",
            "消费者先确认，效果还没写入就被杀",
        ),
        Text("lost write (acknowledged, not applied)", "丢失写（已确认，未处理）"),
        NAMED,
        "reaches all",
        Budget(kills=1, killable=("stock",), retries=1),
    ),
)

CLAIMS = (
    Case(
        "published-twice",
        Text(
            "the relay is killed before it marks the row: the topic holds the message twice",
            "中继在标记之前被杀：主题中有两份同样的消息",
        ),
        Text("duplicate in the topic", "主题中的重复"),
        f"{LINE} claims=published_once",
        "published once",
        Budget(kills=1, killable=("relay",), retries=1),
    ),
    Case(
        "row-before-message",
        Text(
            "the order is committed, its message waits in the outbox",
            "订单已提交，消息还在发件箱里等待",
        ),
        Text("torn read (eventual consistency)", "撕裂读（最终一致性）"),
        f"{LINE} claims=seen_at_once",
        "seen at once",
    ),
)
