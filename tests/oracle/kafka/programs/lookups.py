"""Reading: ends, times, fetches where nothing is; and what an administrator sees."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe
from mqlab.real.kafka.client import READ_COMMITTED, READ_UNCOMMITTED, Lab
from mqlab.real.kafka.producer import Producer, start_producer

from ..admin import list_transactions, producers
from . import program

DAY_MS, MINUTE_MS = 24 * 3_600_000, 60_000


@program("fetch-edges", "UnifiedLog#read: at, between and beyond LSO and log end")
def fetch_edges(lab: Lab) -> None:
    lab.topic("orders")
    app, plain = Producer(lab, "A"), Producer(lab, None, "plain")
    app.init()
    plain.send("orders-0", "n0")
    app.send("orders-0", "a1", "a2")
    # The newest record for certain: two sends may come within one millisecond of the clock.
    plain.produce("orders-0", "n1", stamps=(MINUTE_MS,))
    lab.log("orders-0", end=4)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        for offset in (0, 1, 2, 3, 4, 5):
            lab.fetch("orders-0", offset, isolation)
        for at_ms in (-1, -2, -3):
            lab.list_offsets("orders-0", at_ms, isolation)


@program("offsets-by-time", "UnifiedLog#fetchOffsetByTimestamp; limits by isolation level")
def offsets_by_time(lab: Lab) -> None:
    """Where a time is in the log: an undecided record is not found by read_committed; a
    marker, stamped by the broker's clock, is found as well as any record."""
    lab.topic("orders")
    early = Producer(lab, None, "early")
    app = Producer(lab, "A")
    app.init()
    early.produce("orders-0", "e0", "e1", stamps=(-2 * DAY_MS, -DAY_MS))
    app.send("orders-0", "a")
    lab.log("orders-0", end=3, dump=False)
    both = (READ_COMMITTED, READ_UNCOMMITTED)
    for isolation in both:
        lab.list_offsets("orders-0", lab.ago(3 * DAY_MS), isolation, "three days ago")
        lab.list_offsets("orders-0", lab.ago(DAY_MS * 3 // 2), isolation, "one and a half days ago")
        lab.list_offsets("orders-0", lab.ago(3_600_000), isolation, "an hour ago")
        lab.list_offsets("orders-0", lab.ago(-DAY_MS), isolation, "tomorrow")
    app.commit()
    lab.log("orders-0", end=4, dump=False)
    for isolation in both:
        lab.list_offsets("orders-0", lab.ago(3_600_000), isolation, "an hour ago")
        lab.list_offsets("orders-0", -3, isolation)


@program("offsets-by-time-marker", "UnifiedLog#fetchOffsetByTimestamp finds control records")
def offsets_by_time_marker(lab: Lab) -> None:
    """Records of two days ago, ended today: the first thing since an hour ago is the marker,
    which no reader gets."""
    app = start_producer(lab, "A")
    if not lab.profile.v2:
        app.add("orders-0")
    app.produce("orders-0", "a", stamps=(-2 * DAY_MS,))
    app.commit()
    lab.log("orders-0", end=2, dump=False)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        lab.list_offsets("orders-0", lab.ago(3_600_000), isolation, "an hour ago")
        lab.list_offsets("orders-0", -3, isolation)


@program("admin-transactions", "KafkaAdminClient: listTransactions, describeTransactions")
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


@program("admin-producers", "KafkaAdminClient: describeProducers")
def admin_producers(lab: Lab) -> None:
    """What a leader knows of its producers, before, during and after a transaction."""
    lab.topic("orders")
    producers(lab, "orders-0")
    app, plain = Producer(lab, "A"), Producer(lab, None, "plain")
    app.init()
    plain.init()
    plain.produce("orders-0", "n0", "n1")
    producers(lab, "orders-0")
    app.send("orders-0", "a")
    producers(lab, "orders-0")
    app.commit()
    lab.log("orders-0", end=4)
    producers(lab, "orders-0")
    producers(lab, "nowhere-0")
