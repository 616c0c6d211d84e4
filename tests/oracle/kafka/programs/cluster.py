"""Three brokers: a coordinator that moves, a follower that lags, too few replicas."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mqlab.real.kafka.admin import describe
from mqlab.real.kafka.client import READ_COMMITTED, Lab
from tests.oracle.kafka.admin import locate_coordinator
from tests.oracle.kafka.producer import Producer

from ..admin import marker, producers
from . import BOTH_LEVELS, CLUSTER, FAULT, TV2, program

ALL = (1, 2, 3)
cluster = partial(program, profiles=BOTH_LEVELS, needs=(CLUSTER,))


def _coordinate_elsewhere(lab: Lab) -> None:
    """So that no other broker becomes A's coordinator, with another epoch, when broker 3 stops."""
    while locate_coordinator(lab, "A") == 3:
        lab.prefix += "x"  # another name on the wire, another partition, another broker


def _moved(lab: Lab, txn_id: str, gently: bool) -> int:
    """Stop the broker that coordinates this id; the number of the one that stopped."""
    node = locate_coordinator(lab, txn_id)
    lab.close()
    (lab.target.control.stop if gently else lab.target.control.kill)(node)
    lab.wait_until(lambda: locate_coordinator(lab, txn_id) != node, True)
    how = "SIGTERM" if gently else "kill -9"
    lab.note("log", "cluster", f"the coordinator's broker stops by {how}", "another coordinates")
    return node


@cluster("TransactionStateManagerTest#testLoadAndRemoveTransactionsForPartition")
def coordinator_failover_ongoing(lab: Lab) -> None:
    """An open transaction survives its coordinator; the markers carry the new one's epoch."""
    app = Producer.start(lab, "order-service", 2, on=ALL)
    app.send("orders-0", "a")
    describe(lab, "order-service")
    _moved(lab, "order-service", gently=False)
    describe(lab, "order-service")
    app.send_and_commit("orders-1", "b")
    for partition in ("orders-0", "orders-1"):
        lab.log(partition, end=2)
        lab.read(partition, READ_COMMITTED)
    describe(lab, "order-service", "CompleteCommit")


@cluster("TransactionStateManagerTest#shouldWriteTxnMarkersForTransactionInPreparedCommitState")
def coordinator_failover_prepared(lab: Lab) -> None:
    """Decided, and the markers not written (a marker of a higher coordinator epoch holds them
    back): the next coordinator finds the record and writes them."""
    app = Producer.start(lab, "order-service", on=ALL)
    marker(lab, "orders-0", app.pid, app.epoch, False, coordinator_epoch=1)
    app.send_and_commit("orders-0", "a")
    describe(lab, "order-service", "PrepareCommit")
    lab.log("orders-0", end=2)
    _moved(lab, "order-service", gently=True)
    describe(lab, "order-service", "CompleteCommit")
    lab.log("orders-0", end=3)
    lab.read("orders-0", READ_COMMITTED)


@cluster("TransactionCoordinatorTest#shouldRespondWithNotCoordinator…")
def not_coordinator(lab: Lab) -> None:
    """A broker that does not lead the id's partition says so."""
    Producer.start(lab, "A", on=ALL)
    node = locate_coordinator(lab, "A")
    other = lab.target.address.split(",")[node % 3]
    answer = lab.raw(other).init(lab.wire("A"))
    lab.note("app", "another broker", "InitProducerId A", answer.error_code.name.upper())


@cluster("TransactionMarkerRequestCompletionHandler: NOT_ENOUGH_REPLICAS is tried again")
def min_insync_replicas(lab: Lab) -> None:
    """One replica too few: records are refused, an end is answered and its markers wait."""
    _coordinate_elsewhere(lab)
    app = Producer.start(lab, "A", on=(1, 2, 3), min_insync_replicas="3")
    app.send("orders-0", "a")
    lab.target.control.stop(3)
    lab.note("log", "cluster", "one of three replicas stops", "two are left, three are asked for")
    app.produce("orders-0", "b", once=True)
    app.commit()
    describe(lab, "A", "PrepareCommit")
    lab.log("orders-0", end=1)
    lab.target.control.start(3)
    lab.note("log", "cluster", "it is started again", "ready")
    describe(lab, "A", "CompleteCommit")
    lab.log("orders-0", end=2)
    lab.read("orders-0", READ_COMMITTED)


