"""Who is asked: any producer of the group that the broker knows, or nobody."""

from __future__ import annotations

import time

from ..client import SETTLE_S, Lab
from ..producer import COMMIT, Producer
from . import program
from .ends import begin


@program(
    "nobody-to-ask", "AbstractTransactionalMessageCheckListener#resolveHalfMsg: unanswered counts"
)
def nobody_to_ask(lab: Lab) -> None:
    """Nobody can be asked, and each round counts all the same."""
    app, _ = begin(lab, "o1")
    app.leave()
    for noted in (True, True, False, True):
        lab.round(noted=noted)
    lab.log("half", 4)
    lab.log("discard", 1)
    lab.log("orders", 0)


@program("sender-dies-another-answers", "ProducerManagerTest, ProducerManager#getAvailableChannel")
def sender_dies_another_answers(lab: Lab) -> None:
    """The sender is gone; one of its group, which has sent nothing, is asked."""
    app, _ = begin(lab, "o1")
    app.leave()
    twin = Producer(lab, "twin")
    twin.start()
    lab.round()
    twin.answer_check(COMMIT)
    lab.log("orders", 1)


@program("another-member-answers", "ProducerManager#getAvailableChannel: in turns")
def another_member_answers(lab: Lab) -> None:
    """Two producers of a group, four halves of one of them: each is asked about two."""
    app, _ = begin(lab, "o1", "o2", "o3", "o4")
    twin = Producer(lab, "twin")
    twin.start()
    lab.round()
    time.sleep(SETTLE_S)
    shares = sorted(one.connection.pushed.qsize() for one in (app, twin))
    lab.note("broker", "order-service", "4 checks of one round", f"shared {shares}")


@program("other-group-is-not-asked", "ProducerManager#getAvailableChannel: by producer group")
def other_group_is_not_asked(lab: Lab) -> None:
    """A producer of another group is never asked, and may not end it."""
    app, (o1,) = begin(lab, "o1")
    app.leave()
    other = Producer(lab, "stock", "stock-service")
    other.start()
    lab.round()
    other.note_checks(0)
    other.end(o1, COMMIT)
    lab.log("orders", 0)


@program("never-heard-of", "ClientManageProcessor: only a heartbeat makes a producer known")
def never_heard_of(lab: Lab) -> None:
    """One that sends without a heartbeat is not asked; after its heartbeat it is."""
    lab.topic("orders")
    app = Producer(lab)
    app.send("orders-0", "o1")
    lab.round()
    app.note_checks(0)
    app.start()
    lab.round()
    app.answer_check(COMMIT)
    lab.log("orders", 1)
