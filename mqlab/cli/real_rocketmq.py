"""`mqlab real rocketmq`: its options, and a real broker until it is stopped."""

from __future__ import annotations

import argparse
import time

from .errors import UserError
from .language import tell

VERSION = "5.5.0"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There is one release line a version, and its profile goes with it."""


def start_broker(args: argparse.Namespace) -> None:
    """Start a real RocketMQ, print its addresses, and wait until Ctrl-C; UserError where it ends by
    itself. Its timers run as a released broker's do."""
    from mqlab.real.rocketmq.broker import CLOCKS, RealRocketMQ

    # CLOCKS: the settings of its timers.
    with RealRocketMQ(args.version, CLOCKS, name_server=True) as rocketmq:
        tell(
            "mqlab real rocketmq: RocketMQ {} ready at {}, its name server at {}; Ctrl-C stops it",
            args.version,
            rocketmq.address,
            rocketmq.name_server,
            flush=True,
        )
        while rocketmq.running:
            time.sleep(0.5)
        raise UserError("the broker ended on its own: {}", rocketmq.tail_log())
