"""Hosts of programs: a real Pulsar or this project's own server, which programs take in turn, or a
fresh one for a program."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mqlab.pulsar.evidence import VERSIONS
from mqlab.real.differences import Listed
from mqlab.real.program import Program
from mqlab.real.pulsar.broker import RealPulsar
from mqlab.serve.process import start_broker
from tests.oracle.control import OurControl

from ..hosts import RealOne
from .differences import TABLE, UNSERVED
from .driver import JavaDriver
from .notebook import Target


class RealHost(RealOne):
    def __init__(self, version: str) -> None:
        super().__init__("pulsar", version)

    @contextmanager
    def own(self, program: Program, profile: str) -> Iterator[Target]:
        with self._serve(dict(program.settings)) as target:
            yield target

    @contextmanager
    def share_broker(self, profile: str) -> Iterator[Target]:
        with self._serve({}) as target:
            yield target

    @contextmanager
    def _serve(self, settings: dict[str, str]) -> Iterator[Target]:
        with (
            RealPulsar(self.version, settings) as pulsar,
            JavaDriver(pulsar.address, pulsar.admin, self.version) as driver,
        ):
            yield Target(self.broker, driver, pulsar, self.version)


# ---- this project's server ---------------------------------------------------------------

#: what a program's broker may be set to, and how our server is told
SETTINGS: dict[str, Callable[[str], list[str]]] = {
    "brokerDeduplicationEnabled": lambda value: ["--dedup"] if value == "true" else [],
    "maxActiveTransactionsPerCoordinator": lambda value: ["--max-active", value],
}


@dataclass(frozen=True, slots=True)
class OurHost:
    """`mqlab serve pulsar`, asked by the Java client, as the real broker is asked."""

    version: str = VERSIONS["4.2"]
    broker: str = "mqlab"
    at_once: int = 1
    listed: tuple[Listed, ...] = TABLE

    def cannot(self, program: Program) -> str:
        if program.name in UNSERVED:
            return UNSERVED[program.name]
        unknown = sorted(dict(program.settings).keys() - SETTINGS.keys())
        return f"the server has no setting {', '.join(unknown)}" if unknown else ""

    @contextmanager
    def share_broker(self, profile: str) -> Iterator[Target]:
        with self._serve(()) as target:
            yield target

    @contextmanager
    def own(self, program: Program, profile: str) -> Iterator[Target]:
        with self._serve(program.settings) as target:
            yield target

    @contextmanager
    def _serve(self, settings: tuple[tuple[str, str], ...]) -> Iterator[Target]:
        options = ["--snapshot-interval", "2000"]
        for name, value in settings:
            options += SETTINGS[name](value)
        with (
            tempfile.TemporaryDirectory(prefix="mqlab-compare-") as folder,
            start_broker("pulsar", options, data_dir=Path(folder) / "data") as server,
            JavaDriver(server.address, f"http://{server.address}", self.version) as driver,
        ):
            yield Target(self.broker, driver, OurControl(server), self.version)
