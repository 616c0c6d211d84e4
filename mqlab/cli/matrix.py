"""`mqlab matrix`: which anomalies four ways make impossible, with what proves each cell."""

from __future__ import annotations

import argparse

from ..registry.cases.anomalies import MATRIX
from ..registry.matrix import WAYS, list_reasons, prove, tabulate

HELP = "which anomalies Kafka, RocketMQ, Pulsar and an outbox make impossible, cell by cell"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "way", nargs="*", choices=[*WAYS, []], help="tell the reasons of these (default: the table)"
    )
    parser.add_argument(
        "--reasons", action="store_true", help="behind the table, what proves each cell"
    )
    parser.add_argument(
        "--check", action="store_true", help="prove every cell again; exit code 1 where one fails"
    )
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="of the table")


def run(args: argparse.Namespace) -> int:
    """0; 1: a proof of --check fails."""
    print(tabulate(MATRIX, args.lang))
    if args.way or args.reasons:
        for line in list_reasons(MATRIX, args.way or WAYS):
            print(line)
    if not args.check:
        return 0
    print()
    failed = prove(MATRIX, lambda line: print(line, flush=True))
    print(f"{len(failed)} proofs failed" if failed else "every cell is proved")
    return 1 if failed else 0
