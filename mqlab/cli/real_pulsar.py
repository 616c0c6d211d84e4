"""`mqlab real pulsar`: what it can be told, and a real broker until somebody stops it."""

from __future__ import annotations

import argparse
import time

from .errors import UserError

VERSION = "4.2.4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There is one release, with one coordinator, as a standalone broker has it."""


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
