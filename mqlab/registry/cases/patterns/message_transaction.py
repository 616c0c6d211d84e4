"""What is searched of a message transaction: anybody stops, a connection breaks."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
from ...searches import Case, Searched, without

LINE = "message_transaction 'app=order T1'"
TWO = "message_transaction 'app=order T1; order T2'"
NAMED = "message_transaction claims=arrives 'app=order T1'"
PARTIES = ("shop", "queue", "warehouse")

LESSON = Searched("message_transaction", LINE, Budget(kills=2, killable=PARTIES, retries=2))
SYSTEMS = (
    LESSON,
    Searched("message_transaction, breaks", LINE, Budget(breaks=2, retries=2)),
    Searched("message_transaction, two orders", TWO, Budget(breaks=1, retries=1)),
    Searched("message_transaction, power", LINE, Budget(power_cuts=2, killable=PARTIES, retries=2)),
    Searched(
        "message_transaction, stop and break",
        TWO,
        Budget(kills=1, killable=PARTIES, breaks=1, retries=2),
    ),
)

LOST = Text("lost write (no message)", "丢失写（没有消息）")

SAFEGUARDS = (
    without(
        "outbox",
        Text(
            "the shop is killed between its order and the message, and nobody knows of the message",
            "商店在写完订单、发出消息之前被杀，没有人知道还有消息要发",
        ),
        Text("lost write (dual write)", "丢失写（双写）"),
        NAMED,
        "arrives",
        Budget(kills=1, killable=("shop",), retries=1),
    ),
    without(
        "publish_again",
        Text(
            "a connection breaks, and the message is not sent again",
            "连接断开，消息没有重发",
        ),
        LOST,
        NAMED,
        "arrives",
        Budget(breaks=1, kills=1, killable=("queue",), retries=2),
    ),
    without(
        "redelivery",
        Text(
            "the queue crosses a message out when it gives it, and the consumer is killed",
            "队列一投递就划掉消息，而消费者被杀",
        ),
        LOST,
        NAMED,
        "arrives",
        Budget(kills=1, killable=("warehouse",), retries=1),
    ),
    without(
        "acknowledge_last",
        Text(
            "the consumer acknowledges first and is killed before it has applied anything",
            "消费者先确认，还没处理就被杀",
        ),
        LOST,
        NAMED,
        "arrives",
        Budget(kills=1, killable=("warehouse",), retries=1),
    ),
    without(
        "applies_once",
        Text(
            "an acknowledgement is lost, the message comes again and is applied twice",
            "确认丢失，消息再次到来，被处理了两次",
        ),
        Text("duplicate", "重复"),
        LINE,
        "applied once",
        Budget(breaks=1, retries=1),
    ),
)

CLAIMS = (
    Case(
        "not-at-once",
        Text(
            "the order is there, its effect is not: consistent in the end, not at once",
            "订单已在，效果还没有：最终一致，而不是立刻一致",
        ),
        Text("torn read (eventual consistency)", "撕裂读（最终一致性）"),
        f"{LINE} claims=consistent_at_once",
        "consistent at once",
    ),
    Case(
        "never-applied",
        Text(
            "the consumer can never succeed: the message is delivered again for ever",
            "消费者永远不会成功：消息被无休止地重复投递",
        ),
        Text("stuck consumer (poison message)", "消费者卡住（毒消息）"),
        "message_transaction refuses=1 claims=arrives 'app=order T1'",
        "arrives",
        Budget(retries=2),
    ),
)
