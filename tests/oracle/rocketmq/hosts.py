"""Hosts of programs: a fresh real RocketMQ for each, or this project's own server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mqlab.real.differences import Listed
from mqlab.real.program import Program
from mqlab.real.rocketmq.broker import RealRocketMQ
from mqlab.rocketmq.evidence import VERSIONS
from mqlab.serve.process import start_broker
from tests.oracle.control import OurClocks

from ..hosts import RealOne
from ..program import CLUSTER, JAVA
from .client import Target
from .differences import TABLE
from .programs import NAMES, ROUNDS

#: of the second broker of a program that needs several
SLAVE = {"brokerId": "1", "brokerRole": "SLAVE", "slaveReadEnable": "true"}


class RealHost(RealOne):
    def __init__(self, version: str) -> None:
        super().__init__("rocketmq", version)

    @contextmanager
    def own(self, program: Program, profile: str) -> Iterator[Target]:
        settings, names = dict(program.settings), not {JAVA, NAMES}.isdisjoint(program.needs)
        slaves = CLUSTER in program.needs
        with RealRocketMQ(self.version, settings, names, slaves) as broker:
            target = Target(self.broker, broker.address, broker, self.version, broker.name_server)
            if not slaves:
                yield target
                return
            with RealRocketMQ(self.version, SLAVE) as slave:
                yield replace(target, slave=Target(self.broker, slave.address, slave))

    @contextmanager
    def share_broker(self, profile: str) -> Iterator[Target]:
        """No program asks for it: each has a broker of its own."""
        with RealRocketMQ(self.version) as broker:
            yield Target(self.broker, broker.address, broker, self.version)


# ---- this project's server ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OurHost:
    broker: str = "mqlab"
    at_once: int = 4
    listed: tuple[Listed, ...] = TABLE

    def cannot(self, program: Program) -> str:
        if CLUSTER in program.needs:
            return "the server has no slave"
        if ROUNDS in program.needs:
            return "the server has the same settings for all its rounds"
        others = set(dict(program.settings)) - {"timerWheelEnable"}  # its timers always run
        return "the server has no such settings" if others else ""

    @contextmanager
    def share_broker(self, profile: str) -> Iterator[Target]:
        never = "86400000"
        with tempfile.TemporaryDirectory(prefix="mqlab-compare-") as folder:
            options = ["--release", profile, "--check-interval", never]
            options += ["--transaction-timeout", "1", "--check-max", "3"]
            options += ["--op-batch-interval", never]
            with start_broker("rocketmq", options, data_dir=Path(folder) / "data") as server:
                control, version = OurClocks(server), VERSIONS[profile]
                yield Target(self.broker, server.address, control, version, server.address)

    def own(self, program: Program, profile: str) -> AbstractContextManager[Target]:
        return self.share_broker(profile)
