"""Producer ids and epochs: who gets which, and who is refused."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe, describe_transaction
from mqlab.real.kafka.client import READ_COMMITTED, Lab
from mqlab.real.program import NotOffered
from tests.oracle.kafka.admin import (
    error_of,
    find_coordinator,
    log_each,
    marker,
    producers,
    producers_of,
)
from tests.oracle.kafka.producer import Producer
from tests.oracle.kafka.programs import BOTH_LEVELS, CONTROL, JAVA, SLOW, TV2, program
from tests.oracle.kafka.stories import play_java

EXHAUSTED = 32_766
NO_ONES = 1 << 40  # producer ids from here on: no coordinator has given one out


@program(
    "TransactionCoordinatorTest#shouldReturnInvalidRequestWhenTransactionalIdIsEmpty, "
    "TransactionStateManagerTest#testValidateTransactionTimeout",
)
def init_validation(lab: Lab) -> None:
    Producer(lab, "").init()
    for timeout_ms in (0, -1, 900_001, 900_000, 1):
        Producer(lab, "A").init(timeout_ms=timeout_ms)
    for _ in range(2):
        Producer(lab, None).init()
    Producer(lab, None).init(pid=NO_ONES + 7, epoch=3)
    Producer(lab, "B").init(pid=NO_ONES + 5, epoch=-1)
    Producer(lab, "B").init(pid=-1, epoch=5)


@program("TransactionMetadata#prepareIncrementProducerEpoch (KIP-360)")
def init_epochs(lab: Lab) -> None:
    """What one believes to have decides whether it is bumped, repeated or fenced."""
    app = Producer.opened(lab, "A")
    pid = app.pid
    app.init(pid, 0)
    app.init(pid, 0)
    app.init()
    app.init(pid, 0)
    app.init(pid, 50)
    app.init(pid + 12_345, 0)
    Producer(lab, "B", "other").init(pid, 0)


@program("TransactionMetadata#prepareIncrementProducerEpoch after an end")
def init_after_commit(lab: Lab) -> None:
    """Epochs over a commit, a restart and an abort."""
    app = Producer.start(lab, "order-service")
    app.send_and_commit("orders-0", "a")
    app.init()
    app.send_and_abort("orders-0", "b")
    app.init()
    lab.log("orders-0", end=4)
    describe(lab, "order-service", "Empty")


@program(
    "TransactionCoordinatorTest#shouldGenerateNewProducerIdIfEpochsExhausted, "
    "#shouldUseLastEpochToFenceWhenEpochsAreExhausted",
    profiles=BOTH_LEVELS,
    needs=(SLOW,),
)
def epoch_exhaustion(lab: Lab) -> None:
    """An id at its last epoch: initialised again, fenced, and (version 2) committed. The way
    there, 32,767 calls, is no observation."""
    lab.topic("orders")
    apps = [Producer(lab, name, name) for name in ("init", "fence", "end")]
    for app in apps if lab.profile.v2 else apps[:2]:
        app.init()
        for _ in range(EXHAUSTED - 1):
            app.quietly_init()
        app.init()
    initer, fenced, ender = apps
    initer.init()
    fenced.send("orders-0", "a")
    new = fenced.twin("new")
    new.init(once=True)
    describe(lab, "fence", "CompleteAbort")
    new.init()
    lab.log("orders-0", end=2)
    if lab.profile.v2:
        pid = ender.pid
        ender.send_and_commit("orders-0", "b")
        lab.log("orders-0", end=4)
        describe(lab, "end", "CompleteCommit")
        ender.end(True, pid=pid, epoch=EXHAUSTED)


@program(
    "TransactionMetadata#prepareIncrementProducerEpoch, #prepareTransitionTo",
    profiles=TV2,
    needs=(SLOW,),
)
def epoch_exhaustion_edges(lab: Lab) -> None:
    """An id at its last epoch is asked with epochs it does not have; then its next producer id
    works, and somebody comes with the one before."""
    app = Producer.start(lab, "A")
    for _ in range(EXHAUSTED - 1):
        app.quietly_init()
    app.init()
    old = app.pid
    for believed in (EXHAUSTED - 1, 7):
        app.init(old, believed, once=True)
    app.send_and_commit("orders-0", "a")
    describe(lab, "A", "CompleteCommit")
    app.send("orders-0", "b")
    app.end(True, pid=old, epoch=EXHAUSTED, once=True)
    app.init(old, EXHAUSTED, once=True)
    describe(lab, "A", "Ongoing")
    lab.log("orders-0", end=3)


@program("TransactionStateManager#partitionFor; KafkaApis#getCoordinator")
def coordinator_partition(lab: Lab) -> None:
    """FindCoordinator: one broker, old and new versions, and a kind there is not."""
    for key, kind, version in (("A", 1, 4), ("A", 0, 4), ("A", 1, 2), ("A", 0, 0)):
        find_coordinator(lab, key, kind, version)


# ---- Two instances with one transactional id: who is fenced, where, and in which words


def _zombie(lab: Lab) -> tuple[Producer, Producer]:
    """A producer that sent `old`, and its successor, which has been given an epoch."""
    old = Producer.start(lab, "order-service", 2, who="zombie")
    old.send("orders-0", "old")
    new = old.twin("app")
    new.init(once=True)
    lab.log("orders-0", end=2)
    new.init()
    return old, new


@program("TransactionsTest#testFencingOnCommit")
def fencing_on_commit(lab: Lab) -> None:
    old, new = _zombie(lab)
    new.send("orders-0", "new")
    old.commit()
    new.commit()
    lab.log("orders-0", end=4)
    lab.read("orders-0", READ_COMMITTED)


@program("TransactionsTest#testFencingOnSend")
def fencing_on_send(lab: Lab) -> None:
    old, new = _zombie(lab)
    old.produce("orders-0", "late")
    old.produce("orders-1", "late", once=True)
    new.send_and_commit("orders-0", "new")
    old.abort()
    log_each(lab, orders_0=4, orders_1=0)


@program("TransactionsTest#testFencingOnAddPartitions")
def fencing_on_add_partitions(lab: Lab) -> None:
    old, _ = _zombie(lab)
    old.add("orders-1")
    old.add("orders-1", version=1)
    old.add("orders-1", version=0)


@program("TransactionsTest#testFencingOnSendOffsets")
def fencing_on_send_offsets(lab: Lab) -> None:
    old, _ = _zombie(lab)
    old.add_offsets("billing")
    old.add_offsets("billing", version=1)
    old.commit_offsets("billing", orders_0=1)
    old.commit_offsets("billing", orders_0=1, version=3)


@program("KafkaApis: PRODUCER_FENCED in older versions of a request")
def fencing_words(lab: Lab) -> None:
    """What old versions of a request call it."""
    old, _ = _zombie(lab)
    pid, epoch = old.pid, old.epoch
    old.init(pid, epoch)
    old.init(pid, epoch, version=3)
    for version in (4, 2, 1, 0):
        old.end(True, version=version)


@program(
    "TransactionCoordinatorTest#shouldAbortTransactionOnHandleInitPidWhenExistingTransaction"
    "InOngoingState",
)
def init_during_ongoing(lab: Lab) -> None:
    app = Producer.start(lab, "A")
    app.send("orders-0", "a")
    describe(lab, "A")
    new = app.twin("new")
    new.init(once=True)
    describe(lab, "A", "CompleteAbort")
    new.init()
    describe(lab, "A")
    lab.log("orders-0", end=2)


@program("TransactionsTest#testFencingOnTransactionExpiration")
def timeout_abort(lab: Lab) -> None:
    """The broker aborts; then what a slow producer hears, question by question."""
    lab.topic("orders")
    slow = [Producer(lab, name, name) for name in ("send", "commit", "abort", "init")]
    for app in slow:
        app.init(timeout_ms=1000)
        app.send("orders-0", app.who)
    lab.log("orders-0", end=8, dump=False)
    for app in slow:
        describe(lab, app.who, "CompleteAbort")
    sender, committer, aborter, initer = slow
    pid, epoch = sender.pid, sender.epoch
    sender.produce("orders-0", "late", seq=1)
    sender.end(False)
    sender.init(pid, epoch)
    committer.commit()
    aborter.abort()
    aborter.abort()
    initer.init(initer.pid, initer.epoch)
    initer.init()
    describe(lab, "init")


# ---- EndTxn in every state, by the current epoch, by the one before, by a wrong one


def _brought(lab: Lab, state: str, name: str, partition: str) -> Producer:
    """A producer whose transactional id is in this state at the coordinator."""
    app = Producer.opened(lab, name, name)
    if state != "Empty":
        app.send(partition, name)
    if state == "CompleteCommit":
        app.commit()
    if state == "CompleteAbort":
        app.abort()
    if state.startswith("Complete"):
        lab.wait_until(lambda: describe_transaction(lab, name).state, state)
    return app


@program("TransactionCoordinatorTest#testEndTxnWhenStatusIs…InV1")
def end_txn_legacy_table(lab: Lab) -> None:
    """EndTxn v4 against each state."""
    lab.topic("orders", 8)  # one each: markers come when they come
    partitions = iter(range(8))
    for state in ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort"):
        for commit in (True, False):
            name = f"{state}-{'commit' if commit else 'abort'}"
            app = _brought(lab, state, name, f"orders-{next(partitions)}")
            app.end(commit, version=4)


@program(
    "TransactionCoordinatorTest …InV2, #shouldReturnInvalidTxnRequestOnEndTxnV2IfNotEndTxnV2Retry",
    profiles=TV2,
)
def end_txn_v2_table(lab: Lab) -> None:
    """EndTxn v5: current, and as a retry (the epoch before)."""
    lab.topic("orders", 16)
    partitions = iter(range(16))
    for state in ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort"):
        for commit in (True, False):
            for retry in (False, True):
                name = f"{state}-{'commit' if commit else 'abort'}-{'retry' if retry else 'now'}"
                app = _brought(lab, state, name, f"orders-{next(partitions)}")
                app.end(commit, epoch=app.epoch - 1 if retry else app.epoch)
                describe(lab, name, "" if state == "Empty" and commit else _after(app, commit))


def _after(app: Producer, commit: bool) -> str:
    """The state to wait for, where the last answer began an end."""
    last = app.lab.notes[-1]
    ended = last.answered.startswith("ok")
    return ("CompleteCommit" if commit else "CompleteAbort") if ended else ""


@program("TransactionCoordinatorTest#shouldReturnInvalidEpochOnEndTxnWhenEpochIsLarger/Smaller")
def end_txn_wrong_epoch(lab: Lab) -> None:
    app = Producer.start(lab, "A")
    app.init()
    app.send("orders-0", "a")
    for epoch in (0, 2, 50):
        app.end(True, epoch=epoch)
        app.end(False, epoch=epoch)
    app.commit()
    for epoch in (0, 7):
        app.end(True, epoch=epoch)
    lab.log("orders-0", end=2)


@program("TransactionCoordinatorTest#shouldReplyWithInvalidPidMapping…")
def wrong_producer_id(lab: Lab) -> None:
    """An unknown id, and a known one with another's producer id."""
    lab.topic("orders", 2)
    nobody = Producer(lab, "nobody", "nobody", pid=987_654, epoch=0)
    nobody.end(True)
    nobody.add("orders-0")
    nobody.add_offsets("billing")
    nobody.produce("orders-0", "x")
    app = Producer.opened(lab, "A")
    app.send("orders-0", "a")
    app.end(True, pid=app.pid + 5000)
    app.add("orders-1", pid=app.pid + 5000)
    app.produce("orders-1", "x", pid=app.pid + 5000, seq=0)
    app.commit()
    log_each(lab, orders_0=2, orders_1=0)


