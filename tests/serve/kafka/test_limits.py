"""Too many clients, requests that never end, and what is said of those who are refused."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace as Row
from typing import Any

import pytest

from mqlab.serve import disk, server
from mqlab.serve.connection import Connection
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.adapter import make_adapter
from mqlab.serve.kafka.wire.api import Api
from mqlab.serve.options import Options
from mqlab.serve.process import BrokerError
from mqlab.serve.server import Server
from tests.serve.kafka.clients import create, producer, read, transaction
from tests.serve.kafka.many import CASES, prepare
from tests.serve.kafka.raw import MINUTE, TRANSACTIONAL, Raw, batch, write_request
from tests.serve.many import ALIKE, HASHED, check_growth
from tests.serve.started import PATIENCE_S, Started, serve_inside
from tests.serve.test_turns import Wire

PRODUCE_90_MB = struct.pack(">ihhi", 90_000_000, 0, 9, 1)


def dial(address: str) -> socket.socket:
    host, _, port = address.partition(":")
    return socket.create_connection((host, int(port)), PATIENCE_S)


# ---- room ----------------------------------------------------------------------------------


def test_with_256_files_600_idle_clients_keep_nobody_out(tmp_path: Path) -> None:
    with Started(tmp_path, files=256) as broker:
        idle = [dial(broker.address) for _ in range(600)]
        with Raw(broker.address) as client:
            assert client.create("t") == "none"
            assert client.produce("t", 0, batch([b"v"])).error_code.name == "none"
        text = broker.said("places are taken, and it was silent for longest")
        assert "Traceback" not in text and text.count("\n") <= disk.LINES + 5
        for one in idle:
            one.close()


def test_a_request_that_stands_still_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr("mqlab.serve.connection.HALF_S", 0.2)

    async def story(it: Server, host: str, port: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(PRODUCE_90_MB + b"x" * 1_000)
        assert await reader.read() == b"", "the server closes it"
        _, idle = await asyncio.open_connection(host, port)
        await asyncio.sleep(0.6)
        assert len(it.connections) == 1, "one that asks nothing may stay"
        idle.close()

    caplog.set_level(logging.INFO, "mqlab.serve")
    serve_inside(monkeypatch, make_adapter(), story)
    assert "its request was not whole after" in caplog.text


def test_whole_requests_that_wait_their_turn_are_no_unfinished_ones() -> None:
    """100 at once, by a client that does not read its answers; then the half of one."""
    versions = struct.pack(">ihhih", 10, 18, 0, 1, -1)

    async def story() -> None:
        it = Server(make_adapter(), Options())
        it.driver.start()
        one = Connection(it, 1)
        one.connection_made(Wire())
        one.pause_writing()
        one.data_received(versions * 100)
        assert not one.idle and one._alarm is None and it._unfinished == {}
        one.resume_writing()
        while not one.idle or one._will_continue:
            await asyncio.sleep(0)
            assert one._alarm is None and it._unfinished_bytes == 0
        assert one._request_count == 100
        one.data_received(versions[:7])
        assert one._alarm is not None and it._unfinished == {1: 7} and it._unfinished_bytes == 7
        one.data_received(versions[7:])
        assert one._alarm is None and it._unfinished == {} and it._unfinished_bytes == 0

    asyncio.run(story())


def test_unfinished_requests_are_bounded_together(
    monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(server, "HELD", 3_000_000)

    async def story(it: Server, host: str, port: int) -> None:
        streams = [await asyncio.open_connection(host, port) for _ in range(4)]
        for _, writer in streams:
            writer.write(PRODUCE_90_MB + b"x" * 900_000)
            await writer.drain()
        done = [asyncio.create_task(reader.read()) for reader, _ in streams]
        await asyncio.wait(done, return_when=asyncio.FIRST_COMPLETED)
        assert sum(it._unfinished.values()) == it._unfinished_bytes <= 3_000_000
        assert len(it.connections) == 3
        for task in done:
            task.cancel()
        for _, writer in streams:
            writer.close()

    caplog.set_level(logging.INFO, "mqlab.serve")
    serve_inside(monkeypatch, make_adapter(), story)
    assert caplog.text.count("too many bytes of unfinished requests") == 1


# ---- what is said --------------------------------------------------------------------------


def test_who_is_refused_and_who_goes_away_is_said(tmp_path: Path) -> None:
    with Started(tmp_path) as broker:
        with Raw(broker.address) as client:
            for _ in range(3):
                client.produce("missing", 0, batch([b"v"]))
            pid = client.init("an-id").producer_id
            client.end("an-id", pid, 7, True)
        half = dial(broker.address)
        half.sendall(PRODUCE_90_MB)
        half.close()
        garbage = dial(broker.address)
        garbage.sendall(b"GET / HTTP/1.1\r\n\r\n")
        text = broker.said("went away in the middle of a request", "closing, a frame of")
        assert text.count("PRODUCE refused, UNKNOWN_TOPIC_OR_PARTITION") == 1, "said once"
        (line,) = [line for line in text.splitlines() if "END_TXN of an-id refused" in line]
        assert re.search(
            r"INFO mqlab \(127\.0\.0\.1:\d+, conn-\d+\): END_TXN of an-id refused, ", line
        )
        assert "INIT_PRODUCER_ID" not in text, "what goes well is not said"
        garbage.close()


def test_verbose_says_each_request_and_no_name_is_obeyed(tmp_path: Path) -> None:
    with Started(tmp_path, "--verbose") as broker:
        with Raw(broker.address) as client:
            client.init("an-id")
            frame = struct.pack(">hhih", 18, 0, 1, 8) + b"\x1b[31m\xe2\x80\xae"
            client.send(struct.pack(">i", len(frame)) + frame)
            client.read_frame()
        text = broker.said("API_VERSIONS v0")
        assert "INIT_PRODUCER_ID v4" in text
        assert "\x1b" not in text and "\\x1b[31m\\u202e (127.0.0.1:" in text


def test_a_host_that_others_reach_is_warned_of(tmp_path: Path) -> None:
    with Started(tmp_path, "--host", "0.0.0.0") as broker:
        text = broker.said("anyone who reaches this machine can read, write and delete")
        assert len(text.splitlines()) == 1
    with Started(tmp_path) as broker, Raw(broker.address) as client:
        client.init(None)
        assert broker.errors.read_text() == ""


def test_an_empty_name_is_no_folder() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mqlab", "serve", "kafka", "--data-dir", ""],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "an empty name is not a folder" in done.stderr
    with pytest.raises(BrokerError, match="an empty name is not a folder"):
        serve(data_dir="")


# ---- `--pace`: what a client meets when the coordinator's markers take their time

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


# ---- A request that names twice as many things takes twice as much work, not four times

#: requests that name at most one thing, or nothing that work is done for
SINGLE = {
    "HEARTBEAT", "API_VERSIONS", "INIT_PRODUCER_ID", "ADD_OFFSETS_TO_TXN",
    "DESCRIBE_CLUSTER", "JOIN_GROUP", "END_TXN",
}  # fmt: skip

#: what walks a map whose keys are transactional ids
BY_TEXT = {"ListTransactions"}


@pytest.mark.spread("mqlab/kernel", "mqlab/serve", "mqlab/kafka")
@pytest.mark.parametrize("name", CASES)
def test_the_work_grows_as_what_is_named(name: str) -> None:
    check_growth(prepare, name, HASHED if name in BY_TEXT else ALIKE)


def test_every_request_that_names_many_is_measured() -> None:
    def plain(text: str) -> str:
        return text.replace("_", "").lower()

    named = {plain(name.split(",")[0].split(" ")[0]) for name in CASES}
    named |= {plain(word) for name in CASES for word in name.replace(",", "").split()}
    missing = [api.name for api in Api if plain(api.name) not in named and api.name not in SINGLE]
    assert not missing
