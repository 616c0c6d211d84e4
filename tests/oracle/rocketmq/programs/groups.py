"""Who is asked: any producer of the group that the broker knows, or nobody."""

from __future__ import annotations

import time

from tests.oracle.rocketmq.client import COMMIT, ROLLBACK, SETTLE_S, Half, Lab, Producer
from tests.oracle.rocketmq.programs import ROUNDS, SLOW, program
from tests.oracle.rocketmq.programs.ends import begin


@program("AbstractTransactionalMessageCheckListener#resolveHalfMsg: unanswered counts")
def nobody_to_ask(lab: Lab) -> None:
    """Nobody can be asked, and each round counts all the same."""
    app, _ = begin(lab, "o1")
    app.leave()
    for noted in (True, True, False, True):
        lab.round(noted=noted)
    lab.logs(half=4, discard=1, orders=0)


@program("ProducerManagerTest, ProducerManager#getAvailableChannel")
def sender_dies_another_answers(lab: Lab) -> None:
    """The sender is gone; one of its group, which has sent nothing, is asked."""
    app, _ = begin(lab, "o1")
    app.leave()
    twin = Producer(lab, "twin")
    twin.start()
    twin.answer_round(COMMIT)
    lab.log("orders", 1)


@program("ProducerManager#getAvailableChannel: in turns")
def another_member_answers(lab: Lab) -> None:
    """Two producers of a group, four halves of one of them: each is asked about two."""
    app, _ = begin(lab, "o1", "o2", "o3", "o4")
    twin = Producer(lab, "twin")
    twin.start()
    lab.round()
    shares = sorted(len(one.connection.take_checks(5, SETTLE_S)) for one in (app, twin))
    lab.note("broker", "order-service", "4 checks of one round", f"shared {shares}")


@program("ProducerManager#getAvailableChannel: by producer group")
def other_group_is_not_asked(lab: Lab) -> None:
    """A producer of another group is never asked, and may not end it."""
    app, (o1,) = begin(lab, "o1")
    app.leave()
    other = Producer(lab, "stock", "stock-service")
    other.start()
    other.round(0)
    other.end(o1, COMMIT)
    lab.log("orders", 0)


@program("ClientManageProcessor: only a heartbeat makes a producer known")
def never_heard_of(lab: Lab) -> None:
    """One that sends without a heartbeat is not asked; after its heartbeat it is."""
    lab.topic("orders")
    app = Producer(lab)
    app.send("orders-0", "o1")
    app.round(0)
    app.start()
    app.answer_round(COMMIT)
    lab.log("orders", 1)


# ---- Halves with a CHECK_IMMUNITY_TIME_IN_SECONDS of their own: they travel instead of waiting


@program("TransactionalMessageServiceImpl.checkPrepareQueueOffset")
def immunity_commit_in_time(lab: Lab) -> None:
    """The commit comes before the first round: nothing travels."""
    app, (o1,) = begin(lab, "o1", CHECK_IMMUNITY_TIME_IN_SECONDS="60")
    app.end_and_write(o1, COMMIT)
    lab.round()
    app.round(0)
    lab.logs(half=1, op=1, orders=1)


@program("issues 615, 8311, 9320")
def immunity_spends_the_checks(lab: Lab) -> None:
    """Each round counts, though it asks nobody: parked without a single check."""
    app, _ = begin(lab, "o1", CHECK_IMMUNITY_TIME_IN_SECONDS="600")
    for noted in (True, True, False, False, True):
        lab.round(noted=noted)
    app.note_checks(0)
    lab.logs(half=4, discard=1, orders=0)


@program("TransactionalMessageUtilTest.testGetImmunityTime", needs=(ROUNDS,))
def immunity_shorter(lab: Lab) -> None:
    """The round has no floor for it: the immune half is asked about before a plain one."""
    app, _ = begin(lab)
    app.send("orders-0", "immune", CHECK_IMMUNITY_TIME_IN_SECONDS="1")
    app.send("orders-0", "plain")
    time.sleep(1.5)
    app.round(1, timeout_ms=600_000)
    lab.log("half", 3)


@program("TransactionalMessageServiceImpl#checkPrepareQueueOffset, #fillOpRemoveMap")
def immunity_commit_too_late(lab: Lab) -> None:
    """A commit after the half has begun to travel is recorded and not noticed: the copy is asked
    about when its immunity is over, and delivered a second time. From-check, so that the broker
    cannot find it too late."""
    app, (o1,) = begin(lab, "o1", CHECK_IMMUNITY_TIME_IN_SECONDS="4")
    app.round(0)
    app.end_and_write(o1, COMMIT, from_check=True)
    lab.log("orders", 1)
    time.sleep(4.2)
    app.answer_round(COMMIT)
    lab.written_logs(half=3, op=2, orders=2)


@program("EndTransactionProcessor#rejectCommitOrRollback, issue 6402")
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


# ---- Public reports, asked of a broker; the stories are in datasets/scenarios/incidents

HOUR_MS = 3_600_000


