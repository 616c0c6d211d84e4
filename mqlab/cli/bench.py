"""`mqlab bench`: how fast things are on this machine. Figures, never a verdict.

Times depend on the machine and on what else it does; compare medians of one execution, not
executions.
"""

from __future__ import annotations

import argparse
import ast
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..brokers import list_brokers
from ..kernel.text import Words, say_unknown, tr
from ..places import ROOT
from ..registry.tables import pad
from .errors import UserError

HELP = "measure how fast the server, the Spark job, the search and the player are on this machine"

#: the kernel alone, a lab's own module, a picture, a server with its broker
IMPORTS = "mqlab.kernel mqlab.lessons.kafka.lab06 mqlab_widgets mqlab.serve.kafka.adapter"
REAL = {
    "kafka": "mqlab.real.kafka.broker:RealKafka",
    "pulsar": "mqlab.real.pulsar.broker:RealPulsar",
    "rocketmq": "mqlab.real.rocketmq.broker:RealRocketMQ",
}
Figures = Iterator[tuple[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=str(Words("what to measure: {} (default: all)")(", ".join(PARTS))),
    )
    for name in list_brokers("serve"):
        parser.add_argument(
            f"--{name}",
            metavar="ADDRESS",
            default="",
            help="server: measure this real broker too, in turns "
            "(`mqlab real NAME start` starts one)",
        )


def run(args: argparse.Namespace) -> int:
    for name in args.parts:
        if name not in PARTS:
            raise UserError(say_unknown("part", name, PARTS))
    print(pad(str(tr("part", "bench")), 10), pad(str(tr("figure", "bench")), 62), tr("value"))
    for name, measure in PARTS.items():
        if not args.parts or name in args.parts:
            others = {broker: getattr(args, broker) for broker in list_brokers("serve")}
            for figure, value in _server(others) if name == "server" else measure():
                print(f"{name:<10} {figure:<62} {value}", flush=True)
    return 0


def _imports() -> Figures:
    """Yield how many ms each module of IMPORTS takes to import: the median of seven new
    interpreters, less that of one that imports nothing. Their bytecode is written before, as it is
    for all who start a program the second time."""
    with tempfile.TemporaryDirectory() as bytecode_folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode_folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def median_seconds(code: str) -> float:
            command = [sys.executable, "-c", code]
            subprocess.run(command, env=environment, check=True)  # which writes the bytecode
            times = []
            for _ in range(7):
                began = time.perf_counter()
                subprocess.run(command, env=environment, check=True)
                times.append(time.perf_counter() - began)
            return statistics.median(times)

        bare = median_seconds("pass")
        for module in IMPORTS.split():
            yield f"import {module}", f"{(median_seconds(f'import {module}') - bare) * 1000:.0f} ms"


def _explorer() -> Figures:
    """Two Kafka systems of the lessons, then the model whose states are known, twice. A
    process each: memory that an earlier search gave back would not be counted."""
    if not (ROOT / "tests/models/measure.py").exists():
        raise UserError("the explorer is measured in a checkout with its tests: run `make bench`")
    for what in ("kafka:0", "kafka:2", "two-phase:7", "two-phase:9"):
        yield from _measured("tests.models.measure", what, "the explorer")


def _measured(module: str, argument: str, what: str) -> Figures:
    """What a measuring module of the tests prints at its end: a dictionary of figures."""
    command = [sys.executable, "-m", module, argument]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError("{} could not be measured: {}", what, done.stderr.strip()[-300:])
    yield from ast.literal_eval(done.stdout.strip().splitlines()[-1]).items()


def _server(real_addresses: dict[str, str]) -> Figures:
    """Yield what a client measures with each broker's `mqlab serve` and, in turns with it, with the
    real broker at the address in `real_addresses` (by broker's name; "" or none: no real one). Each
    is a figure's name and its value in words. UserError where a server cannot be measured."""
    from ..brokers import load
    from ..serve.bench import measure_in_turns

    for name in list_brokers("serve"):
        real = real_addresses.get(name, "")
        figures = load(f"mqlab.serve.{name}.bench:FIGURES")
        with load(f"mqlab.serve.{name}:serve")() as broker:
            try:
                measurements = measure_in_turns(figures, broker.address, *filter(None, [real]))
            except (OSError, ValueError) as error:
                where = f"--{name} {real}" if real else f"mqlab serve {name}"
                raise UserError(f"{where}: {error}") from error
        for figure, values in measurements.items():
            # Without a real broker there is one value.
            for server, value in zip((f"mqlab serve {name}", real), values, strict=False):
                yield f"{server}, {figure}", f"{value:,.0f}"


def _start() -> Figures:
    """Every broker from nothing to a first committed transaction; a real one beside it where
    Java is there and its jars have been fetched (`mqlab real NAME start` does that)."""
    from ..brokers import load
    from ..serve.bench import measure_cold_start

    for name in list_brokers("serve"):
        transact = next(iter(load(f"mqlab.serve.{name}.bench:FIGURES").values()))
        brokers = {f"mqlab serve {name}": load(f"mqlab.serve.{name}:serve")}
        jars, real = load(f"mqlab.real.{name}.jars:JARS"), load(REAL[name])
        if jars.is_here(jars.versions[0]) and not jars.find_missing():
            brokers[f"real {name}"] = real
        for who, begin in brokers.items():
            seconds, mib = measure_cold_start(begin, transact)
            yield f"{who}, start to the first commit", f"{seconds:.1f} s, {mib:,.0f} MiB"


def _many() -> Figures:
    """One request to each `mqlab serve` that names 100, 1,000 and 4,000 things (RocketMQ: at most
    1,000, the queues of a topic), of each kind of request that can: what one of them costs. It must
    not grow with their number. Larger requests are refused at once."""
    if not (ROOT / "tests/serve/many.py").exists():
        raise UserError("requests are measured in a checkout with its tests: run `make bench`")
    for name in list_brokers("serve"):
        sizes = "100,300,1000" if name == "rocketmq" else "100,1000,4000"
        for figure, value in _measured(f"tests.serve.{name}.many", sizes, "what many cost"):
            yield f"{name}, {figure}", value


def _income() -> Figures:
    from ..serve.kafka import serve
    from ..spark.bench import measure_sinks

    with serve() as broker:
        figures = measure_sinks(broker.address)
    for name in ("at-least-once", "exactly-once"):
        yield f"orders/s, {name}", f"{figures[name]:,.0f}"
    yield "exactly-once ÷ at-least-once", f"{figures['ratio']:.2f}"


def _player() -> Figures:
    """p95 of one step of 2,000 events in Chromium; the measuring page belongs to the tests."""
    if not (ROOT / "tests/widgets/measure.py").exists():
        raise UserError("the player is measured in a checkout with its tests: run `make bench`")
    for name, value in _measured("tests.widgets.measure", "2000", "the player"):
        yield f"2,000 events, {name}", f"{value:g}"
    for name, value in _measured("tests.browser.measure", "5", "the first diagram"):
        yield f"JupyterLab, {name}", f"{value:g}"


PARTS: dict[str, Callable[[], Figures]] = {
    "imports": _imports,
    "explorer": _explorer,
    "player": _player,
    "server": lambda: _server({}),
    "start": _start,
    "many": _many,
    "income": _income,
}
