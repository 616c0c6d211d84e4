"""Three generations of Pulsar's Java client, each from its own published jars, and one story that
they tell: orders become payments in transactions, one of which is aborted (`java/Story.java`).

The class files that they need are those of `pulsar-client` alone, which brings its own copies of
most libraries; no broker is among them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from ...places import CACHE
from .. import jars
from ..program import RealBrokerError

STORY = Path(__file__).parent / "java" / "Story.java"
PATIENCE_S = 120

CLIENTS = jars.Jars(
    product="Pulsar's Java client",
    versions=("2.11.4", "3.0.7", "4.0.8"),
    cache=CACHE / "pulsar-clients",
    pins=Path(__file__).with_name("clients.sha256"),
    landmark="pulsar-client-{version}.jar",
    pom=jars.write_pom("org.apache.pulsar", "pulsar-client"),
)


def tell_story(version: str, address: str, run: str) -> list[str]:
    """What a client of this version has seen, line by line, on topics that begin with `run`.
    Raises RealBrokerError where it came to no end."""
    path = CLIENTS.compile(version, STORY)
    command = ["java", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", path, "Story"]
    done = subprocess.run(
        [*command, address, run], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode:
        raise RealBrokerError(f"client {version}: {done.stderr.strip()[-300:]}")
    return done.stdout.splitlines()
