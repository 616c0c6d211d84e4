"""Producer ids and epochs: who gets which, and who is refused."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe
from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.producer import Producer, start_producer

from . import SLOW, program

EXHAUSTED = 32_766


@program(
    "init-validation",
    "TransactionCoordinatorTest#shouldReturnInvalidRequestWhenTransactionalIdIsEmpty, "
    "TransactionStateManagerTest#testValidateTransactionTimeout",
)
def init_validation(lab: Lab) -> None:
    Producer(lab, "").init()
    for timeout_ms in (0, -1, 900_001, 900_000, 1):
        Producer(lab, "A").init(timeout_ms=timeout_ms)
    for _ in range(2):
        Producer(lab, None).init()
    Producer(lab, None).init(pid=7, epoch=3)
    Producer(lab, "B").init(pid=5, epoch=-1)
    Producer(lab, "B").init(pid=-1, epoch=5)


@program("init-epochs", "TransactionMetadata#prepareIncrementProducerEpoch (KIP-360)")
def init_epochs(lab: Lab) -> None:
    """What one believes to have decides whether it is bumped, repeated or fenced."""
    app = Producer(lab, "A")
    app.init()
    pid = app.pid
    app.init(pid, 0)
    app.init(pid, 0)
    app.init()
    app.init(pid, 0)
    app.init(pid, 50)
    app.init(pid + 12_345, 0)
    Producer(lab, "B", "other").init(pid, 0)


@program("init-after-commit", "TransactionMetadata#prepareIncrementProducerEpoch after an end")
def init_after_commit(lab: Lab) -> None:
    """Epochs over a commit, a restart and an abort."""
    app = start_producer(lab, "order-service")
    app.send("orders-0", "a")
    app.commit()
    app.init()
    app.send("orders-0", "b")
    app.abort()
    app.init()
    lab.log("orders-0", end=4)
    describe(lab, "order-service", "Empty")


@program(
    "epoch-exhaustion",
    "TransactionCoordinatorTest#shouldGenerateNewProducerIdIfEpochsExhausted, "
    "#shouldUseLastEpochToFenceWhenEpochsAreExhausted",
    profiles=("tv2", "tv0"),
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
        ender.send("orders-0", "b")
        ender.commit()
        lab.log("orders-0", end=4)
        describe(lab, "end", "CompleteCommit")
        ender.end(True, pid=pid, epoch=EXHAUSTED)


@program(
    "epoch-exhaustion-edges",
    "TransactionMetadata#prepareIncrementProducerEpoch, #prepareTransitionTo",
    profiles=("tv2",),
    needs=(SLOW,),
)
def epoch_exhaustion_edges(lab: Lab) -> None:
    """An id at its last epoch is asked with epochs it does not have; then its next producer id
    works, and somebody comes with the one before."""
    app = start_producer(lab, "A")
    for _ in range(EXHAUSTED - 1):
        app.quietly_init()
    app.init()
    old = app.pid
    for believed in (EXHAUSTED - 1, 7):
        app.init(old, believed, once=True)
    app.send("orders-0", "a")
    app.commit()
    describe(lab, "A", "CompleteCommit")
    app.send("orders-0", "b")
    app.end(True, pid=old, epoch=EXHAUSTED, once=True)
    app.init(old, EXHAUSTED, once=True)
    describe(lab, "A", "Ongoing")
    lab.log("orders-0", end=3)


@program("coordinator-partition", "TransactionStateManager#partitionFor; KafkaApis#getCoordinator")
def coordinator_partition(lab: Lab) -> None:
    """FindCoordinator: one broker, old and new versions, and a kind there is not."""
    for key, kind, version in (("A", 1, 4), ("A", 0, 4), ("A", 1, 2), ("A", 0, 0)):
        lab.find_coordinator(key, kind, version)
