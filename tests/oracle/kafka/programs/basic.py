"""Transactions that go well, or are given up: what stands in the log afterwards."""

from __future__ import annotations

from collections.abc import Callable

from mqlab.real.kafka.admin import describe
from mqlab.real.kafka.client import READ_COMMITTED, READ_UNCOMMITTED, Lab
from mqlab.real.kafka.producer import Producer, start_producer

from . import program


@program("basic-commit", "TransactionsTest#testBasicTransactions, #testMultipleMarkersOneLeader")
def basic_commit(lab: Lab) -> None:
    """One transaction over two partitions, looked at before and after its commit."""
    app = start_producer(lab, "order-service", 2)
    app.send("orders-0", "a")
    app.send("orders-1", "b")
    lab.log("orders-0", end=1)
    describe(lab, "order-service")
    app.commit()
    lab.log("orders-0", end=2)
    lab.log("orders-1", end=2)
    describe(lab, "order-service", "CompleteCommit")
    for partition in ("orders-0", "orders-1"):
        lab.fetch(partition)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        lab.read("orders-0", isolation)


@program("basic-abort", "TransactionsTest#testBasicTransactions")
def basic_abort(lab: Lab) -> None:
    """A committed transaction, then an aborted one behind it."""
    app = start_producer(lab, "order-service")
    app.send("orders-0", "c1", "c2")
    app.commit()
    app.send("orders-0", "x1")
    app.abort()
    lab.log("orders-0", end=5)
    describe(lab, "order-service", "CompleteAbort")
    lab.fetch("orders-0")
    lab.fetch("orders-0", 4)
    lab.fetch("orders-0", 5)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        lab.read("orders-0", isolation)


@program("empty-transaction", "TransactionsTest#testEmptyAbortAfterCommit")
def empty_transaction(lab: Lab) -> None:
    """What clients spare the broker: ending a transaction that holds nothing."""
    app = start_producer(lab, "order-service")
    app.end(True, once=True)
    describe(lab, "order-service")
    error = app.end(False)
    describe(lab, "order-service", "CompleteAbort" if error == "ok" else "Empty")
    app.send("orders-0", "a")
    app.commit()
    lab.log("orders-0", end=2)
    describe(lab, "order-service", "CompleteCommit")


@program("worked-example", "UnifiedLogTest#testTransactionIndexUpdated (a smaller one)")
def worked_example(lab: Lab) -> None:
    """Three producers and plain records in one partition, step by step."""
    lab.topic("orders")
    a, b, c = (Producer(lab, name, name) for name in "ABC")
    plain = Producer(lab, None, "plain")
    for producer in (a, b, c):
        producer.init()
    steps: tuple[Callable[[], object], ...] = (
        lambda: plain.send("orders-0", "n0"),
        lambda: a.send("orders-0", "a1", "a2"),
        lambda: b.send("orders-0", "b1"),
        lambda: plain.send("orders-0", "n1"),
        lambda: a.send("orders-0", "a3"),
        lambda: c.send("orders-0", "c1"),
        b.abort,
        lambda: c.send("orders-0", "c2"),
        a.commit,
        lambda: plain.send("orders-0", "n2"),
        lambda: b.send("orders-0", "b2"),
        c.abort,
        b.commit,
    )
    ends = (1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
    for step, end in zip(steps, ends, strict=True):
        step()
        lab.log("orders-0", end=end, dump=end == 14)
    for offset in (0, 4, 7, 8, 11, 13):
        lab.fetch("orders-0", offset)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        lab.read("orders-0", isolation)


@program(
    "undecided-not-visible", "TransactionsTest#testReadCommittedConsumerShouldNotSeeUndecidedData"
)
def undecided_not_visible(lab: Lab) -> None:
    """An open transaction in the middle holds back what was committed behind it."""
    lab.topic("orders")
    q, p = Producer(lab, "Q", "q"), Producer(lab, "P", "p")
    q.init()
    p.init()
    q.send("orders-0", "x1")
    p.send("orders-0", "y1", "y2")
    q.send("orders-0", "x2")
    q.commit()
    lab.log("orders-0", end=5)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        lab.read("orders-0", isolation)
        lab.list_offsets("orders-0", -1, isolation)
    p.commit()
    lab.log("orders-0", end=6)
    lab.read("orders-0", READ_COMMITTED)


@program("mixed-producers-lso", "UnifiedLogTest#testLastStableOffsetWithMixedProducerData")
def mixed_producers_lso(lab: Lab) -> None:
    """The last stable offset moves from one open transaction to the next."""
    lab.topic("orders")
    p, q = Producer(lab, "P", "p"), Producer(lab, "Q", "q")
    plain = Producer(lab, None, "plain")
    p.init()
    q.init()
    p.send("orders-0", "p1", "p2", "p3")
    plain.send("orders-0", "n1", "n2", "n3")
    q.send("orders-0", "q1", "q2", "q3")
    lab.log("orders-0", end=9)
    p.abort()
    lab.log("orders-0", end=10)
    q.commit()
    lab.log("orders-0", end=11)


@program("multi-partition-atomic", "TransactionsTest#testMultipleMarkersOneLeader")
def multi_partition_atomic(lab: Lab) -> None:
    """Three partitions of two topics; one was added and never written."""
    lab.topic("orders", 2)
    lab.topic("bills")
    app = Producer(lab, "A")
    app.init()
    app.add("orders-0", "orders-1", "bills-0")
    describe(lab, "A")
    app.add("orders-1")
    app.produce("orders-0", "a")
    app.produce("bills-0", "b")
    describe(lab, "A")
    app.commit()
    for partition, end in (("orders-0", 2), ("bills-0", 2), ("orders-1", 1)):
        lab.log(partition, end=end)
        lab.fetch(partition)
    describe(lab, "A", "CompleteCommit")


@program("begin-is-local", "TransactionManager#beginTransaction sends nothing")
def begin_is_local(lab: Lab) -> None:
    """Where a transaction begins for the broker: not where it begins for the application."""
    lab.topic("orders")
    app = Producer(lab, "A")
    describe(lab, "A")
    app.init()
    describe(lab, "A")
    app.send("orders-0", "a")
    describe(lab, "A")
    app.commit()
    describe(lab, "A", "CompleteCommit")


@program("add-no-partitions", "AddPartitionsToTxn with an empty list: TransactionCoordinator")
def add_no_partitions(lab: Lab) -> None:
    """Does adding nothing begin a transaction?"""
    app = start_producer(lab, "A")
    app.add(once=True)
    describe(lab, "A")
    app.end(True, once=True)
    describe(lab, "A", "CompleteCommit")
