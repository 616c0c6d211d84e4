"""`mqlab real kafka`: its options, and a real broker until it is stopped."""

from __future__ import annotations

import argparse
import time

from .errors import UserError
from .language import tell

VERSION = "4.3.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--transaction-version",
        type=int,
        choices=(2, 0),
        help="transaction.version of the cluster (default: both)",
    )
    parser.add_argument(
        "--brokers", type=int, choices=(1, 3), default=1, help="start: how many brokers"
    )


def start_broker(args: argparse.Namespace) -> None:
    """Start real Kafka brokers, print their address, and wait until Ctrl-C. UserError as soon as
    any of them ends by itself, with its address and the end of its log."""
    from mqlab.real.kafka.broker import RealKafka

    level = 2 if args.transaction_version is None else args.transaction_version
    with RealKafka(args.version, level, args.brokers) as kafka:
        tell(
            "mqlab real kafka: Kafka {} ready at {} (transaction.version {}); Ctrl-C stops it",
            args.version,
            kafka.address,
            level,
            flush=True,
        )
        while all(node.running for node in kafka.nodes):
            time.sleep(0.5)
        ended = next(node for node in kafka.nodes if not node.running)
        raise UserError("the broker at {} ended on its own: {}", ended.address, ended.tail_log())
