"""Transactions that go well, or are given up: what stands in the log afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable

from mqlab.real.kafka.admin import describe, fetch_offsets
from mqlab.real.kafka.client import READ_COMMITTED, READ_UNCOMMITTED, Lab, word
from mqlab.real.kafka.wire import MINUTE
from tests.oracle.kafka.admin import (
    ago,
    commit_plain,
    list_offsets,
    list_transactions,
    log_each,
    producers,
    read_both,
    stable_offset,
)
from tests.oracle.kafka.groups import Member
from tests.oracle.kafka.producer import Producer
from tests.oracle.kafka.programs import program
from tests.oracle.kafka.programs.java import Client


@program("TransactionsTest#testBasicTransactions, #testMultipleMarkersOneLeader")
def basic_commit(lab: Lab) -> None:
    """One transaction over two partitions, looked at before and after its commit."""
    app = Producer.start(lab, "order-service", 2)
    app.send("orders-0", "a")
    app.send("orders-1", "b")
    lab.log("orders-0", end=1)
    describe(lab, "order-service")
    app.commit()
    log_each(lab, orders_0=2, orders_1=2)
    describe(lab, "order-service", "CompleteCommit")
    for partition in ("orders-0", "orders-1"):
        lab.fetch(partition)
    read_both(lab, "orders-0")


@program("TransactionsTest#testBasicTransactions")
def basic_abort(lab: Lab) -> None:
    """A committed transaction, then an aborted one behind it."""
    app = Producer.start(lab, "order-service")
    app.send_and_commit("orders-0", "c1", "c2")
    app.send_and_abort("orders-0", "x1")
    lab.log("orders-0", end=5)
    describe(lab, "order-service", "CompleteAbort")
    lab.fetch("orders-0")
    lab.fetch("orders-0", 4)
    lab.fetch("orders-0", 5)
    read_both(lab, "orders-0")


@program("TransactionsTest#testEmptyAbortAfterCommit")
def empty_transaction(lab: Lab) -> None:
    """What clients spare the broker: ending a transaction that holds nothing."""
    app = Producer.start(lab, "order-service")
    app.end(True, once=True)
    describe(lab, "order-service")
    error = app.end(False)
    describe(lab, "order-service", "CompleteAbort" if error == "ok" else "Empty")
    app.send_and_commit("orders-0", "a")
    lab.log("orders-0", end=2)
    describe(lab, "order-service", "CompleteCommit")


@program("UnifiedLogTest#testTransactionIndexUpdated (a smaller one)")
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
    read_both(lab, "orders-0")


@program("TransactionsTest#testReadCommittedConsumerShouldNotSeeUndecidedData")
def undecided_not_visible(lab: Lab) -> None:
    """An open transaction in the middle holds back what was committed behind it."""
    lab.topic("orders")
    q, p = Producer.opened(lab, "Q", "q"), Producer.opened(lab, "P", "p")
    q.send("orders-0", "x1")
    p.send("orders-0", "y1", "y2")
    q.send_and_commit("orders-0", "x2")
    lab.log("orders-0", end=5)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        lab.read("orders-0", isolation)
        list_offsets(lab, "orders-0", -1, isolation)
    p.commit()
    lab.log("orders-0", end=6)
    lab.read("orders-0", READ_COMMITTED)


@program("UnifiedLogTest#testLastStableOffsetWithMixedProducerData")
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


@program("TransactionsTest#testMultipleMarkersOneLeader")
def multi_partition_atomic(lab: Lab) -> None:
    """Three partitions of two topics; one was added and never written."""
    lab.topic("orders", 2)
    lab.topic("bills")
    app = Producer.opened(lab, "A")
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


@program("TransactionManager#beginTransaction sends nothing")
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


@program("AddPartitionsToTxn with an empty list: TransactionCoordinator")
def add_no_partitions(lab: Lab) -> None:
    """Does adding nothing begin a transaction?"""
    app = Producer.start(lab, "A")
    app.add(once=True)
    describe(lab, "A")
    app.end(True, once=True)
    describe(lab, "A", "CompleteCommit")


# ---- Public reports, asked of a cluster; the stories are in datasets/scenarios/incidents

SETTLE_S = 1.0


def delete_topic(lab: Lab, name: str) -> None:
    answer = lab.raw().ask(20, 4, topic_names=(lab.wire(name),), timeout=MINUTE)
    lab.note("admin", "broker", f"DeleteTopics {name}", word(answer.responses[0].error_code))
    time.sleep(SETTLE_S)


@program("KAFKA-5202: TransactionMarkerChannelManager")
def deleted_in_mid_transaction(lab: Lab) -> None:
    """Deleted and created again: the marker is the first entry of the new one. Deleted for good:
    the transaction is over there, with everything else."""
    app = Producer.opened(lab, "order-service", "app")
    for again in (True, False):
        for name in ("orders", "payments"):
            lab.topic(name)
        app.send("orders-0", "order")
        app.send("payments-0", "payment")
        delete_topic(lab, "orders")
        if again:
            lab.topic("orders")
        app.commit()
        lab.log("payments-0", end=2)
        if again:
            lab.log("orders-0", end=1)
            delete_topic(lab, "orders")
        delete_topic(lab, "payments")
        app.seqs.clear()
        app.added.clear()


@program("confluent-kafka-python#1125", profiles=("tv2-legacy",))
def too_large_then_the_next(lab: Lab) -> None:
    """librdkafka does not take back the number of a record that was refused for its size."""
    lab.topic("orders", max_message_bytes="100")
    app = Client(lab, "order-service", "app")
    app.init()
    for value in ("large " * 20, "small", "small"):
        app.begin()
        app.send("orders-0", value)
        if len(value) > 100 or not app.commit():
            app.abort()
    lab.read("orders-0", READ_COMMITTED)


# ---- Reading: ends, times, fetches where nothing is; and what an administrator sees

DAY_MS, MINUTE_MS = 24 * 3_600_000, 60_000


@program("UnifiedLog#read: at, between and beyond LSO and log end")
def fetch_edges(lab: Lab) -> None:
    lab.topic("orders")
    app, plain = Producer.opened(lab, "A"), Producer(lab, None, "plain")
    plain.send("orders-0", "n0")
    app.send("orders-0", "a1", "a2")
    # The newest record for certain: two sends may come within one millisecond of the clock.
    plain.produce("orders-0", "n1", stamps=(MINUTE_MS,))
    lab.log("orders-0", end=4)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        for offset in (0, 1, 2, 3, 4, 5):
            lab.fetch("orders-0", offset, isolation)
        for at_ms in (-1, -2, -3):
            list_offsets(lab, "orders-0", at_ms, isolation)


@program("UnifiedLog#fetchOffsetByTimestamp; limits by isolation level")
def offsets_by_time(lab: Lab) -> None:
    """Where a time is in the log: an undecided record is not found by read_committed; a
    marker, stamped by the broker's clock, is found as well as any record."""
    lab.topic("orders")
    early = Producer(lab, None, "early")
    app = Producer.opened(lab, "A")
    early.produce("orders-0", "e0", "e1", stamps=(-2 * DAY_MS, -DAY_MS))
    app.send("orders-0", "a")
    lab.log("orders-0", end=3, dump=False)
    both = (READ_COMMITTED, READ_UNCOMMITTED)
    for isolation in both:
        list_offsets(lab, "orders-0", ago(3 * DAY_MS), isolation, "three days ago")
        list_offsets(lab, "orders-0", ago(DAY_MS * 3 // 2), isolation, "one and a half days ago")
        list_offsets(lab, "orders-0", ago(3_600_000), isolation, "an hour ago")
        list_offsets(lab, "orders-0", ago(-DAY_MS), isolation, "tomorrow")
    app.commit()
    lab.log("orders-0", end=4, dump=False)
    for isolation in both:
        list_offsets(lab, "orders-0", ago(3_600_000), isolation, "an hour ago")
        list_offsets(lab, "orders-0", -3, isolation)


@program("UnifiedLog#fetchOffsetByTimestamp finds control records")
def offsets_by_time_marker(lab: Lab) -> None:
    """Records of two days ago, ended today: the first thing since an hour ago is the marker,
    which no reader gets."""
    app = Producer.start(lab, "A")
    if not lab.profile.v2:
        app.add("orders-0")
    app.produce("orders-0", "a", stamps=(-2 * DAY_MS,))
    app.commit()
    lab.log("orders-0", end=2, dump=False)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        list_offsets(lab, "orders-0", ago(3_600_000), isolation, "an hour ago")
        list_offsets(lab, "orders-0", -3, isolation)


@program("KafkaAdminClient: listTransactions, describeTransactions")
def admin_transactions(lab: Lab) -> None:
    """Every state there is, listed and filtered."""
    lab.topic("orders", 2)
    describe(lab, "nobody")
    apps = {name: Producer(lab, name, name) for name in ("empty", "open", "done", "gone")}
    for app in apps.values():
        app.init()
    apps["open"].send("orders-0", "a")
    apps["open"].send("orders-1", "b")
    apps["done"].send("orders-0", "c")
    apps["done"].commit()
    lab.log("orders-0", end=3, dump=False)
    apps["gone"].send("orders-0", "d")
    apps["gone"].abort()
    lab.log("orders-0", end=5)
    for name, state in (("done", "CompleteCommit"), ("gone", "CompleteAbort"), ("open", "Ongoing")):
        describe(lab, name, state)
    list_transactions(lab)
    list_transactions(lab, ("Ongoing",))
    list_transactions(lab, ("CompleteCommit", "CompleteAbort"))
    list_transactions(lab, ("Sleeping",))
    list_transactions(lab, pid=apps["done"].pid)


@program("KafkaAdminClient: describeProducers")
def admin_producers(lab: Lab) -> None:
    """What a leader knows of its producers, before, during and after a transaction."""
    lab.topic("orders")
    producers(lab, "orders-0")
    app, plain = Producer.opened(lab, "A"), Producer.opened(lab, None, "plain")
    plain.produce("orders-0", "n0", "n1")
    producers(lab, "orders-0")
    app.send("orders-0", "a")
    producers(lab, "orders-0")
    app.commit()
    lab.log("orders-0", end=4)
    producers(lab, "orders-0")
    producers(lab, "nowhere-0")


# ---- Offsets inside a transaction, and the group that guards them --------------------


@program(
    "TransactionsTest#testSendOffsetsWithGroupMetadata; OffsetMetadataManagerTest"
    "#testReplayTransactionEndMarkerWithCommit/Abort, #testFetchOffsetsWithPendingTransactional"
    "Offsets",
)
def offsets_in_transaction(lab: Lab) -> None:
    """Pending, then committed; pending, then dropped."""
    app = Producer.start(lab, "A")
    fetch_offsets(lab, "billing", "orders-0")
    app.send_offsets("billing", orders_0=2)
    fetch_offsets(lab, "billing", "orders-0", stable=True)
    fetch_offsets(lab, "billing", "orders-0", stable=False)
    describe(lab, "A", "Ongoing")
    app.commit()
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0")
    app.send_offsets("billing", orders_0=7)
    fetch_offsets(lab, "billing", "orders-0", stable=False)
    app.abort()
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0")


def wait_for_marker(lab: Lab, partition: str, group: str = "billing") -> None:
    """Until the group coordinator has seen the marker: no pending offset is left."""
    lab.wait_until(lambda: stable_offset(lab, group, partition) is not None, True)


@program("OffsetMetadataManager#replayEndTransactionMarker")
def later_plain_commit_wins(lab: Lab) -> None:
    """A plain commit behind a pending one in the log stays, though the other commits later."""
    app = Producer.start(lab, "A", 2)
    app.send_offsets("billing", orders_0=5, orders_1=5)
    commit_plain(lab, "billing", orders_0=9)
    fetch_offsets(lab, "billing", "orders-0", "orders-1", stable=False)
    app.commit()
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0", "orders-1")


@program("TransactionsTest: consume, transform, produce")
def offsets_and_records(lab: Lab) -> None:
    """Offset and output are decided together, in two partitions of two coordinators."""
    lab.topic("orders")
    lab.topic("bills")
    app = Producer.opened(lab, "A")
    app.send("bills-0", "bill of 1")
    app.send_offsets("billing", orders_0=1)
    app.commit()
    app.send("bills-0", "bill of 2")
    app.send_offsets("billing", orders_0=2)
    app.abort()
    lab.log("bills-0", end=4)
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0")


@program("KafkaApis#handleTxnOffsetCommitRequest")
def offsets_refused(lab: Lab) -> None:
    """An empty group, a partition that is none, a transaction without the group."""
    app = Producer.start(lab, "A")
    app.commit_offsets("billing", nowhere_0=1)
    app.commit_offsets("", orders_0=1)
    app.commit_offsets("billing", version=3, orders_0=1)
    app.commit_offsets("billing", version=4, orders_0=1)
    app.commit_offsets("billing", epoch=7, orders_0=1)
    app.end(False)


@program(
    "OffsetMetadataManagerTest#testGenericGroupTransactionalOffsetCommitWithUnknownMemberId, "
    "…IllegalGenerationId",
)
def group_generation_fencing(lab: Lab) -> None:
    """A member of an older generation cannot commit offsets, inside a transaction or out."""
    lab.topic("orders")
    old = Member(lab, "billing", "old")
    old.join()
    app = Producer.opened(lab, "A")
    app.send_offsets("billing", member=(old.id, old.generation), orders_0=1)
    app.commit()
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0")
    generation = old.generation
    old.join()
    app.send_offsets("billing", member=(old.id, generation), orders_0=2)
    app.abort()
    app.send_offsets("billing", member=("nobody", old.generation), orders_0=3)
    app.abort()
    app.send_offsets("billing", orders_0=4)
    app.commit()
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0")
    commit_plain(lab, "billing", member=(old.id, generation), orders_0=8)
    commit_plain(lab, "billing", member=("nobody", old.generation), orders_0=8)
    commit_plain(lab, "billing", orders_0=8)
    commit_plain(lab, "billing", member=(old.id, old.generation), orders_0=9)
    fetch_offsets(lab, "billing", "orders-0")
    old.leave()
