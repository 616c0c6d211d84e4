"""Two-phase commit searched by the explorer and by Spin, in one run: the same states.

python -m tests.models.measure 7          a dictionary of figures, for `mqlab bench`
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mqlab.explore import Verdict, explore
from mqlab.kafka.lesson import LESSON_SYSTEMS
from mqlab.lessons.safeguards import exhaust

from .two_phase import TwoPhase

MODEL = Path(__file__).with_name("two_phase.pml")
ADVICE = "Spin or a C compiler is missing: apt-get install spin gcc"


def kafka(place: int) -> dict[str, str]:
    """Figures of one of the lesson systems."""
    searched = LESSON_SYSTEMS[place]
    return figures(f"kafka, {searched.name}", exhaust(searched))


def figures(name: str, verdict: Verdict) -> dict[str, str]:
    return {
        f"{name}: {verdict.states:,} states": f"{verdict.states / verdict.seconds:,.0f} states/s",
        f"{name}: memory": f"{verdict.memory / verdict.states:,.0f} bytes a state",
    }


def two_phase(managers: int) -> dict[str, str]:
    """Figures of both searches. RuntimeError where they do not agree on the states."""
    model = f"two-phase commit, {managers} managers"
    verdict = explore(TwoPhase(managers))
    told = figures(model, verdict)
    found = spin(managers)
    if found is None:
        return told | {f"{model}: Spin": ADVICE}
    states, seconds = found
    if states != verdict.states:
        raise RuntimeError(f"{model}: Spin has {states:,} states, the explorer {verdict.states:,}")
    return told | {f"{model}: Spin, {states:,} states": f"{states / seconds:,.0f} states/s"}


def spin(managers: int) -> tuple[int, float] | None:
    """States and seconds of Spin's search, without its reduction; None where it is missing."""
    if shutil.which("spin") is None or shutil.which("cc") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:

        def run(*command: str) -> str:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            return done.stdout

        run("spin", "-a", f"-DN={managers}", str(MODEL))
        run("cc", "-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
        started = time.perf_counter()
        told = run("./pan")
        seconds = time.perf_counter() - started
    stored = re.search(r"(\d+) states, stored", told)
    if stored is None or "errors: 0" not in told:
        raise RuntimeError(f"Spin did not finish:\n{told}")
    return int(stored[1]), seconds


if __name__ == "__main__":
    model, _, number = sys.argv[1].partition(":")
    print({"kafka": kafka, "two-phase": two_phase}[model](int(number)))
