"""`mqlab real NAME start|record|compare|cost`: a real broker, and the engine beside it.

What depends on a broker is in a module of its own, which is imported when it is named:

    VERSION                        the default version
    add_arguments(parser)          further options
    start_broker(args)             serve until it is stopped

Recorded programs are in a clone's tests, and so are the tasks that ask them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..brokers import find_broker, list_brokers, load
from ..kernel.text import Words, tr
from .errors import as_user_error
from .language import add_flag

HELP = "start a real broker, record its answers and costs, and compare the engine with it"


TASKS = ("start", "record", "compare", "cost")


class AnyOrder(argparse.ArgumentParser):
    """Names may come before an option or after it; by itself argparse takes the task for the
    end of the names when an option follows it."""

    _splitting = False

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        if self._splitting:  # Python 3.11 comes back here, first for options, then for names
            return super().parse_known_args(args, namespace)
        self._splitting = True
        # argparse itself cuts "usage: " off by its length, which is another one in Chinese.
        self.usage = self.usage or self.format_usage().removeprefix(str(tr("usage: ")))
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._splitting = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare a subcommand for each broker: the task, the recorded programs, and the broker's own
    options (its module's `add_arguments`)."""
    brokers = parser.add_subparsers(
        dest="broker", metavar="NAME", required=True, parser_class=AnyOrder
    )
    for name, broker in list_brokers("real").items():
        module = module_of(name)
        command = brokers.add_parser(name, help=str(Words("a real {}")(broker.title)))
        command.add_argument("task", choices=TASKS, help="what to do")
        command.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="only these programs")
        command.add_argument(
            "--version", default=module.VERSION, help="release of the broker (default: %(default)s)"
        )
        add_flag(command, "--real", help="compare: run the programs on the real broker again")
        add_flag(command, "--page", help="compare: write the page of differences as well")
        add_flag(command, "--lines", help="compare: print every line of both, side by side")
        module.add_arguments(command)


def module_of(name: str) -> Any:
    return load(find_broker(name).real)


def run(args: argparse.Namespace) -> int:
    from ..real.program import RealBrokerError
    from ..real.suite import load_suite

    with as_user_error(RealBrokerError, ValueError):
        if args.task == "start":
            module_of(args.broker).start_broker(args)
            return 0
        status: int = load_suite("command").TASKS[args.task](args)
        return status
