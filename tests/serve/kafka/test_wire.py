"""Bytes that are no request, or none that is offered: their sender hears the protocol's
error or loses its connection, and nobody else notices anything."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mqlab.serve import RunningBroker
from tests.serve.kafka.garbage import GARBAGE, METADATA, header
from tests.serve.kafka.raw import MINUTE, Raw, batch, build_fetch, write_request


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_closes_its_own_connection(broker: RunningBroker, name: str) -> None:
    with Raw(broker.address) as other, Raw(broker.address) as bad:
        bad.send(GARBAGE[name])
        assert bad.closed
        assert other.ask(3, 1, topics=None).brokers[0].node_id == 1


def test_a_truncated_frame_waits_and_disturbs_nobody(broker: RunningBroker) -> None:
    with Raw(broker.address) as slow, Raw(broker.address) as other:
        for i in range(len(METADATA) - 1):
            slow.send(METADATA[i : i + 1])
        assert other.ask(3, 1, topics=None).brokers
        slow.send(METADATA[-1:])
        assert slow.read_answer(3, 1, 1).brokers


def test_answers_come_in_the_order_of_the_requests(broker: RunningBroker) -> None:
    with Raw(broker.address) as client:
        client.send(b"".join(write_request(3, 1, corr, topics=None) for corr in range(200)))
        for corr in range(200):
            client.read_answer(3, 1, corr)


def test_a_client_that_never_reads_is_not_served_for_ever(
    broker: RunningBroker, topic: str
) -> None:
    """Its requests stay in its own socket; the server goes on for the others."""
    with Raw(broker.address) as greedy, Raw(broker.address) as other:
        other.create(topic)
        other.produce(topic, 0, batch([b"x" * 1_000_000]))
        greedy.socket.settimeout(2)
        with pytest.raises(TimeoutError):
            for _ in range(10_000):
                greedy.send(write_request(1, 11, **build_fetch(topic)) * 100)
        assert other.ask(3, 1, topics=None).brokers


@pytest.mark.parametrize(("api", "version"), [(0, 2), (0, 14), (11, 20), (26, 6), (250, 0)])
def test_what_is_not_offered_closes_the_connection(
    broker: RunningBroker, api: int, version: int
) -> None:
    """As a real 4.3.1 does; Produce v0 to v2 although they are announced (KIP-896)."""
    with Raw(broker.address) as client, Raw(broker.address) as other:
        client.send(header(api, version, corr=3, rest=b"\0\0" * 12))
        assert client.closed
        assert other.ask(3, 1, topics=None).brokers


def test_acks_0_has_no_answer_but_a_closed_connection(broker: RunningBroker, topic: str) -> None:
    def ask(records: bytes) -> bytes:
        part = SimpleNamespace(index=0, records=records)
        rows = (SimpleNamespace(name=topic, partition_data=(part,)),)
        return write_request(
            0, 9, 1, transactional_id=None, acks=0, timeout=MINUTE, topic_data=rows
        )

    with Raw(broker.address) as client:
        client.create(topic)
        client.send(ask(batch([b"a"])))
        assert client.offset(topic, -1).offset == 1  # the next answer is the next request's
        client.send(ask(batch([b"a"])[:-1]))
        assert client.closed