@program(
    "UnifiedLogTest#testFirstUnstableOffsetWithTransactionalData",
    profiles=BOTH_LEVELS,
    needs=(CLUSTER,),
    settings={
        "broker.session.timeout.ms": "60000",  # the paused follower stays a member
        "replica.lag.time.max.ms": "60000",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "offsets.topic.replication.factor": "1",
    },
)
def lso_needs_high_watermark(lab: Lab) -> None:
    """The follower stands still: the marker is in the leader's log, but not below the high
    watermark, so the transaction still counts as undecided."""
    _coordinate_elsewhere(lab)
    app = Producer.start(lab, "A", on=(1, 3))
    app.send("orders-0", "a")
    lab.log("orders-0", end=1)
    lab.target.control.pause(3)
    app.produce("orders-0", "b", acks=1)
    lab.log("orders-0", end=1)
    app.commit()
    describe(lab, "A", "PrepareCommit")
    lab.log("orders-0", end=1)
    lab.read("orders-0", READ_COMMITTED)
    lab.target.control.resume(3)
    lab.log("orders-0", end=3)
    lab.read("orders-0", READ_COMMITTED)


@program(
    "TransactionCoordinator: each broker leads some partitions of __transaction_state",
    profiles=TV2,
    needs=(CLUSTER,),
    settings={
        "broker.session.timeout.ms": "60000",  # the paused broker stays a member
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    },
)
def coordinators_in_parallel(lab: Lab) -> None:
    """One coordinator stands still; a transaction of another coordinator ends meanwhile."""
    still = locate_coordinator(lab, "A")
    free = next(f"B{n}" for n in range(200) if locate_coordinator(lab, f"B{n}") != still)
    node = locate_coordinator(lab, free)
    lab.topic("orders", 2, on=(node,))
    paused, going = Producer(lab, "A", "paused"), Producer(lab, free, "going")
    for index, app in enumerate((paused, going)):
        app.init()
        app.send(f"orders-{index}", app.who)
    lab.target.control.pause(still)
    lab.note("log", "cluster", "the broker that coordinates A is stopped for a while", "SIGSTOP")
    going.commit()
    lab.log("orders-1", end=2)
    lab.read("orders-1", READ_COMMITTED)
    lab.log("orders-0", end=1)
    lab.target.control.resume(still)
    lab.note("log", "cluster", "it goes on", "SIGCONT")
    paused.commit()
    lab.log("orders-0", end=2)
    lab.read("orders-0", READ_COMMITTED)
    # Which name is free depends on where the controller has put the partitions.
    lab.notes[:] = [replace(seen, asked=seen.asked.replace(free, "B")) for seen in lab.notes]


@program(
    "KAFKA-20734: TransactionMarkerChannelManager#addTxnMarkersToBrokerQueue drops the markers of "
    "a partition that has no leader",
    profiles=TV2,
    needs=(CLUSTER, FAULT),
    version="4.3.1",
)
def leaderless_marker(lab: Lab) -> None:
    """The only replica of a partition is stopped in an orderly way, nothing is killed, and the
    coordinator is somebody else. The commit is acknowledged, completes, and is never read."""
    keeper = locate_coordinator(lab, "A") % 3 + 1
    app = Producer.start(lab, "A", on=(keeper,))
    app.send("orders-0", "paid")
    lab.close()
    lab.target.control.stop(keeper)
    lab.note("log", "cluster", "the only replica of orders-0 stops by SIGTERM", "no leader")
    app.commit()
    describe(lab, "A", "CompleteCommit")
    lab.target.control.start(keeper)
    lab.note("log", "cluster", "it is started again", "ready")
    lab.log("orders-0", end=1)
    describe(lab, "A")
    lab.read("orders-0", READ_COMMITTED)
    producers(lab, "orders-0")
