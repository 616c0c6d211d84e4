"""`mqlab income`: a real day of orders → income per minute, exactly once; `… chaos`, `… flink`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from ..kernel.text import Words
from .errors import UserError
from .language import add_flag, tell

if TYPE_CHECKING:
    from ..spark import job as spark_job
    from ..spark.flink import job as flink_job
    from ..spark.flink.job import Flink
    from ..spark.job import Result


# `mqlab income flink`: the same job on Flink, and both jobs killed at the same instants

OURS = ("setup", "kill", "record")
SPARK_ONLY = Words("--{} is not for the Flink job: leave it out")
FLINK_ONLY = Words("--{} goes with `mqlab income flink`: leave it out")
SINGLE_ONLY = Words("--{} applies to a single job, not to a table of crashes: leave it out")
SINGLE = ("allow_rejected", "checkpoint", "minutes_per_batch", "orders_per_batch", "sink")
SPARKS = ("master", "checkpoint", "minutes_per_batch", "orders_per_batch", "soft")


def add_arguments_income_flink(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("flink")
    add_flag(group, "--setup", help="download PyFlink (830 MB, with pip) and its connector")
    add_flag(
        group,
        "--kill",
        help="kill -9 the Spark job and the Flink job at the same instants, and compare "
        "them in a table",
    )
    add_flag(group, "--record", help="like --kill, and keep the table for lab 11")


def check_arguments(args: argparse.Namespace) -> None:
    """Raise UserError for options that do not go together: of the other job (Spark or Flink), or of
    a single job where a table of crashes is made."""
    flink = args.action == "flink"
    for name in SPARKS if flink else OURS:  # the options of the other job
        if getattr(args, name):
            raise UserError((SPARK_ONLY if flink else FLINK_ONLY)(name.replace("_", "-")))
    # --kill: both jobs are crashed; --record: that, and the table is kept; `chaos`: Spark's alone
    makes_table = args.kill or args.record or args.action == "chaos"
    for name in SINGLE:
        if makes_table and getattr(args, name):
            raise UserError(SINGLE_ONLY(name.replace("_", "-")))
    if args.soft and args.action != "chaos":
        raise UserError("--soft goes with `mqlab income chaos`: leave it out")
    if not (args.kill or args.record):
        return
    if args.bootstrap_server:
        raise UserError(
            "--kill starts its own server, to crash the jobs at the same instants: leave "
            "out --bootstrap-server"
        )
    if args.orders or args.year:
        raise UserError("--kill uses the committed day of orders: leave out --orders and --year")


def run_income_flink(
    args: argparse.Namespace,
    address_of: Callable[[], AbstractContextManager[str]],
    orders: Path,
    say: Callable[[str], None],
) -> int:
    """Install Flink (--setup), compare both jobs in a table of crashes (--kill, --record), or else
    compute the income of the file `orders` with Flink. `address_of()` starts or names the broker,
    whose address its `with` gives; `say` prints a line of progress. Returns `exit_code`; of a table
    0 where it is as it must be, else 1."""
    flink = _find_flink(args.setup, say)
    if args.setup:
        tell("Flink is installed\nnext: `mqlab income flink`, or `mqlab income flink --kill`")
        return 0
    with address_of() as address:
        if args.kill or args.record:
            return _kill(flink, address, args.record, say)
        from ..spark.flink.job import income

        result = income(flink, address, orders, sink=args.sink or SINKS[-1], say=say)
    print(f"\n{result}")
    return exit_code(result, args.allow_rejected)


def exit_code(result: spark_job.Result | flink_job.Result, allowed: int) -> int:
    """0 equal; 3 equal, with more rejected lines than are allowed; 1 not equal."""
    if not result.right:
        return 1
    return 3 if len(result.account.rejected) > allowed else 0


def _find_flink(make: bool, say: Callable[[str], None]) -> Flink:
    """Raises an error that says what is missing and how to get it."""
    from ..real.kafka.flink import JARS
    from ..spark.flink.job import Flink, find_python, make_python
    from ..spark.flink.statements import VERSION

    if why := JARS.find_missing():
        raise UserError(why)
    python = make_python(say) if make else find_python()
    return Flink(python, Path(JARS.class_path(VERSION)))


def _kill(flink: Flink, address: str, record: bool, say: Callable[[str], None]) -> int:
    from ..spark.flink.trials import kill_both

    table = kill_both(flink, address, say)
    if record:
        from ..recordings.recording import write_checksums
        from ..spark.flink.statements import RECORDING

        RECORDING.parent.mkdir(parents=True, exist_ok=True)
        RECORDING.write_text(table.to_json(), "utf-8")
        write_checksums()
    print(f"\n{table}")
    return 0 if table.as_expected else 1


HELP = "compute income per minute from a day of real orders, exactly once, with Spark"
SINKS = ("at-least-once", "transactions", "exactly-once")


EXIT_CODES = (
    "Exit code: 0 if the income is right; 3 if it is right and some lines of the file are not "
    "orders (they are listed; --allow-rejected N turns up to N of them into 0); 1 if it is wrong; "
    "2 if the job could not be run."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mqlab income`: the action, the orders, Kafka, the Spark job, and
    those of Flink's job."""
    parser.epilog = EXIT_CODES
    parser.add_argument(
        "action", nargs="?", choices=("run", "chaos", "flink"), default="run",
        help="run: compute the income (default). chaos: kill -9 the job at seven points "
            "with each of three sinks. flink: the same job on Flink",
    )  # fmt: skip
    parser.add_argument(
        "--orders", metavar="FILE", help="your own orders: .csv or .parquet with the same columns"
    )
    add_flag(parser, "--year", help="the whole year instead of one day")
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="a real Kafka (default: this project's server)",
    )
    parser.add_argument(
        "--master", metavar="ADDRESS", help="address of a Spark cluster (default: local[2])"
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FOLDER",
        help="keep the job's progress in this folder, or continue from there",
    )
    # fmt: off
    parser.add_argument(
        "--sink", choices=SINKS,
        help="how the job writes to Kafka. at-least-once: without transactions. transactions: each "
            "batch in a transaction. exactly-once (default): with the batch's number in it")
    parser.add_argument(
        "--minutes-per-batch", type=_count, default=0, metavar="N",
        help="each micro-batch takes the orders of N minutes (default: a day in 8 batches)")
    parser.add_argument(
        "--orders-per-batch", type=_count, default=0, metavar="N",
        help="each micro-batch takes N orders")
    parser.add_argument(
        "--allow-rejected", type=_allowed, default=0, metavar="N",
        help="exit code 0 even if up to N lines of the file are not orders")
    # fmt: on
    add_flag(parser, "--soft", help="chaos with exceptions instead of kill -9")
    add_arguments_income_flink(parser)


