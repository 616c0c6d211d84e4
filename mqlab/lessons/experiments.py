"""What a sentence claims of an execution, as data: the articles of lab 15 and the misconceptions
are written with it.

    some: WORDS          a step has these words
    none: WORDS          no step does
    order: WORDS < WORDS the first step with the former comes before the first with the latter
    log NAME: a b        in the end these are the records of a log, without markers
    green: LIGHT         this promise is kept to the end

A step has the words of what it carries, its message, record or outcome, between its nodes: so
no claim depends on how the step is narrated. Nowhere is written whether a claim holds: its scenario
is played, and it holds or does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..kernel import Fact, FactKind, Made, Run, Trace, speaking
from ..places import SCENARIOS
from ..registry import run_scenario


@dataclass(frozen=True, slots=True)
class Experiment:
    """`run`: a story of datasets/scenarios by its name, or one in full; `claims`: what it shows
    if a sentence is right; `at`: words of the step that tells."""

    run: str
    claims: tuple[str, ...]
    at: str

    def play(self) -> Run:
        if self.run.startswith("system "):
            return run_scenario(self.run)
        return run_scenario((SCENARIOS / f"{self.run}.scn").read_text("utf-8"))

    def stands(self, trace: Trace) -> bool:
        """Whether the trace shows all that is claimed."""
        return all(holds(claim, trace) for claim in self.claims)

    def step(self, trace: Trace) -> int:
        """The step that tells, from 1; ValueError where the trace has none."""
        return _find(self.at, list_carried(trace)) + 1


def list_carried(trace: Trace) -> list[str]:
    """What each step of a trace carries, between its nodes; single blanks, as claims have them."""
    with speaking("en"):
        return [
            " ".join(f"{fact.node} {fact.glyph} {fact.peer} {_write(fact)}".split())
            for fact in trace
        ]


def _write(fact: Fact) -> str:
    if fact.kind is FactKind.KILL:
        return "killed"
    if isinstance(fact.body, Made):
        return fact.body.words(**fact.body.values).en
    return "" if fact.body is None else str(fact.body)


def holds(claim: str, trace: Trace) -> bool:
    """Whether a trace shows what is claimed, as `kind: argument`: that some narrated line contains
    the argument, that none does, that one line comes before another (order, "A < B"), that a log
    contains just these records in this sequence, control records left out, that an invariant holds
    at the end (green). ValueError for another kind, or where the log, the invariant or one of the
    two lines of an order does not exist."""
    kind, _, argument = claim.partition(":")
    lines, argument, end = list_carried(trace), argument.strip(), trace.snapshot(len(trace))
    match kind.split():
        case ["some"]:
            return any(argument in line for line in lines)
        case ["none"]:
            return not any(argument in line for line in lines)
        case ["order"]:
            early, late = (_find(one.strip(), lines) for one in argument.split(" < "))
            return early < late
        case ["log", name]:
            (log,) = (one for one in end.logs if one.name == name)
            return [cell.label for cell in log.cells if cell.kind != "control"] == argument.split()
        case ["green"]:
            (light,) = (one for one in end.lights if one.name == argument)
            return light.ok
    raise ValueError(f"{claim!r} begins with none of some, none, order, log NAME, green")


def _find(words: str, lines: list[str]) -> int:
    """The place of the first line with these words; ValueError where there is none."""
    for place, line in enumerate(lines):
        if words in line:
            return place
    raise ValueError(f"no step of this run has {words!r}")


def read_experiment(given: Mapping[str, Any]) -> Experiment:
    """The three keys of a table of TOML."""
    return Experiment(given["run"], tuple(given["claims"]), given["at"])
