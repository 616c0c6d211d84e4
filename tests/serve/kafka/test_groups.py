"""Consumer groups: real clients, and raw requests whose answers were compared with those of
a real 4.3.1 broker."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.entries import decode_effect
from tests.serve.kafka.clients import PATIENCE_S, QUIET, create, producer, transaction
from tests.serve.kafka.raw import Raw, build_positions

confluent_kafka = pytest.importorskip(
    "confluent_kafka", reason="needs confluent-kafka: run `make setup`"
)
from confluent_kafka import Consumer, KafkaException, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient  # noqa: E402

TEN = timedelta(seconds=10)
SUBSCRIPTION = struct.pack(">hih5si", 0, 1, 5, b"probe", -1)


def member(address: str, group: str, **more: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 200,
            **QUIET,
            **more,
        }
    )


def until(done: Callable[[], bool], *readers: Consumer) -> None:
    """Poll all of them until something is true."""
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, "it never came true"
        for reader in readers:
            reader.poll(0.05)


# ---- confluent-kafka -----------------------------------------------------------------------


def test_two_members_share_a_topic_and_one_takes_over(broker: RunningBroker, topic: str) -> None:
    create(broker.address, topic, 4)
    one, two = member(broker.address, topic), member(broker.address, topic)
    one.subscribe([topic])
    until(lambda: len(one.assignment()) == 4, one)
    two.subscribe([topic])
    until(lambda: len(one.assignment()) == len(two.assignment()) == 2, one, two)
    admin = AdminClient({"bootstrap.servers": broker.address, **QUIET})
    told = admin.describe_consumer_groups([topic])[topic].result(PATIENCE_S)
    assert told.state.name == "STABLE"
    assert sorted(len(m.assignment.topic_partitions) for m in told.members) == [2, 2]
    listed = admin.list_consumer_groups().result(PATIENCE_S).valid
    assert topic in {group.group_id for group in listed}
    two.close()
    until(lambda: len(one.assignment()) == 4, one)
    one.close()


def test_offsets_in_a_transaction_are_fenced_by_the_generation(
    broker: RunningBroker, topic: str
) -> None:
    create(broker.address, topic, 2)
    worker = producer(broker.address, topic)
    transaction(worker, topic, "a", "b")
    one, two = member(broker.address, topic), member(broker.address, topic)
    one.subscribe([topic])
    until(lambda: len(one.assignment()) == 2, one)
    old = one.consumer_group_metadata()
    two.subscribe([topic])
    until(lambda: len(one.assignment()) == len(two.assignment()) == 1, one, two)
    at = [confluent_kafka.TopicPartition(topic, 0, 1)]
    worker.begin_transaction()
    with pytest.raises(KafkaException) as refused:
        worker.send_offsets_to_transaction(at, old, PATIENCE_S)
    assert refused.value.args[0].txn_requires_abort()
    worker.abort_transaction(PATIENCE_S)
    worker.begin_transaction()
    worker.send_offsets_to_transaction(at, one.consumer_group_metadata(), PATIENCE_S)
    worker.commit_transaction(PATIENCE_S)
    assert one.committed(at, PATIENCE_S)[0].offset == 1
    one.close()
    two.close()


def test_a_group_survives_kill_9(tmp_path: Path) -> None:
    """Members, generation and offsets are read back; nobody has to join again."""
    with serve(data_dir=tmp_path) as broker:
        create(broker.address, "t", 2)
        writer = producer(broker.address, "t")
        transaction(writer, "t", "a", "b", "c")
        reader = member(broker.address, "g")
        reader.subscribe(["t"])
        got: list[str] = []

        def three() -> bool:
            message = reader.poll(0.05)
            if message is not None and message.error() is None:
                got.append(message.value().decode())
            return len(got) == 3

        until(three)
        reader.commit(asynchronous=False)
        with Raw(broker.address) as client:
            before = described(client, "g")
        broker.kill()
        broker.restart()
        with Raw(broker.address) as client:
            after = described(client, "g")
        assert after == before
        assert (after.group_state, len(after.members)) == ("Stable", 1)
        reader.close()


def described(client: Raw, group: str) -> Any:
    return client.ask(15, 5, groups=(group,), include_authorized_operations=False).groups[0]


# ---- raw requests ----------------------------------------------------------------------------


def join(client: Raw, group: str, who: str = "", *, version: int = 9, **more: Any) -> Any:
    given: dict[str, Any] = {
        "group_id": group,
        "session_timeout": TEN,
        "rebalance_timeout": TEN,
        "member_id": who,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocols": (SimpleNamespace(name="range", metadata=SUBSCRIPTION),),
        "reason": None,
    }
    return client.ask(11, version, **{**given, **more})


def sync(client: Raw, group: str, who: str, generation: int, **more: Any) -> Any:
    given: dict[str, Any] = {
        "group_id": group,
        "generation_id": generation,
        "member_id": who,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": (SimpleNamespace(member_id=who, assignment=b"all"),),
    }
    return client.ask(14, 5, **{**given, **more})


def beat(client: Raw, group: str, who: str, generation: int) -> str:
    told = client.ask(
        12, 4, group_id=group, generation_id=generation, member_id=who, group_instance_id=None
    )
    name: str = told.error_code.name
    return name


def test_every_version_joins(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as client:
        for version in range(10):
            group = f"{topic}-{version}"
            told = join(client, group, version=version)
            if version >= 4:
                assert told.error_code.name == "member_id_required"
                told = join(client, group, told.member_id, version=version)
            assert told.error_code.name == "none"
            assert (told.generation_id, told.leader) == (1, told.member_id)
            assert told.members[0].metadata == SUBSCRIPTION
            assert sync(client, group, told.member_id, 1).assignment == b"all"
            assert beat(client, group, told.member_id, 1) == "none"
            one = {"group_id": group, "member_id": told.member_id}
            several = (SimpleNamespace(reason=None, group_instance_id=None, **one),)
            left = client.ask(13, min(version, 5), members=several, **one)
            assert left.error_code.name == "none"
            assert described(client, group).group_state == "Empty"


def test_a_member_says_by_which_strategy(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as client:
        told = join(client, topic, join(client, topic).member_id)
        for names in ({"protocol_name": None}, {"protocol_type": None}, {"protocol_name": "x"}):
            refused = sync(client, topic, told.member_id, 1, **names)
            assert refused.error_code.name == "inconsistent_group_protocol"
        assert join(client, topic, protocols=()).error_code.name == "inconsistent_group_protocol"
        assert join(client, "", version=6).error_code.name == "invalid_group_id"


def test_nobody_knows_the_group(broker: RunningBroker) -> None:
    with Raw(broker.address) as client:
        assert described(client, "nowhere").group_state == "Dead"
        told = client.ask(15, 6, groups=("nowhere",), include_authorized_operations=False)
        assert told.groups[0].error_code.name == "group_id_not_found"
        assert beat(client, "nowhere", "who", 1) == "unknown_member_id"
        gone = (SimpleNamespace(member_id="who", group_instance_id=None, reason=None),)
        left = client.ask(13, 5, group_id="nowhere", members=gone)
        assert left.error_code.name == "none"
        assert left.members[0].error_code.name == "unknown_member_id"
        assert client.ask(13, 2, group_id="no", member_id="x").error_code.name == (
            "unknown_member_id"
        )


def test_groups_are_listed_by_state_and_type(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as client:
        join(client, topic, join(client, topic).member_id)

        def listed(states: tuple[str, ...], types: tuple[str, ...]) -> set[str]:
            answer = client.ask(16, 5, states_filter=states, types_filter=types)
            return {group.group_id for group in answer.groups}

        assert topic in listed((), ())
        assert topic in listed(("completingrebalance",), ("Classic",))
        assert topic not in listed(("Stable",), ())
        assert topic not in listed((), ("consumer",))


def test_offsets_by_topic_id(broker: RunningBroker, topic: str) -> None:
    """OffsetCommit and OffsetFetch v10 name topics by their ids."""
    with Raw(broker.address) as client:
        client.create(topic)
        known = client.ask(
            3, 12, topics=(SimpleNamespace(name=topic, topic_id=None),),
            allow_auto_topic_creation=False, include_topic_authorized_operations=False,
        ).topics[0].topic_id  # fmt: skip
        (positions,) = build_positions(topic, 7, note="note")
        positions.topic_id = known
        told = client.ask(
            8, 10, group_id=topic, generation_id_or_member_epoch=-1, member_id="",
            group_instance_id=None, topics=(positions,),
        )  # fmt: skip
        assert told.topics[0].partitions[0].error_code.name == "none"
        for wanted in ((SimpleNamespace(topic_id=known, partition_indexes=(0,)),), None):
            group = SimpleNamespace(group_id=topic, member_id=None, member_epoch=-1, topics=wanted)
            found = client.ask(9, 10, groups=(group,), require_stable=True).groups[0].topics[0]
            assert found.topic_id == known
            assert (found.partitions[0].committed_offset, found.partitions[0].metadata) == (
                7,
                "note",
            )


# ---- committed positions: the next client reads what the last one has committed ---------------


def position(reader: Consumer, topic: str) -> tuple[int, int | None, str | None]:
    """(offset, leader epoch, metadata) that the group has of the topic's first partition."""
    (found,) = reader.committed([TopicPartition(topic, 0)], PATIENCE_S)
    return found.offset, found.leader_epoch, found.metadata