def _count(text: str) -> int:
    """A number of 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(Words("{!r}: expected a whole number, 1 or more")(text))
    return int(text)


def _allowed(text: str) -> int:
    """A number of 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(Words("{!r}: expected a whole number, 0 or more")(text))
    return int(text)


def run(args: argparse.Namespace, address_of: Callable[[], AbstractContextManager[str]]) -> int:
    """Compute the income with Spark or with Flink, or make the table of crashes (`chaos`), on the
    server that `address_of` opens. Returns what EXIT_CODES says; of the table, 0 where it is as it
    must be, else 1."""
    from ..spark import DAY, YEAR, need

    check_arguments(args)
    if args.orders and args.year:
        raise UserError("give --orders FILE or --year, not both")
    orders = Path(args.orders) if args.orders else YEAR if args.year else DAY
    need()  # IncomeError where a package is missing
    if args.action == "flink":
        return run_income_flink(args, address_of, orders, _progress())
    with address_of() as address:
        return (_chaos if args.action == "chaos" else _income)(args, address, orders)


def _income(args: argparse.Namespace, address: str, orders: Path) -> int:
    from ..spark import income

    result = income(
        address, orders, checkpoint=args.checkpoint, sink=args.sink or SINKS[-1],
        master=args.master, minutes_per_batch=args.minutes_per_batch,
        orders_per_batch=args.orders_per_batch, say=_progress(),
    )  # fmt: skip
    print(_report(result))
    tell("\nwhere the time went\n{}", result.times, file=sys.stderr)
    return exit_code(result, args.allow_rejected)


def _report(result: Result) -> str:
    from ..spark.truth import TOTAL

    return "\n".join(
        [
            "",
            result.table,
            "",
            str(result.account),
            str(result.reconciliation),
            str(TOTAL(result.total, "Spark", result.expected, result.verdict)),
        ]
    )


def _chaos(args: argparse.Namespace, address: str, orders: Path) -> int:
    from ..spark import chaos

    table = chaos(address, orders=orders, hard=not args.soft, master=args.master, say=_progress())
    print(f"\n{table}")
    return 0 if table.as_expected else 1


def _progress() -> Callable[[str], None]:
    """Lines on stderr, with the seconds since the start, so that a pipe gets the result only."""
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line}", file=sys.stderr, flush=True)

    return say
