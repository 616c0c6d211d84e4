"""kill -9 in the middle of the work, twenty times: nothing acknowledged is lost, no
transaction is torn, and consumed positions are decided together with what was written.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from mqlab.cli import main
from mqlab.kafka.log import Batch
from mqlab.kernel import Append, Put
from mqlab.serve import BrokerError, RunningBroker
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.adapter import make_adapter
from mqlab.serve.kafka.wire.validation import parse_batch
from tests.serve.kafka.clients import PATIENCE_S, create, producer, read, transaction
from tests.serve.kafka.raw import TRANSACTIONAL, Raw, batch, build_positions
from tests.serve.stubborn import KILLS, Stubborn, kill_under_load
from tests.serve.test_damage import check_every_flip, starts_of

TOPIC, PARTITIONS = "t", 2
KILL_PATIENCE_S = 600


class Worker(Stubborn):
    """Each transaction writes its number to both partitions
    and commits it as its group's position; every fourth is aborted. `told`: what it was
    told of each; a transaction whose end was not answered may have ended either way."""

    def __init__(self, address: str, name: str, *, v2: bool) -> None:
        super().__init__(address, name)
        self.v2 = v2
        self.told: dict[int, str] = {}
        self.number = 0

    def count_done(self) -> int:
        return sum(told != "unknown" for told in list(self.told.values()))

    def work(self) -> None:
        with Raw(self.address, KILL_PATIENCE_S) as client:
            self._work(client)

    def _work(self, client: Raw) -> None:
        given = patiently(lambda: client.init(self.name))
        pid, epoch = given.producer_id, given.producer_epoch
        seqs = [0] * PARTITIONS
        while not self.over.is_set():
            self.number += 1
            commit = self.number % 4 != 0
            self.told[self.number] = "unknown"
            self._fill(client, pid, epoch, seqs)
            version = 5 if self.v2 else 4
            ended = patiently(partial(client.end, self.name, pid, epoch, commit, version))
            self.told[self.number] = "commit" if commit else "abort"
            if self.v2:
                epoch, seqs = ended.producer_epoch, [0] * PARTITIONS

    def _fill(self, client: Raw, pid: int, epoch: int, seqs: list[int]) -> None:
        value = f"{self.name}:{self.number}".encode()
        version = 12 if self.v2 else 11
        for index in range(PARTITIONS):
            if not self.v2:
                patiently(partial(self._added, client, pid, epoch, index))
            data = batch([value], pid, epoch, seqs[index], TRANSACTIONAL)
            patiently(partial(client.produce, TOPIC, index, data, self.name, version))
            seqs[index] += 1
        patiently(lambda: self._offsets(client, pid, epoch))

    def _added(self, client: Raw, pid: int, epoch: int, index: int) -> Any:
        (name,) = client.add(self.name, pid, epoch, (TOPIC, index))
        return SimpleNamespace(error_code=SimpleNamespace(name=name))

    def _offsets(self, client: Raw, pid: int, epoch: int) -> Any:
        mine = {
            "transactional_id": self.name,
            "producer_id": pid,
            "producer_epoch": epoch,
            "group_id": self.name,
        }
        if not self.v2:
            added = client.ask(25, 3, **mine)
            if added.error_code.name != "none":
                return added
        told = client.ask(
            28, 5 if self.v2 else 3, **mine, generation_id=-1, member_id="",
            group_instance_id=None, topics=build_positions(TOPIC, self.number),
        )  # fmt: skip
        return told.topics[0].partitions[0]


def patiently(ask: Any) -> Any:
    """Until the answer is not one of those that mean: in a moment."""
    until = time.monotonic() + KILL_PATIENCE_S
    while True:
        told = ask()
        name = told.error_code.name
        if name == "none":
            return told
        later = ("concurrent_transactions", "not_enough_replicas", "coordinator_load_in_progress")
        assert name in later and time.monotonic() < until, f"refused: {name}"
        time.sleep(0.005)


def position(broker: RunningBroker, group: str) -> int:
    with Raw(broker.address) as client:
        wanted = (SimpleNamespace(name=TOPIC, partition_indexes=(0,)),)
        asked = (SimpleNamespace(group_id=group, topics=wanted),)
        told = client.ask(9, 8, groups=asked, require_stable=True).groups[0].topics[0].partitions[0]
        assert told.error_code.name == "none"
        offset: int = told.committed_offset
        return offset


@pytest.mark.spread("mqlab/kernel", "mqlab/serve", "mqlab/kafka")
def test_killed_twenty_times_under_load(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            client.create(TOPIC, PARTITIONS)
        workers = [
            Worker(broker.address, "legacy", v2=False),
            Worker(broker.address, "v2", v2=True),
        ]
        kill_under_load(broker, workers, seed=5)
        with Raw(broker.address) as client:  # the next one ends what was left open
            for worker in workers:
                patiently(partial(client.init, worker.name))
        got = read(broker.address, TOPIC, PARTITIONS)
        for worker in workers:
            check(broker, worker, [v for v in got if v.startswith(f"{worker.name}:")])


def check(broker: RunningBroker, worker: Worker, got: list[str]) -> None:
    half = len(got) // PARTITIONS
    assert got[:half] == got[half:], "a transaction is whole or not there, in order"
    numbers = [int(value.partition(":")[2]) for value in got[:half]]
    assert len(set(numbers)) == len(numbers), "nothing is there twice"
    for number, told in worker.told.items():
        assert told == "unknown" or (number in numbers) == (told == "commit"), (number, told)
    assert position(broker, worker.name) == numbers[-1], "decided together"
    unknown = list(worker.told.values()).count("unknown")
    assert numbers and unknown <= KILLS + 1, "one transaction a kill, and the one at the end"


# ---- What a stop leaves: nothing that was acknowledged is lost, nothing half done is seen


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
    assert "not a port" in mqlab("--port", "99999").stderr
    assert "verification" in mqlab("--off", "verify").stderr


# ---- Damaged data folders of Kafka: batches as they came are entries of their own form


def test_a_flipped_bit_anywhere_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    records = parse_batch(batch([b"a", b"bc" * 40])).records  # type: ignore[union-attr]
    effects = [
        Put("leadership", "epoch", 1),
        *(Append("t-0", Batch(records, count=2, base=2 * i)) for i in range(5)),
        Put("leadership", "epoch", 2),
        Append("t-0", Batch(records, count=2, base=10)),
    ]
    check_every_flip(tmp_path, make_adapter(), effects)


def test_a_server_refuses_it_and_what_is_before_the_damage_can_be_salvaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with serve(data_dir=old) as broker:
        create(broker.address, "t")
        who = producer(broker.address, "id")
        for i in range(20):
            transaction(who, "t", f"value {i}.")
        broker.stop()
        data = bytearray((old / "journal").read_bytes())
        data[data.index(b"value 10.")] ^= 4
        (old / "journal").write_bytes(data)
        with pytest.raises(BrokerError, match=r"journal: the entry at byte \d+ is damaged"):
            broker.restart()
    assert (old / "journal").read_bytes() == data
    asked = ["serve", "kafka", "--data-dir", str(old), "--salvage-to", str(new)]
    assert main(asked) == 0
    told = capsys.readouterr().out
    found = re.search(r"holds (\d+) entries, all before byte (\d+)", told)
    assert found is not None
    count, byte = map(int, found.groups())
    assert count == len(starts_of(data[:byte])) and (old / "journal").read_bytes() == data
    with serve(data_dir=new) as broker:
        producer(broker.address, "id")
        assert read(broker.address, "t") == [f"value {i}." for i in range(10)]
    assert main(asked) == 2, "a folder in use is not written to"
    assert "has a journal already" in capsys.readouterr().err
