"""`make bench`: the parts, and what each prints."""

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

from mqlab.brokers import list_brokers, load
from mqlab.places import ROOT

from . import kafka, pulsar, rocketmq, sinks
from .servers import measure_cold_start, measure_in_turns

#: the kernel alone, a lab's own module, a picture, a server with its broker
IMPORTS = "mqlab.kernel mqlab.lessons.kafka.lab06 mqlab_widgets mqlab.serve.kafka.adapter"
REAL = {
    "kafka": "mqlab.real.kafka.broker:RealKafka",
    "pulsar": "mqlab.real.pulsar.broker:RealPulsar",
    "rocketmq": "mqlab.real.rocketmq.broker:RealRocketMQ",
}
FIGURES = {"kafka": kafka.FIGURES, "pulsar": pulsar.FIGURES, "rocketmq": rocketmq.FIGURES}
Figures = Iterator[tuple[str, Any]]


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
    for what in ("kafka:0", "kafka:2", "two-phase:7", "two-phase:9"):
        yield from _measured("tests.models.measure", what)


def _measured(module: str, argument: str) -> Figures:
    """What a measuring module prints at its end: a dictionary of figures."""
    command = [sys.executable, "-m", module, argument]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[1:])} failed: {done.stderr.strip()[-300:]}")
    yield from ast.literal_eval(done.stdout.strip().splitlines()[-1]).items()


def _server(real_addresses: dict[str, str]) -> Figures:
    """Yield what a client measures with each broker's `mqlab serve` and, in turns with it, with the
    real broker at the address in `real_addresses` (by broker's name; "": no real one). Each is a
    figure's name and its value in words."""
    for name in list_brokers("serve"):
        real = real_addresses[name]
        with load(f"mqlab.serve.{name}:serve")() as broker:
            addresses = (broker.address, *filter(None, [real]))
            measurements = measure_in_turns(FIGURES[name], *addresses)
        for figure, values in measurements.items():
            # Without a real broker there is one value.
            for server, value in zip((f"mqlab serve {name}", real), values, strict=False):
                yield f"{server}, {figure}", f"{value:,.0f}"


def _start() -> Figures:
    """Every broker from nothing to a first committed transaction; a real one beside it where
    Java is there and its jars have been fetched (`mqlab real NAME start` does that)."""
    for name in list_brokers("serve"):
        transact: Callable[..., float] = next(iter(FIGURES[name].values()))
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
    for name in list_brokers("serve"):
        sizes = "100,300,1000" if name == "rocketmq" else "100,1000,4000"
        for figure, value in _measured(f"tests.serve.{name}.many", sizes):
            yield f"{name}, {figure}", value


def _income() -> Figures:
    with load("mqlab.serve.kafka:serve")() as broker:
        figures = sinks.measure_sinks(broker.address)
    for name in ("at-least-once", "exactly-once"):
        yield f"orders/s, {name}", f"{figures[name]:,.0f}"
    yield "exactly-once ÷ at-least-once", f"{figures['ratio']:.2f}"


def _player() -> Figures:
    """p95 of one step of 2,000 events in Chromium, and the first displays of JupyterLab."""
    for name, value in _measured("tests.widgets.measure", "2000"):
        yield f"2,000 events, {name}", f"{value:g}"
    for name, value in _measured("tests.browser.measure", "5"):
        yield f"JupyterLab, {name}", f"{value:g}"


PARTS: dict[str, Callable[[dict[str, str]], Figures]] = {
    "imports": lambda _: _imports(),
    "explorer": lambda _: _explorer(),
    "player": lambda _: _player(),
    "server": _server,
    "start": lambda _: _start(),
    "many": lambda _: _many(),
    "income": lambda _: _income(),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)} (default: all)"
    )
    for name in list_brokers("serve"):
        parser.add_argument(
            f"--{name}", metavar="ADDRESS", default="", help="server: this real one too, in turns"
        )
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no part {sorted(unknown)[0]!r}; there are {', '.join(PARTS)}")
    print(f"{'part':<10} {'figure':<62} value")
    for part in asked.parts:
        for figure, value in PARTS[part](vars(asked)):
            print(f"{part:<10} {figure:<62} {value}", flush=True)


if __name__ == "__main__":
    main()
