"""What is searched of a delivery: each of its lines is needed to count every order once."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
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
    without(name="send_again",
            title=tr("the queue dies while the order is on its way, and the shop goes on to its "
                     "next order"),
            anomaly=tr("lost write"), line=ONE_ORDER, broken="none lost",
            budget=Budget(kills=1, killable=("queue",))),
    without(name="append_first",
            title=tr("the queue has acknowledged the order and dies before it has written it"),
            anomaly=tr("lost write"), line=ONE_ORDER, broken="none lost",
            budget=Budget(kills=1, killable=("queue",))),
    without(name="recognise",
        title=tr("the connection breaks, the shop sends the order again, and both arrive"),
        anomaly=tr("duplicate"), line=ONE_ORDER, broken="counted once", budget=Budget(breaks=1)),
    without(name="one_write",
        title=tr("accounting has counted the order and dies before it has committed its position"),
        anomaly=tr("duplicate"), line=ONE_ORDER, broken="counted once",
        budget=Budget(kills=1, killable=("accounting",))),
)  # fmt: skip

#: nothing that one might expect of all three and none gives
CLAIMS: tuple[Case, ...] = ()
