"""Hosts of real RocketMQs: a fresh broker for each program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..differences import Listed
from ..program import JAVA, Program
from .broker import RealRocketMQ
from .client import Target
from .programs import NAMES

#: the release that each profile is recorded on
VERSIONS = {"5.5": "5.5.0", "4.9": "4.9.7"}


@dataclass(frozen=True, slots=True)
class RealHost:
    version: str
    at_once: int = 1
    listed: tuple[Listed, ...] = ()

    @property
    def broker(self) -> str:
        return f"rocketmq-{self.version}"

    def cannot(self, program: Program) -> str:
        return ""

    @contextmanager
    def own(self, program: Program, profile: str) -> Iterator[Target]:
        settings, names = dict(program.settings), not {JAVA, NAMES}.isdisjoint(program.needs)
        with RealRocketMQ(self.version, settings, names) as broker:
            yield Target(self.broker, broker.address, broker, self.version, broker.name_server)

    @contextmanager
    def share_broker(self, profile: str) -> Iterator[Target]:
        """No program asks for it: each has a broker of its own."""
        with RealRocketMQ(self.version) as broker:
            yield Target(self.broker, broker.address, broker, self.version)
