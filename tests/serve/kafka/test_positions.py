"""Committed positions: what a client says of one is what the next client is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.entries import decode_effect
from tests.serve.kafka.clients import PATIENCE_S, create, producer, transaction
from tests.serve.kafka.test_groups import member

confluent_kafka = pytest.importorskip(
    "confluent_kafka", reason="needs confluent-kafka: run `make setup`"
)
from confluent_kafka import Consumer, TopicPartition  # noqa: E402


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
