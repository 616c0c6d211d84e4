"""What a stop leaves: nothing that was acknowledged is lost, nothing half done is seen."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mqlab.serve import BrokerError
from mqlab.serve.kafka import serve
from tests.serve.kafka.clients import PATIENCE_S, create, producer, read, transaction
from tests.serve.kafka.raw import TRANSACTIONAL, Raw, batch


def test_it_comes_back_where_somebody_has_taken_the_port_of_its_trace() -> None:
    with serve() as broker, socket.socket() as other:
        address, trace = broker.address, broker.trace_url
        broker.kill()
        other.bind(("127.0.0.1", urlsplit(trace).port or 0))
        other.listen()
        broker.restart()
        assert broker.address == address and broker.trace_url != trace


@pytest.mark.parametrize("fsync", [False, True])
def test_kill_9_loses_nothing_acknowledged(tmp_path: Path, fsync: bool) -> None:
    with serve(data_dir=tmp_path, fsync=fsync) as broker:
        create(broker.address, "t")
        who = producer(broker.address, "id")
        for i in range(20):
            transaction(who, "t", str(i))
        who.begin_transaction()
        who.produce("t", "open")
        who.flush(PATIENCE_S)
        broker.kill()
        assert not broker.running
        broker.restart()
        # What was open stays open: readers wait, and the same producer may go on.
        assert read(broker.address, "t") == [str(i) for i in range(20)]
        who.produce("t", "after it")
        who.commit_transaction(PATIENCE_S)
        expected = [*map(str, range(20)), "open", "after it"]
        assert read(broker.address, "t") == expected
        # Or another takes its place: then what was open is aborted.
        who.begin_transaction()
        who.produce("t", "never")
        who.flush(PATIENCE_S)
        broker.kill()
        broker.restart()
        transaction(producer(broker.address, "id"), "t", "new")
        assert read(broker.address, "t") == [*expected, "new"]
        assert "never" in read(broker.address, "t", committed=False)


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Kill it in the middle of the work, several times: what the client was told is there."""
    with serve(data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            client.create("t")
        told, epoch, pid = [], -1, -1
        for round_ in range(4):
            with Raw(broker.address) as client:
                while (given := client.init("id")).error_code.name != "none":
                    time.sleep(0.05)
                pid, epoch = given.producer_id, given.producer_epoch
                for i in range(10 + 7 * round_):
                    value = f"{round_}.{i}".encode()
                    data = batch([value], pid, epoch, 0, TRANSACTIONAL)
                    client.produce("t", 0, data, "id", version=12)
                    if client.end("id", pid, epoch, True, version=5).error_code.name == "none":
                        told.append(value.decode())
                    epoch += 1
                data = batch([b"open"], pid, epoch, 0, TRANSACTIONAL)
                client.produce("t", 0, data, "id", version=12)
                broker.kill()
            broker.restart()
        with Raw(broker.address) as client:
            while client.init("id").error_code.name != "none":
                time.sleep(0.05)
        assert read(broker.address, "t") == told
        assert read(broker.address, "t", committed=False).count("open") == 4


def test_without_a_data_folder_it_comes_back_empty() -> None:
    with serve() as broker:
        address = broker.address
        create(address, "t")
        broker.kill()
        broker.restart()
        assert broker.address == address
        with Raw(address) as client:
            assert client.ask(3, 1, topics=None).topics == ()


def test_it_ends_with_whoever_started_it() -> None:
    """Even when that one is killed."""
    script = (
        "from mqlab.serve.kafka import serve; b = serve(); print(b.pid, b.address, flush=True);"
    )
    script += "import time; time.sleep(600)"
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    _, address = parent.stdout.readline().split()
    Raw(address).close()
    parent.kill()
    parent.wait()
    until = time.monotonic() + PATIENCE_S
    with pytest.raises(ConnectionRefusedError):
        while time.monotonic() < until:
            Raw(address).close()
            time.sleep(0.05)
    parent.stdout.close()


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path):
        with pytest.raises(BrokerError, match="another server uses the data folder"):
            serve(data_dir=tmp_path)


def mqlab(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mqlab", "serve", "kafka", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_a_port_in_use_is_said_in_one_line(broker: object) -> None:
    address: str = broker.address  # type: ignore[attr-defined]
    said = mqlab("--port", address.rpartition(":")[2])
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.count("\n") == 1 and "in use" in said.stderr and "--port" in said.stderr
    assert "--data-dir" in mqlab("--fsync").stderr
    assert "no port" in mqlab("--port", "99999").stderr
    assert "verification" in mqlab("--off", "verify").stderr
