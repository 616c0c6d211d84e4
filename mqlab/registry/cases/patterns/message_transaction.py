"""What is searched of a message transaction: any node stops, a connection breaks."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
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

LOST = tr("lost write (no message)")

SAFEGUARDS = (
    without("outbox",
        tr("the shop is killed between its order and the message, and nobody knows of the message"),
        tr("lost write (dual write)"), NAMED, "arrives",
        Budget(kills=1, killable=("shop",), retries=1)),
    without("publish_again", tr("a connection breaks, and the message is not sent again"), LOST,
            NAMED, "arrives", Budget(breaks=1, kills=1, killable=("queue",), retries=2)),
    without("redelivery",
            tr("the queue crosses a message out when it gives it, and the consumer is killed"),
            LOST, NAMED, "arrives", Budget(kills=1, killable=("warehouse",), retries=1)),
    without("acknowledge_last",
            tr("the consumer acknowledges first and is killed before it has applied anything"),
            LOST, NAMED, "arrives", Budget(kills=1, killable=("warehouse",), retries=1)),
    without("applies_once",
            tr("an acknowledgement is lost, the message comes again and is applied twice"),
            tr("duplicate"), LINE, "applied once", Budget(breaks=1, retries=1)),
)  # fmt: skip

CLAIMS = (
    Case("not-at-once",
         tr("the order is there, its effect is not: consistent in the end, not at once"),
         tr("torn read (eventual consistency)"), f"{LINE} claims=consistent_at_once",
         "consistent at once"),
    Case("never-applied",
         tr("the consumer can never succeed: the message is delivered again for ever"),
         tr("stuck consumer (poison message)"),
         "message_transaction refuses=1 claims=arrives 'app=order T1'", "arrives",
         Budget(retries=2)),
)  # fmt: skip
