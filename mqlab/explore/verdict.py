"""What a search found."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..kernel.run import replay
from ..kernel.system import System
from ..kernel.trace import Trace
from .budget import Budget


@dataclass(frozen=True)
class Counterexample:
    """A shortest schedule that breaks a property; `trace()` is that run."""

    system: System
    property: str
    schedule: tuple[str, ...]

    def trace(self) -> Trace:
        return replay(self.system, self.schedule)


@dataclass(frozen=True)
class Verdict:
    """What a search found, with its bounds. `complete`: every schedule within the budget
    was looked at. `seconds` and `memory` (bytes; 0 where the system does not tell) are left
    out of comparisons: they are never the same twice."""

    system: System
    budget: Budget
    states: int
    transitions: int
    complete: bool
    counterexamples: dict[str, Counterexample]
    missing: tuple[str, ...]
    seconds: float = field(compare=False)
    memory: int = field(default=0, compare=False)

    @property
    def ok(self) -> bool:
        return not self.counterexamples and not self.missing

    def __str__(self) -> str:
        within = f"{self.states:,} states, {self.transitions:,} transitions ({self.budget})"
        lines = [
            f"violated: {name}, in {len(found.schedule)} choices"
            for name, found in self.counterexamples.items()
        ]
        lines += [f"never reached: {name}" for name in self.missing]
        if not self.complete:
            return "\n".join([*lines, f"not exhaustive: {within}"])
        return "\n".join([*lines, f"complete within {within}"])