def test_a_position_keeps_its_leader_epoch(broker: RunningBroker, topic: str) -> None:
    create(broker.address, topic, 1)
    reader = member(broker.address, topic)
    here = TopicPartition(topic, 0, 3, leader_epoch=0, metadata="half way")
    reader.commit(offsets=[here], asynchronous=False)
    assert position(reader, topic) == (3, 0, "half way")
    reader.close()


def test_so_does_one_in_a_transaction_and_over_a_restart(tmp_path: Path, topic: str) -> None:
    with serve(data_dir=tmp_path) as running:
        create(running.address, topic, 1)
        worker = producer(running.address, topic)
        transaction(worker, topic, "a")
        reader = member(running.address, topic)
        reader.subscribe([topic])
        worker.begin_transaction()
        here = TopicPartition(topic, 0, 1, leader_epoch=0, metadata="m")
        while not reader.assignment():
            reader.poll(0.1)
        worker.send_offsets_to_transaction([here], reader.consumer_group_metadata(), PATIENCE_S)
        worker.commit_transaction(PATIENCE_S)
        assert position(reader, topic) == (1, 0, "m")
        reader.close()
    with serve(data_dir=tmp_path) as running:
        reader = member(running.address, topic)
        assert position(reader, topic) == (1, 0, "m")
        reader.close()


def test_a_journal_from_before_leader_epochs_is_read() -> None:
    old = b'J["append","__consumer_offsets-0",{"Batch":[[{"Offsets":["g",[{"Position":'
    old += b'["t-0",3,"m"]}]]}],1,0,-1,-1,-1,false,"",-1,0,0]}]'
    (offsets,) = decode_effect(old).entry.records  # type: ignore[union-attr]
    assert offsets.positions[0].leader_epoch == -1
