"""A program that asks a broker, what it may need, and what stops it.

A program knows neither whether a real broker or this project's server answers, nor what the
answer should be: that is what the recordings are for. What it asks through (its `Lab`) is the
broker's own; the house looks at its notes only.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ..recordings.recording import Observation

R = TypeVar("R", bound=Callable[..., None])

#: what a program may need besides a broker it shares with others
ALONE = "alone"  # a broker it changes, so nobody else may be there
CONTROL = "control"  # stops and starts the broker
CLUSTER = "cluster"  # several brokers
JAVA = "java"  # the Java client
LIBRARY = "library"  # a client library that is fetched first
SLOW = "slow"  # longer than a minute
FAULT = "fault"  # a fault that only the real broker has
#: needs of a program that shares its broker with nobody
OWN = frozenset({CONTROL, CLUSTER})


@dataclass(frozen=True, slots=True)
class Program:
    """`name`: of the scenario and its recording; `reference`: the broker's own test, or where
    the behaviour is described; `run` is given the broker's lab; `profiles`: where it makes
    sense; `version`: the only one it is recorded on, "" for any; `settings`: of brokers of its
    own."""

    name: str
    reference: str
    run: Callable[[Any], None]
    profiles: tuple[str, ...]
    needs: tuple[str, ...] = ()
    version: str = ""
    settings: tuple[tuple[str, str], ...] = ()


@dataclass
class Programs:
    """A broker's programs. `package`: whose modules they stand in, and register when these are
    imported."""

    package: str
    _known: dict[str, Program] = field(default_factory=dict)

    def register(self, make: Callable[[R], Program]) -> Callable[[R], R]:
        """What makes a program of the function below it. Raises ValueError for a name that
        another one has."""

        def keep(run: R) -> R:
            self.add(make(run))
            return run

        return keep

    def add(self, program: Program) -> None:
        """Raises ValueError for a name that another one has."""
        if program.name in self._known:
            raise ValueError(f"two programs are called {program.name}")
        self._known[program.name] = program

    def load(self) -> dict[str, Program]:
        """Every program, by name."""
        for module in pkgutil.iter_modules(importlib.import_module(self.package).__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        return dict(sorted(self._known.items()))


class Lab(Protocol):
    """One run of one program: what it noted, and what spoke for it (name → version, "" for that
    of the installed package)."""

    notes: list[Observation]
    clients: dict[str, str]

    def close(self) -> None: ...


class Target(Protocol):
    """A running broker, in the words of the broker's room."""

    @property
    def broker(self) -> str:
        """Its name in recordings: "kafka-4.3.1" or "mqlab"."""
        ...


class NotOffered(Exception):
    """The broker does not know a request without which the program makes no sense."""


class NotHere(Exception):
    """What a program needs is not on this machine; the message says what."""


class RealBrokerError(Exception):
    """A real broker cannot be had or did not start; the message says what to do."""
