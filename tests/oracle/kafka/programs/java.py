"""The Java client: its transactional state machine, and what it makes of each error."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe, fetch_offsets
from mqlab.real.kafka.client import READ_COMMITTED, READ_UNCOMMITTED, Lab
from mqlab.real.kafka.producer import Producer

from ..stories import play_java
from . import JAVA, program

PRODUCER, ADMIN = "ProducerStories.java", "AdminStories.java"
BOTH = ("tv2", "tv0")  # the same client speaks what the cluster's feature level allows


@program("java-misuse", "TransactionManager.State: calls out of turn", profiles=BOTH, needs=(JAVA,))
def misuse(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, PRODUCER, "misuse")
    describe(lab, "A", "CompleteCommit")
    lab.log("orders-0", end=2)


@program(
    "java-refused-record",
    "KafkaProducer#send outside a transaction: the record stays in the accumulator",
    profiles=BOTH,
    needs=(JAVA,),
)
def refused_record(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, PRODUCER, "refused-record")
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    lab.read("orders-0", READ_COMMITTED)


@program(
    "java-fenced",
    "TransactionsTest#testFencingOnCommit, #testFencingOnSend, #testFencingOnSendOffsets",
    profiles=BOTH,
    needs=(JAVA,),
)
def fenced(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, PRODUCER, "fenced")
    lab.log("orders-0", end=12)
    lab.read("orders-0", READ_COMMITTED)


@program(
    "java-timed-out",
    "TransactionsTest#testFencingOnTransactionExpiration",
    profiles=BOTH,
    needs=(JAVA,),
)
def timed_out(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, PRODUCER, "timed-out")
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        lab.read("orders-0", isolation)


@program(
    "java-configs",
    "ProducerConfig#postProcessAndValidateIdempotenceConfigs",
    profiles=BOTH,
    needs=(JAVA,),
)
def configs(lab: Lab) -> None:
    play_java(lab, PRODUCER, "configs")


@program(
    "java-wrong-group",
    "OffsetMetadataManagerTest …UnknownMemberId; CommitFailedException is abortable",
    profiles=BOTH,
    needs=(JAVA,),
)
def wrong_group(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, PRODUCER, "wrong-group")
    lab.wait_until(lambda: lab.stable_offset("billing", "orders-0"), 1)
    fetch_offsets(lab, "billing", "orders-0")


def _copy(lab: Lab, story: str) -> None:
    lab.topic("orders")
    lab.topic("bills")
    source = Producer(lab, None, "source")
    source.init()
    for i in range(6):
        source.send("orders-0", *(f"o{10 * i + j}" for j in range(10)))
    play_java(lab, PRODUCER, story)
    lab.wait_until(lambda: lab.stable_end("bills-0") == lab.end("bills-0"), True)
    lab.read("bills-0", READ_COMMITTED)
    fetch_offsets(lab, "billing", "orders-0")


@program(
    "java-copy",
    "TransactionsBounceTest#testWithGroupMetadata, TransactionsTest#sendOffset",
    profiles=BOTH,
    needs=(JAVA,),
)
def copy(lab: Lab) -> None:
    """Output under read_committed is the input, each once and in order."""
    _copy(lab, "copy")


@program(
    "java-copy-one-in-flight", "TransactionsWithMaxInFlightOneTest", profiles=BOTH, needs=(JAVA,)
)
def copy_one(lab: Lab) -> None:
    _copy(lab, "copy-one-in-flight")


@program(
    "java-admin",
    "AdminClient: describe, list, fenceProducers, forceTerminateTransaction (KIP-664, KIP-1062)",
    profiles=BOTH,
    needs=(JAVA,),
)
def admin(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, ADMIN)
    lab.log("orders-0", end=6)
