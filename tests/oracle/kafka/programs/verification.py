"""KIP-890: a leader asks before it opens a transaction. What it refuses, and the one that
hangs when it does not ask."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe
from mqlab.real.kafka.client import READ_COMMITTED, Lab
from mqlab.real.kafka.producer import Producer, start_producer

from ..admin import broker_config, list_transactions, marker, producers
from . import ALONE, program

VERIFY = "transaction.partition.verification.enable"


@program(
    "unverified-produce",
    "UnifiedLogTest#testTransactionIsOngoingAndVerificationGuardTV1/TV2, "
    "ReplicaManagerTest#testTransactionVerificationFlow",
)
def unverified(lab: Lab) -> None:
    """A batch whose partition was not added: refused; and so is what follows it."""
    app = start_producer(lab, "A", 3)
    app.produce("orders-0", "a", version=11, seq=0)
    app.produce("orders-0", "a", version=10, seq=0)
    app.produce("orders-0", "b", version=11, seq=3)
    describe(lab, "A")
    app.add("orders-1")
    app.produce("orders-1", "c", version=11)
    app.produce("orders-2", "d", version=11, seq=0)
    app.produce("orders-2", "d", version=9, seq=0)
    describe(lab, "A")
    app.commit()
    lab.log("orders-0", end=0)
    lab.log("orders-1", end=2)
    lab.log("orders-2", end=0)


@program("late-batch", "UnifiedLogTest#testStaleProducerEpochReturnsRecoverableErrorForTV2Clients")
def late_batch(lab: Lab) -> None:
    """A batch that arrives when its transaction has committed, new and as a duplicate."""
    app = start_producer(lab, "order-service")
    app.send("orders-0", "a")
    epoch = app.epoch
    app.commit()
    lab.log("orders-0", end=2)
    app.produce("orders-0", "late", epoch=epoch, seq=1)
    app.produce("orders-0", "a", epoch=epoch, seq=0)
    lab.log("orders-0", end=2)
    describe(lab, "order-service", "CompleteCommit")


@program("late-batch-after-abort", "the same after an abort")
def late_batch_abort(lab: Lab) -> None:
    app = start_producer(lab, "order-service")
    app.send("orders-0", "a")
    epoch = app.epoch
    app.abort()
    lab.log("orders-0", end=2)
    app.produce("orders-0", "late", epoch=epoch, seq=1)
    lab.log("orders-0", end=2)


@program(
    "hanging-transaction",
    "TransactionsCommandTest#testFindHanging…",
    profiles=("tv2-legacy", "tv0"),
    needs=(ALONE,),
)
def hanging(lab: Lab) -> None:
    """Verification off: a partition opens a transaction its coordinator knows nothing of. It
    is found by asking both sides, and ended by an administrator's marker."""
    lab.topic("orders")
    plain = Producer(lab, None, "plain")
    app = Producer(lab, "A")
    app.init()
    broker_config(lab, VERIFY, "false")
    lab.wait_until(lambda: lab.config(VERIFY), "false")
    app.produce("orders-0", "a")
    broker_config(lab, VERIFY, "true")
    for value in ("b", "c"):
        plain.send("orders-0", value)
    describe(lab, "A")
    list_transactions(lab)
    producers(lab, "orders-0")
    lab.log("orders-0", end=3)
    lab.read("orders-0", READ_COMMITTED)
    app.commit()
    marker(lab, "orders-0", app.pid, app.epoch, False)
    lab.log("orders-0", end=4)
    producers(lab, "orders-0")
    lab.read("orders-0", READ_COMMITTED)
    lab.fetch("orders-0")


@program("unknown-partition", "KafkaApis#handleAddPartitionsToTxnRequest")
def unknown_partition(lab: Lab) -> None:
    """One partition that does not exist spoils the others; nothing is added."""
    app = start_producer(lab, "A", 2)
    app.add("orders-0", "nowhere-0", "orders-7")
    describe(lab, "A")
    app.add("nowhere-0")
    app.produce("nowhere-0", "x", seq=0)
    app.produce("orders-7", "x", seq=0)
    app.end(True)
