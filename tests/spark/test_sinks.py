"""The sink that is exactly once, step by step, against a broker and without Spark."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import KafkaException, TopicPartition

from mqlab.spark import IncomeError, topics
from mqlab.spark.sinks import (
    ExactlyOnce,
    Target,
    Transactions,
    TwoPhase,
    describe,
    read_progress,
    resume,
)
from mqlab.spark.topics import Out


@pytest.fixture
def target(broker_address: str, tmp_path: Path) -> Target:
    """A query of its own; `offsets/N` are there as Spark would have written them."""
    run = uuid.uuid4().hex[:8]
    (tmp_path / "offsets").mkdir()
    for batch in range(4):
        end = {"batch": batch + 1, "until": "2011-12-05 09:00", "0": 10 * batch, "1": 7 * batch}
        (tmp_path / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{json.dumps(end)}")
    topics.create(broker_address, f"Order-{run}", 2)
    topics.create(broker_address, f"Income-{run}", 2)
    topics.create(broker_address, f"Dead-{run}", 1)
    return Target(
        broker_address, f"test-{run}", f"Order-{run}", f"Income-{run}", 2, f"Dead-{run}", tmp_path
    )


def rows(*keys: str) -> list[Out]:
    return [Out(key, key.encode(), 1_323_072_000_000) for key in keys]


def written(target: Target) -> list[str]:
    return sorted(value.decode() for value in topics.read_values(target.address, target.topic))


def new_sink(target: Target) -> ExactlyOnce:
    return ExactlyOnce(target, lambda row: row)


def test_a_batch_is_written_once_however_often_it_is_handed_over(target: Target) -> None:
    assert new_sink(target).put(0, rows("a", "b"))
    assert not new_sink(target).put(0, rows("a", "b")), "a replay after a crash"
    assert new_sink(target).put(1, rows("c"))
    assert written(target) == ["a", "b", "c"]


def test_income_and_dead_letters_share_a_transaction(target: Target) -> None:
    sink = new_sink(target)
    assert sink.begin(0)
    sink.write([*rows("a"), Out("0-7", b"bad", 1_323_072_000_000, dead=True)])
    assert topics.read_values(target.address, target.dead) == []
    sink.commit(0)
    assert topics.read_values(target.address, target.dead) == [b"bad"]
    assert written(target) == ["a"]


def test_the_progress_record_is_on_every_partition_with_the_offsets(target: Target) -> None:
    sink = new_sink(target)
    sink.put(0, rows("a"))
    sink.put(1, [])
    assert read_progress(sink.reader, target, 2) == 1, "a batch without rows leaves its record too"
    places = topics.fetch_offsets(sink.reader, target.source, 2)
    assert [place.offset for place in places] == [10, 7]
    assert [json.loads(place.metadata) for place in places] == [
        {"query": target.query, "batch": 1}
    ] * 2


def test_rows_of_an_open_transaction_are_not_seen_and_are_aborted(target: Target) -> None:
    dying = new_sink(target)
    assert dying.begin(0)
    dying.write(rows("half"))
    assert written(target) == []
    assert new_sink(target).put(0, rows("a"))
    assert written(target) == ["a"]


def test_a_slow_driver_that_wakes_up_is_fenced(target: Target) -> None:
    slow = new_sink(target)
    assert slow.begin(0)
    slow.write(rows("a"))
    assert new_sink(target).put(0, rows("a"))
    with pytest.raises(KafkaException, match="fenced"):
        slow.commit(0)
    assert written(target) == ["a"]


@pytest.mark.parametrize("batch", [0, 3])
def test_sink_and_checkpoint_that_disagree_stop_the_job(target: Target, batch: int) -> None:
    sink = new_sink(target)
    sink.put(0, rows("a"))
    sink.put(1, rows("b"))
    with pytest.raises(IncomeError, match=f"disagree.*holds batch 1.*write batch {batch}"):
        new_sink(target).put(batch, rows("c"))
    assert written(target) == ["a", "b"]


def test_a_first_batch_that_is_not_0_meets_no_progress_and_stops(target: Target) -> None:
    with pytest.raises(IncomeError, match=r"holds batch -1 \(-1 is none\)"):
        new_sink(target).put(2, rows("c"))


def test_progress_records_that_differ_stop_the_job(target: Target) -> None:
    sink = new_sink(target)
    sink.put(0, rows("a"))
    note = json.dumps({"query": "other", "batch": 5})
    topics.consumer(target.address, target.group).commit(
        offsets=[TopicPartition(target.source, 1, 7, metadata=note)], asynchronous=False
    )
    with pytest.raises(IncomeError, match=r"progress records of group .* differ"):
        new_sink(target).put(1, rows("b"))


class Noted(TwoPhase):
    """Also what its rule is asked, and what it answers."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, lambda row: row, rule=self._note)
        self.asked: list[tuple[int, int, str]] = []

    def _note(self, prepared: int, done: int) -> str:
        self.asked.append((prepared, done, resume(prepared, done)))
        return self.asked[-1][2]


