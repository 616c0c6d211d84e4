"""What is searched of an outbox: any node stops, a connection breaks, two transactions overlap."""

from __future__ import annotations

from ....explore import Budget
from ....kernel import tr
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
    Searched("outbox, two consumers", "outbox consumers=stock,accounting 'app=order T1'",
             Budget(kills=1, killable=(*PARTIES, "accounting"), retries=1)),
    Searched("outbox, slow transaction", SLOW,
             Budget(kills=1, killable=("relay",), timers=1, retries=1)),
)  # fmt: skip

LOST = tr("lost write (no message)")
DUPLICATE = tr("duplicate")

SAFEGUARDS = (
    without("row_with_message",
            tr("the shop is killed between the order's row and the row of its message"),
            tr("fractured outcome (row without message)"), NAMED, "reaches all",
            Budget(kills=1, killable=("shop",), retries=1)),
    without("marks_each_row",
            tr("the relay reads after the last number, and passes over a transaction that took an "
               "earlier number and committed later"),
            LOST, f"{SLOW} claims=reaches_all", "reaches all", Budget(timers=1, retries=0)),
    without("marked_when_stored",
            tr("the relay marks the row first and is killed before it has published it"), LOST,
            NAMED, "reaches all", Budget(kills=1, killable=("relay",), retries=1)),
    without("inbox",
            tr("the relay is killed before it marks the row, which is published and applied twice"),
            DUPLICATE, LINE, "effect once", Budget(kills=1, killable=("relay",), retries=1)),
    without("id_of_the_row",
            tr("the row is published twice, and the inbox takes two places in the topic for two "
               "messages"),
            DUPLICATE, LINE, "effect once", Budget(kills=1, killable=("relay",), retries=1)),
    without("effect_before_ack",
            tr("a consumer acknowledges first and is killed before its effect is written"),
            tr("lost write (acknowledged, not applied)"), NAMED, "reaches all",
            Budget(kills=1, killable=("stock",), retries=1)),
)  # fmt: skip

CLAIMS = (
    Case("published-twice",
         tr("the relay is killed before it marks the row: the topic holds the message twice"),
         tr("duplicate in the topic"), f"{LINE} claims=published_once", "published once",
         Budget(kills=1, killable=("relay",), retries=1)),
    Case("row-before-message", tr("the order is committed, its message waits in the outbox"),
         tr("torn read (eventual consistency)"), f"{LINE} claims=seen_at_once", "seen at once"),
)  # fmt: skip
