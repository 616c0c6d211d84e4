"""EndTxn in every state, by the current epoch, by the one before, by a wrong one."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe, describe_transaction
from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.producer import Producer, start_producer

from ..admin import marker
from . import program


def _brought(lab: Lab, state: str, name: str, partition: str) -> Producer:
    """A producer whose transactional id is in this state at the coordinator."""
    app = Producer(lab, name, name)
    app.init()
    if state != "Empty":
        app.send(partition, name)
    if state == "CompleteCommit":
        app.commit()
    if state == "CompleteAbort":
        app.abort()
    if state.startswith("Complete"):
        lab.wait_until(lambda: describe_transaction(lab, name).state, state)
    return app


@program("end-txn-legacy-table", "TransactionCoordinatorTest#testEndTxnWhenStatusIs…InV1")
def legacy_table(lab: Lab) -> None:
    """EndTxn v4 against each state."""
    lab.topic("orders", 8)  # one each: markers come when they come
    partitions = iter(range(8))
    for state in ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort"):
        for commit in (True, False):
            name = f"{state}-{'commit' if commit else 'abort'}"
            app = _brought(lab, state, name, f"orders-{next(partitions)}")
            app.end(commit, version=4)


@program(
    "end-txn-v2-table",
    "TransactionCoordinatorTest …InV2, #shouldReturnInvalidTxnRequestOnEndTxnV2IfNotEndTxnV2Retry",
    profiles=("tv2",),
)
def v2_table(lab: Lab) -> None:
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


@program(
    "end-txn-wrong-epoch",
    "TransactionCoordinatorTest#shouldReturnInvalidEpochOnEndTxnWhenEpochIsLarger/Smaller",
)
def wrong_epoch(lab: Lab) -> None:
    app = start_producer(lab, "A")
    app.init()
    app.send("orders-0", "a")
    for epoch in (0, 2, 50):
        app.end(True, epoch=epoch)
        app.end(False, epoch=epoch)
    app.commit()
    for epoch in (0, 7):
        app.end(True, epoch=epoch)
    lab.log("orders-0", end=2)


@program("wrong-producer-id", "TransactionCoordinatorTest#shouldReplyWithInvalidPidMapping…")
def wrong_pid(lab: Lab) -> None:
    """An unknown id, and a known one with another's producer id."""
    lab.topic("orders", 2)
    nobody = Producer(lab, "nobody", "nobody", pid=987_654, epoch=0)
    nobody.end(True)
    nobody.add("orders-0")
    nobody.add_offsets("billing")
    nobody.produce("orders-0", "x")
    app = Producer(lab, "A")
    app.init()
    app.send("orders-0", "a")
    app.end(True, pid=app.pid + 5000)
    app.add("orders-1", pid=app.pid + 5000)
    app.produce("orders-1", "x", pid=app.pid + 5000, seq=0)
    app.commit()
    lab.log("orders-0", end=2)
    lab.log("orders-1", end=0)


@program(
    "marker-fenced", "TransactionMarkerRequestCompletionHandler: TRANSACTION_COORDINATOR_FENCED"
)
def marker_fenced(lab: Lab) -> None:
    """A partition has seen a marker of coordinator epoch 5. The coordinator, whose epoch is
    lower, is refused there and gives up: PrepareCommit for ever. What everybody hears then."""
    app = start_producer(lab, "A", 2)
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


@program("marker-unknown-producer", "ProducerAppendInfo#appendEndTxnMarker; WriteTxnMarkers")
def marker_unknown(lab: Lab) -> None:
    """Markers straight to a leader: of an unknown producer, again, of an older epoch and of
    an older coordinator."""
    app = start_producer(lab, "A")
    app.init()
    marker(lab, "orders-0", app.pid, 1, False, coordinator_epoch=2)
    marker(lab, "orders-0", app.pid, 1, False, coordinator_epoch=2)
    marker(lab, "orders-0", app.pid, 0, False, coordinator_epoch=2)
    marker(lab, "orders-0", app.pid, 1, False, coordinator_epoch=1)
    marker(lab, "orders-0", app.pid, 1, True, coordinator_epoch=2, version=2)
    marker(lab, "orders-0", app.pid, 3, True, coordinator_epoch=2, version=2)
    app.produce("orders-0", "late", seq=0)
    lab.log("orders-0", end=4)
