"""Two instances with one transactional id: who is fenced, where, and in which words."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe
from mqlab.real.kafka.client import READ_COMMITTED, Lab
from mqlab.real.kafka.producer import Producer, start_producer

from . import program


def _zombie(lab: Lab) -> tuple[Producer, Producer]:
    """A producer that sent `old`, and its successor, which has been given an epoch."""
    old = start_producer(lab, "order-service", 2, who="zombie")
    old.send("orders-0", "old")
    new = old.twin("app")
    new.init(once=True)
    lab.log("orders-0", end=2)
    new.init()
    return old, new


@program("fencing-on-commit", "TransactionsTest#testFencingOnCommit")
def fencing_on_commit(lab: Lab) -> None:
    old, new = _zombie(lab)
    new.send("orders-0", "new")
    old.commit()
    new.commit()
    lab.log("orders-0", end=4)
    lab.read("orders-0", READ_COMMITTED)


@program("fencing-on-send", "TransactionsTest#testFencingOnSend")
def fencing_on_send(lab: Lab) -> None:
    old, new = _zombie(lab)
    old.produce("orders-0", "late")
    old.produce("orders-1", "late", once=True)
    new.send("orders-0", "new")
    new.commit()
    old.abort()
    lab.log("orders-0", end=4)
    lab.log("orders-1", end=0)


@program("fencing-on-add-partitions", "TransactionsTest#testFencingOnAddPartitions")
def fencing_on_add(lab: Lab) -> None:
    old, _ = _zombie(lab)
    old.add("orders-1")
    old.add("orders-1", version=1)
    old.add("orders-1", version=0)


@program("fencing-on-send-offsets", "TransactionsTest#testFencingOnSendOffsets")
def fencing_on_offsets(lab: Lab) -> None:
    old, _ = _zombie(lab)
    old.add_offsets("billing")
    old.add_offsets("billing", version=1)
    old.commit_offsets("billing", orders_0=1)
    old.commit_offsets("billing", orders_0=1, version=3)


@program("fencing-words", "KafkaApis: PRODUCER_FENCED in older versions of a request")
def fencing_words(lab: Lab) -> None:
    """What old versions of a request call it."""
    old, _ = _zombie(lab)
    pid, epoch = old.pid, old.epoch
    old.init(pid, epoch)
    old.init(pid, epoch, version=3)
    for version in (4, 2, 1, 0):
        old.end(True, version=version)


@program(
    "init-during-ongoing",
    "TransactionCoordinatorTest#shouldAbortTransactionOnHandleInitPidWhenExistingTransaction"
    "InOngoingState",
)
def init_during_ongoing(lab: Lab) -> None:
    app = start_producer(lab, "A")
    app.send("orders-0", "a")
    describe(lab, "A")
    new = app.twin("new")
    new.init(once=True)
    describe(lab, "A", "CompleteAbort")
    new.init()
    describe(lab, "A")
    lab.log("orders-0", end=2)


@program("timeout-abort", "TransactionsTest#testFencingOnTransactionExpiration")
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
