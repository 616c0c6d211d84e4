"""What a version of a request changes: raw requests, as other clients than librdkafka speak. Most
of it is recorded of a real broker (`tests/oracle/kafka`: fencing, verification, sequences,
lookups); here is what no recording asks."""

from __future__ import annotations

import uuid
from datetime import timedelta
from types import SimpleNamespace

from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from tests.serve.kafka.raw import TRANSACTIONAL, Raw, batch, build_fetch, write_request


def ready(client: Raw, topic: str, partitions: int = 1) -> tuple[int, int]:
    """A topic, and the (producer id, epoch) of a new transactional producer of its name."""
    assert client.create(topic, partitions) == "none"
    given = client.init(topic)
    return given.producer_id, given.producer_epoch


def data(pid: int, epoch: int, seq: int, *values: bytes) -> bytes:
    return batch(values or [b"v"], pid, epoch, seq, TRANSACTIONAL)


def test_a_long_poll_ends_when_there_is_something(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as reader, Raw(broker.address) as writer:
        assert writer.create(topic) == "none"
        nothing = reader.ask(1, 11, **build_fetch(topic, max_wait_ms=50))
        assert nothing.responses[0].partitions[0].records == b""
        reader.send(write_request(1, 11, 9, **build_fetch(topic, max_wait_ms=50_000)))
        writer.produce(topic, 0, batch([b"here"]))
        assert b"here" in reader.read_answer(1, 11, 9).responses[0].partitions[0].records


def test_topics_have_ids_that_are_not_given_twice(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as client:

        def found(name: str | None, topic_id: uuid.UUID | None = None) -> SimpleNamespace:
            wanted = SimpleNamespace(name=name, topic_id=topic_id)
            answer = client.ask(
                3, 12, topics=(wanted,), allow_auto_topic_creation=False,
                include_topic_authorized_operations=False,
            )  # fmt: skip
            return answer.topics[0]

        assert found(topic).error_code.name == "unknown_topic_or_partition"
        assert client.create(topic, 2, **{"retention.ms": "-1"}) == "none"
        first = found(topic)
        assert len(first.partitions) == 2 and found(None, first.topic_id).name == topic
        client.produce(topic, 0, batch([b"old"]))
        gone = client.ask(20, 4, topic_names=(topic,), timeout=timedelta(seconds=5))
        assert gone.responses[0].error_code.name == "none"
        assert client.create(topic) == "none"
        assert found(topic).topic_id != first.topic_id
        assert client.offset(topic, -1).offset == 0
        for name, config, error in (
            ("no/name", {}, "invalid_topic_exception"),
            ("__transaction_state", {}, "topic_already_exists"),
            (f"{topic}-x", {"no.such.config": "1"}, "invalid_config"),
            (topic, {}, "topic_already_exists"),
        ):
            assert client.create(name, **config) == error


def test_a_topic_deleted_under_an_open_transaction(broker: RunningBroker, topic: str) -> None:
    """The transaction ends where it still can."""
    with Raw(broker.address) as client:
        pid, _ = ready(client, topic)
        client.produce(topic, 0, data(pid, 0, 0), topic, version=12)
        client.ask(20, 4, topic_names=(topic,), timeout=timedelta(seconds=5))
        assert client.end(topic, pid, 0, commit=True, version=5).producer_epoch == 1
        assert client.init(topic).producer_epoch == 2


def test_transaction_version_0_refuses_what_needs_2() -> None:
    """It announces the same versions, as a real 4.3.1 does, and refuses them one by one."""
    with serve(transaction_version=0) as old, Raw(old.address) as client:
        answer = client.ask(18, 3, client_software_name="raw", client_software_version="1")
        offered = {row.api_key: row.max_version for row in answer.api_keys}
        assert (offered[0], offered[26], offered[28]) == (13, 5, 5)
        assert answer.finalized_features == ()
        pid, _ = ready(client, "t")
        new = "unsupported_version"
        assert client.end("t", pid, 0, commit=True, version=5).error_code.name == new
        told = client.produce("t", 0, data(pid, 0, 0), "t", version=12)
        assert told.error_code.name == new
        plain = client.produce("t", 0, batch([b"a"]), version=12)
        assert plain.error_code.name == "none"
        assert client.add("t", pid, 0, ("t", 0)) == ["none"]
        assert client.end("t", pid, 0, commit=True).error_code.name == "none"
