"""What a search found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..kernel.run import Run
from ..kernel.system import Property, System
from ..kernel.text import NOTHING, Text, Words, tr
from ..kernel.trace import Trace
from .budget import Budget

IDLE = Words("nobody calls anything here: give a client its calls, as in '{client}=CALL; CALL'")

NO_TIMER = tr(
    "no timer may run out in this search, so nothing is tried again: see --retries, --timers"
)
VIOLATED = Words("violated: {}, in {} choices")
NEVER = Words("never reached: {}")
COMPLETE = Words("complete within {:,} states, {:,} transitions ({})")
PARTLY = Words("not exhaustive: {:,} states, {:,} transitions ({}){}")


def name_claim(name: str) -> Text:
    """A claim's name; before it, where Chinese is spoken, what it is called there."""
    zh = tr(name, "claim").zh
    return Text(name, f"{zh}（{name}）" if zh else "")


def say_idle(system: System) -> Text:
    """Of a system that has clients, none of which calls anything; else nothing. What runs by itself
    has no clients."""
    programs = {spec.name: spec.program for spec in system.nodes() if spec.program is not None}
    if not programs or any(programs.values()):
        return NOTHING
    return IDLE(client=next(iter(programs)))


@dataclass(frozen=True)
class Counterexample:
    """A shortest schedule that breaks a property; `trace()` is that execution. `claim`: the
    property itself, for `trace()`."""

    system: System
    property: str
    schedule: tuple[str, ...]
    claim: Property = field(compare=False, repr=False)

    def trace(self) -> Trace:
        """The execution. The claim is its first light, red from the fact that breaks it; from the
        last fact where none shows it, for a world does not show that it leads nowhere good."""
        lit = self.claim
        if lit.kind == "can_always":
            lit = replace(lit, holds=lambda world: True)
        run = Run(self.system, claims=(lit,))
        for choice in self.schedule:
            run.do(choice)
        trace = run.trace
        *before, last = trace.snapshots
        light, *others = last.lights
        last = replace(last, lights=(replace(light, ok=False), *others))
        return replace(trace, snapshots=(*before, last))


@dataclass(frozen=True)
class Verdict:
    """What a search found, with its bounds. `complete`: every schedule within the budget was looked
    at; if not, `ended` says why. `seconds` and `memory` (bytes; 0 where the system does not report
    it) are left out of comparisons: they are never the same twice. `states`, `transitions`: how
    many worlds and steps were looked at; `counterexamples`: by property; `missing`: *sometimes*
    properties that no schedule has shown."""

    system: System
    budget: Budget
    states: int
    transitions: int
    complete: bool
    counterexamples: dict[str, Counterexample]
    missing: tuple[str, ...]
    seconds: float = field(compare=False)
    memory: int = field(default=0, compare=False)
    ended: str = field(default="", compare=False)

    @property
    def ok(self) -> bool:
        return not self.counterexamples and not self.missing

    def __str__(self) -> str:
        b = self.budget
        lines = [
            VIOLATED(name_claim(name), len(counterexample.schedule))
            for name, counterexample in self.counterexamples.items()
        ]
        lines += [NEVER(name_claim(name)) for name in self.missing]
        lines += [idle] if (idle := say_idle(self.system)).en else []
        # what never happens might do so if a timer ran out
        kinds = {example.claim.kind for example in self.counterexamples.values()}
        if (self.missing or "can_always" in kinds) and not (b.timers or b.retries):
            lines.append(NO_TIMER)
        why = f"; {self.ended}" if self.ended and not self.complete else ""
        how = COMPLETE if self.complete else PARTLY
        lines.append(how(self.states, self.transitions, b.text, why))
        return "\n".join(map(str, lines))
