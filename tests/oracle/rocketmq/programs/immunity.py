"""Halves with a CHECK_IMMUNITY_TIME_IN_SECONDS of their own: they travel instead of waiting."""

from __future__ import annotations

import time

from ..client import Lab
from ..producer import COMMIT, Producer
from . import ROUNDS, program
from .ends import begin


@program("immunity-commit-in-time", "TransactionalMessageServiceImpl.checkPrepareQueueOffset")
def immunity_commit_in_time(lab: Lab) -> None:
    """The commit comes before the first round: nothing travels."""
    app, (o1,) = begin(lab, "o1", CHECK_IMMUNITY_TIME_IN_SECONDS="60")
    app.end(o1, COMMIT)
    lab.write_ops()
    lab.round()
    lab.round()
    app.note_checks(0)
    lab.log("half", 1)
    lab.log("op", 1)
    lab.log("orders", 1)


@program("immunity-spends-the-checks", "issues 615, 8311, 9320")
def immunity_spends_the_checks(lab: Lab) -> None:
    """Each round counts, though it asks nobody: parked without a single check."""
    app, _ = begin(lab, "o1", CHECK_IMMUNITY_TIME_IN_SECONDS="600")
    for noted in (True, True, False, False, True):
        lab.round(noted=noted)
    app.note_checks(0)
    lab.log("half", 4)
    lab.log("discard", 1)
    lab.log("orders", 0)


@program("immunity-shorter", "TransactionalMessageUtilTest.testGetImmunityTime", needs=(ROUNDS,))
def immunity_shorter(lab: Lab) -> None:
    """The round has no floor for it: the immune half is asked about before a plain one."""
    lab.topic("orders")
    app = Producer(lab)
    app.start()
    app.send("orders-0", "immune", CHECK_IMMUNITY_TIME_IN_SECONDS="1")
    app.send("orders-0", "plain")
    time.sleep(1.5)
    lab.round(timeout_ms=600_000)
    app.note_checks(1)
    lab.log("half", 3)


@program(
    "immunity-commit-too-late",
    "TransactionalMessageServiceImpl#checkPrepareQueueOffset, #fillOpRemoveMap",
)
def immunity_commit_too_late(lab: Lab) -> None:
    """A commit after the half has begun to travel is recorded and not noticed: the copy is asked
    about when its immunity is over, and delivered a second time. From-check, so that the broker
    cannot find it too late."""
    app, (o1,) = begin(lab, "o1", CHECK_IMMUNITY_TIME_IN_SECONDS="4")
    lab.round()
    app.note_checks(0)
    app.end(o1, COMMIT, from_check=True)
    lab.write_ops()
    lab.log("orders", 1)
    time.sleep(4.2)
    lab.round()
    app.answer_check(COMMIT)
    lab.write_ops()
    lab.log("half", 3)
    lab.log("op", 2)
    lab.log("orders", 2)


@program("immunity-late-end-refused", "EndTransactionProcessor#rejectCommitOrRollback, issue 6402")
def immunity_late_end_refused(lab: Lab) -> None:
    """5.5 refuses a client's own end of such a half when its immunity is over, 4.9 does not. The
    answer to a check is always taken."""
    app, (o1, o2) = begin(lab, "o1", "o2", CHECK_IMMUNITY_TIME_IN_SECONDS="1")
    plain = app.send("orders-0", "plain")
    time.sleep(1.3)
    app.end(o1, COMMIT)
    app.end(o2, COMMIT, from_check=True)
    app.end(plain, COMMIT)
    lab.log("orders", 2)
