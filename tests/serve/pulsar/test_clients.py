"""Python's own client, unmodified: it produces and consumes, and comes back after a kill."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.pulsar import serve
from tests.serve.pulsar.raw import COMMIT, Raw

pulsar: Any = pytest.importorskip("pulsar", reason="needs pulsar-client: run `make setup`")

PATIENCE_MS = 20_000
QUIET = logging.getLogger("tests.pulsar-client")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


def connect(broker: RunningBroker) -> Any:
    return pulsar.Client(f"pulsar://{broker.address}", logger=QUIET)


def take(consumer: Any, count: int) -> list[bytes]:
    found = []
    for _ in range(count):
        message = consumer.receive(PATIENCE_MS)
        consumer.acknowledge(message)
        found.append(message.data())
    return found


@pytest.mark.parametrize("batching", [False, True])
@pytest.mark.parametrize("kind", ["Exclusive", "Shared", "Failover", "KeyShared"])
def test_produce_and_consume(broker: RunningBroker, topic: str, batching: bool, kind: str) -> None:
    client = connect(broker)
    try:
        consumer = client.subscribe(
            topic, "billing", consumer_type=getattr(pulsar.ConsumerType, kind)
        )
        producer = client.create_producer(topic, batching_enabled=batching)
        for number in range(50):
            producer.send_async(b"%d" % number, lambda *_: None)
        producer.flush()
        assert take(consumer, 50) == [b"%d" % number for number in range(50)]
    finally:
        client.close()


def test_a_reader_reads_from_where_it_was_told(broker: RunningBroker, topic: str) -> None:
    client = connect(broker)
    try:
        producer = client.create_producer(topic)
        ids = [producer.send(b"%d" % number) for number in range(5)]
        reader = client.create_reader(topic, pulsar.MessageId.earliest)
        assert reader.read_next(PATIENCE_MS).data() == b"0"
        later = client.create_reader(topic, ids[2])
        found = []
        while later.has_message_available():
            found.append(later.read_next(PATIENCE_MS).data())
        assert found == [b"3", b"4"]
    finally:
        client.close()


def test_beside_a_transaction(broker: RunningBroker, topic: str) -> None:
    """What it sends behind an open transaction waits for the end of it."""
    client = connect(broker)
    try:
        with Raw(broker.address) as other:
            consumer = client.subscribe(topic, "billing")
            other.produce(topic)
            txn = other.begin()
            other.send_in(txn, topic, "in")
            client.create_producer(topic).send(b"plain")
            with pytest.raises(pulsar.Timeout):
                consumer.receive(300)
            other.end(txn, COMMIT)
            assert take(consumer, 2) == [b"in", b"plain"]
    finally:
        client.close()


def test_it_comes_back_after_a_kill(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        client = connect(broker)
        try:
            consumer = client.subscribe("orders", "billing")
            producer = client.create_producer("orders")
            producer.send(b"before")
            assert take(consumer, 1) == [b"before"]
            broker.kill()
            broker.restart()
            producer.send(b"after")
            (came,) = take(consumer, 1)
            if came == b"before":  # its acknowledgement was not on the wire yet
                (came,) = take(consumer, 1)
            assert came == b"after"
        finally:
            client.close()
