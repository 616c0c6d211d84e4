"""Hosts of real Kafkas: one broker for the programs that share it, a fresh one, or a cluster, for
each of the others.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..differences import Listed
from ..program import CLUSTER, Program
from .broker import RealKafka
from .client import PROFILES, Target

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


@dataclass(frozen=True, slots=True)
class RealHost:
    version: str
    listed: tuple[Listed, ...] = ()

    @property
    def at_once(self) -> int:
        return 1

    @property
    def broker(self) -> str:
        return f"kafka-{self.version}"

    def cannot(self, program: Program) -> str:
        if program.version and program.version != self.version:
            return f"it is recorded on {program.version} only"
        return ""

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
