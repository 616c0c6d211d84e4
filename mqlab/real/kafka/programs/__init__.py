"""One client program for each scenario of the reference that a single client can replay.

A program is a plain function over a `Lab`: it asks, and the lab notes what came back. It
knows neither whether a real Kafka or this project's server answers, nor what the answer
should be: that is what the recordings are for.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from ...program import ALONE, CLUSTER, CONTROL, FAULT, JAVA, LIBRARY, SLOW, Program
from ..client import PROFILES, Lab

Run = Callable[[Lab], None]

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
    "FAULT",
    "JAVA",
    "LIBRARY",
    "SLOW",
    "Lab",
    "Program",
    "program",
    "programs",
]
