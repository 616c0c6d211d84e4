"""DeleteRecords, the end of a leader's epoch, and reading where nothing is (any more)."""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any

from mqlab.kafka.messages import READ_COMMITTED, READ_UNCOMMITTED
from mqlab.real.kafka.batches import batch, record
from mqlab.real.kafka.client import Lab, word
from mqlab.real.kafka.programs import send
from mqlab.real.kafka.wire import MINUTE
from tests.oracle.kafka.admin import list_offsets
from tests.oracle.kafka.producer import Producer

from ..admin import marker
from . import TV2, program
from .limits import FETCH


def delete(lab: Lab, partition: str, offset: int) -> None:
    topic, index = lab.split(partition)
    part = Row(partition_index=index, offset=offset)
    topics = (Row(name=topic, partitions=(part,)),)
    row = lab.raw().ask(21, 2, topics=topics, timeout=MINUTE).topics[0].partitions[0]
    outcome = f"ok @{row.low_watermark}" if not row.error_code.value else word(row.error_code)
    lab.note("admin", partition, f"DeleteRecords before {offset}", outcome)


def fetch(
    lab: Lab, partition: str, offset: int, isolation: str = READ_COMMITTED, epoch: int = -1
) -> None:
    """One Fetch, with the frontiers that come with it."""
    topic, index = lab.split(partition)
    answer = lab.raw().ask(1, 11, **fields(((topic, index, offset, epoch),), isolation))
    row = answer.responses[0].partitions[0]
    frontiers = f"{word(row.error_code)} HW={row.high_watermark} LSO={row.last_stable_offset}"
    frontiers += f" start={row.log_start_offset} bytes={len(row.records or b'')} aborted="
    aborted = row.aborted_transactions
    frontiers += "none" if aborted is None else str([a.first_offset for a in aborted])
    how = f" epoch={epoch}" if epoch != -1 else ""
    lab.note("reader", partition, f"Fetch @{offset} {isolation}{how}", frontiers)


def fields(
    parts: tuple[tuple[str, int, int, int], ...], isolation: str = READ_UNCOMMITTED
) -> dict[str, Any]:
    """The fields of a Fetch v11 of (topic, partition, offset, leader epoch), each part in a
    row of its own."""
    usual = {"log_start_offset": -1, "partition_max_bytes": 1 << 20}
    rows = []
    for topic, index, offset, epoch in parts:
        place = {"partition": index, "current_leader_epoch": epoch, "fetch_offset": offset}
        rows.append(Row(topic=topic, partitions=(Row(**place, **usual),)))
    return FETCH | {"isolation_level": int(isolation == READ_COMMITTED), "topics": tuple(rows)}


@program("DeleteRecordsRequestTest, PlaintextAdminIntegrationTest", profiles=TV2)
def delete_records(lab: Lab) -> None:
    lab.topic("orders", 2)
    for value in (b"a", b"b", b"c"):
        send(lab, "orders-0", value.decode(), batch(record(value)))
    three = record(b"d") + record(b"e", delta=1) + record(b"f", delta=2)
    send(lab, "orders-0", "d, e, f", batch(three, 3))
    for offset in (2, 1, -2, 7, 4):
        delete(lab, "orders-0", offset)
    for offset in (0, 3, 4, 6):
        fetch(lab, "orders-0", offset)
    for at_ms in (-2, -1):
        list_offsets(lab, "orders-0", at_ms)
    delete(lab, "orders-0", -1)
    fetch(lab, "orders-0", 5)
    fetch(lab, "orders-0", 6)
    send(lab, "orders-0", "g", batch())
    fetch(lab, "orders-0", 6)
    delete(lab, "orders-1", -1)
    delete(lab, "orders-1", 1)
    delete(lab, "orders-7", 0)
    delete(lab, "nowhere-0", 0)
    delete(lab, "__consumer_offsets-0", 0)
    for name, policy in (("latest", "compact"), ("both", "compact,delete")):
        lab.topic(name, cleanup_policy=policy)
        send(lab, f"{name}-0", "k", batch(record(key=b"k")))
        delete(lab, f"{name}-0", 1)


@program("UnifiedLog#fetchLastStableOffsetMetadata after DeleteRecords")
def delete_records_open(lab: Lab) -> None:
    """Past the first record of an open transaction: the LSO stands at the batch that holds
    the new start; the transaction ends as any other."""
    lab.topic("orders")
    app, plain = Producer.opened(lab, "A"), Producer(lab, None, "plain")
    plain.send("orders-0", "n0")
    app.send("orders-0", "a1", "a2")
    plain.send("orders-0", "n1")
    for offset in (2, 3, -1):
        delete(lab, "orders-0", offset)
        fetch(lab, "orders-0", offset if offset >= 0 else 4)
    app.abort()
    lab.wait_until(lambda: lab.stable_end("orders-0"), 5)
    fetch(lab, "orders-0", 4)
    plain.send("orders-0", "n2")
    fetch(lab, "orders-0", 4)
    delete(lab, "orders-0", -1)
    fetch(lab, "orders-0", 6)


