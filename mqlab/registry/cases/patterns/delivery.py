"""What is searched of a delivery: each of its lines is needed to count every order once."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import Text
from ...searches import Case, Searched, without

ONE_ORDER = "delivery 'shop=send 580538:31678'"
TWO_ORDERS = "delivery 'shop=send 580538:31678; send 580539:31073'"

LESSON = Searched("delivery", TWO_ORDERS, Budget(kills=1, breaks=1))
SYSTEMS = (
    LESSON,
    Searched("delivery, no fault", TWO_ORDERS),
    Searched("delivery, two breaks", TWO_ORDERS, Budget(breaks=2)),
    Searched("delivery, impatience", TWO_ORDERS, Budget(timers=2)),
    Searched("delivery, two stops", ONE_ORDER, Budget(kills=2)),
)

SAFEGUARDS = (
    without(
        name="send_again",
        title=Text(
            "the queue dies while the order is on its way, and the shop goes on to its next order",
            "订单还在路上，队列就崩溃了，商店继续处理下一个订单",
        ),
        anomaly=Text("lost write", "丢失写"),
        line=ONE_ORDER,
        broken="none lost",
        budget=Budget(kills=1, killable=("queue",)),
    ),
    without(
        name="append_first",
        title=Text(
            "the queue has acknowledged the order and dies before it has written it",
            "队列确认了订单，却在写入之前崩溃",
        ),
        anomaly=Text("lost write", "丢失写"),
        line=ONE_ORDER,
        broken="none lost",
        budget=Budget(kills=1, killable=("queue",)),
    ),
    without(
        name="recognise",
        title=Text(
            "the connection breaks, the shop sends the order again, and both arrive",
            "连接断开，商店重发订单，两次都到达",
        ),
        anomaly=Text("duplicate", "重复"),
        line=ONE_ORDER,
        broken="counted once",
        budget=Budget(breaks=1),
    ),
    without(
        name="one_write",
        title=Text(
            "accounting has counted the order and dies before it has committed its position",
            "记账方已入账，却在提交位置之前崩溃",
        ),
        anomaly=Text("duplicate", "重复"),
        line=ONE_ORDER,
        broken="counted once",
        budget=Budget(kills=1, killable=("accounting",)),
    ),
)

#: nothing that one might expect of all three and none gives
CLAIMS: tuple[Case, ...] = ()
