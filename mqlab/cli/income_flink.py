"""`mqlab income flink`: the same job on Flink."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UserError

if TYPE_CHECKING:
    from mqlab.spark.flink.home import Flink

OURS = ("setup",)
SPARKS = ("master", "checkpoint", "minutes_per_batch", "orders_per_batch", "soft")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("flink")
    group.add_argument(
        "--setup", action="store_true", help="fetch PyFlink (830 MB, with pip) and its connector"
    )


def check_arguments(args: argparse.Namespace) -> None:
    """Raises UserError for what the job that was asked for cannot be told."""
    flink = args.action == "flink"
    for name in SPARKS if flink else OURS:
        if getattr(args, name):
            whose = "is not for Flink's job" if flink else "goes with `mqlab income flink`"
            raise UserError(f"--{name.replace('_', '-')} {whose}: leave it out")


def run(
    args: argparse.Namespace,
    address_of: Callable[[], AbstractContextManager[str]],
    orders: Path,
    say: Callable[[str], None],
) -> int:
    """0 where the result is the one computed without Flink."""
    flink = _find_flink(args.setup, say)
    if args.setup:
        print("Flink is ready: `mqlab income flink`")
        return 0
    with address_of() as address:
        from mqlab.spark.flink.job import income

        result = income(flink, address, orders, sink=args.sink, say=say)
    print(f"\n{result}")
    return 0 if result.right else 1


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
