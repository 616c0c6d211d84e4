"""kill -9 in the middle of the work, twenty times: nothing acknowledged is lost, no
transaction is torn, and consumed positions are decided together with what was written."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from tests.serve.kafka.clients import read
from tests.serve.kafka.raw import TRANSACTIONAL, Raw, batch
from tests.serve.stubborn import KILLS, Stubborn, kill_under_load

TOPIC, PARTITIONS = "t", 2
PATIENCE_S = 600


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
        with Raw(self.address, PATIENCE_S) as client:
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
        part = SimpleNamespace(
            partition_index=0, committed_offset=self.number, committed_leader_epoch=-1,
            committed_metadata="",
        )  # fmt: skip
        told = client.ask(
            28, 5 if self.v2 else 3, **mine, generation_id=-1, member_id="",
            group_instance_id=None, topics=(SimpleNamespace(name=TOPIC, partitions=(part,)),),
        )  # fmt: skip
        return told.topics[0].partitions[0]


def patiently(ask: Any) -> Any:
    """Until the answer is not one of those that mean: in a moment."""
    until = time.monotonic() + PATIENCE_S
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
