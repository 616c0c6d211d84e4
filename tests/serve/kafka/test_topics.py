"""Topics made and enlarged, configs shown and changed, records deleted: answers were compared
with those of a real 4.3.1 (`mqlab real kafka compare`); here what a recording cannot hold."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.front.configs import ACTING, configs_of, rules
from mqlab.serve.kafka.front.fetch import ANSWER
from mqlab.serve.kafka.front.topic import MOST_PARTITIONS, is_internal
from tests.serve.kafka.many import Many
from tests.serve.kafka.raw import MINUTE, TRANSACTIONAL, Raw, batch, build_fetch

TOPIC, BROKER = 2, 4


def described(
    client: Raw, kind: int, name: str, *, synonyms: bool = False, documentation: bool = False
) -> dict[str, Any]:
    resource = SimpleNamespace(resource_type=kind, resource_name=name, configuration_keys=None)
    answer = client.ask(
        32, 4, resources=(resource,), include_synonyms=synonyms, include_documentation=documentation
    )
    return {row.name: row for row in answer.results[0].configs}


def delete(client: Raw, topic: str, offset: int, index: int = 0) -> tuple[str, int]:
    part = SimpleNamespace(partition_index=index, offset=offset)
    rows = (SimpleNamespace(name=topic, partitions=(part,)),)
    told = client.ask(21, 2, topics=rows, timeout=MINUTE).topics[0].partitions[0]
    return told.error_code.name, told.low_watermark


def grow(client: Raw, topic: str, count: int) -> str:
    row = SimpleNamespace(name=topic, count=count, assignments=None)
    answer = client.ask(37, 3, topics=(row,), timeout=MINUTE, validate_only=False)
    error: str = answer.results[0].error_code.name
    return error


# ---- limits ------------------------------------------------------------------------------


def created(client: Raw, names: list[str], count: int = 1) -> set[str]:
    rows = tuple(
        SimpleNamespace(
            name=name, num_partitions=count, replication_factor=1, assignments=(), configs=()
        )
        for name in names
    )
    answer = client.ask(19, 5, topics=rows, timeout=MINUTE, validate_only=False)
    return {row.error_code.name for row in answer.topics}


def test_partitions_are_bounded_in_a_request_and_in_all() -> None:
    with serve() as running, Raw(running.address) as client:
        too_many = [f"many-{i}" for i in range(600)]
        assert created(client, too_many, 1_000) == {"policy_violation"}
        assert client.create("large", MOST_PARTITIONS - 1) == "none"
        assert client.create("second", 2) == "policy_violation"
        assert grow(client, "large", MOST_PARTITIONS + 1) == "policy_violation"
        assert client.create("second", 1) == "none"
        assert client.create("third", 1) == "policy_violation"
        assert client.offset("large", -1, index=MOST_PARTITIONS - 2).offset == 0


def test_names_that_come_twice_are_told_once(broker: RunningBroker) -> None:
    with Raw(broker.address) as client:
        names = [f"n{i}" for i in range(5_000)]
        assert created(client, [*names, *names]) == {"invalid_request"}


def test_questions_about_very_many_partitions_are_answered(
    broker: RunningBroker, topic: str
) -> None:
    """More than 65,536 parts used to close the connection, or to hang."""
    with Raw(broker.address) as client:
        client.create(topic)
        one = SimpleNamespace(partition_index=0, current_leader_epoch=-1, timestamp=-1)
        rows = (SimpleNamespace(name=topic, partitions=(one,) * 60_000),)
        answer = client.ask(2, 7, replica_id=-1, isolation_level=0, topics=rows)
        assert [p.error_code.name for p in answer.topics[0].partitions] == ["invalid_request"]
        ids = ("",) * 70_000
        answer = client.ask(65, 0, transactional_ids=ids)
        assert len(answer.transaction_states) == 70_000


def test_an_answer_to_a_fetch_is_bounded(broker: RunningBroker, topic: str) -> None:
    """3.2 kB that name one partition 200 times made an answer of 1.4 GB."""
    with Raw(broker.address) as client:
        client.create(topic, 40)
        for index in range(40):
            client.produce(topic, index, batch([b"x" * 1_000_000]))
        most = 2**31 - 1
        fields = build_fetch(topic)
        part = vars(fields["topics"][0].partitions[0])
        every = [
            SimpleNamespace(**{**part, "partition": i % 40, "partition_max_bytes": most})
            for i in range(200)
        ]
        row = SimpleNamespace(topic=topic, partitions=tuple(every))
        answer = client.ask(1, 11, **{**fields, "max_bytes": most, "topics": (row, row)})
        found = [p for t in answer.responses for p in t.partitions]
        assert [p.partition_index for p in found] == list(range(40))
        size = sum(len(p.records or b"") for p in found)
        assert 10_000_000 < size <= ANSWER
        assert {p.high_watermark for p in found} == {1}, "what does not fit still has its frontiers"


# ---- names -------------------------------------------------------------------------------


def test_internal_topics_are_known_exactly() -> None:
    assert is_internal("__consumer_offsets-3") and is_internal("__transaction_state-49")
    assert not is_internal("__consumer_offsets-3-0") and not is_internal("orders-0")


def test_a_name_like_an_internal_one_disturbs_nobody(tmp_path: Path) -> None:
    """It used to end the live trace for everybody, each produce, and the next start."""
    names = ("__consumer_offsets-3", "__transaction_state-0", "conn", "broker", "coordinator")
    with serve(data_dir=tmp_path) as running:
        with Raw(running.address) as client:
            for name in names:
                assert client.create(name, 2) == "none"
                for index in (0, 1):
                    assert client.produce(name, index, batch([b"v"])).base_offset == 0
            pid = client.init("id").producer_id
            mine = batch([b"v"], pid, 0, 0, TRANSACTIONAL)
            told = client.produce("__transaction_state-0", 0, mine, "id", version=12)
            assert told.base_offset == 1
            assert client.end("id", pid, 0, commit=True, version=5).error_code.name == "none"
        with urllib.request.urlopen(f"{running.trace_url}/trace") as answer:
            facts = [json.loads(line) for line in answer.read().splitlines()]
        assert len(facts) > 10
        running.restart()
        with Raw(running.address) as client:
            for name in names:
                assert client.produce(name, 1, batch([b"w"])).base_offset == 1
            assert client.init("id").producer_epoch == 2


# ---- configs -----------------------------------------------------------------------------


# ---- more partitions, fewer records --------------------------------------------------------


def test_a_topic_grows_and_stays_so(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as running:
        with Raw(running.address) as client:
            client.create("orders")
            client.produce("orders", 0, batch([b"a"]))
            assert client.produce("orders", 2, batch([b"a"])).error_code.name == (
                "unknown_topic_or_partition"
            )
            assert grow(client, "orders", 3) == "none"
            assert client.produce("orders", 2, batch([b"c"])).base_offset == 0
            assert client.produce("orders", 0, batch([b"b"])).base_offset == 1
        running.restart()
        with Raw(running.address) as client:
            assert [client.offset("orders", -1, index=i).offset for i in range(3)] == [2, 0, 1]


def test_deleted_records_stay_deleted(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as running:
        with Raw(running.address) as client:
            client.create("orders", 2)
            pid = client.init(None).producer_id
            for seq in range(4):
                client.produce("orders", 0, batch([b"v"], pid, 0, seq))
            client.produce("orders", 0, batch([b"x", b"y", b"z"], pid, 0, 4))
            client.produce("orders", 1, batch([b"v"]))
            assert delete(client, "orders", 5) == ("none", 5)
            assert delete(client, "orders", -1, index=1) == ("none", 1)
        for _ in range(2):
            running.restart()
            with Raw(running.address) as client:
                ends = [
                    client.offset("orders", at, index=i).offset for i in (0, 1) for at in (-2, -1)
                ]
                assert ends == [5, 7, 1, 1]
                assert client.fetch("orders", 4).error_code.name == "offset_out_of_range"
                kept = client.fetch("orders", 5)
                assert (kept.error_code.name, kept.log_start_offset) == ("none", 5)
                assert b"y" in kept.records, "a batch is kept whole"
        with Raw(running.address) as client:
            assert client.produce("orders", 0, batch([b"v"], pid, 0, 7)).base_offset == 7
            client.ask(20, 4, topic_names=("orders",), timeout=MINUTE)
            client.create("orders")
            assert client.offset("orders", -2).offset == 0, "another topic of that name"


def test_a_journal_without_deleted_records_is_read(tmp_path: Path) -> None:
    """Written again, it begins in the middle of a log."""
    with serve(data_dir=tmp_path) as running:
        with Raw(running.address) as client:
            client.create("gone")
            client.create("orders")
            for name, count in (("gone", 40), ("orders", 3)):
                for _ in range(count):
                    client.produce(name, 0, batch([b"x" * 100_000]))
            assert delete(client, "orders", 2) == ("none", 2)
            client.ask(20, 4, topic_names=("gone",), timeout=MINUTE)
        for _ in range(2):
            running.restart()
            with Raw(running.address) as client:
                assert client.offset("orders", -2).offset == 2
                assert client.fetch("orders", 2).high_watermark == 3
    assert (tmp_path / "journal").stat().st_size < 1_000_000


@pytest.mark.parametrize(
    ("configs", "idle"),
    [
        ({"cleanup.policy": "compact"}, "cleanup.policy=compact"),
        ({"cleanup.policy": "compact,delete"}, "cleanup.policy=compact,delete"),
        ({"retention.ms": "1000", "retention.bytes": "9"}, "retention.bytes=9, retention.ms=1000"),
        ({"min.insync.replicas": "2"}, "min.insync.replicas=2"),
        ({"flush.messages": "1"}, "flush.messages=1"),
        ({"cleanup.policy": "delete", "retention.ms": "604800000"}, ""),  # the defaults
        ({"max.message.bytes": "1000", "compression.type": "zstd"}, ""),  # these act
    ],
)
def test_a_config_without_effect_is_warned_about_where_it_is_set(
    configs: dict[str, str], idle: str, caplog: pytest.LogCaptureFixture
) -> None:
    def said() -> list[str]:
        lines = [record.getMessage().split(" is kept")[0] for record in caplog.records]
        caplog.clear()
        return lines

    server = Many()
    given = tuple(SimpleNamespace(name=n, value=v) for n, v in configs.items())
    topic = SimpleNamespace(
        name="t", num_partitions=1, replication_factor=1, assignments=(), configs=given
    )
    for only_asks in (True, False):
        server.ask(19, 5, topics=(topic,), timeout=MINUTE, validate_only=only_asks)
    assert said() == ([f"topic t: {idle}"] if idle else [])


def test_every_config_of_a_topic_acts_or_is_warned_about() -> None:
    """And what acts is what the rules for a batch are made of."""
    assert set(ACTING) < set(configs_of("topic"))
    changed = {
        "compression.gzip.level": "2", "compression.zstd.level": "2", "max.message.bytes": "9",
        "compression.type": "gzip", "message.timestamp.type": "LogAppendTime",
        "message.timestamp.after.max.ms": "9", "message.timestamp.before.max.ms": "9",
    }  # fmt: skip
    assert changed.keys() == set(ACTING)
    for name, value in changed.items():
        first = (("compression.type", "zstd"),) if name == "compression.zstd.level" else ()
        own = tuple(sorted({**dict(first), name: value}.items()))
        assert rules(own) != rules(first), name


def test_a_request_is_bounded_by_the_records_that_it_makes() -> None:
    """A topic, its partitions and its configs are a record each (seen on 4.3.1, asked for no more
    than whether it could be)."""
    server = Many()

    def ask(count: int, **configs: str) -> tuple[str, str | None]:
        given = tuple(
            SimpleNamespace(name=n.replace("_", "."), value=v) for n, v in configs.items()
        )
        topic = SimpleNamespace(
            name="t", num_partitions=count, replication_factor=1, assignments=(), configs=given
        )
        (row,) = server.ask(19, 5, topics=(topic,), timeout=MINUTE, validate_only=True).topics
        return row.error_code.name, row.error_message

    assert ask(MOST_PARTITIONS - 1)[0] == "NONE"
    too_large = ("POLICY_VIOLATION", "Unable to perform excessively large batch operation.")
    assert ask(MOST_PARTITIONS) == too_large
    assert ask(MOST_PARTITIONS - 1, retention_ms="1000") == too_large
    assert ask(MOST_PARTITIONS + 1)[1] == "Excessively large number of partitions per request."
