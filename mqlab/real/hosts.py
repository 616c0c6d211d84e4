"""Where programs run: a real broker for those that share one, a fresh one for each of the
others. This project's own server is hosted by the command line, which may start it."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from .kafka.broker import RealKafka
from .kafka.client import PROFILES, Target
from .kafka.programs import CLUSTER, CONTROL, Program

INDEX_LINE = re.compile(
    r"producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)"
)
DUMP, DUMP_BEFORE_4_3 = "org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments"
#: needs of a program that shares its broker with nobody
OWN = frozenset({CONTROL, CLUSTER})


class Control(Protocol):
    """Stops and starts the brokers of a target; nodes count from 1."""

    def kill(self, node: int = 1) -> None:
        """kill -9."""
        ...

    def stop(self, node: int = 1) -> None:
        """SIGTERM, and wait."""
        ...

    def pause(self, node: int = 1) -> None:
        """SIGSTOP: it is there and says nothing."""
        ...

    def resume(self, node: int = 1) -> None:
        """SIGCONT."""
        ...

    def start(self, node: int = 1) -> None:
        """With the data there is; returns when it serves."""
        ...


class Host(Protocol):
    @property
    def broker(self) -> str:
        """Its name in recordings."""
        ...

    @property
    def at_once(self) -> int:
        """How many brokers of their own may run side by side."""
        ...

    def shared(self, profile: str) -> AbstractContextManager[Target]:
        """A broker at the profile's transaction.version, for many programs."""
        ...

    def own(self, program: Program, profile: str) -> AbstractContextManager[Target]:
        """A broker, or a cluster, for this program only."""
        ...

    def cannot(self, program: Program) -> str:
        """Why this program cannot run here; empty if it can."""
        ...


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
        said = kafka.tool(tool, "--files", ",".join(map(str, files)))
        return [entry(*found.groups()) for found in INDEX_LINE.finditer(said)]

    return read


@dataclass(frozen=True, slots=True)
class RealControl:
    kafka: RealKafka

    def kill(self, node: int = 1) -> None:
        self.kafka.nodes[node - 1].kill()

    def stop(self, node: int = 1) -> None:
        self.kafka.nodes[node - 1].stop()

    def pause(self, node: int = 1) -> None:
        self.kafka.nodes[node - 1].signal(signal.SIGSTOP)

    def resume(self, node: int = 1) -> None:
        self.kafka.nodes[node - 1].signal(signal.SIGCONT)

    def start(self, node: int = 1) -> None:
        self.kafka.nodes[node - 1].start()
        self.kafka.wait_ready()


@dataclass(frozen=True, slots=True)
class RealHost:
    version: str

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
    def shared(self, profile: str) -> Iterator[Target]:
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
