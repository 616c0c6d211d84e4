"""The programs of a broker, what they may need, and what they run on. The house looks at the notes
of a program's lab only. A program is called as its function is: `basic_commit`, basic-commit.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, TypeVar

from mqlab.real.program import Program
from mqlab.recordings.recording import Observation

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


@dataclass
class Programs:
    """A broker's programs. `package`: whose modules they stand in, and register when these are
    imported; `profiles`: where one makes sense that names none; `needs`: of each of them."""

    package: str
    profiles: tuple[str, ...]
    needs: tuple[str, ...] = ()
    _known: dict[str, Program] = field(default_factory=dict)

    def register(
        self,
        reference: str,
        *,
        name: str = "",
        profiles: tuple[str, ...] = (),
        needs: tuple[str, ...] = (),
        version: str = "",
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> Callable[[R], R]:
        """What makes a program of the function below it; the fields are those of a `Program`.
        `name`: that of the function where none is given, with hyphens. Raises ValueError for a name
        that another one has."""

        def keep(run: R) -> R:
            called = name or run.__name__.replace("_", "-")
            where, given = profiles or self.profiles, tuple(settings.items())
            all_needs = (*self.needs, *needs)
            self.add(Program(called, reference, run, where, all_needs, version, given))
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
    """A running broker, in the words of the broker's package."""

    @property
    def broker(self) -> str:
        """Its name in recordings: "kafka-4.3.1" or "mqlab"."""
        ...


class NotHere(Exception):
    """What a program needs is not on this machine; the message says what."""
