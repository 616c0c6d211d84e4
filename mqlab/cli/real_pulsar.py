"""`mqlab real pulsar`: its options, and a real broker until it is stopped."""

from __future__ import annotations

import argparse
import time

from .errors import UserError
from .language import tell

VERSION = "4.2.4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There is one release, with one coordinator, as a standalone broker has it."""


def start_broker(args: argparse.Namespace) -> None:
    """Start a real Pulsar, print its addresses, and wait until Ctrl-C; UserError where it ends by
    itself."""
    from mqlab.real.pulsar.broker import RealPulsar

    with RealPulsar(args.version) as pulsar:
        tell(
            "mqlab real pulsar: Pulsar {} ready at pulsar://{}, its admin interface at "
            "{}; Ctrl-C stops it",
            args.version,
            pulsar.address,
            pulsar.admin,
            flush=True,
        )
        while pulsar.running:
            time.sleep(0.5)
        raise UserError("the broker ended on its own: {}", pulsar.tail_log())
