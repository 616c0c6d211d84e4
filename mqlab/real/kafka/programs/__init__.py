"""One client program for each scenario of the reference that a single client can replay.

A program is a plain function over a `Lab`: it asks, and the lab notes what came back. It
knows neither whether a real Kafka or this project's server answers, nor what the answer
should be: that is what the recordings are for.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ..client import PROFILES, Lab

Run = Callable[[Lab], None]

#: what a program may need besides a broker it shares with others
ALONE = "alone"  # a broker it changes, so nobody else may be there
CONTROL = "control"  # stops and starts the broker
CLUSTER = "cluster"  # three brokers
JAVA = "java"  # the Java client
LIBRARY = "library"  # a client library that is fetched first
SLOW = "slow"  # longer than a minute
FAULT = "fault"  # a fault that only the real broker has


@dataclass(frozen=True, slots=True)
class Program:
    """`name`: of the scenario and its recording; `reference`: Kafka's own test, or where
    the behaviour is described."""

    name: str
    reference: str
    run: Run
    profiles: tuple[str, ...]
    needs: tuple[str, ...] = ()
    version: str = ""
    settings: tuple[tuple[str, str], ...] = ()


_FOUND: dict[str, Program] = {}


def program(
    name: str,
    reference: str,
    *,
    profiles: tuple[str, ...] = tuple(PROFILES),
    needs: tuple[str, ...] = (),
    version: str = "",
    settings: dict[str, str] | None = None,
) -> Callable[[Run], Run]:
    """Register a program. `profiles`: where it makes sense; `version`: the only Kafka it is
    recorded on, "" for any; `settings`: of brokers of its own."""

    def register(run: Run) -> Run:
        if name in _FOUND:
            raise ValueError(f"two programs are called {name}")
        given = tuple((settings or {}).items())
        _FOUND[name] = Program(name, reference, run, profiles, needs, version, given)
        return run

    return register


@cache
def programs() -> dict[str, Program]:
    """Every program, by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_FOUND.items()))


__all__ = [
    "ALONE",
    "CLUSTER",
    "CONTROL",
    "JAVA",
    "LIBRARY",
    "SLOW",
    "Lab",
    "Program",
    "program",
    "programs",
]
