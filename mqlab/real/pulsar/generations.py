"""Three generations of Pulsar's Java client, each from its own published jars, its Go client, and
one story that they tell: orders become payments in transactions, one of which is aborted
(`java/Story.java`, `clients/pulsar-client-go`).

The class files that they need are those of `pulsar-client` alone, which brings its own copies of
most libraries; no broker is among them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from ...places import CACHE
from .. import jars
from ..fetched import build_go
from ..program import RealBrokerError

STORY = Path(__file__).parent / "java" / "Story.java"
IN_GO = Path(__file__).parent / "clients" / "pulsar-client-go"
PATIENCE_S = 120

CLIENTS = jars.Jars(
    product="Pulsar's Java client",
    versions=("2.11.4", "3.0.7", "4.0.8"),
    cache=CACHE / "pulsar-clients",
    pins=Path(__file__).with_name("clients.sha256"),
    landmark="pulsar-client-{version}.jar",
    pom=jars.write_pom("org.apache.pulsar", "pulsar-client"),
)


def play_story(version: str, address: str, run: str) -> list[str]:
    """What a Java client of this version has seen, line by line, on topics that begin with `run`.
    Raises RealBrokerError where it came to no end."""
    path = CLIENTS.compile(version, STORY)
    command = ["java", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", path, "Story"]
    return _play(f"client {version}", [*command, address, run])


def play_in_go(address: str, run: str) -> list[str]:
    """The same of the Go client, whose version stands in its go.mod."""
    return _play("the Go client", [build_go(CACHE / "pulsar-go", IN_GO), address, run])


def _play(who: str, command: list[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode:
        raise RealBrokerError(f"{who}: {done.stderr.strip()[-300:]}")
    return done.stdout.splitlines()
