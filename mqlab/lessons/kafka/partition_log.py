"""One partition's disk after a run, asked as its leader would be asked.

For experiments on what is in the log, what travels, and what a client makes of it: the same
functions that the leader and the consumer use, without a network between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...kafka import KafkaSystem
from ...kafka.clients.consumer import filter_readable
from ...kafka.leader import Leader
from ...kafka.log import AbortedTxn, Batch, fetch
from ...kafka.log.batch import index_of
from ...kafka.messages import READ_COMMITTED, Fetch, FetchResponse
from ...kernel import Map, MemoryDisk
from ...registry import run_scenario


@dataclass(frozen=True)
class PartitionLog:
    """`batches`: data and markers in order. `index`: its `.txnindex`."""

    system: KafkaSystem
    name: str
    disk: MemoryDisk

    @property
    def batches(self) -> tuple[Batch, ...]:
        log = self.disk.log(self.name)
        return tuple(log.read(log.start))

    @property
    def index(self) -> tuple[AbortedTxn, ...]:
        return tuple(self.disk.log(index_of(self.name)).read(0))

    def fetch(self, offset: int = 0, isolation: str = READ_COMMITTED) -> FetchResponse:
        """What the leader answers to a Fetch from `offset`."""
        leader, _ = Leader.recover(self.system.config, self.name, self.disk, 0)
        ask = Fetch(offset, isolation, max_bytes=1 << 20)
        return fetch.answer_fetch(leader.part, self.name, ask, self.disk)

    def read(self, offset: int = 0, isolation: str = READ_COMMITTED) -> list[str]:
        """What a client hands to its application of such an answer."""
        response = self.fetch(offset, isolation)
        return [b.words for b in filter_readable(response.batches, response.aborted, offset)[0]]

    def without(self, start: int) -> PartitionLog:
        """The partition after everything below `start` was deleted: its time had come
        (retention), or somebody asked for it (DeleteRecords)."""
        log = self.disk.log(self.name)
        kept = tuple(entry for entry in log.entries if entry.base >= start)
        short = replace(log, entries=kept, start=start, flushed=0)
        logs = Map((n, short if n == self.name else g) for n, g in self.disk.kept.items())
        return replace(self, disk=replace(self.disk, kept=logs))


def partition_log(text: str, name: str) -> PartitionLog:
    """The partition `name` at the end of a scenario given as text."""
    run = run_scenario(text)
    assert isinstance(run.system, KafkaSystem)
    return PartitionLog(run.system, name, run.world.disk(name))
