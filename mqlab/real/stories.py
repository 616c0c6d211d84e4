"""Stories in other languages: a program run as it is (`… ADDRESS PREFIX …`), whose lines become
observations. Java's are source files (`java -cp … Story.java`)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .program import RealBrokerError

PATIENCE_S = 150
JAVA_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx192m")


def play(lab: Any, command: Sequence[str], *arguments: str) -> None:
    """Run a story; every line it prints (who, call, result) is noted.

    Raises RealBrokerError where it comes to no end, or to a bad one.
    """
    name = Path(command[-1]).name
    whole = [*command, lab.target.address, lab.prefix, *arguments]
    try:
        done = subprocess.run(
            whole, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RealBrokerError(f"{name} {' '.join(arguments)} did not end") from error
    for line in done.stdout.splitlines():
        parts = line.split("\t")
        if len(parts) == 3:
            lab.note(parts[0], "broker", parts[1], parts[2])
    if done.returncode != 0:
        raise RealBrokerError(f"{name}: {done.stderr.strip()[-600:]}")
