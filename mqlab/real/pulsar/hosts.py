"""Hosts of real Pulsars: one that programs take in turn, or a fresh one for a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..differences import Listed
from ..program import Program
from .broker import RealPulsar
from .driver import JavaDriver
from .notebook import Target

#: the release that each profile is recorded on
VERSIONS = {"4.2": "4.2.4"}


@dataclass(frozen=True, slots=True)
class RealHost:
    version: str
    at_once: int = 1
    listed: tuple[Listed, ...] = ()

    @property
    def broker(self) -> str:
        return f"pulsar-{self.version}"

    def cannot(self, program: Program) -> str:
        return ""

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
