"""`mqlab real NAME start|record|compare|cost`: a real broker, and the engine beside it.

What depends on a broker stands in a module of its own, which is imported when it is named:

    VERSION                        the one that is taken where none is named
    add_arguments(parser)          what else it can be told
    start_broker(args)             serve until somebody stops it
    oracle()                       its `Oracle`
    levels(args)                   the levels wanted; () for all
    real_host(args), our_host(args)   where programs run
    write_page()                   the page of differences
    open_priced(args)              a broker whose transactions are counted
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..brokers import find_broker, list_brokers, load
from ..registry.prices import list_real_reasons, tabulate_real
from .errors import UserError

HELP = "start a real broker, record what it answers and costs, compare the engine with it"


TASKS = ("start", "record", "compare", "cost")


class AnyOrder(argparse.ArgumentParser):
    """Names may stand before an option or behind it; by itself argparse takes the task for the
    end of the names when an option follows it."""

    _splitting = False

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        if self._splitting:  # Python 3.11 comes back here, first for options, then for names
            return super().parse_known_args(args, namespace)
        self._splitting = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._splitting = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = parser.add_subparsers(
        dest="broker", metavar="NAME", required=True, parser_class=AnyOrder
    )
    for name, broker in list_brokers("real").items():
        room = room_of(name)
        one = names.add_parser(name, help=f"a real {broker.title}")
        one.add_argument("task", choices=TASKS, help="what to do")
        one.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="only these")
        one.add_argument(
            "--version", default=room.VERSION, help=f"of the broker (default: {room.VERSION})"
        )
        one.add_argument("--real", action="store_true", help="compare: the real broker again")
        one.add_argument(
            "--page", action="store_true", help="compare: write the page of differences too"
        )
        one.add_argument(
            "--lines", action="store_true", help="compare: every line of both, side by side"
        )
        room.add_arguments(one)


def room_of(name: str) -> Any:
    return load(find_broker(name).real)


def run(args: argparse.Namespace) -> int:
    from mqlab.real.program import RealBrokerError

    tasks = {"start": _start, "record": _record, "compare": _compare, "cost": _cost}
    try:
        return tasks[args.task](room_of(args.broker), args)
    except (RealBrokerError, ValueError) as error:
        raise UserError(str(error)) from error


def _start(room: Any, args: argparse.Namespace) -> int:
    room.start_broker(args)
    return 0


def _record(room: Any, args: argparse.Namespace) -> int:
    """Recordings of the real broker; one that came to no end keeps its old file."""
    from mqlab.real.recording import save, write_checksums
    from mqlab.real.runner import run_all, select_programs

    oracle, failed = room.oracle(), 0
    every = select_programs(oracle, args.scenarios, room.levels(args))
    for program, profile, seen in run_all(oracle, every, room.real_host(args)):
        if isinstance(seen, Exception):
            failed += 1
            print(f"FAILED     {profile}/{program.name}: {type(seen).__name__}: {seen}", flush=True)
        else:
            save(seen)
            print(f"recorded   {profile}/{program.name}", flush=True)
    write_checksums()
    return 1 if failed else 0


def _compare(room: Any, args: argparse.Namespace) -> int:
    """Exit code 0: nothing unexpected."""
    from mqlab.real.compare import judge, read_recordings, summarise
    from mqlab.real.runner import run_all, select_programs

    oracle = room.oracle()
    known = read_recordings(oracle, args.version)
    host = room.real_host(args) if args.real else room.our_host(args)
    outcomes = []
    every = select_programs(oracle, args.scenarios, room.levels(args))
    if args.version != room.VERSION:  # of another version there is only what differs
        every = [(p, profile) for p, profile in every if f"{profile}/{p.name}" in known]
    for came in run_all(oracle, every, host):
        outcomes.append(judge(came, known, host.listed))
        print(outcomes[-1].text(), flush=True)
        if args.lines and outcomes[-1].beside:
            print(outcomes[-1].beside, flush=True)
    print(summarise(outcomes))
    if args.page:
        room.write_page()
    return int(any(outcome.verdict == "DIFFERENT" for outcome in outcomes))


def _cost(room: Any, args: argparse.Namespace) -> int:
    """Counts again what a transaction costs, keeps it, and prints it beside the engine's count;
    where no real broker can be had, what was counted last."""
    from mqlab.real.costs import load_costs, save
    from mqlab.real.measuring import measure
    from mqlab.real.program import RealBrokerError
    from mqlab.real.recording import write_checksums

    try:
        costs = measure(room.open_priced(args))
    except RealBrokerError as error:
        if args.broker in (known := load_costs()):
            _print_costs({args.broker: known[args.broker]})
        raise UserError(f"nothing was counted now, above is the recording: {error}") from error
    save(costs)
    write_checksums()
    _print_costs({args.broker: costs})
    return 0


def _print_costs(costs: Any) -> None:
    from ..registry.cases.prices import BULK
    from ..registry.tables import columns

    for row in costs[next(iter(costs))].rows:
        size = row.partitions, row.orders
        print(columns(tabulate_real(BULK, costs, *size)))
        print(*list_real_reasons(BULK, costs, *size), "", sep="\n")
