"""`--pace`: what a client meets when the coordinator's markers take their time."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace as Row

from mqlab.serve.kafka import serve
from tests.serve.kafka.clients import create, producer, read, transaction
from tests.serve.kafka.raw import MINUTE, TRANSACTIONAL, Raw, batch, write_request

PACE_MS = 2_000  # a busy machine has two answers in much less


def test_the_next_transaction_waits_for_the_markers_of_the_last(tmp_path: Path) -> None:
    with serve(pace_ms=PACE_MS, data_dir=tmp_path) as running, Raw(running.address) as client:
        create(running.address, "orders", 1)
        mine = client.init("shop")
        pid, epoch = mine.producer_id, mine.producer_epoch
        assert client.add("shop", pid, epoch, ("orders", 0)) == ["none"]
        told = client.produce("orders", 0, batch([b"a"], pid, epoch, 0, TRANSACTIONAL), "shop")
        assert told.error_code.name == "none"
        assert client.end("shop", pid, epoch, True).error_code.name == "none"
        assert client.add("shop", pid, epoch, ("orders", 0)) == ["concurrent_transactions"]
        assert client.offset("orders", -1).offset == 0, "decided, and not yet to be read"
        end = time.monotonic() + 60
        while client.add("shop", pid, epoch, ("orders", 0)) != ["none"]:
            assert time.monotonic() < end
            time.sleep(PACE_MS / 4000)
        assert client.offset("orders", -1).offset == 2
        # A stop on the way loses nothing: what was prepared is owed again.
        again = batch([b"b"], pid, epoch, 1, TRANSACTIONAL)
        assert client.produce("orders", 0, again, "shop").error_code.name == "none"
        assert client.end("shop", pid, epoch, True).error_code.name == "none"
        running.kill()
    with serve(data_dir=tmp_path) as running:
        assert read(running.address, "orders") == ["a", "b"]


def test_an_unmodified_client_only_takes_longer() -> None:
    with serve(pace_ms=30) as running:
        create(running.address, "orders", 2)
        worker = producer(running.address, "shop")
        for value in ("a", "b", "c"):
            transaction(worker, "orders", value, value.upper())
        end = time.monotonic() + 60
        while sorted(read(running.address, "orders", 2)) != sorted("abcABC"):
            assert time.monotonic() < end, "the last markers never came"


def test_first_sends_in_flight_together_are_handled_one_by_one() -> None:
    """A connection is muted while a request of it is under way: the second batch is not looked
    at before the first one's partition is in the transaction, even while the markers of the
    last transaction are still to come. Probed the same way on a real 4.3.1."""
    with serve(pace_ms=30) as running, Raw(running.address) as client:
        create(running.address, "orders", 1)
        mine = client.init("shop")
        pid, epoch = mine.producer_id, mine.producer_epoch
        for turn in range(2):
            for number in range(5):
                data = batch([b"%d" % number], pid, epoch + turn, number, TRANSACTIONAL)
                rows = (Row(name="orders", partition_data=(Row(index=0, records=data),)),)
                fields = {"acks": -1, "timeout": MINUTE, "topic_data": rows}
                frame = write_request(0, 12, 100 + number, transactional_id="shop", **fields)
                client.send(frame)
            for number in range(5):
                told = client.read_answer(0, 12, 100 + number).responses[0].partition_responses[0]
                offset = 6 * turn + number  # a marker follows each five
                assert (told.error_code.name, told.base_offset) == ("none", offset)
            fields = {"producer_id": pid, "producer_epoch": epoch + turn, "committed": True}
            ended = client.ask(26, 5, transactional_id="shop", **fields)
            assert ended.error_code.name == "none"
