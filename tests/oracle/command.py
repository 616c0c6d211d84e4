"""The tasks of `mqlab real NAME` that ask recorded programs. What depends on a broker is in its
`<broker>/suite.py`:

    ORACLE                            its `Oracle`
    VERSION                           the one that is compared where none is named
    choose_levels(args)               the levels wanted; () for all
    RealHost(version), OurHost()      where programs run
    PAGE, page()                      the page of differences, and its text
    open_priced(version)              a broker whose transactions are counted
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from mqlab.cli.language import tell
from mqlab.real.program import RealBrokerError
from mqlab.recordings.costs import Costs, load_costs
from mqlab.recordings.costs import save as save_costs
from mqlab.recordings.recording import save, write_checksums
from mqlab.registry.cases.prices import BULK
from mqlab.registry.prices import list_real_reasons, tabulate_real
from mqlab.registry.tables import columns

from .compare import judge, read_recordings, summarise
from .measuring import measure
from .runner import run_all, select_programs


def suite_of(broker: str) -> Any:
    return import_module(f".{broker}.suite", __package__)


def record(args: argparse.Namespace) -> int:
    """Recordings of the real broker; one that came to no end keeps its old file."""
    suite, failed = suite_of(args.broker), 0
    every = select_programs(suite.ORACLE, args.scenarios, suite.choose_levels(args))
    for program, profile, seen in run_all(suite.ORACLE, every, suite.RealHost(args.version)):
        if isinstance(seen, Exception):
            failed += 1
            why = f"{type(seen).__name__}: {seen}"
            tell("FAILED     {}/{}: {}", profile, program.name, why, flush=True)
        else:
            save(seen)
            tell("recorded   {}/{}", profile, program.name, flush=True)
    write_checksums()
    return 1 if failed else 0


def compare(args: argparse.Namespace) -> int:
    """Exit code 0: nothing unexpected."""
    suite = suite_of(args.broker)
    known = read_recordings(suite.ORACLE, args.version)
    host = suite.RealHost(args.version) if args.real else suite.OurHost()
    outcomes = []
    every = select_programs(suite.ORACLE, args.scenarios, suite.choose_levels(args))
    if args.version != suite.VERSION:  # of another version there is only what differs
        every = [(p, profile) for p, profile in every if f"{profile}/{p.name}" in known]
    for came in run_all(suite.ORACLE, every, host):
        outcomes.append(judge(came, known, host.listed))
        print(outcomes[-1].text(), flush=True)
        if args.lines and outcomes[-1].beside:
            print(outcomes[-1].beside, flush=True)
    print(summarise(outcomes))
    if args.page:
        suite.PAGE.write_text(suite.page(), "utf-8")
    return int(any(outcome.verdict == "DIFFERENT" for outcome in outcomes))


def count_cost(args: argparse.Namespace) -> int:
    """Counts again what a transaction costs, keeps it, and prints it beside the engine's count;
    where no real broker can be had, what was counted last."""
    try:
        costs = measure(suite_of(args.broker).open_priced(args.version))
    except RealBrokerError as error:
        if args.broker in (known := load_costs()):
            print_costs({args.broker: known[args.broker]})
        raise RealBrokerError(
            "nothing was counted now; above is the recording: {}", error
        ) from error
    save_costs(costs)
    write_checksums()
    print_costs({args.broker: costs})
    return 0


def print_costs(costs: Mapping[str, Costs]) -> None:
    for row in costs[next(iter(costs))].rows:
        size = row.partitions, row.orders
        print(columns(tabulate_real(BULK, costs, *size)))
        print(*list_real_reasons(BULK, costs, *size), "", sep="\n")


TASKS = {"record": record, "compare": compare, "cost": count_cost}
