"""Python's own client, unmodified: it produces and consumes, and comes back after a kill."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.pulsar import serve
from tests.serve.pulsar.raw import COMMIT, Raw

pulsar: Any = pytest.importorskip("pulsar", reason="needs pulsar-client: run `make setup`")
Record, String, Integer = (getattr(pulsar.schema, n) for n in ("Record", "String", "Integer"))
JsonSchema, StringSchema = pulsar.schema.JsonSchema, pulsar.schema.StringSchema
EARLIEST = pulsar.InitialPosition.Earliest

PATIENCE_MS = 20_000
QUIET = logging.getLogger("tests.pulsar-client")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


def connect(broker: RunningBroker) -> Any:
    return pulsar.Client(f"pulsar://{broker.address}", logger=QUIET)


@pytest.fixture
def client(broker: RunningBroker) -> Iterator[Any]:
    client = connect(broker)
    yield client
    client.close()


def take(consumer: Any, count: int) -> list[bytes]:
    found = []
    for _ in range(count):
        message = consumer.receive(PATIENCE_MS)
        consumer.acknowledge(message)
        found.append(message.data())
    return found


@pytest.mark.parametrize("batching", [False, True])
@pytest.mark.parametrize("kind", ["Exclusive", "Shared", "Failover", "KeyShared"])
def test_produce_and_consume(client: Any, topic: str, batching: bool, kind: str) -> None:
    consumer = client.subscribe(topic, "billing", consumer_type=getattr(pulsar.ConsumerType, kind))
    producer = client.create_producer(topic, batching_enabled=batching)
    for number in range(50):
        producer.send_async(b"%d" % number, lambda *_: None)
    producer.flush()
    assert take(consumer, 50) == [b"%d" % number for number in range(50)]


def test_a_reader_reads_from_where_it_was_told(client: Any, topic: str) -> None:
    producer = client.create_producer(topic)
    ids = [producer.send(b"%d" % number) for number in range(5)]
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    assert reader.read_next(PATIENCE_MS).data() == b"0"
    later = client.create_reader(topic, ids[2])
    found = []
    while later.has_message_available():
        found.append(later.read_next(PATIENCE_MS).data())
    assert found == [b"3", b"4"]


def test_a_subscription_moves_back_and_ahead(client: Any, topic: str) -> None:
    """To a message, into a batch, to a moment, to either end. Without `inclusive` the client by
    itself drops the message that it has named."""
    consumer = client.subscribe(topic, "billing", start_message_id_inclusive=True)
    producer = client.create_producer(topic, batching_enabled=False)
    ids = [producer.send(b"%d" % number) for number in range(3)]
    batching = client.create_producer(topic, batching_enabled=True)
    for number in (3, 4, 5):
        batching.send_async(b"%d" % number, lambda *_: None)
    batching.flush()
    messages = [consumer.receive(PATIENCE_MS) for _ in range(6)]
    for message in messages:
        consumer.acknowledge(message)
    # By the client's clock, in ms; two messages may have the same time.
    stamps = [message.publish_timestamp() for message in messages]
    for where, first in [
        (ids[1], 1),
        (pulsar.MessageId.earliest, 0),
        (stamps[3], next(i for i, stamp in enumerate(stamps) if stamp >= stamps[3])),
        (messages[4].message_id(), 4),
    ]:
        consumer.seek(where)
        assert take(consumer, 6 - first) == [b"%d" % n for n in range(first, 6)]
    consumer.seek(pulsar.MessageId.latest)
    producer.send(b"next")
    assert take(consumer, 1) == [b"next"]


def test_a_reader_moves(client: Any, topic: str) -> None:
    producer = client.create_producer(topic)
    ids = [producer.send(b"%d" % number) for number in range(4)]
    reader = client.create_reader(topic, pulsar.MessageId.latest)
    reader.seek(ids[1])
    assert reader.read_next(PATIENCE_MS).data() == b"2"
    reader.seek(pulsar.MessageId.earliest)
    assert [reader.read_next(PATIENCE_MS).data() for _ in range(2)] == [b"0", b"1"]


class Paid(Record):  # type: ignore[misc]
    customer = String()
    pence = Integer()


class Refunded(Record):  # type: ignore[misc]
    customer = String()
    why = String()


def test_messages_with_a_schema(client: Any, broker: RunningBroker, topic: str) -> None:
    """A topic keeps what its clients say its messages are; one of another type is refused."""
    producer = client.create_producer(topic, schema=JsonSchema(Paid))
    producer.send(Paid(customer="alice", pence=250))
    consumer = client.subscribe(
        topic, "billing", schema=JsonSchema(Paid), initial_position=EARLIEST
    )
    got = consumer.receive(PATIENCE_MS).value()
    assert (got.customer, got.pence) == ("alice", 250)
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=StringSchema())
    with pytest.raises(pulsar.IncompatibleSchema):
        client.subscribe(topic, "other", schema=StringSchema())
    client.create_producer(topic).send(b"bytes are always welcome")
    with Raw(broker.address) as raw:
        latest = raw.ask("GET_SCHEMA", topic=topic).body
        assert latest.schema_version == bytes(8) and b"pence" in latest.schema.schema_data
        assert topic == f"persistent://{latest.schema.name}"
        later = raw.ask("GET_SCHEMA", topic=topic, schema_version=b"\0\0\0\0\0\0\0\1").body
        assert later.error_message == "Topic not found or no-schema"


def test_schemas_are_numbered_and_kept(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        client = connect(broker)
        try:
            for record in (Paid, Refunded, Paid):
                client.create_producer("orders", schema=JsonSchema(record))
        finally:
            client.close()
        broker.kill()
        broker.restart()
        with Raw(broker.address) as raw:
            assert raw.ask("GET_SCHEMA", topic="orders").body.schema_version == bytes((*[0] * 7, 1))
            first = raw.ask("GET_SCHEMA", topic="orders", schema_version=bytes(8)).body
            assert b"pence" in first.schema.schema_data


def test_beside_a_transaction(client: Any, broker: RunningBroker, topic: str) -> None:
    """What it sends behind an open transaction waits for the end of it."""
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
