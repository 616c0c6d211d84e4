"""Stories in other languages: a program run as it is (`… ADDRESS PREFIX …`), whose lines become
observations. Java's are source files (`java -cp … Story.java`)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..program import RealBrokerError
from .client import Lab
from .jars import class_path

SOURCES = Path(__file__).parent / "java"
CLIENT = "4.3.1"
PATIENCE_S = 150
FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx192m")


def tell(lab: Lab, source: str, *arguments: str) -> None:
    """Run one of our Java stories.

    Raises RealBrokerError where Java is missing or the story comes to no end.
    """
    path = class_path(CLIENT)
    lab.clients["kafka-clients"] = CLIENT
    play(lab, ["java", *FLAGS, "-cp", path, str(SOURCES / source)], *arguments)


def play(lab: Lab, command: Sequence[str], *arguments: str) -> None:
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
