"""Two-phase commit searched by the explorer and by Spin, in one run: the same states.

python -m tests.models.measure 7          a dictionary of figures, for `make bench`
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from mqlab.explore import Budget, Verdict, explore
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from mqlab.registry import system
from mqlab.registry.cases.kafka import LESSON_SYSTEMS
from mqlab.registry.searches import exhaust

MODEL = Path(__file__).with_name("two_phase.pml")
MOST = 100_000_000  # states
ADVICE = "Spin or a C compiler is missing: apt-get install spin gcc"


def kafka(place: int) -> dict[str, str]:
    """Figures of one of the lesson systems."""
    searched = LESSON_SYSTEMS[place]
    system(searched.line)  # loads the broker's modules
    return figures(f"kafka, {searched.name}", lambda: exhaust(searched))[1]


def figures(name: str, search: Callable[[], Verdict]) -> tuple[int, dict[str, str]]:
    """The states of a search, and what they cost. Modules, numpy among them, are loaded before."""
    import_module("mqlab.explore.levels")
    started = time.process_time()
    verdict = search()
    busy = time.process_time() - started
    return verdict.states, {
        f"{name}: {verdict.states:,} states": rate(verdict.states, verdict.seconds, busy),
        f"{name}: memory": f"{verdict.memory / verdict.states:,.0f} bytes a state",
    }


def rate(states: int, seconds: float, busy: float) -> str:
    """By the clock, and by the time a processor was busy: where others use the machine too,
    only the second compares."""
    return f"{states / seconds:,.0f} states/s ({states / busy:,.0f} per CPU second)"


def two_phase(managers: int) -> dict[str, str]:
    """Figures of both searches. RuntimeError where they do not agree on the states."""
    model = f"two-phase commit, {managers} managers"
    every = Budget(states=MOST)
    states, told = figures(model, lambda: explore(TwoPhaseSet(managers=managers), every))
    found = spin(managers)
    if found is None:
        return told | {f"{model}: Spin": ADVICE}
    stored, seconds, busy, whole = found
    if stored != states:
        raise RuntimeError(f"{model}: Spin has {stored:,} states, the explorer {states:,}")
    return told | {
        f"{model}: Spin, {stored:,} states": rate(stored, seconds, busy),
        f"{model}: Spin with its compilers": rate(stored, *whole),
    }


def spin(managers: int) -> tuple[int, float, float, tuple[float, float]] | None:
    """States, seconds and CPU seconds of Spin's search, without its reduction, then both with
    `spin` and the C compiler; None where it is missing."""
    if shutil.which("spin") is None or shutil.which("cc") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:

        def run(*command: str) -> str:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            return done.stdout

        begun, at_first = time.perf_counter(), os.times()
        run("spin", "-a", f"-DN={managers}", str(MODEL))
        run("cc", "-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
        started, before = time.perf_counter(), os.times()
        told = run("./pan")
        seconds, after = time.perf_counter() - started, os.times()
    stored = re.search(r"(\d+) states, stored", told)
    if stored is None or "errors: 0" not in told:
        raise RuntimeError(f"Spin did not finish:\n{told}")
    whole = seconds + started - begun, used(after) - used(at_first)
    return int(stored[1]), seconds, max(used(after) - used(before), 0.01), whole  # a tick, at least


def used(times: os.times_result) -> float:
    """CPU seconds of all processes that were waited for."""
    return times.children_user + times.children_system


if __name__ == "__main__":
    model, _, number = sys.argv[1].partition(":")
    print({"kafka": kafka, "two-phase": two_phase}[model](int(number)))
