"""Where programs run, in the words of the house: a broker that several programs share, or a fresh
one for each. A broker's package has a host of the real one, and a host of this project's server.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from mqlab.real.differences import Listed
from mqlab.real.program import Program


class Host(Protocol):
    @property
    def broker(self) -> str:
        """Its name in recordings."""
        ...

    @property
    def at_once(self) -> int:
        """How many brokers of their own may run side by side."""
        ...

    @property
    def listed(self) -> Iterable[Listed]:
        """Where it may answer otherwise than a recording. Each host has its own: what the engine
        leaves out excuses no server, and nothing excuses the real broker."""
        ...

    def share_broker(self, profile: str) -> AbstractContextManager[Any]:
        """A running broker with the setting that the profile needs, for many programs: what the
        broker's labs are opened with."""
        ...

    def own(self, program: Program, profile: str) -> AbstractContextManager[Any]:
        """A broker, or a cluster, for this program only."""
        ...

    def cannot(self, program: Program) -> str:
        """Why this program cannot run here; empty if it can."""
        ...


@dataclass(frozen=True, slots=True)
class RealOne:
    """What all hosts of a real broker have in common: one runs at a time, and nothing is excused.
    `name`: of the broker."""

    name: str
    version: str
    at_once: int = 1
    listed: tuple[Listed, ...] = ()

    @property
    def broker(self) -> str:
        return f"{self.name}-{self.version}"

    def cannot(self, program: Program) -> str:
        if program.version and program.version != self.version:
            return f"it is recorded on {program.version} only"
        return ""
