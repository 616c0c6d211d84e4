"""A learner's coordinator in the server: released clients commit through it, kills and all, and
a broken one harms nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mqlab.cli import main
from mqlab.serve import BrokerError
from mqlab.serve.kafka import serve
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

FILES = Path(__file__).parents[3] / "labs" / "coordinator"
RIGHT = FILES / "sitting-5.py"
STEP = "    def step(self, event, disk: Disk):\n"
TXN = "order-service"


def test_an_unmodified_client_commits_aborts_and_goes_on_after_a_kill(tmp_path: Path) -> None:
    with serve(coordinator=RIGHT, data_dir=tmp_path) as broker:
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


def test_a_position_is_committed_with_the_transaction() -> None:
    with serve(coordinator=RIGHT) as broker:
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


def test_a_client_of_today_gets_the_next_epoch_with_each_end() -> None:
    with serve(coordinator=RIGHT) as broker, Raw(broker.address, PATIENCE_S) as client:
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


def test_what_sitting_4_misses_fences_an_older_client() -> None:
    """librdkafka ends with version 1 of EndTxn, whose answer holds no epoch."""
    with serve(coordinator=FILES / "sitting-4.py") as broker:
        create(broker.address, "orders")
        who = producer(broker.address, TXN)
        transaction(who, "orders", "a")
        with pytest.raises(confluent_kafka.KafkaException, match="fenced"):
            transaction(who, "orders", "b")


@pytest.mark.parametrize("line", ["raise ValueError('no order')", "while True: pass"])
def test_a_broken_one_says_so_and_the_server_goes_on(line: str, tmp_path: Path) -> None:
    mine = tmp_path / "coordinator.py"
    text = RIGHT.read_text("utf-8")
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
