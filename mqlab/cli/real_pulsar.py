"""`mqlab real pulsar`: what it can be told, and where programs run."""

from __future__ import annotations

import argparse
import time
from typing import Any

from .errors import UserError

VERSION = "4.2.4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There is one release, with one coordinator, as a standalone broker has it."""


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


def our_host() -> Any:
    from mqlab.real.pulsar.played import EngineHost

    return EngineHost()


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
