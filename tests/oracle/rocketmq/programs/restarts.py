"""A broker that stops in each state of a transaction, and what it remembers."""

from __future__ import annotations

from ..client import Lab
from ..producer import COMMIT, ROLLBACK, Half, Producer
from . import SLOW, program
from .ends import begin


def come_back(lab: Lab, app: Producer, gently: bool = False) -> None:
    """kill -9, or SIGTERM; then a new start, which has forgotten all connections."""
    control = lab.target.control
    (control.stop if gently else control.kill)()
    lab.close()
    control.start()
    lab.note("broker", "broker", "stop" if gently else "kill -9", "started again")
    app.reconnect()
    app.start()


def _answer(lab: Lab, app: Producer, count: int, end: int = COMMIT) -> list[Half]:
    """A round, and the same answer to each of its checks."""
    lab.round()
    copies = app.note_checks(count)
    for copy in copies:
        app.end(copy, end, from_check=True)
    lab.write_ops()
    return copies


@program("kill-with-a-half", "CommitLog#recoverNormally, #recoverAbnormally")
def kill_with_a_half(lab: Lab) -> None:
    app, _ = begin(lab, "o1")
    come_back(lab, app)
    _answer(lab, app, 1)
    lab.log("half", 2)
    lab.log("orders", 1)


@program(
    "broker-killed-after-offsets",
    "ConsumerOffsetManager#persist, TransactionalMessageServiceImpl#needDiscard",
)
def broker_killed_after_offsets(lab: Lab) -> None:
    """How often it was asked about stands in the copy, so it survives."""
    app, _ = begin(lab, "o1")
    lab.round()
    app.note_checks(1)
    lab.target.control.persist()
    come_back(lab, app)
    _answer(lab, app, 1)
    lab.log("half", 3)
    lab.log("orders", 1)


@program(
    "broker-killed-before-offsets", "ConsumerOffsetManager#load: offsets as they were written last"
)
def broker_killed_before_offsets(lab: Lab) -> None:
    """The round begins again at the half that was put back: two copies live, two messages."""
    app, _ = begin(lab, "o1")
    lab.round()
    app.note_checks(1)
    come_back(lab, app)
    _answer(lab, app, 2)
    lab.log("half", 4)
    lab.log("orders", 2)
    lab.round()
    app.note_checks(0)


@program("op-lost-by-a-kill", "TransactionalMessageServiceImpl#deletePrepareMessage")
def op_lost_by_a_kill(lab: Lab) -> None:
    """4.9 has written its op record; 5.5 has lost it, asks, and delivers a second time."""
    app, (o1,) = begin(lab, "o1")
    app.end(o1, COMMIT)
    come_back(lab, app)
    _answer(lab, app, 0 if lab.profile.name == "4.9" else 1)
    lab.log("orders", 1 if lab.profile.name == "4.9" else 2)
    lab.log("op", 1)


@program("kill-after-a-rollback", "TransactionalMessageServiceImpl#deletePrepareMessage")
def kill_after_a_rollback(lab: Lab) -> None:
    """5.5 has lost the op record: what was rolled back is asked about, and a wrong answer
    delivers it."""
    app, (o1,) = begin(lab, "o1")
    app.end(o1, ROLLBACK)
    come_back(lab, app)
    _answer(lab, app, 0 if lab.profile.name == "4.9" else 1)
    lab.log("orders", 0 if lab.profile.name == "4.9" else 1)


@program("kill-when-all-is-written", "TransactionalMessageServiceImpl#batchSendOpMessage")
def kill_when_all_is_written(lab: Lab) -> None:
    app, (o1, o2) = begin(lab, "o1", "o2")
    app.end(o1, COMMIT)
    app.end(o2, ROLLBACK)
    lab.write_ops()
    lab.log("op", 1 if lab.profile.name == "5.5" else 2)
    come_back(lab, app)
    _answer(lab, app, 0)
    lab.log("half", 2)
    lab.log("op", 1 if lab.profile.name == "5.5" else 2)
    lab.log("orders", 1)


@program("kill-after-a-discard", "DefaultTransactionalMessageCheckListener#resolveDiscardMsg")
def kill_after_a_discard(lab: Lab) -> None:
    """Parked stays parked, and can still be committed."""
    app, (o1,) = begin(lab, "o1")
    for noted in (True, True, False, True):
        lab.round(noted=noted)
    app.note_checks(3)
    lab.target.control.persist()
    come_back(lab, app)
    _answer(lab, app, 0)
    lab.log("discard", 1)
    app.end(o1, COMMIT)
    lab.log("orders", 1)


@program(
    "stop-in-each-state",
    "ServiceThread#shutdown, TransactionalMessageCheckService#onWaitEnd",
    needs=(SLOW,),
    settings={"transactionTimeOut": "1"},
)
def stop_in_each_state(lab: Lab) -> None:
    """SIGTERM writes the offsets; and it wakes the check service, which takes that for the end of
    its wait and makes one more round."""
    app, (_, b, c, _) = begin(lab, "pending", "committed", "rolled-back", "asked")
    app.end(b, COMMIT)
    app.end(c, ROLLBACK)
    lab.write_ops()
    lab.round()
    app.note_checks(2)
    come_back(lab, app, gently=True)
    lab.note("timer", "broker", "offsets", lab.progress())
    _answer(lab, app, 2)
    lab.log("half", 10)
    lab.log("orders", 3)
