"""What pictures and narrations of TCC say, in both languages."""

from __future__ import annotations

from ...kernel import Text, Words

TITLE = Text("TCC: Try, Confirm, Cancel", "TCC：Try、Confirm、Cancel")
COORDINATOR = Words("coordinator", "协调者")
SERVICE = Words("service", "服务")
APPLICATION = Words("application", "应用")
GRAPH = Words("{name}: what has become of {txn}", "{name}：{txn} 的状态")
TABLE = Words("What each service has", "每个服务的余量")
HALF = Words(
    "half of an order: {names} shows it, the others do not", "半个订单：{names} 已显示，其他还没有"
)

WHYS = {
    "PlaceOrder": Words(
        "One order needs something of every service, or nothing of any.",
        "一个订单需要每个服务都出一份，否则一份都不要。",
    ),
    "begun": Words(
        "After a restart one must know that something may be reserved somewhere.",
        "重启之后必须知道：某处可能已预留了资源。",
    ),
    "Try": Words("Check, and set one piece aside.", "检查，并预留一份。"),
    "tried": Words(
        "Reserved, in a local transaction of its own: nobody holds a lock, others may go on.",
        "已预留，是一个独立的本地事务：没有人持有锁，其他人可以继续。",
    ),
    "reserved": Words(
        "It can be confirmed now, whatever happens.", "从现在起无论如何都能 Confirm。"
    ),
    "not reserved": Words(
        "Nothing is set aside here, so the order cannot be had.", "这里没有预留，所以订单无法完成。"
    ),
    "confirm": Words(
        "The decision: everything is reserved, so everything will be used.",
        "决定：全部已预留，所以全部都会被使用。",
    ),
    "cancel": Words(
        "The decision: something is missing, so what was reserved goes back.",
        "决定：缺了一份，所以已预留的都要退还。",
    ),
    "Confirm": Words("Use what you have reserved.", "使用你预留的那一份。"),
    "Cancel": Words(
        "Give back what you have reserved, if you have reserved anything.",
        "如果预留过，就退还它。",
    ),
    "confirmed": Words(
        "Used. From now on a reader of this service sees the order.",
        "已使用。从现在起，读这个服务就能看到订单。",
    ),
    "cancelled": Words("Given back.", "已退还。"),
    "empty": Words(
        "Its Try never came: nothing goes back, but the Cancel is remembered.",
        "它的 Try 从未到达：什么也不退还，但记住这次 Cancel。",
    ),
    "ConfirmResponse": Words("It need not be told again.", "不必再通知它。"),
    "CancelResponse": Words("It need not be told again.", "不必再通知它。"),
    "end": Words("Everybody has followed: nothing is owed.", "各方都已照做：不再欠任何东西。"),
    "answer ok": Words(
        "The order is decided; some services may still have to hear of it.",
        "订单已决定；有些服务可能还没有得知。",
    ),
    "answer failed": Words("Nothing of {txn} will count.", "{txn} 不会生效。"),
    "tries": Words(
        "An answer to a Try has not come in time; it is taken for no.",
        "有一个 Try 没有按时应答；当作失败。",
    ),
    "retry": Words(
        "Somebody has not acknowledged: the same word again.",
        "有服务尚未确认：把同样的话再说一遍。",
    ),
    "late Try": Words(
        "A Try that was given up arrives all the same. Its Cancel may have been here before it.",
        "一个已被放弃的 Try 仍然到达。它的 Cancel 可能已经先到。",
    ),
    "stop tm": Words(
        "What is reserved stays so until it is back; but no database holds a lock for it.",
        "已预留的要等它回来；但没有数据库为它持有锁。",
    ),
}

BALANCED = Words(
    "nothing is used or given back that was not reserved", "没有预留过的，不会被使用或退还"
)
SAME_END = Words(
    "no service confirms what another cancels", "不会有一个服务确认了另一个服务取消的订单"
)
AS_TOLD = Words("what the application was told is what happens", "应用得到的应答就是实际的结局")
RELEASED = Words("nothing stays reserved for ever", "没有任何资源被永远预留")
CONFIRMS = Words("an order can be confirmed everywhere", "订单可以在各处确认")
WHOLE_ORDER = Words(
    "a reader sees an order at every service or at none",
    "读者要么在每个服务都看到订单，要么都看不到",
)