def prepared(target: Target, checkpointed: bool) -> None:
    """A two-phase sink that has died after the pre-commit of batch 0."""
    TwoPhase(target, lambda row: row).put(0, rows("a"))
    if checkpointed:
        (target.checkpoint / "commits").mkdir()
        (target.checkpoint / "commits" / "0").touch()


@pytest.mark.parametrize(
    ("checkpointed", "answer", "found"), [(True, "commit", ["a"]), (False, "abort", [])]
)
def test_the_checkpoint_says_how_an_open_transaction_ends(
    target: Target, checkpointed: bool, answer: str, found: list[str]
) -> None:
    prepared(target, checkpointed)
    assert written(target) == [], "it is open"
    again = Noted(target)
    again.finish()
    assert again.asked == [(0, 0 if checkpointed else -1, answer)]
    assert written(target) == found
    assert describe(target.address, target.group)[0] == "Empty", "and fenced after that"


def test_a_first_call_that_only_fences_loses_what_the_checkpoint_has(target: Target) -> None:
    prepared(target, checkpointed=True)
    Transactions(target, lambda row: row).open()
    assert written(target) == []


def test_nothing_is_resumed_that_is_not_the_transaction_in_the_note(target: Target) -> None:
    prepared(target, checkpointed=True)
    other = Transactions(target, lambda row: row)
    other.begin(1)  # fences, and leaves a transaction of its own open
    other.write(rows("b"))
    again = Noted(target)
    again.finish()
    assert again.asked == [] and written(target) == []


def test_an_error_that_a_report_has_met_is_told_like_any_other(target: Target) -> None:
    """Of a client that is fenced while it waits: flush raises, and calls the report meanwhile."""
    old, new = (topics.producer(target.address, **{"transactional.id": target.group}) for _ in "ab")
    lengths: list[int] = []
    with pytest.raises(IncomeError, match="fenced"), topics.broker_errors(target.address):
        old.init_transactions(20)
        old.begin_transaction()
        new.init_transactions(20)
        old.produce(target.topic, b"late", on_delivery=lambda *told: lengths.append(len(told)))
        topics.flush(old)
    with pytest.raises(SystemError, match="of our own"), topics.broker_errors(target.address):
        raise SystemError("of our own")


def test_a_broker_that_refuses_or_is_not_there_is_named(target: Target) -> None:
    with pytest.raises(IncomeError, match=f"refused to describe {target.group}"):
        describe(target.address, target.group)
    with pytest.raises(IncomeError, match=r"no broker answers at 127\.0\.0\.1:1 "):
        describe("127.0.0.1:1", target.group)


def test_a_record_without_a_value_is_found_and_a_marker_passed_over(target: Target) -> None:
    plain, other = (
        topics.producer(target.address, **more) for more in ({}, {"transactional.id": "o"})
    )
    plain.produce(target.source, b"", partition=0)
    topics.flush(plain)
    other.init_transactions(20)
    other.begin_transaction()
    other.produce(target.source, b"in a transaction", partition=0)
    other.commit_transaction(20)
    plain.produce(target.source, b"last", partition=0)
    topics.flush(plain)
    reader = topics.consumer(target.address)
    found = [topics.at_offset(reader, target.source, 0, at) for at in (0, 2, 4)]
    assert [it if it is None else (it.offset(), it.value()) for it in found] == [
        (0, b""), (3, b"last"), None
    ]  # fmt: skip


def test_records_that_the_log_has_deleted_are_an_error_not_a_jump(target: Target) -> None:
    client = topics.producer(target.address)
    for number in range(4):
        client.produce(target.source, str(number).encode(), partition=0)
    topics.flush(client)
    topics.delete_before(target.address, target.source, [3, 0])
    reader = topics.consumer(target.address)
    assert [m.offset() for m in topics.read(reader, target.source, 0, 3, 4)] == [3]
    with pytest.raises(IncomeError, match="deleted by the topic's retention"):
        list(topics.read(reader, target.source, 0, 1, 4))
