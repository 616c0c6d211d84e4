"""Stories that another process tells: a program run as it is (`… ADDRESS PREFIX …`), whose lines
become observations or a history. Java's are source files (`java -cp … Story.java`)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .processes import end_with_parent
from .program import RealBrokerError

PATIENCE_S = 150
HISTORY_S = 600
JAVA_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx192m")


def play(lab: Any, command: Sequence[str], *arguments: str) -> None:
    """Run a client library's program (`command`; it gets address, prefix and `arguments`) against
    the broker of `lab` (a `Lab`), and note each line that it prints as an observation: who, call
    and result, with tabs between. Other lines are passed over.

    Raises RealBrokerError where it does not end in PATIENCE_S, or ends with an error.
    """
    name = Path(command[-1]).name
    command_line = [*command, lab.target.address, lab.prefix, *arguments]
    try:
        finished = subprocess.run(
            command_line, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RealBrokerError("{} {} did not end", name, " ".join(arguments)) from error
    for line in finished.stdout.splitlines():
        parts = line.split("\t")
        if len(parts) == 3:
            lab.note(parts[0], "broker", parts[1], parts[2])
    if finished.returncode != 0:
        raise RealBrokerError(f"{name}: {finished.stderr.strip()[-600:]}")


def write_history(command: Sequence[str], *arguments: str) -> None:
    """Run a program that writes a history until it is over. Raises RealBrokerError where it comes
    to no end, or to a bad one; what it has written by then is in its file."""
    try:
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True, text=True, timeout=HISTORY_S, check=False,
            preexec_fn=end_with_parent,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise RealBrokerError("the cluster did not answer within {} s", HISTORY_S) from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if re.search(r"Exception|:", line)]
        why = next((line for line in lines if "Exception" in line), lines[-1] if lines else "")
        raise RealBrokerError("the Java client ended early: {}", why.strip()[:300])