@program("TransactionMarkerRequestCompletionHandler: TRANSACTION_COORDINATOR_FENCED")
def marker_fenced(lab: Lab) -> None:
    """A partition has seen a marker of coordinator epoch 5. The coordinator, whose epoch is
    lower, is refused there and gives up: PrepareCommit for ever. What everybody hears then."""
    app = Producer.start(lab, "A", 2)
    marker(lab, "orders-0", app.pid, app.epoch, False, coordinator_epoch=5)
    app.send("orders-0", "a")
    app.send("orders-1", "b")
    pid, epoch = app.pid, app.epoch
    app.commit()
    lab.log("orders-1", end=2)
    describe(lab, "A")
    for sent in (epoch, epoch + 1, 9):
        app.end(True, epoch=sent, once=True)
        app.end(False, epoch=sent, once=True)
    app.end(True, pid=pid + 5000, epoch=epoch, once=True)
    app.init(once=True)
    app.add("orders-1", epoch=epoch, once=True)
    app.add("orders-1", pid=pid + 5000, once=True)
    app.add_offsets("billing", epoch=9, once=True)
    app.produce("orders-1", "c", epoch=app.epoch, seq=0, once=True)
    lab.log("orders-0", end=2)
    describe(lab, "A")
    marker(lab, "orders-0", pid, app.epoch, True, coordinator_epoch=5)
    lab.log("orders-0", end=3)


