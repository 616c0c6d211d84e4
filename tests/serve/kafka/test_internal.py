"""The internal topics, read by clients. The bytes are what a real 4.3.1 broker wrote."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace as Row
from uuid import UUID

import pytest

from mqlab.kafka.coordinator import Entry
from mqlab.kafka.coordinator.entry import StateRecord
from mqlab.kafka.group import GroupMetadata, GroupTombstone, Offsets, OffsetTombstones
from mqlab.kafka.group.members import Member
from mqlab.kafka.messages import Position
from mqlab.kafka.states import TxnState
from mqlab.serve import RunningBroker
from mqlab.serve.disk import RECENT, CompactedLog
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.adapter import BY_ID
from mqlab.serve.kafka.wire.internal import group_records, transaction
from mqlab.serve.kafka.wire.validation import Records
from tests.serve.kafka.clients import PATIENCE_S, create, producer, read
from tests.serve.kafka.clients import transaction as run
from tests.serve.kafka.raw import Raw, batch

confluent_kafka = pytest.importorskip(
    "confluent_kafka", reason="needs confluent-kafka: run `make setup`"
)
from confluent_kafka import Consumer, TopicPartition  # noqa: E402

from tests.serve.kafka.clients import QUIET  # noqa: E402

TOPIC_ID = UUID("8fed74d5-f32a-4685-9457-c79f9163ef05")
STAMP = 0x01A2002766FE
PATIENCE = timedelta(seconds=PATIENCE_S)


def entry(state: TxnState, partitions: tuple[str, ...] = (), update_ms: int = STAMP) -> StateRecord:
    made = Entry(
        "acc", 1, 0, state, partitions, 60_000, start_ms=STAMP, update_ms=update_ms, prev_pid=1
    )
    return StateRecord(0, made)


@pytest.mark.parametrize(
    ("record", "value"),
    [
        (
            StateRecord(
                0, Entry("acc", 1, 0, TxnState.EMPTY, update_ms=0x01A2002766F5, prev_pid=1)
            ),
            "0001000000000000000100000000ea600000000001a2002766f5ffffffffffffffff"
            "0100080000000000000001",
        ),
        (
            entry(TxnState.ONGOING, ("orders-0", "orders-1")),
            "0001000000000000000100000000ea600102076f726465727303000000000000000100"
            "000001a2002766fe000001a2002766fe0100080000000000000001",
        ),
        (
            entry(TxnState.COMPLETE_COMMIT, (), 0x01A200276723),
            "0001000000000000000100000000ea600401000001a200276723000001a2002766fe"
            "0100080000000000000001",
        ),
        (
            entry(TxnState.PREPARE_COMMIT, ("income-0", "__consumer_offsets-18")),
            "0001000000000000000100000000ea60020307696e636f6d650200000000001"
            "35f5f636f6e73756d65725f6f66667365747302000000120000"
            "0001a2002766fe000001a2002766fe0100080000000000000001",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, StateRecord) else "",
)
def test_a_state_is_written_as_a_broker_writes_it(record: StateRecord, value: str) -> None:
    key, said = transaction(record, flexible=True)
    assert key.hex() == "00000003616363"
    assert said is not None
    assert said.hex() == value


def test_an_expired_id_is_a_tombstone_and_level_0_writes_the_older_value() -> None:
    assert transaction(entry(TxnState.DEAD), flexible=True) == (b"\0\0\0\3acc", None)
    _, old = transaction(entry(TxnState.ONGOING, ("t-3",)), flexible=False)
    assert old is not None
    assert old.hex() == (
        "0000" "0000000000000001" "0000" "0000ea60" "01"
        "00000001" "000174" "00000001" "00000003" "000001a2002766fe" "000001a2002766fe"
    )  # fmt: skip


def test_positions_and_groups_are_written_as_a_broker_writes_them() -> None:
    at_ms = 0x01A200276A2A
    plain = Offsets("g-classic", (Position("orders-1", 1),))
    ((key, value),) = group_records(plain, at_ms, lambda _: TOPIC_ID)
    assert key.hex() == "00010009672d636c617373696300066f726465727300000001"
    assert value is not None
    assert value.hex() == (
        "00040000000000000001ffffffff01000001a200276a2a0100108fed74d5f32a46859457c79f9163ef05"
    )
    pending = Offsets("g-classic", (Position("orders-0", 1, "meta", 0),))
    ((_, value),) = group_records(pending, 0x01A200276A18, lambda _: None)
    assert value is not None
    assert value.hex() == "0004000000000000000100000000056d657461000001a200276a1800"
    name = "cli-81e31144-e16c-4f0a-8d6b-af4ad425e730"
    subscription = bytes.fromhex("000300000001") + b"\0\x06orders" + bytes(8) + b"\xff" * 4
    subscription += b"\0\0"
    given = bytes.fromhex("000000000001") + b"\0\x06orders" + bytes.fromhex(
        "00000003000000000000000100000002" "00000000"
    )  # fmt: skip
    member = Member(
        name, "cli", "/127.0.0.1", None, 45_000, 300_000, (("range", subscription),), given
    )
    record = GroupMetadata("g-classic", "consumer", 1, "range", name, (member,))
    ((key, value),) = group_records(record, 0x01A200276787, lambda _: None)
    assert key.hex() == "00020009672d636c6173736963"
    assert value is not None
    assert value.hex() == (
        "00030008636f6e73756d657200000001000572616e67650028" + name.encode().hex()
        + "000001a200276787000000010028" + name.encode().hex()
        + "ffff0003636c69000a2f3132372e302e302e31000493e00000afc8"
        + "0000001c" + subscription.hex() + "00000022" + given.hex()
    )  # fmt: skip
    gone = group_records(OffsetTombstones("g-classic", ("orders-1",)), 0, lambda _: None)
    assert gone == [(bytes.fromhex("00010009672d636c617373696300066f726465727300000001"), None)]
    assert group_records(GroupTombstone("g-classic"), 0, lambda _: None) == [(key, None)]


# ---- over the wire -------------------------------------------------------------------------


def records(client: Raw, topic: str, partitions: int) -> list[tuple[bytes, bytes]]:
    """(key, value) of all that is in a topic."""
    found = []
    for index in range(partitions):
        data = bytes(client.fetch(topic, 0, False, index).records or b"")
        while data:
            size = int.from_bytes(data[8:12], "big") + 12
            pairs = Records(data[:size]).texts(size)
            found += [(key or b"", value or b"") for key, value in pairs]
            data = data[size:]
    return found


def test_a_client_reads_how_a_transaction_went(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as running, Raw(running.address) as client:
        assert "__transaction_state" not in names(client)
        create(running.address, "orders", 2)
        worker = producer(running.address, "acc")
        run(worker, "orders", "a")
        run(worker, "orders", "b", commit=False)
        assert {"__transaction_state", "orders"} <= names(client)
        mine = [v for k, v in records(client, "__transaction_state", 50) if k[4:] == b"acc"]
        states = [v[16] for v in mine]
        assert (states[0], states[1], states[-1]) == (0, 1, 5)
        assert [s for s in states if s in (2, 4)] == [2, 4]
        assert read(running.address, "orders", 2) == ["a"]
    with serve(data_dir=tmp_path) as running, Raw(running.address) as client:
        assert "__transaction_state" in names(client)
        mine = [v for k, v in records(client, "__transaction_state", 50) if k[4:] == b"acc"]
        assert [v[16] for v in mine] == states


def names(client: Raw) -> set[str]:
    answer = client.ask(
        3, 9, topics=None, allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False, include_topic_authorized_operations=False,
    )  # fmt: skip
    internal = {t.name for t in answer.topics if t.is_internal}
    assert internal <= {"__transaction_state", "__consumer_offsets"}
    return {t.name for t in answer.topics}


def test_a_reader_that_waits_is_told_of_the_next_state(broker: RunningBroker, topic: str) -> None:
    create(broker.address, topic, 1)
    worker = producer(broker.address, topic)
    reader = Consumer({"bootstrap.servers": broker.address, "group.id": "audit", **QUIET})
    reader.assign([TopicPartition("__transaction_state", i, 0) for i in range(50)])
    run(worker, topic, "a")
    seen: list[int] = []
    while 4 not in seen:
        message = reader.poll(PATIENCE_S)
        assert message is not None
        assert message.error() is None
        if message.key()[4:].decode() == topic:
            seen.append(message.value()[16])
    assert seen[:2] == [0, 1]
    reader.close()


def test_nobody_writes_to_them_or_deletes_them(broker: RunningBroker) -> None:
    with Raw(broker.address) as client:
        client.ask(10, 2, key="x", key_type=0)
        client.ask(10, 2, key="x", key_type=1)
        for name in ("__consumer_offsets", "__transaction_state"):
            assert client.create(name) == "topic_already_exists"
            assert client.produce(name, 0, batch([b"x"])).error_code.name == (
                "invalid_topic_exception"
            )
            gone = client.ask(20, 4, topic_names=(name,), timeout=PATIENCE)
            assert gone.responses[0].error_code.name == "invalid_topic_exception"
            assert name in names(client)


def test_the_coordinators_log_is_configured_as_a_real_broker_creates_it(
    broker: RunningBroker,
) -> None:
    """kafka-topics --describe shows these (recorded: tools-topics); 2: a topic, 1: set on it."""
    with Raw(broker.address) as client:
        client.ask(10, 2, key="x", key_type=1)
        asked = Row(
            resource_type=2, resource_name="__transaction_state", configuration_keys=None
        )  # fmt: skip
        told = client.ask(
            32, 4, resources=(asked,), include_synonyms=False, include_documentation=False
        )
        found = {row.name: row.value for row in told.results[0].configs if row.config_source == 1}
        assert found == {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "segment.bytes": "104857600",
            "unclean.leader.election.enable": "false",
        }


@pytest.mark.parametrize(
    ("name", "written"),
    [("__transaction_state", "invalid_topic_exception"), ("__consumer_offsets", "none")],
)
def test_every_question_about_a_partition_of_them_is_answered(
    broker: RunningBroker, name: str, written: str
) -> None:
    """As a real 4.3.1 does it, but for markers beside a coordinator's own records."""
    with Raw(broker.address) as client:
        for kind in (0, 1):
            client.ask(10, 2, key="x", key_type=kind)
        for index, there in ((7, True), (99, False)):
            known = "none" if there else "unknown_topic_or_partition"
            asked = (Row(name=name, partition_indexes=(index,)),)
            found = client.ask(61, 0, topics=asked).topics[0].partitions[0]
            told = found.error_code.name, found.error_message, found.active_producers
            assert told == (known, None, ())
            marker = Row(
                producer_id=4711, producer_epoch=0, transaction_result=True,
                coordinator_epoch=0, topics=asked,
            )  # fmt: skip
            (marked,) = client.ask(27, 1, markers=(marker,)).markers
            error = marked.topics[0].partitions[0].error_code.name
            assert error == (written if there else known)
            rows = (Row(name=name, partitions=(Row(partition_index=index, offset=0),)),)
            gone = client.ask(21, 2, topics=rows, timeout=PATIENCE).topics[0].partitions[0]
            refused = "invalid_topic_exception" if there else known
            assert gone.error_code.name == refused


def test_a_compacted_log_keeps_its_end_whole() -> None:
    log = CompactedLog(BY_ID)
    for base in range(RECENT + 10):
        log.append(StateRecord(base, Entry(f"id-{base % 3}", 1, 0)))
    log.append(StateRecord(RECENT + 10, Entry("other", 1, 0)))
    assert [e.base for e in log.read(RECENT)] == list(range(RECENT, RECENT + 11))
    assert len(list(log.read(0))) == RECENT
    assert [e.base for e in log.read(5, 12)] == [11]
    assert [e.entry.txn_id for e in log.list_kept()][-1] == "other"
    assert len(list(log.list_kept())) == 4
