"""Sequence numbers: what a leader takes, what it knows already, what it refuses."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe
from mqlab.real.kafka.client import READ_COMMITTED, Lab
from tests.oracle.kafka.admin import (
    broker_config,
    list_transactions,
    log_each,
    marker,
    producers,
    read_config,
)
from tests.oracle.kafka.producer import Producer
from tests.oracle.kafka.programs import ALONE, program

LAST = 2**31 - 1


@program("UnifiedLogTest#testDuplicateAppends")
def duplicate_window(lab: Lab) -> None:
    """The last five batches are known again, by exactly their own boundaries."""
    app = Producer.start(lab, None)
    for i in range(7):
        app.produce("orders-0", f"r{i}")
    for i in (6, 5, 4, 3, 2, 1, 0):
        app.produce("orders-0", f"r{i}", seq=i)
    app.produce("orders-0", "r5", "r6", seq=5)
    app.produce("orders-0", "r6", "r7", seq=6)
    app.produce("orders-0", "r7")
    lab.log("orders-0", end=8)


@program("UnifiedLogTest#testDuplicateAppends, in a transaction")
def duplicate_in_transaction(lab: Lab) -> None:
    """A batch sent twice, and once more when its transaction has ended."""
    app = Producer.start(lab, "A")
    epoch = app.epoch
    app.send("orders-0", "a")
    app.produce("orders-0", "a", seq=0)
    app.commit()
    lab.log("orders-0", end=2)
    app.produce("orders-0", "a", epoch=epoch, seq=0, once=True)
    lab.log("orders-0", end=2, dump=False)


@program("ProducerStateManagerTest#testBasicIdMapping")
def sequence_gap(lab: Lab) -> None:
    app = Producer.start(lab, None)
    app.produce("orders-0", "a")
    app.produce("orders-0", "gap", seq=2)
    app.produce("orders-0", "gap", seq=5)
    app.produce("orders-0", "b")
    lab.log("orders-0", end=2)


@program("ProducerAppendInfo#checkSequence: no entry yet")
def unknown_producer_any_sequence(lab: Lab) -> None:
    """A leader that knows nothing of a producer takes any first sequence number, but within
    a transaction of version 2 only 0."""
    plain = Producer.start(lab, None, 2, who="plain")
    plain.produce("orders-0", "a", seq=42)
    plain.produce("orders-0", "b", seq=43)
    app = Producer.opened(lab, "A")
    if not lab.profile.v2:
        app.add("orders-1")
    app.produce("orders-1", "c", seq=42)
    app.produce("orders-1", "d", seq=0)
    app.commit()
    lab.log("orders-0", end=2)


@program(
    "ProducerStateManagerTest#testProducerSequenceWrapAround, "
    "#testProducerSequenceWithWrapAroundBatchRecord",
)
def sequence_wrap(lab: Lab) -> None:
    """After 2147483647 comes 0; a batch may lie across it."""
    app = Producer.start(lab, None, 2)
    app.produce("orders-0", "a", "b", "c", seq=LAST - 1)
    app.produce("orders-0", "x", seq=0)
    app.produce("orders-0", "d", seq=1)
    app.produce("orders-1", "a", seq=LAST)
    app.produce("orders-1", "x", seq=1)
    app.produce("orders-1", "b", seq=0)
    log_each(lab, orders_0=4, orders_1=2)


@program(
    "ProducerStateManagerTest#testOutOfSequenceAfterControlRecordEpochBump, "
    "UnifiedLogTest#testNonZeroSequenceOnFirstAppendNonZeroEpoch, #testOldProducerEpoch",
)
def new_epoch_starts_at_zero(lab: Lab) -> None:
    app = Producer.start(lab, None, 2)
    app.produce("orders-0", "a")
    app.produce("orders-0", "x", epoch=1, seq=1)
    app.produce("orders-0", "b", epoch=1, seq=0)
    app.produce("orders-0", "x", epoch=0, seq=1)
    app.produce("orders-0", "c", epoch=5, seq=0)
    app.produce("orders-1", "d", epoch=3, seq=7)
    log_each(lab, orders_0=3, orders_1=1)


@program("the queue of an epoch and a marker's epoch")
def sequence_over_transactions(lab: Lab) -> None:
    """Version 0 goes on counting in the next transaction, version 2 begins again at 0."""
    app = Producer.start(lab, "A")
    app.send_and_commit("orders-0", "a", "b")
    app.send("orders-0", "c")
    app.produce("orders-0", "x", seq=9)
    app.commit()
    lab.log("orders-0", end=5)


@program("ProducerStateManagerTest#testNonTransactionalAppendWithOngoingTransaction")
def plain_write_in_transaction(lab: Lab) -> None:
    """A producer with an open transaction in a partition may not write outside it there."""
    app = Producer.start(lab, "A", 2)
    app.send("orders-0", "a")
    app.produce("orders-0", "x", transactional=False)
    app.produce("orders-1", "y", transactional=False)
    app.commit()
    log_each(lab, orders_0=2, orders_1=1)


# ---- KIP-890: a leader asks before it opens a transaction. What it refuses, and the one that
#
# hangs when it does not ask.

VERIFY = "transaction.partition.verification.enable"


@program(
    "UnifiedLogTest#testTransactionIsOngoingAndVerificationGuardTV1/TV2, "
    "ReplicaManagerTest#testTransactionVerificationFlow",
)
def unverified_produce(lab: Lab) -> None:
    """A batch whose partition was not added: refused; and so is what follows it."""
    app = Producer.start(lab, "A", 3)
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
    log_each(lab, orders_0=0, orders_1=2, orders_2=0)


@program("UnifiedLogTest#testStaleProducerEpochReturnsRecoverableErrorForTV2Clients")
def late_batch(lab: Lab) -> None:
    """A batch that arrives when its transaction has committed, new and as a duplicate."""
    app = Producer.start(lab, "order-service")
    app.send("orders-0", "a")
    epoch = app.epoch
    app.commit()
    lab.log("orders-0", end=2)
    app.produce("orders-0", "late", epoch=epoch, seq=1)
    app.produce("orders-0", "a", epoch=epoch, seq=0)
    lab.log("orders-0", end=2)
    describe(lab, "order-service", "CompleteCommit")


@program("the same after an abort")
def late_batch_after_abort(lab: Lab) -> None:
    app = Producer.start(lab, "order-service")
    app.send("orders-0", "a")
    epoch = app.epoch
    app.abort()
    lab.log("orders-0", end=2)
    app.produce("orders-0", "late", epoch=epoch, seq=1)
    lab.log("orders-0", end=2)


@program("TransactionsCommandTest#testFindHanging…", profiles=("tv2-legacy", "tv0"), needs=(ALONE,))
def hanging_transaction(lab: Lab) -> None:
    """Verification off: a partition opens a transaction its coordinator knows nothing of. It
    is found by asking both sides, and ended by an administrator's marker."""
    lab.topic("orders")
    plain = Producer(lab, None, "plain")
    app = Producer.opened(lab, "A")
    broker_config(lab, VERIFY, "false")
    lab.wait_until(lambda: read_config(lab, VERIFY), "false")
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


@program("KafkaApis#handleAddPartitionsToTxnRequest")
def unknown_partition(lab: Lab) -> None:
    """One partition that does not exist spoils the others; nothing is added."""
    app = Producer.start(lab, "A", 2)
    app.add("orders-0", "nowhere-0", "orders-7")
    describe(lab, "A")
    app.add("nowhere-0")
    app.produce("nowhere-0", "x", seq=0)
    app.produce("orders-7", "x", seq=0)
    app.end(True)