@program("Partition#lastOffsetForLeaderEpoch, #checkCurrentLeaderEpoch", profiles=TV2)
def leader_epochs(lab: Lab) -> None:
    """What a client hears that believes in another leader's epoch than 0."""
    lab.topic("orders")
    send(lab, "orders-0", "a", batch())
    topic, _ = lab.split("orders-0")
    for index, current, epoch in (
        (0, -1, 0), (0, 0, 0), (0, -1, -1), (0, -1, 1), (0, -1, 5), (0, 5, 0), (0, -2, 0),
        (9, -1, 0),
    ):  # fmt: skip
        part = Row(partition=index, current_leader_epoch=current, leader_epoch=epoch)
        topics = (Row(topic=topic, partitions=(part,)),)
        row = lab.raw().ask(23, 4, replica_id=-1, topics=topics).topics[0].partitions[0]
        outcome = f"{word(row.error_code)} epoch={row.leader_epoch} end={row.end_offset}"
        question = f"OffsetForLeaderEpoch {epoch} of {index}, believing in {current}"
        lab.note("reader", "broker", question, outcome)
    for epoch in (-1, 0, 1, 5):
        fetch(lab, "orders-0", 0, epoch=epoch)
    for offset in (99, -1, -5):
        for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
            fetch(lab, "orders-0", offset, isolation)
    fetch(lab, "nowhere-0", 0)


@program("ListOffsetsRequestTest: times that are none, and twice", profiles=TV2)
def list_offsets_edges(lab: Lab) -> None:
    lab.topic("orders")
    send(lab, "orders-0", "a", batch())
    for version in (1, 6, 7, 8, 9, 10, 11):
        for at_ms in range(-1, -9, -1):
            offsets = _listed(lab, version, ("orders-0", at_ms, -1))
            lab.note("reader", "orders-0", f"ListOffsets v{version} {at_ms}", offsets)
    for at_ms in (-1, -7):
        offsets = _listed(lab, 11, ("orders-0", at_ms, 5))
        lab.note("reader", "orders-0", f"ListOffsets v11 {at_ms} epoch=5", offsets)
    offsets = _listed(lab, 7, ("orders-0", -1, -1), ("orders-0", -1, -1), ("orders-9", -1, -1))
    lab.note("reader", "orders-0", "ListOffsets v7 of 0, 0 and 9", offsets)


def _listed(lab: Lab, version: int, *parts: tuple[str, int, int]) -> str:
    rows = tuple(
        Row(partition_index=lab.split(p)[1], current_leader_epoch=epoch, timestamp=at_ms)
        for p, at_ms, epoch in parts
    )
    topics = (Row(name=lab.wire("orders"), partitions=rows),)
    how = {"replica_id": -1, "isolation_level": 0, "timeout": MINUTE}
    answer = lab.raw().ask(2, version, topics=topics, **how)
    partitions = sorted(answer.topics[0].partitions, key=lambda row: int(row.partition_index))
    return ", ".join(f"{p.partition_index} {word(p.error_code)} @{p.offset}" for p in partitions)


@program("FetchRequest: a partition named several times is read once", profiles=TV2)
def fetch_twice(lab: Lab) -> None:
    lab.topic("orders", 2)
    for _ in range(3):
        send(lab, "orders-0", "a, b", batch(), batch())
    topic = lab.wire("orders")
    parts = ((topic, 0, 0, -1), (topic, 1, 0, -1), (topic, 0, 2, -1), (topic, 0, 1, -1))
    answer = lab.raw().ask(1, 11, **fields(parts))
    rows = sorted(
        (p.partition_index, len(p.records)) for t in answer.responses for p in t.partitions
    )
    sizes = ", ".join(f"{index}: {size} bytes" for index, size in rows)
    lab.note("reader", "orders", "Fetch of 0 @0, 1 @0, 0 @2, 0 @1", sizes)


@program("ProduceRequest: a partition named twice is written once", profiles=TV2)
def produce_twice(lab: Lab) -> None:
    lab.topic("orders")
    rows = tuple(Row(index=0, records=batch(record(value))) for value in (b"a", b"b"))
    data = (Row(name=lab.wire("orders"), partition_data=rows),)
    answer = lab.raw().ask(0, 11, transactional_id=None, acks=-1, timeout=MINUTE, topic_data=data)
    outcomes = [
        f"{word(p.error_code)} @{p.base_offset}" for p in answer.responses[0].partition_responses
    ]
    lab.note("app", "orders-0", "Produce a and b", ", ".join(outcomes))
    lab.read("orders-0", READ_UNCOMMITTED)


@program("WriteTxnMarkers with an id or an epoch that is none", profiles=TV2)
def refused_markers(lab: Lab) -> None:
    app = Producer.start(lab, "A")
    app.send("orders-0", "a")
    for pid, epoch, version in ((app.pid, -1, 1), (app.pid, -1, 2), (-1, 0, 1), (987_654, -1, 1)):
        called = pid if pid in (app.pid, -1) else 987_654
        marker(lab, "orders-0", called, epoch, commit=False, version=version)
    marker(lab, "nowhere-0", app.pid, -1, commit=False)
    app.abort()
    lab.log("orders-0", end=2)
