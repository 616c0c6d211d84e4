"""`mqlab bench`: how fast things are on this machine. Figures, never a verdict.

Times depend on the machine and on what else it does; compare medians of one run, not runs.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from .errors import UserError

HELP = "measure: transactions/s, income, import time, the player, the explorer"

ROOT = Path(__file__).parents[2]
SEARCH = "kafka 'app=init; begin; send orders-0 a; send orders-1 b; commit'"
Figures = Iterator[tuple[str, str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"some of: {', '.join(PARTS)} (default: all)"
    )


def run(args: argparse.Namespace) -> int:
    for name in args.parts:
        if name not in PARTS:
            raise UserError(f"no part {name!r} to measure; there are: {', '.join(PARTS)}")
    print(f"{'part':<10} {'figure':<44} value")
    for name, measure in PARTS.items():
        if not args.parts or name in args.parts:
            for figure, value in measure():
                print(f"{name:<10} {figure:<44} {value}", flush=True)
    return 0


def _imports() -> Figures:
    """A new interpreter each time, against one that imports nothing."""

    def seconds(code: str) -> float:
        times = []
        for _ in range(7):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - started)
        return statistics.median(times)

    bare = seconds("pass")
    for module in ("mqlab.kernel", "mqlab.lessons", "mqlab_widgets"):
        yield f"import {module}", f"{(seconds(f'import {module}') - bare) * 1000:.0f} ms"


def _explorer() -> Figures:
    from ..explore import Budget, explore
    from ..lessons.systems import system

    for budget in (Budget(kills=1, killable=("tc",)), Budget(kills=1, killable=("tc",), timers=1)):
        verdict = explore(system(SEARCH), budget)
        rate = verdict.states / verdict.seconds
        yield f"kafka, {budget}: {verdict.states:,} states", f"{rate:,.0f} states/s"


def _server() -> Figures:
    from ..serve import serve
    from ..serve.bench import measured

    with serve() as broker:
        for name, value in measured(broker.address).items():
            yield f"one confluent-kafka client, {name}", f"{value:,.0f}"


def _income() -> Figures:
    from ..serve import serve
    from ..spark.bench import measured

    with serve() as broker:
        found = measured(broker.address)
    for name in ("at-least-once", "exactly-once"):
        yield f"orders/s, {name}", f"{found[name]:,.0f}"
    yield "exactly-once ÷ at-least-once", f"{found['ratio']:.2f}"


def _player() -> Figures:
    """p95 of one step of 2,000 events in Chromium; the measuring page belongs to the tests."""
    if not (ROOT / "tests/widgets/measure.py").exists():
        raise UserError("the player is measured in a checkout with its tests: run `make bench`")
    command = [sys.executable, "-m", "tests.widgets.measure", "2000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"the player could not be measured: {done.stderr.strip()[-300:]}")
    for name, value in ast.literal_eval(done.stdout.strip().splitlines()[-1]).items():
        yield f"2,000 events, {name}", f"{value:g}"


PARTS: dict[str, Callable[[], Figures]] = {
    "imports": _imports,
    "explorer": _explorer,
    "player": _player,
    "server": _server,
    "income": _income,
}
