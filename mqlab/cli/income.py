"""`mqlab income`: a real day of orders → income per minute, exactly once; `… chaos`, `… flink`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from . import income_flink
from .errors import UserError

if TYPE_CHECKING:
    from mqlab.spark.job import Result

HELP = "a day of real orders → income per minute, exactly once, with Spark; or kill it (chaos)"
SINKS = ("at-least-once", "transactions", "exactly-once")


EXIT_CODES = """\
exit codes: 0 equal, and every line is an order; 3 equal, and some lines were rejected (they are
named; --allow-rejected N makes it 0 up to N); 1 not equal; 2 it could not be run
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXIT_CODES
    parser.add_argument(
        "action", nargs="?", choices=("run", "chaos", "flink"), default="run",
        help="run: compute the income (default). chaos: three sinks x seven kill points, kill -9. "
        "flink: the same job on Flink",
    )  # fmt: skip
    parser.add_argument("--orders", metavar="FILE", help=".csv or .parquet with the same columns")
    parser.add_argument("--year", action="store_true", help="the whole year instead of one day")
    parser.add_argument(
        "--bootstrap-server", metavar="HOST:PORT", help="a real Kafka; default: a server of our own"
    )
    parser.add_argument("--master", metavar="ADDRESS", help="of a Spark cluster; default: local[2]")
    parser.add_argument(
        "--checkpoint", metavar="FOLDER", help="keep the run there, or go on with the one it holds"
    )
    parser.add_argument("--sink", choices=SINKS, default="exactly-once")
    parser.add_argument("--minutes-per-batch", type=_count, default=0, metavar="N")
    parser.add_argument("--orders-per-batch", type=_count, default=0, metavar="N")
    parser.add_argument(
        "--allow-rejected", type=_allowed, default=0, metavar="N",
        help="exit code 0 although up to N lines of the file are no orders",
    )  # fmt: skip
    parser.add_argument("--soft", action="store_true", help="chaos by exceptions, not by kill -9")
    income_flink.add_arguments(parser)


def _count(text: str) -> int:
    """A number of 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _allowed(text: str) -> int:
    """A number of 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return int(text)


def run(args: argparse.Namespace, address_of: Callable[[], AbstractContextManager[str]]) -> int:
    """See EXIT_CODES; of the table of `chaos`: 0 where it is as it must be, else 1."""
    from mqlab.spark import DAY, YEAR, IncomeError, need

    income_flink.check_arguments(args)
    if args.orders and args.year:
        raise UserError("give --orders FILE or --year, not both")
    orders = Path(args.orders) if args.orders else YEAR if args.year else DAY
    try:
        need()
        if args.action == "flink":
            return income_flink.run(args, address_of, orders, _progress())
        with address_of() as address:
            return (_chaos if args.action == "chaos" else _income)(args, address, orders)
    except IncomeError as error:
        raise UserError(str(error)) from error


def _income(args: argparse.Namespace, address: str, orders: Path) -> int:
    from mqlab.spark import income

    result = income(
        address, orders, checkpoint=args.checkpoint, sink=args.sink, master=args.master,
        minutes_per_batch=args.minutes_per_batch, orders_per_batch=args.orders_per_batch,
        say=_progress(),
    )  # fmt: skip
    print(_report(result))
    print(f"\nwhere the time went\n{result.times}", file=sys.stderr)
    return income_flink.exit_code(result, args.allow_rejected)


def _report(result: Result) -> str:
    return "\n".join(
        [
            "",
            result.table,
            "",
            str(result.account),
            str(result.reconciliation),
            f"total {result.total}, without Spark {result.expected} → {result.verdict}",
        ]
    )


def _chaos(args: argparse.Namespace, address: str, orders: Path) -> int:
    from mqlab.spark import chaos

    table = chaos(address, orders=orders, hard=not args.soft, master=args.master, say=_progress())
    print(f"\n{table}")
    return 0 if table.as_expected else 1


def _progress() -> Callable[[str], None]:
    """Lines on stderr, with the seconds since the start, so that a pipe gets the result only."""
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line}", file=sys.stderr, flush=True)

    return say
