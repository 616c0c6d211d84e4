"""`mqlab real pulsar`: what it can be told, and where programs run. This project's own server is
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

VERSION = "4.2.4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There is one release, with one coordinator, as a standalone broker has it."""
    parser.add_argument(
        "--served",
        action="store_true",
        help="compare: the Java client against `mqlab serve pulsar`, not the engine by itself",
    )


def levels(args: argparse.Namespace) -> tuple[int, ...]:
    """The release line of the version."""
    from mqlab.real.pulsar.hosts import VERSIONS

    if args.version not in VERSIONS.values():
        known = " or ".join(VERSIONS.values())
        raise UserError(f"no Pulsar {args.version} is recorded here: take {known}")
    return ()


def oracle() -> Any:
    from mqlab.real.pulsar.oracle import PULSAR

    return PULSAR


def real_host(args: argparse.Namespace) -> Any:
    from mqlab.real.pulsar.hosts import RealHost

    return RealHost(args.version)


def our_host(args: argparse.Namespace) -> Any:
    if args.served:
        return ServerHost(args.version)
    from mqlab.real.pulsar.played import EngineHost

    return EngineHost()


def open_priced(args: argparse.Namespace) -> Any:
    from mqlab.real.pulsar.cost import open_priced

    return open_priced(args.version)


def write_page() -> None:
    from mqlab.real.pulsar.differences import PAGE, page

    PAGE.write_text(page(), "utf-8")


def start_broker(args: argparse.Namespace) -> None:
    """Until Ctrl-C; raises UserError where the broker ends by itself."""
    from mqlab.real.pulsar.broker import RealPulsar

    with RealPulsar(args.version) as pulsar:
        print(
            f"mqlab real pulsar: Pulsar {args.version} ready at pulsar://{pulsar.address}, its "
            f"admin interface at {pulsar.admin}; Ctrl-C stops it",
            flush=True,
        )
        while pulsar.running:
            time.sleep(0.5)
        raise UserError(f"the broker ended by itself: {pulsar.tail_log()}")


# ---- this project's server, hosted for programs -----------------------------------------


#: what a program's broker may be set to, and how our server is told
SETTINGS = {
    "brokerDeduplicationEnabled": lambda value: ["--dedup"] if value == "true" else [],
    "maxActiveTransactionsPerCoordinator": lambda value: ["--max-active", value],
}


@dataclass(frozen=True, slots=True)
class ServerHost:
    """`mqlab serve pulsar`, asked by the Java client, as the real broker is asked."""

    version: str
    broker: str = "mqlab"
    at_once: int = 1

    @property
    def listed(self) -> Any:
        from mqlab.real.pulsar.differences import SERVED

        return SERVED

    def cannot(self, program: Any) -> str:
        from mqlab.real.pulsar.differences import UNSERVED

        if program.name in UNSERVED:
            return UNSERVED[program.name]
        unknown = sorted(dict(program.settings).keys() - SETTINGS.keys())
        return f"the server has no setting {', '.join(unknown)}" if unknown else ""

    @contextmanager
    def share_broker(self, profile: str) -> Iterator[Any]:
        with self._serve(()) as target:
            yield target

    @contextmanager
    def own(self, program: Any, profile: str) -> Iterator[Any]:
        with self._serve(program.settings) as target:
            yield target

    @contextmanager
    def _serve(self, settings: tuple[tuple[str, str], ...]) -> Iterator[Any]:
        from mqlab.real.pulsar.driver import JavaDriver
        from mqlab.real.pulsar.notebook import Target
        from mqlab.serve.process import start_broker as start
        from mqlab.serve.pulsar.control import OurHands

        options = ["--snapshot-interval", "2000"]
        for name, value in settings:
            options += SETTINGS[name](value)
        with (
            tempfile.TemporaryDirectory(prefix="mqlab-compare-") as folder,
            start("pulsar", options, data_dir=Path(folder) / "data") as server,
            JavaDriver(server.address, f"http://{server.address}", self.version) as driver,
        ):
            yield Target(self.broker, driver, OurHands(server), self.version)