@program("ProducerAppendInfo#appendEndTxnMarker; WriteTxnMarkers")
def marker_unknown_producer(lab: Lab) -> None:
    """Markers straight to a leader: of an unknown producer, again, of an older epoch and of
    an older coordinator."""
    app = Producer.start(lab, "A")
    app.init()
    marker(lab, "orders-0", app.pid, 1, False, coordinator_epoch=2)
    marker(lab, "orders-0", app.pid, 1, False, coordinator_epoch=2)
    marker(lab, "orders-0", app.pid, 0, False, coordinator_epoch=2)
    marker(lab, "orders-0", app.pid, 1, False, coordinator_epoch=1)
    marker(lab, "orders-0", app.pid, 1, True, coordinator_epoch=2, version=2)
    marker(lab, "orders-0", app.pid, 3, True, coordinator_epoch=2, version=2)
    app.produce("orders-0", "late", seq=0)
    lab.log("orders-0", end=4)


# ---- Forgetting: a transactional id that nobody used for a week, a producer id after a day;
#
# here after seconds, by the broker's settings.

ID_SETTINGS = {
    "transactional.id.expiration.ms": "3000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
PID_SETTINGS = {
    "producer.id.expiration.ms": "2000",
    "producer.id.expiration.check.interval.ms": "500",
}


@program(
    "TransactionsExpirationTest#testFatalErrorAfterInvalidProducerIdMapping",
    profiles=BOTH_LEVELS,
    needs=(CONTROL,),
    settings=ID_SETTINGS,
)
def transactional_id_expires(lab: Lab) -> None:
    """An idle id is forgotten with its epochs; one with an open transaction is not."""
    lab.topic("orders", 2)
    idle, busy = Producer.opened(lab, "idle", "idle"), Producer.opened(lab, "busy", "busy")
    idle.send_and_commit("orders-0", "a")
    busy.send("orders-1", "b")
    gone = "TRANSACTIONAL_ID_NOT_FOUND"
    lab.wait_until(lambda: error_of(describe_transaction(lab, "idle")), gone)
    describe(lab, "idle")
    describe(lab, "busy", "Ongoing")
    if lab.profile.v2:
        idle.produce("orders-0", "c", seq=0)
    else:
        idle.add("orders-0")
    idle.commit()
    idle.init()
    idle.send_and_commit("orders-0", "d")
    busy.commit()
    lab.log("orders-0", end=4)


@program(
    "ProducerIdExpirationTest; ProducerStateManagerTest#testPidExpirationTimeout, "
    "#testProducersWithOngoingTransactionsDontExpire",
    profiles=BOTH_LEVELS,
    needs=(CONTROL,),
    settings=PID_SETTINGS,
)
def producer_id_expires(lab: Lab) -> None:
    """A leader forgets an idle producer, then takes any sequence number from it; it keeps one
    with an open transaction, and the coordinator keeps the id."""
    lab.topic("orders", 2)
    if not lab.offers(61, 0):
        raise NotOffered("DescribeProducers")
    plain, idle, busy = Producer(lab, None), Producer(lab, "idle", "idle"), Producer(lab, "busy")
    for app in (plain, idle, busy):
        app.init()
    plain.produce("orders-0", "a")
    idle.send_and_commit("orders-0", "b")
    busy.send("orders-1", "c")
    lab.wait_until(lambda: producers_of(lab, "orders-0"), 0)
    producers(lab, "orders-0")
    producers(lab, "orders-1")
    plain.produce("orders-0", "d", seq=7)
    idle.send_and_commit("orders-0", "e")
    busy.commit()
    log_each(lab, orders_0=6, orders_1=2)


@program(
    "TransactionsExpirationTest#testFatalErrorAfterInvalidProducerIdMapping: the Java client",
    profiles=BOTH_LEVELS,
    needs=(CONTROL, JAVA),
    settings=ID_SETTINGS,
)
def java_expired(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, "expired", "6000")
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    lab.read("orders-0")
