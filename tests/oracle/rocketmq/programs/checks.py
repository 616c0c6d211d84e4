"""Halves that nobody has ended: the round that asks, and gives up."""

from __future__ import annotations

import time

from ..client import COMMIT, ROLLBACK, UNKNOW, Half, Lab, Producer
from . import ROUNDS, program
from .ends import begin


@program("EndTransactionProcessorTest.testProcessRequest_CheckMessage, testCheck_withCheck")
def check_commits(lab: Lab) -> None:
    app, (o1,) = begin(lab, "o1")
    app.end(o1, UNKNOW)
    app.answer_round(COMMIT)
    lab.written_logs(half=2, op=1, orders=1)
    app.round(0)


@program("ServiceImplTest.testCheck_withCheck", needs=(ROUNDS,))
def young_half(lab: Lab) -> None:
    """A half younger than transactionTimeOut is left alone: the round has not come past it."""
    app, _ = begin(lab, "o1")
    app.round(0, young=True)
    lab.log("half", 1)
    app.round(1)


@program("EndTransactionProcessorTest.testProcessRequest_RollBack")
def check_rolls_back(lab: Lab) -> None:
    app, (o1,) = begin(lab, "o1")
    app.end(o1, UNKNOW)
    app.answer_round(ROLLBACK)
    lab.write_ops()
    app.round(0)
    lab.logs(half=2, op=1, orders=0)


@program("DefaultMQProducerImpl.sendMessageInTransaction")
def local_transaction_throws(lab: Lab) -> None:
    """What a client sends after an exception is UNKNOW's number, and the check decides."""
    app, (o1,) = begin(lab, "o1")
    app.end_and_write(o1, UNKNOW)
    lab.log("op", 0)
    app.answer_round(ROLLBACK)
    lab.written_logs(op=1, orders=0)


@program("ServiceImplTest.testCheck_withDiscard, CheckListenerTest.testResolveDiscardMsg")
def never_resolved(lab: Lab) -> None:
    app, (o1,) = begin(lab, "o1")
    app.end(o1, UNKNOW)
    give_up(lab, app)
    lab.logs(half=4, op=0, discard=1, orders=0)


def give_up(lab: Lab, app: Producer) -> Half:
    """Rounds until the one half there is is parked. Its last check races with that: the third
    round, or the one behind it, finds the copy of the third check."""
    for noted in (True, True, False):
        (copy,) = app.round(1, noted=noted)
    app.round(0)
    return copy


@program("DefaultTransactionalMessageCheckListener#resolveDiscardMsg")
def commit_after_discard(lab: Lab) -> None:
    app, (o1,) = begin(lab, "o1")
    copy = give_up(lab, app)
    app.end(copy, COMMIT, from_check=True)
    app.end(o1, COMMIT)
    lab.written_logs(half=4, discard=1, orders=2)


@program("AdminBrokerProcessor#resumeCheckHalfMessage")
def resumed_by_an_operator(lab: Lab) -> None:
    """An operator takes it back into the half topic; it may be asked about again."""
    app, (o1,) = begin(lab, "o1")
    give_up(lab, app)
    (parked,) = lab.log("discard", 1)
    app.resume(o1, parked.msg_id)
    lab.log("half", 5)
    app.answer_round(COMMIT)
    lab.written_logs(half=6, orders=1)
    app.round(0)


@program("TransactionalMessageServiceImpl.needDiscard", needs=(ROUNDS,))
def check_limit_of_one(lab: Lab) -> None:
    """Even a limit of 0 lets one check happen."""
    app, (o1,) = begin(lab, "o1")
    app.end(o1, UNKNOW)
    lab.target.control.round(0, 0)
    app.note_checks(1)
    lab.target.control.round(0, 0)
    app.note_checks(0)
    lab.logs(half=2, discard=1)


@program("DefaultMQProducerImpl.checkTransactionState")
def checker_null_then_throws(lab: Lab) -> None:
    """A checker that returns null sends nothing, one that throws sends UNKNOW; then it commits."""
    app, _ = begin(lab, "o1")
    app.round(1)
    app.answer_round(UNKNOW)
    app.answer_round(COMMIT, noted=False)
    lab.written_logs(half=4, op=1, orders=1)


@program("TransactionalMsgIT.testMessageVisibility")
def five_way_mix(lab: Lab) -> None:
    """Ten messages; by five: commit, rollback, a check that commits, one that rolls back, none
    that is ever answered."""
    app, halves = begin(lab, *(f"o{n}" for n in range(10)))
    for n, half in enumerate(halves):
        app.end(half, (COMMIT, ROLLBACK, UNKNOW, UNKNOW, UNKNOW)[n % 5])
    lab.write_ops()
    answers = {2: COMMIT, 3: ROLLBACK}
    for count, noted in ((6, True), (2, True), (2, False), (0, True)):
        lab.round(noted=noted)
        for copy in app.note_checks(count):
            if (kind := int(copy.words[1:]) % 5) in answers:
                app.end(copy, answers[kind], from_check=True)
        lab.write_ops()
    lab.logs(half=20, op=1 if lab.profile.name == "5.5" else 8, orders=4, discard=2)


@program("TransactionalMessageServiceImpl.check, calculateOpOffset")
def around_a_pending_half(lab: Lab) -> None:
    """What was ended behind a half that was not: the round goes past all of them."""
    app, (_, b, c) = begin(lab, "a", "b", "c")
    app.end(b, COMMIT)
    app.end_and_write(c, COMMIT)
    lab.log("op", 1 if lab.profile.name == "5.5" else 2)
    app.round(1)
    lab.logs(half=4, orders=2)


@program("TransactionalMessageServiceImpl.check: a young half stops the round", needs=(ROUNDS,))
def head_of_line(lab: Lab) -> None:
    """A young half stops the round: the older one behind it, put back there, has to wait."""
    app, _ = begin(lab, "old")
    time.sleep(6.5)
    app.send("orders-0", "young")
    for checks in (1, 0):
        app.round(checks, timeout_ms=6_000)
    lab.log("half", 3)
    app.round(2)
    lab.log("half", 5)


@program("issues 2694, 8158")
def late_commit_delivers_twice(lab: Lab) -> None:
    """A local transaction that outlives the first check: its commit names the half, the check the
    copy."""
    app, (o1,) = begin(lab, "o1")
    app.round(1)
    app.end_and_write(o1, COMMIT)
    lab.log("orders", 1)
    app.answer_round(COMMIT)
    lab.written_logs(half=3, op=2, orders=2)
    app.round(0)


@program("issues 9640, 10199: TransactionalOpBatchService", profiles=("5.5",))
def op_batch_too_slow(lab: Lab) -> None:
    """A round that comes before the op record is written asks about what has been committed."""
    app, (o1,) = begin(lab, "o1")
    app.end(o1, COMMIT)
    lab.logs(op=0, orders=1)
    app.answer_round(COMMIT)
    lab.written_logs(half=2, op=1, orders=2)
    app.round(0)


@program("TransactionalMessageServiceImpl#needDiscard, #needSkip")
def parked_for_its_age(lab: Lab) -> None:
    """Born longer ago than files are kept (fileReservedTime, 72 hours): parked, and nobody is
    asked. The round has counted a check of it all the same, before it looked at the age."""
    app, _ = begin(lab)
    app.send("orders-0", "o1", age_ms=73 * 3_600_000)
    app.round(0)
    lab.logs(half=1, discard=1)
    lab.round()
