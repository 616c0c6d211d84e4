"""Offsets inside a transaction, and the group that guards them."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe, fetch_offsets
from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.producer import Producer, start_producer

from ..admin import commit_plain
from ..groups import Member
from . import program


@program(
    "offsets-in-transaction",
    "TransactionsTest#testSendOffsetsWithGroupMetadata; OffsetMetadataManagerTest"
    "#testReplayTransactionEndMarkerWithCommit/Abort, #testFetchOffsetsWithPendingTransactional"
    "Offsets",
)
def offsets_in_transaction(lab: Lab) -> None:
    """Pending, then committed; pending, then dropped."""
    app = start_producer(lab, "A")
    fetch_offsets(lab, "billing", "orders-0")
    app.send_offsets("billing", orders_0=2)
    fetch_offsets(lab, "billing", "orders-0", stable=True)
    fetch_offsets(lab, "billing", "orders-0", stable=False)
    describe_state(lab, "Ongoing")
    app.commit()
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0")
    app.send_offsets("billing", orders_0=7)
    fetch_offsets(lab, "billing", "orders-0", stable=False)
    app.abort()
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0")


def describe_state(lab: Lab, state: str) -> None:
    describe(lab, "A", state)


def wait_for_marker(lab: Lab, partition: str, group: str = "billing") -> None:
    """Until the group coordinator has seen the marker: no pending offset is left."""
    lab.wait_until(lambda: lab.stable_offset(group, partition) is not None, True)


@program("later-plain-commit-wins", "OffsetMetadataManager#replayEndTransactionMarker")
def later_plain_commit(lab: Lab) -> None:
    """A plain commit behind a pending one in the log stays, though the other commits later."""
    app = start_producer(lab, "A", 2)
    app.send_offsets("billing", orders_0=5, orders_1=5)
    commit_plain(lab, "billing", orders_0=9)
    fetch_offsets(lab, "billing", "orders-0", "orders-1", stable=False)
    app.commit()
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0", "orders-1")


@program("offsets-and-records", "TransactionsTest: consume, transform, produce")
def offsets_and_records(lab: Lab) -> None:
    """Offset and output are decided together, in two partitions of two coordinators."""
    lab.topic("orders")
    lab.topic("bills")
    app = Producer(lab, "A")
    app.init()
    app.send("bills-0", "bill of 1")
    app.send_offsets("billing", orders_0=1)
    app.commit()
    app.send("bills-0", "bill of 2")
    app.send_offsets("billing", orders_0=2)
    app.abort()
    lab.log("bills-0", end=4)
    wait_for_marker(lab, "orders-0")
    fetch_offsets(lab, "billing", "orders-0")


@program("offsets-refused", "KafkaApis#handleTxnOffsetCommitRequest")
def offsets_refused(lab: Lab) -> None:
    """An empty group, a partition that is none, a transaction without the group."""
    app = start_producer(lab, "A")
    app.commit_offsets("billing", nowhere_0=1)
    app.commit_offsets("", orders_0=1)
    app.commit_offsets("billing", version=3, orders_0=1)
    app.commit_offsets("billing", version=4, orders_0=1)
    app.commit_offsets("billing", epoch=7, orders_0=1)
    app.end(False)


@program(
    "group-generation-fencing",
    "OffsetMetadataManagerTest#testGenericGroupTransactionalOffsetCommitWithUnknownMemberId, "
    "…IllegalGenerationId",
)
def generation_fencing(lab: Lab) -> None:
    """A member of an older generation cannot commit offsets, inside a transaction or out."""
    lab.topic("orders")
    old = Member(lab, "billing", "old")
    old.join()
    app = Producer(lab, "A")
    app.init()
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
