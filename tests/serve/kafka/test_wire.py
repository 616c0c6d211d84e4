"""Bytes that are no request, or none that is offered: their sender hears the protocol's
error or loses its connection, and nobody else notices anything."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mqlab.serve import RunningBroker
from tests.serve.kafka.garbage import GARBAGE, METADATA, beside_garbage, header
from tests.serve.kafka.raw import MINUTE, Raw, batch, build_fetch, write_request

SOFTWARE = {"client_software_name": "raw", "client_software_version": "1"}


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


def test_versions(broker: RunningBroker) -> None:
    with Raw(broker.address) as client:
        answer = client.ask(18, 3, **SOFTWARE)
        offered = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
        assert offered[0] == (0, 13) and offered[26] == (0, 5)
        feature = answer.finalized_features[0]
        assert (feature.name, feature.max_version_level) == ("transaction.version", 2)


def test_only_version_4_hears_of_a_feature_that_may_be_off(broker: RunningBroker) -> None:
    """Java clients 3.3 to 3.7 end with an exception at a lowest level of 0."""
    with Raw(broker.address) as client:
        for version in range(5):
            answer = client.ask(18, version, **SOFTWARE)
            told = [(f.name, f.min_version) for f in getattr(answer, "supported_features", ())]
            assert told == ([("transaction.version", 0)] if version == 4 else []), version


def test_an_unknown_version_of_api_versions_is_told_the_known_ones(broker: RunningBroker) -> None:
    """KIP-511: version 0 of the answer, whatever was asked, and that request's row alone."""
    with Raw(broker.address) as client:
        client.send(header(18, 99, corr=5))
        answer = client.read_answer(18, 0, 5)
        assert answer.error_code.name == "unsupported_version"
        rows = [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys]
        assert rows == [(18, 0, 4)]


@pytest.mark.parametrize(("api", "version"), [(0, 2), (0, 14), (11, 20), (26, 6), (250, 0)])
def test_what_is_not_offered_closes_the_connection(
    broker: RunningBroker, api: int, version: int
) -> None:
    """As a real 4.3.1 does; Produce v0 to v2 although they are announced (KIP-896)."""
    with Raw(broker.address) as client, Raw(broker.address) as other:
        client.send(header(api, version, corr=3, rest=b"\0\0" * 12))
        assert client.closed
        assert other.ask(3, 1, topics=None).brokers


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "invalid_record"),
        (batch([b"a"])[:-1], "invalid_record"),
        (batch([b"a"])[:-1] + b"?", "corrupt_message"),
        (batch([b"a"]) * 2, "invalid_record"),
        (batch([b"a"], magic=1), "invalid_record"),
        (batch([b"a"], magic=200), "corrupt_message"),  # a signed byte: -56
        (batch([b"a"], bits=0x20), "invalid_record"),
        (batch([b"a"], bits=0x10), "transactional_id_authorization_failed"),
        (batch([b"x" * 1_100_000]), "message_too_large"),
    ],
)
def test_a_batch_that_cannot_be_kept(
    broker: RunningBroker, topic: str, data: bytes, error: str
) -> None:
    with Raw(broker.address) as client:
        client.create(topic)
        refused = client.produce(topic, 0, data)
        assert refused.error_code.name == error
        assert data[16:17] != b"\xc8" or (refused.error_message or "").endswith(": -56")
        assert client.produce(topic, 1, batch([b"a"])).error_code.name == (
            "unknown_topic_or_partition"
        )
        assert client.produce(topic, 0, batch([b"a"]), acks=2).error_code.name == (
            "invalid_required_acks"
        )
        assert client.produce(topic, 0, batch([b"good"])).base_offset == 0


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


def test_garbage_beside_a_client_that_works(broker: RunningBroker, topic: str) -> None:
    """100 transactions of one client while another sends anything it can think of."""
    exact, disturbances = beside_garbage(broker.address, topic, 100)
    assert exact
    assert disturbances > 10
