"""Hosts of programs: real Kafkas (one broker for those that share it, a fresh one or a cluster for
each of the others), and this project's own server.
"""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mqlab.kafka.log import AbortedTxn
from mqlab.kafka.log import index_of as log_of
from mqlab.real.differences import Listed
from mqlab.real.kafka.broker import RealKafka
from mqlab.real.kafka.client import PROFILES, Target
from mqlab.real.kafka.differences import TABLE
from mqlab.real.program import Program
from mqlab.serve.journal import Journal
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.adapter import make_adapter
from tests.oracle.control import OurControl
from tests.oracle.kafka.programs.topic_admin import AUTO_CREATE

from ..hosts import RealOne
from ..program import CLUSTER, FAULT

INDEX_LINE = re.compile(
    r"producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)"
)
DUMP, DUMP_BEFORE_4_3 = "org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments"


def entry(pid: object, first: object, last: object, lso: object) -> str:
    """A line of `.txnindex`, in the wording of a recording."""
    return f"pid={pid} {first}…{last} LSO={lso}"


def index_of(kafka: RealKafka, node: int = 1) -> Callable[[str], list[str]]:
    """Reads a partition's `.txnindex` files by Kafka's own DumpLogSegments."""

    def read(partition: str) -> list[str]:
        files = sorted((kafka.nodes[node - 1].data / partition).glob("*.txnindex"))
        if not files:
            return []
        tool = DUMP_BEFORE_4_3 if kafka.version < "4.3" else DUMP
        dump = kafka.tool(tool, "--files", ",".join(map(str, files)))
        return [entry(*line.groups()) for line in INDEX_LINE.finditer(dump)]

    return read


@dataclass(frozen=True, slots=True)
class RealControl:
    """Stops and starts the brokers of a target; nodes count from 1."""

    kafka: RealKafka

    def kill(self, node: int = 1) -> None:
        """kill -9."""
        self.kafka.nodes[node - 1].kill()

    def stop(self, node: int = 1) -> None:
        """SIGTERM, and wait."""
        self.kafka.nodes[node - 1].stop()

    def pause(self, node: int = 1) -> None:
        """It is there and says nothing."""
        self.kafka.nodes[node - 1].signal(signal.SIGSTOP)

    def resume(self, node: int = 1) -> None:
        self.kafka.nodes[node - 1].signal(signal.SIGCONT)

    def start(self, node: int = 1) -> None:
        """With the data there is; returns when it serves."""
        self.kafka.nodes[node - 1].start()
        self.kafka.wait_ready()


class RealHost(RealOne):
    def __init__(self, version: str) -> None:
        super().__init__("kafka", version)

    @contextmanager
    def share_broker(self, profile: str) -> Iterator[Target]:
        with RealKafka(self.version, PROFILES[profile].transaction_version) as kafka:
            yield self._target(kafka)

    @contextmanager
    def own(self, program: Program, profile: str) -> Iterator[Target]:
        count = 3 if CLUSTER in program.needs else 1
        level = PROFILES[profile].transaction_version
        with RealKafka(self.version, level, count, dict(program.settings)) as kafka:
            yield self._target(kafka)

    def _target(self, kafka: RealKafka) -> Target:
        return Target(self.broker, kafka.address, index_of(kafka), RealControl(kafka), kafka)


# ---- this project's server ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OurHost:
    broker: str = "mqlab"
    at_once: int = 4
    listed: tuple[Listed, ...] = TABLE

    def cannot(self, program: Program) -> str:
        if FAULT in program.needs:
            return "a fault of the real broker; the engine shows it with the switch of that name"
        if CLUSTER in program.needs:
            return "the server is one broker"
        others = dict(program.settings).keys() - {AUTO_CREATE}
        return f"the server has no setting {', '.join(sorted(others))}" if others else ""

    def share_broker(self, profile: str) -> AbstractContextManager[Target]:
        return self._serve(profile, auto_create=False)  # as the real broker of the recordings

    def own(self, program: Program, profile: str) -> AbstractContextManager[Target]:
        return self._serve(profile, dict(program.settings).get(AUTO_CREATE) == "true")

    @contextmanager
    def _serve(self, profile: str, auto_create: bool) -> Iterator[Target]:
        level = PROFILES[profile].transaction_version
        with tempfile.TemporaryDirectory(prefix="mqlab-compare-") as folder:
            data = Path(folder) / "data"
            with serve(data_dir=data, transaction_version=level, auto_create=auto_create) as server:
                index = read_index(Path(folder))
                yield Target(self.broker, server.address, index, OurControl(server))


def read_index(folder: Path) -> Callable[[str], list[str]]:
    """Reads a partition's index of aborted transactions out of a copy of the server's
    journal: the journal itself is the running server's."""

    def read(partition: str) -> list[str]:
        copy = Path(tempfile.mkdtemp(dir=folder))
        (copy / "journal").write_bytes((folder / "data" / "journal").read_bytes())
        journal = Journal(copy, make_adapter())
        name = log_of(partition)
        try:
            return [
                entry(txn.pid, txn.first_offset, txn.last_offset, txn.lso)
                for effect in journal.replay()
                if isinstance(txn := getattr(effect, "entry", None), AbortedTxn)
                and getattr(effect, "log", "") == name
            ]
        finally:
            journal.close()

    return read
