"""The relay passes on what a client and its broker say, and springs at the one chosen request."""

from __future__ import annotations

import uuid

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from mqlab.spark import topics
from mqlab.spark.flink.relay import END_TXN, PRODUCE, Relay, Trap


@pytest.fixture
def topic(broker_address: str) -> str:
    name = f"relayed-{uuid.uuid4().hex[:8]}"
    topics.create(broker_address, name, 1)
    return name


def write(relay: Relay, topic: str, *values: bytes) -> None:
    """One transaction through the relay. Raises KafkaException."""
    client = topics.producer(relay.address, **{"transactional.id": f"id-{topic}"})
    client.init_transactions(10)
    client.begin_transaction()
    for value in values:
        client.produce(topic, value)
    client.commit_transaction(3)


def test_clients_are_told_the_relays_address_and_never_the_brokers(
    broker_address: str, topic: str
) -> None:
    with Relay(broker_address) as relay:
        told = AdminClient({**topics.QUIET, "bootstrap.servers": relay.address}).list_topics()
        assert [broker.port for broker in told.brokers.values()] == [relay.port]
        write(relay, topic, b"a", b"b")
        assert not relay.sprung.is_set()
    assert topics.read_values(broker_address, topic) == [b"a", b"b"]


def test_what_is_caught_before_the_broker_hears_it_has_not_happened(
    broker_address: str, topic: str
) -> None:
    with Relay(broker_address) as relay:
        relay.set(Trap(END_TXN, answered=False), relay.close)
        with pytest.raises(KafkaException):
            write(relay, topic, b"a")
        assert relay.sprung.is_set()
    assert topics.read_values(broker_address, topic) == []
    assert topics.read_values(broker_address, topic, "read_uncommitted") == [b"a"]


@pytest.mark.parametrize(("key", "committed"), [(PRODUCE, []), (END_TXN, [b"a"])])
def test_of_what_is_caught_with_its_answer_only_the_client_does_not_know(
    broker_address: str, topic: str, key: int, committed: list[bytes]
) -> None:
    with Relay(broker_address) as relay:
        relay.set(Trap(key, answered=True), relay.close)
        with pytest.raises(KafkaException):
            write(relay, topic, b"a")
        assert relay.sprung.is_set()
    assert topics.read_values(broker_address, topic, "read_uncommitted") == [b"a"]
    assert topics.read_values(broker_address, topic) == committed
