"""An administrator finds a hanging transaction and ends it. Answers were compared with those
of a real 4.3.1 broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from tests.serve.kafka.raw import TRANSACTIONAL, Raw, batch


def begun(client: Raw, topic: str) -> int:
    """A transaction with one record in partition 0; its producer id."""
    client.create(topic)
    pid: int = client.init(topic).producer_id
    client.add(topic, pid, 0, (topic, 0))
    client.produce(topic, 0, batch([b"a"], pid, 0, 0, TRANSACTIONAL), topic)
    return pid


def listed(client: Raw, version: int = 2, **filters: Any) -> list[tuple[str, str]]:
    given: dict[str, Any] = {
        "state_filters": (),
        "producer_id_filters": (),
        "duration_filter": -1,
        "transactional_id_pattern": None,
    }
    answer = client.ask(66, version, **{**given, **filters})
    return [(t.transactional_id, t.transaction_state) for t in answer.transaction_states]


def mark(client: Raw, topic: str, pid: int, epoch: int, version: int = 1, **more: Any) -> str:
    where = (SimpleNamespace(name=topic, partition_indexes=(0,)),)
    given: dict[str, Any] = {
        "producer_id": pid,
        "producer_epoch": epoch,
        "transaction_result": False,
        "topics": where,
        "coordinator_epoch": 0,
        "transaction_version": 0,
    }
    answer = client.ask(27, version, markers=(SimpleNamespace(**{**given, **more}),))
    name: str = answer.markers[0].topics[0].partitions[0].error_code.name
    return name


def test_transactions_are_listed_and_described(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as client:
        pid = begun(client, topic)
        told = client.ask(65, 0, transactional_ids=(topic, "nobody", "")).transaction_states
        assert [t.error_code.name for t in told] == [
            "none", "transactional_id_not_found", "invalid_request",
        ]  # fmt: skip
        assert (told[0].transaction_state, told[0].producer_id) == ("Ongoing", pid)
        assert told[0].topics[0].partitions == (0,)
        ours = [(topic, "Ongoing")]
        assert listed(client, producer_id_filters=(pid,)) == ours
        assert listed(client, 0, producer_id_filters=(pid,), state_filters=("Empty",)) == []
        assert listed(client, transactional_id_pattern=topic) == ours
        assert listed(client, 1, producer_id_filters=(pid,), duration_filter=3_600_000) == []
        odd = client.ask(66, 0, state_filters=("Odd",), producer_id_filters=())
        assert (odd.unknown_state_filters, odd.transaction_states) == (("Odd",), ())
        bad = client.ask(
            66, 2, state_filters=(), producer_id_filters=(), duration_filter=-1,
            transactional_id_pattern="(",
        )  # fmt: skip
        assert bad.error_code.name == "invalid_regular_expression"
        client.end(topic, pid, 0, commit=True)


def test_a_hanging_transaction_is_made_found_and_ended() -> None:
    """Without verification a late batch opens a transaction that no coordinator knows of:
    the LSO stands still, and the only end is a marker by hand."""
    with serve(off=("verification",)) as broker, Raw(broker.address) as client:
        client.create("t")
        pid = client.init("id").producer_id
        late = client.produce("t", 0, batch([b"a"], pid, 0, 0, TRANSACTIONAL), "id")
        assert late.error_code.name == "none"
        assert listed(client) == [("id", "Empty")], "the coordinator knows of nothing"
        assert client.end("id", pid, 0, commit=False).error_code.name == "invalid_txn_state"
        client.produce("t", 0, batch([b"plain"]))
        assert client.fetch("t", 0).last_stable_offset == 0
        assert mark(client, "t", pid, 0) == "none"
        got = client.fetch("t", 0)
        assert (got.last_stable_offset, got.high_watermark) == (3, 3)
        assert [(a.producer_id, a.first_offset) for a in got.aborted_transactions] == [(pid, 0)]


def test_internal_topics_are_not_for_clients(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as client:
        client.create(topic)
        pid = client.init(topic).producer_id
        errors = client.add(topic, pid, 0, ("__consumer_offsets", 0), (topic, 0))
        assert errors == ["topic_authorization_failed", "operation_not_attempted"]


def test_the_cluster_is_described(broker: RunningBroker) -> None:
    with Raw(broker.address) as client:
        told = client.ask(
            60, 2, include_cluster_authorized_operations=False, endpoint_type=1,
            include_fenced_brokers=False,
        )  # fmt: skip
        assert [f"{b.host}:{b.port}" for b in told.brokers] == [broker.address]