@program("issue 9640: TransactionalMessageServiceImpl#check")
def a_clock_one_hour_ahead(lab: Lab) -> None:
    """A half of an hour from now is of a negative age, and asked about at once."""
    app, _ = begin(lab)
    o1 = app.send("orders-0", "o1", True, -HOUR_MS)
    app.answer_round(COMMIT, young=True)
    app.end_and_write(o1, COMMIT)
    lab.log("orders", 2)


@program("issue 9791: ProducerManager#getAvailableChannel")
def the_stranger_in_the_group(lab: Lab) -> None:
    """One of the same group that knows nothing of the order answers ROLLBACK."""
    app, _ = begin(lab, "o1")
    app.leave()
    reports = Producer(lab, "reports")
    reports.start()
    reports.answer_round(ROLLBACK)
    lab.write_ops()
    lab.round()
    lab.log("orders", 0)


@program("issue 4955: MessageDecoder#string2messageProperties")
def a_control_character(lab: Lab) -> None:
    """What follows 0x02 in a value is a property of its own, here the keys of the message."""
    app, _ = begin(lab)
    app.send("orders-0", "o1", False, KEYS="o1")
    app.send("orders-0", "o2", False, KEYS="o2", note="see\x02KEYS\x01o1")
    _, second = lab.log("orders", 2)
    lab.note("log", "orders-0", "KEYS of o2", second.properties["KEYS"])


# ---- A broker that stops in each state of a transaction, and what it remembers -------


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
    copies = app.round(count)
    for copy in copies:
        app.end(copy, end, from_check=True)
    lab.write_ops()
    return copies


@program("CommitLog#recoverNormally, #recoverAbnormally")
def kill_with_a_half(lab: Lab) -> None:
    app, _ = begin(lab, "o1")
    come_back(lab, app)
    _answer(lab, app, 1)
    lab.logs(half=2, orders=1)


@program("ConsumerOffsetManager#persist, TransactionalMessageServiceImpl#needDiscard")
def broker_killed_after_offsets(lab: Lab) -> None:
    """How often it was asked about stands in the copy, so it survives."""
    app, _ = begin(lab, "o1")
    app.round(1)
    lab.target.control.persist()
    come_back(lab, app)
    _answer(lab, app, 1)
    lab.logs(half=3, orders=1)


@program("ConsumerOffsetManager#load: offsets as they were written last")
def broker_killed_before_offsets(lab: Lab) -> None:
    """The round begins again at the half that was put back: two copies live, two messages."""
    app, _ = begin(lab, "o1")
    app.round(1)
    come_back(lab, app)
    _answer(lab, app, 2)
    lab.logs(half=4, orders=2)
    app.round(0)


@program("TransactionalMessageServiceImpl#deletePrepareMessage")
def op_lost_by_a_kill(lab: Lab) -> None:
    """4.9 has written its op record; 5.5 has lost it, asks, and delivers a second time."""
    app, (o1,) = begin(lab, "o1")
    app.end(o1, COMMIT)
    come_back(lab, app)
    _answer(lab, app, 0 if lab.profile.name == "4.9" else 1)
    lab.logs(orders=1 if lab.profile.name == "4.9" else 2, op=1)


@program("TransactionalMessageServiceImpl#deletePrepareMessage")
def kill_after_a_rollback(lab: Lab) -> None:
    """5.5 has lost the op record: what was rolled back is asked about, and a wrong answer
    delivers it."""
    app, (o1,) = begin(lab, "o1")
    app.end(o1, ROLLBACK)
    come_back(lab, app)
    _answer(lab, app, 0 if lab.profile.name == "4.9" else 1)
    lab.log("orders", 0 if lab.profile.name == "4.9" else 1)


@program("TransactionalMessageServiceImpl#batchSendOpMessage")
def kill_when_all_is_written(lab: Lab) -> None:
    app, (o1, o2) = begin(lab, "o1", "o2")
    app.end(o1, COMMIT)
    app.end_and_write(o2, ROLLBACK)
    lab.log("op", 1 if lab.profile.name == "5.5" else 2)
    come_back(lab, app)
    _answer(lab, app, 0)
    lab.logs(half=2, op=1 if lab.profile.name == "5.5" else 2, orders=1)


@program("DefaultTransactionalMessageCheckListener#resolveDiscardMsg")
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
    "ServiceThread#shutdown, TransactionalMessageCheckService#onWaitEnd",
    needs=(SLOW,),
    settings={"transactionTimeOut": "1"},
)
def stop_in_each_state(lab: Lab) -> None:
    """SIGTERM writes the offsets; and it wakes the check service, which takes that for the end of
    its wait and makes one more round."""
    app, (_, b, c, _) = begin(lab, "pending", "committed", "rolled-back", "asked")
    app.end(b, COMMIT)
    app.end_and_write(c, ROLLBACK)
    app.round(2)
    come_back(lab, app, gently=True)
    lab.note("timer", "broker", "offsets", lab.progress())
    _answer(lab, app, 2)
    lab.logs(half=10, orders=3)
