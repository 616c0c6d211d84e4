"""Which safeguard is necessary? Every case of `mqlab.lessons.kafka.cases` searched, as a table.

print(table())                          # safeguard, anomaly, length of the shortest run
search(SAFEGUARD_CASES["lso"]).trace()  # that run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from multiprocessing import get_context

from ..explore import Budget, Counterexample, Verdict, explore
from ..kafka import KafkaSystem
from ..kernel.options import write_calls
from ..kernel.text import Lang
from ..scenario import write_in_blocks
from .kafka.cases import CLAIM_CASES, LESSON_SYSTEMS, SAFEGUARD_CASES, WHOLE, Bounds, Case, Searched
from .registry import SYSTEMS, system
from .tables import columns

Progress = Callable[[int, int], None]


def budget(bounds: Bounds, states: int = 1_000_000) -> Budget:
    """The bounds of a case or lesson system as the explorer takes them."""
    return Budget(**{"states": states, **dict(bounds)})  # type: ignore[arg-type]


def search(case: Case, progress: Progress | None = None) -> Counterexample:
    """The shortest run in which a case's property breaks; LookupError if there is none."""
    found = system(case.system)
    claim = tuple(p for p in found.properties() if p.name == case.broken)
    verdict = explore(found, budget(case.bounds), claim, progress)
    if case.broken not in verdict.counterexamples:
        raise LookupError(f"{case.name}: “{case.broken}” holds within {verdict}")
    return verdict.counterexamples[case.broken]


def with_everything_on(case: Case) -> Verdict:
    """The same system with its safeguard on, searched for every property."""
    return explore(system(case.line), budget(case.bounds))


def exhaust(searched: Searched) -> Verdict:
    """A lesson system, searched to its bounds."""
    return explore(system(searched.line), budget(searched.bounds))


def script(case: Case, found: Counterexample) -> str:
    """The run as a scenario: `mqlab view` opens it, `mqlab run` compares its narration."""
    missing = f"Without {case.off}: " if case.off else "With everything on: "
    plain = found.system
    assert isinstance(plain, KafkaSystem)
    lines = [
        f"# {missing}{case.title.en}.",
        f"# {case.anomaly.en[0].upper()}{case.anomaly.en[1:]}: “{case.broken}” breaks, in no fewer",
        f"# than {len(found.schedule)} choices ({budget(case.bounds)}).",
        f"system {replace(plain, programs=(), off=()).line()}",
        *(f"off {name}" for name in plain.off),
        *(f"do run {node} {write_calls(program)}" for node, program in plain.programs),
        *(f"do {choice}" for choice in found.schedule),
    ]
    return write_in_blocks("\n".join(lines), SYSTEMS)


def table(lang: Lang = "en", progress: Progress | None = None) -> str:
    """Safeguard (or claim), anomaly, broken property, length of the shortest run: every case
    found by a search just now."""
    lines = []
    for case in (*SAFEGUARD_CASES.values(), *CLAIM_CASES.values()):
        missing = f"without {case.off}" if case.off else f"all on: {case.name}"
        length = len(search(case, progress).schedule)
        lines.append((missing, case.anomaly.of(lang), case.broken, str(length)))
    return columns([("missing", "anomaly", "broken", "choices"), *lines])


def lesson_table(systems: Iterable[Searched] = (*LESSON_SYSTEMS, WHOLE)) -> str:
    """The lesson systems: bounds, states, whether those were all, what was found, seconds,
    and the bytes that a state takes. Each is searched in a process of its own, since memory
    that an earlier search has given back would be counted as saved."""
    head = ("system", "bounds", "states", "searched", "found", "seconds", "bytes a state")
    with get_context("spawn").Pool(1, maxtasksperchild=1) as alone:
        return columns([head, *alone.imap(row, systems)])


def row(searched: Searched) -> tuple[str, ...]:
    verdict = exhaust(searched)
    return (
        searched.name,
        str(verdict.budget),
        f"{verdict.states:,}",
        "all" if verdict.complete else "not all",
        ", ".join((*verdict.counterexamples, *verdict.missing)) or "nothing",
        f"{verdict.seconds:.1f}",
        f"{verdict.memory / verdict.states:,.0f}",
    )
