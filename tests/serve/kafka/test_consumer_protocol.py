"""Clients with group.protocol=consumer (KIP-848)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace as Fields
from typing import Any

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from tests.serve.kafka.clients import PATIENCE_S, QUIET, create, producer, read, transaction
from tests.serve.kafka.raw import Raw

confluent_kafka = pytest.importorskip(
    "confluent_kafka", reason="needs confluent-kafka: run `make setup`"
)
from confluent_kafka import Consumer, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient  # noqa: E402

from tests.serve.kafka.test_groups import until  # noqa: E402


def member(address: str, group: str, **more: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            **QUIET,
            **more,
        }
    )


def values(reader: Consumer, count: int) -> list[str]:
    """The next values, `count` of them."""
    got: list[str] = []
    enough: Callable[[], bool] = lambda: len(got) >= count  # noqa: E731
    while not enough():
        message = reader.poll(PATIENCE_S)
        assert message is not None
        assert message.error() is None
        got.append(message.value().decode())
    return got


def test_a_client_reads_commits_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as running:
        create(running.address, "orders", 2)
        transaction(producer(running.address, "app"), "orders", "a", "b")
        reader = member(running.address, "accounting")
        reader.subscribe(["orders"])
        assert sorted(values(reader, 2)) == ["a", "b"]
        reader.commit(asynchronous=False)
        admin = AdminClient({"bootstrap.servers": running.address, **QUIET})
        told = admin.describe_consumer_groups(["accounting"])["accounting"].result(PATIENCE_S)
        assert (told.type.name, told.state.name, len(told.members)) == ("CONSUMER", "STABLE", 1)
        reader.close()
    with serve(data_dir=tmp_path) as running:
        transaction(producer(running.address, "app"), "orders", "c")
        reader = member(running.address, "accounting")
        reader.subscribe(["orders"])
        assert values(reader, 1) == ["c"]
        reader.close()


def test_positions_in_a_transaction_count_with_it(broker: RunningBroker, topic: str) -> None:
    create(broker.address, topic, 1)
    create(broker.address, f"{topic}-out", 1)
    transaction(producer(broker.address, topic), topic, "a")
    worker = producer(broker.address, f"{topic}-worker")
    reader = member(broker.address, topic)
    reader.subscribe([topic])
    for commit in (False, True):
        assert values(reader, 1) == ["a"]
        worker.begin_transaction()
        worker.produce(f"{topic}-out", "A")
        positions = reader.position(reader.assignment())
        worker.send_offsets_to_transaction(positions, reader.consumer_group_metadata(), PATIENCE_S)
        if commit:
            worker.commit_transaction(PATIENCE_S)
        else:
            worker.abort_transaction(PATIENCE_S)
            reader.seek(TopicPartition(topic, 0, 0))
    (found,) = reader.committed([TopicPartition(topic, 0)], PATIENCE_S)
    assert found.offset == 1
    assert read(broker.address, f"{topic}-out") == ["A"]
    reader.close()


def test_two_members_share_and_one_takes_over(broker: RunningBroker, topic: str) -> None:
    create(broker.address, topic, 4)
    one, two = member(broker.address, topic), member(broker.address, topic)
    one.subscribe([topic])
    until(lambda: len(one.assignment()) == 4, one)
    two.subscribe([topic])
    until(lambda: len(one.assignment()) == len(two.assignment()) == 2, one, two)
    two.close()
    until(lambda: len(one.assignment()) == 4, one)
    one.close()


def test_topics_go_by_id_and_an_id_nobody_knows_is_no_partition(
    broker: RunningBroker, topic: str
) -> None:
    """A member of version 0 is given an id; what it claims to own of a topic that is no more
    does not count."""
    create(broker.address, topic, 1)
    fields = {
        "group_id": topic, "member_id": "", "member_epoch": 0, "instance_id": None,
        "rack_id": None, "rebalance_timeout": timedelta(minutes=1),
        "subscribed_topic_names": (topic,), "server_assignor": None, "topic_partitions": (),
    }  # fmt: skip
    with Raw(broker.address) as client:
        joined = client.ask(68, 0, **fields)
        assert joined.member_id
        (row,) = joined.assignment.topic_partitions
        assert row.partitions == (0,)
        nobody = Fields(topic_id=None, partitions=(0, 1))
        again = client.ask(
            68, 0, **{**fields, "member_id": joined.member_id, "member_epoch": 2,
                      "topic_partitions": (nobody,)},
        )  # fmt: skip
        assert (again.error_code.name, again.member_epoch) == ("none", 2)
        told = client.ask(
            69, 1, group_ids=(topic, "nobody"), include_authorized_operations=False
        ).groups
        assert [g.error_code.name for g in told] == ["none", "group_id_not_found"]
        (who,) = told[0].members
        assert who.member_id == joined.member_id
        assert who.assignment == who.target_assignment
