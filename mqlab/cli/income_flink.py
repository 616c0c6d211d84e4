"""`mqlab income flink`: the same job on Flink, and both jobs killed at the same instants."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UserError

if TYPE_CHECKING:
    from mqlab.spark import job as spark_job
    from mqlab.spark.flink import job as flink_job
    from mqlab.spark.flink.home import Flink

OURS = ("setup", "kill", "record")
SPARKS = ("master", "checkpoint", "minutes_per_batch", "orders_per_batch", "soft")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("flink")
    group.add_argument(
        "--setup", action="store_true", help="fetch PyFlink (830 MB, with pip) and its connector"
    )
    group.add_argument(
        "--kill", action="store_true", help="Spark and Flink, kill -9 at the same instants: a table"
    )
    group.add_argument(
        "--record", action="store_true", help="--kill, and keep the table for lab 11"
    )


def check_arguments(args: argparse.Namespace) -> None:
    """Raises UserError for what the job that was asked for cannot be told."""
    flink = args.action == "flink"
    for name in SPARKS if flink else OURS:
        if getattr(args, name):
            whose = "is not for Flink's job" if flink else "goes with `mqlab income flink`"
            raise UserError(f"--{name.replace('_', '-')} {whose}: leave it out")
    table = args.kill or args.record or args.action == "chaos"
    if table and args.allow_rejected:
        raise UserError("--allow-rejected is for one run, not for a table of kills: leave it out")
    if not (args.kill or args.record):
        return
    if args.bootstrap_server:
        raise UserError(
            "--kill stands between the jobs and a server of this project, which it starts: leave "
            "--bootstrap-server out"
        )
    if args.orders or args.year:
        raise UserError("--kill is over the committed day: leave --orders and --year out")


def run(
    args: argparse.Namespace,
    address_of: Callable[[], AbstractContextManager[str]],
    orders: Path,
    say: Callable[[str], None],
) -> int:
    """As the Spark job's; of the table: 0 where it is as it must be, else 1."""
    flink = _find_flink(args.setup, say)
    if args.setup:
        print("Flink is ready: `mqlab income flink`, `mqlab income flink --kill`")
        return 0
    with address_of() as address:
        if args.kill or args.record:
            return _kill(flink, address, args.record, say)
        from mqlab.spark.flink.job import income

        result = income(flink, address, orders, sink=args.sink, say=say)
    print(f"\n{result}")
    return exit_code(result, args.allow_rejected)


def exit_code(result: spark_job.Result | flink_job.Result, allowed: int) -> int:
    """0 equal; 3 equal, with more rejected lines than are allowed; 1 not equal."""
    if not result.right:
        return 1
    return 3 if len(result.account.rejected) > allowed else 0


def _find_flink(make: bool, say: Callable[[str], None]) -> Flink:
    """Raises UserError or IncomeError that says what is missing and how to get it."""
    from mqlab.real.kafka.flink import JARS
    from mqlab.real.program import RealBrokerError
    from mqlab.spark.flink.home import Flink, find_python, make_python
    from mqlab.spark.flink.statements import VERSION

    if why := JARS.find_missing():
        raise UserError(why)
    python = make_python(say) if make else find_python()
    try:
        return Flink(python, Path(JARS.class_path(VERSION)))
    except RealBrokerError as error:
        raise UserError(str(error)) from error


def _kill(flink: Flink, address: str, record: bool, say: Callable[[str], None]) -> int:
    from mqlab.spark.flink.trials import kill_both

    table = kill_both(flink, address, say)
    if record:
        from mqlab.recordings.recording import write_checksums
        from mqlab.spark.flink.table import RECORDING

        RECORDING.parent.mkdir(parents=True, exist_ok=True)
        RECORDING.write_text(table.to_json(), "utf-8")
        write_checksums()
    print(f"\n{table}")
    return 0 if table.as_expected else 1
