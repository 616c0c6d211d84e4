"""Unmodified confluent-kafka clients against the server."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import pytest

from mqlab.cli import main
from mqlab.places import RECORDINGS
from mqlab.recordings.recording import load
from mqlab.serve import BrokerError, RunningBroker
from mqlab.serve.kafka import options, serve
from mqlab.serve.options import add_options
from mqlab.spark.pipeline import read_first
from tests.serve.kafka.clients import (
    PATIENCE_S,
    TopicPartition,
    confluent_kafka,
    consumer,
    create,
    producer,
    read,
    transaction,
)
from tests.serve.kafka.raw import TRANSACTIONAL, Raw, batch


def test_an_unknown_topic_is_refused_where_none_is_to_be_made(topic: str) -> None:
    errors = []
    with serve(auto_create=False) as broker:
        # librdkafka gives a topic this long to appear before it believes what it is told
        who = producer(broker.address, **{"topic.metadata.propagation.max.ms": 200})
        who.produce(topic, "lost", on_delivery=lambda error, _: errors.append(error.code()))
        who.flush(PATIENCE_S)
    assert errors == [confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART]


def test_the_command_line_makes_topics_unless_it_is_told_not_to() -> None:
    for given, wished in (([], True), (["--auto-create"], True), (["--no-auto-create"], False)):
        parser = argparse.ArgumentParser()
        add_options(parser, options.OPTIONS)
        assert parser.parse_args(given).auto_create is wished


def test_librdkafka_reads_committed_unless_told_otherwise(
    broker: RunningBroker, topic: str
) -> None:
    """What labs 07 and 11 say of a consumer that sets no isolation.level; lab 07 shows what the
    real broker's was sent, and the Java consumer's beside it."""
    seen = load(RECORDINGS / "kafka-4.3.1/tv2/default-levels.json").observations
    told = {(o.who, o.asked): o.answered for o in seen}
    found = read_first(broker.address, topic)
    assert found == {
        level: told["librdkafka", level or "no level"]
        for level in ("", "read_committed", "read_uncommitted")
    }
    assert found[""] != told["Java", "no level"] == told["Java", "read_uncommitted"]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_stay_what_they_are(
    broker: RunningBroker, topic: str, codec: str
) -> None:
    """A leader looks at headers only. A time is looked up inside where the bytes can be read,
    else the whole batch answers for its records."""
    create(broker.address, topic)
    who = producer(broker.address, topic, **{"compression.type": codec, "linger.ms": 50})
    values = [f"{i}:" + "v" * 100 for i in range(50)]
    transaction(who, topic, *values)
    transaction(who, topic, *("x" * 100 for _ in range(9)), commit=False)
    assert read(broker.address, topic) == values
    with Raw(broker.address) as client:
        first = client.fetch(topic, 0)
        sent = bytes(first.records)
        assert sent[22] & 7 == ["none", "gzip", "snappy", "lz4", "zstd"].index(codec)
    reader = consumer(broker.address)
    began = int(time.time() * 1000) - 3_600_000
    asked = [TopicPartition(topic, 0, began)]
    assert reader.offsets_for_times(asked, timeout=PATIENCE_S)[0].offset == 0
    reader.close()


# A learner's coordinator in the server: released clients commit through it, kills and all, and
# a broken one harms nobody.


STEP = "    def step(self, event, disk: Disk):\n"
TXN = "order-service"


def test_an_unmodified_client_commits_aborts_and_goes_on_after_a_kill(
    rights: Path, tmp_path: Path
) -> None:
    with serve(coordinator=rights / "sitting-5.py", data_dir=tmp_path) as broker:
        create(broker.address, "orders", 2)
        who = producer(broker.address, TXN)
        transaction(who, "orders", "a", "b")
        transaction(who, "orders", "x", commit=False)
        transaction(who, "orders", "c")
        who.begin_transaction()
        who.produce("orders", "open when it is killed")
        who.flush(PATIENCE_S)
        broker.kill()
        broker.restart()
        transaction(producer(broker.address, TXN), "orders", "d")
        assert sorted(read(broker.address, "orders", 2)) == ["a", "b", "c", "d"]


def test_a_position_is_committed_with_the_transaction(rights: Path) -> None:
    with serve(coordinator=rights / "sitting-5.py") as broker:
        create(broker.address, "orders")
        who = producer(broker.address, TXN)
        reader = consumer(broker.address)
        where = TopicPartition("orders", 0, 7)
        who.begin_transaction()
        who.send_offsets_to_transaction([where], reader.consumer_group_metadata(), PATIENCE_S)
        who.commit_transaction(PATIENCE_S)
        (kept,) = reader.committed([TopicPartition("orders", 0)], PATIENCE_S)
        reader.close()
    assert kept.offset == 7


def test_a_client_of_today_gets_the_next_epoch_with_each_end(rights: Path) -> None:
    with (
        serve(coordinator=rights / "sitting-5.py") as broker,
        Raw(broker.address, PATIENCE_S) as client,
    ):
        client.create("orders")
        given = client.init(TXN)
        epochs = [given.producer_epoch]
        for value in (b"a", b"b"):
            data = batch([value], given.producer_id, epochs[-1], 0, TRANSACTIONAL)
            assert client.produce("orders", 0, data, TXN, 12).error_code.name == "none"
            ended = client.end(TXN, given.producer_id, epochs[-1], True, 5)
            assert ended.error_code.name == "none"
            epochs.append(ended.producer_epoch)
    assert epochs == [0, 1, 2]


def test_what_sitting_4_misses_fences_an_older_client(rights: Path) -> None:
    """librdkafka ends with version 1 of EndTxn, whose answer holds no epoch."""
    with serve(coordinator=rights / "sitting-4.py") as broker:
        create(broker.address, "orders")
        who = producer(broker.address, TXN)
        transaction(who, "orders", "a")
        with pytest.raises(confluent_kafka.KafkaException, match="fenced"):
            transaction(who, "orders", "b")


@pytest.mark.parametrize("line", ["raise ValueError('no order')", "while True: pass"])
def test_a_broken_one_says_so_and_the_server_goes_on(
    line: str, rights: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "coordinator.py"
    text = (rights / "sitting-5.py").read_text("utf-8")
    broken = f"{STEP}        if isinstance(event, Request):\n            {line}\n"
    mine.write_text(text.replace(STEP, broken, 1), "utf-8")
    with serve(coordinator=mine) as broker, Raw(broker.address, PATIENCE_S) as client:
        answers: list[Any] = [client.init(TXN), client.init(TXN)]
        assert [one.error_code.name for one in answers] == ["unknown_server_error"] * 2
        create(broker.address, "orders")
        who = producer(broker.address)
        who.produce("orders", "without a transaction")
        assert who.flush(PATIENCE_S) == 0
        assert read(broker.address, "orders", 1) == ["without a transaction"]


def test_a_file_that_is_none_is_refused_before_it_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "coordinator.py"
    assert main(["serve", "kafka", "--port", "0", "--coordinator", str(missing)]) == 2
    assert "`mqlab build new` writes a file" in capsys.readouterr().err
    missing.write_text("import os\n", "utf-8")
    with pytest.raises(BrokerError, match="line 1 imports os"):
        serve(coordinator=missing)
