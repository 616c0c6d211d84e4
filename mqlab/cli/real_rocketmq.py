"""`mqlab real rocketmq`: what it can be told, and where programs run. This project's own server is
hosted here, since the top floor alone may start it for the programs of `mqlab.real`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UserError

VERSION = "5.5.0"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There is one release line a version, and its profile goes with it."""


def levels(args: argparse.Namespace) -> tuple[int, ...]:
    """The release line of the version."""
    from mqlab.real.rocketmq.client import PROFILES

    named = PROFILES.get(args.version.rpartition(".")[0])
    if named is None:
        known = " or ".join(_versions())
        raise UserError(f"no RocketMQ {args.version} is recorded here: take {known}")
    return (named.level,)


def _versions() -> tuple[str, ...]:
    from mqlab.real.rocketmq.jars import JARS

    return JARS.versions


def oracle() -> Any:
    from mqlab.real.rocketmq.oracle import ROCKETMQ

    return ROCKETMQ


def real_host(args: argparse.Namespace) -> Any:
    from mqlab.real.rocketmq.hosts import RealHost

    return RealHost(args.version)


def our_host(args: argparse.Namespace) -> Any:
    from ..brokers import find_broker

    if not find_broker("rocketmq").serve:
        raise UserError(
            "this project does not serve RocketMQ yet; --real compares with the real one again"
        )
    return OurHost()


def open_priced(args: argparse.Namespace) -> Any:
    from mqlab.real.rocketmq.cost import open_priced

    return open_priced(args.version)


def write_page() -> None:
    from mqlab.real.rocketmq.differences import PAGE, page

    PAGE.write_text(page(), "utf-8")


def start_broker(args: argparse.Namespace) -> None:
    """Until Ctrl-C; raises UserError where the broker ends by itself. As RocketMQ starts it: its
    own clocks run."""
    from mqlab.real.rocketmq.broker import CLOCKS, RealRocketMQ

    with RealRocketMQ(args.version, CLOCKS, name_server=True) as rocketmq:
        print(
            f"mqlab real rocketmq: RocketMQ {args.version} ready at {rocketmq.address}, its name "
            f"server at {rocketmq.name_server}; Ctrl-C stops it",
            flush=True,
        )
        while rocketmq.running:
            time.sleep(0.5)
        raise UserError(f"the broker ended by itself: {rocketmq.tail_log()}")


# ---- this project's server, hosted for programs -----------------------------------------


@dataclass(frozen=True, slots=True)
class OurHost:
    broker: str = "mqlab"
    at_once: int = 4

    @property
    def listed(self) -> Any:
        from mqlab.real.rocketmq.differences import TABLE

        return TABLE

    def cannot(self, program: Any) -> str:
        from mqlab.real.rocketmq.programs import ROUNDS

        if ROUNDS in program.needs:
            return "the server has the same settings for all its rounds"
        others = set(dict(program.settings)) - {"timerWheelEnable"}  # its timers always run
        return "the server has no such settings" if others else ""

    @contextmanager
    def share_broker(self, profile: str) -> Iterator[Any]:
        from mqlab.real.rocketmq.client import Target
        from mqlab.real.rocketmq.hosts import VERSIONS
        from mqlab.serve.process import start_broker as start
        from mqlab.serve.rocketmq.control import OurClocks

        never = "86400000"
        with tempfile.TemporaryDirectory(prefix="mqlab-compare-") as folder:
            options = ["--release", profile, "--check-interval", never]
            options += ["--transaction-timeout", "1", "--check-max", "3"]
            options += ["--op-batch-interval", never]
            with start("rocketmq", options, data_dir=Path(folder) / "data") as server:
                control, version = OurClocks(server), VERSIONS[profile]
                yield Target(self.broker, server.address, control, version, server.address)

    def own(self, program: Any, profile: str) -> Any:
        return self.share_broker(profile)
